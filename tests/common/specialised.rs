//! Every pass with each choice of its pipeline constants, to be compiled by other programs.
#![allow(dead_code, reason = "each test binary uses a part")]

mod full;

use std::collections::BTreeSet;

use gpu_broad_phase::shaders::{Pass, passes};
use gpu_broad_phase::wgpu;
use naga::back::{PipelineConstants, pipeline_constants, spv};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{Module, ShaderStage};

pub use full::is_full;

const CONSTANTS: [(&str, &[u32]); 10] = [
    ("SCHEME", &[0, 1, 2]),
    ("FILTERS", &[0, 1]),
    ("COUNT_CANDIDATES", &[0, 1]),
    ("WORLDS", &[0, 1]),
    ("PERIODIC", &[0, 1]),
    ("SWEPT", &[0, 1]),
    ("STORES_IN_LOOP", &[0, 1]),
    ("SERIAL_SORT", &[0, 1]),
    ("EXCLUDES", &[0, 1]),
    ("DRIVER_CUTS_LOOPS", &[0, 1]),
];

const COMPILERS: [&str; 7] = ["spirv-val", "glslangValidator", "dxc", "fxc", "tint", "radv", "nvk"];

pub fn is_required(name: &str) -> bool {
    assert!(COMPILERS.contains(&name));
    let required = std::env::var("GPU_BROAD_PHASE_COMPILERS").unwrap_or_default();
    let required: Vec<_> = required
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    let unknown = required.iter().find(|name| !COMPILERS.contains(name));
    assert!(unknown.is_none(), "GPU_BROAD_PHASE_COMPILERS names {unknown:?}");
    required.contains(&name)
}

pub struct Specialised {
    pub pass: &'static Pass,
    pub constants: Vec<(&'static str, u32)>,
    pub module: Module,
    pub info: ModuleInfo,
}

impl Specialised {
    /// Such as `keys-SCHEME=2`.
    pub fn name(&self) -> String {
        let constants = self.constants.iter().map(|(name, value)| format!("-{name}={value}"));
        format!("{}{}", self.pass.name, constants.collect::<String>())
    }

    /// True if all switches are off or all are on. `SCHEME`, `STORES_IN_LOOP` and the like do not count as switches.
    pub fn is_plain_or_full(&self) -> bool {
        let is_switch = |name| !["SCHEME", "STORES_IN_LOOP", "SERIAL_SORT", "EXCLUDES"].contains(&name);
        let mut switches = self.constants.iter().filter(|(name, _)| is_switch(name));
        let first = switches.next().map(|(_, value)| value);
        switches.all(|(_, value)| Some(value) == first)
    }

    /// Returns the SPIR-V that wgpu's Vulkan backend would write. With `device_checks_buffers`, the device's
    /// `robustBufferAccess2` replaces naga's bounds checks of buffers.
    pub fn to_spirv(&self, version: (u8, u8), device_checks_buffers: bool) -> Vec<u32> {
        let options = spv::Options {
            lang_version: version,
            flags: spv::WriterFlags::LABEL_VARYINGS,
            fake_missing_bindings: true,
            bounds_check_policies: BoundsCheckPolicies {
                index: BoundsCheckPolicy::Restrict,
                buffer: if device_checks_buffers {
                    BoundsCheckPolicy::Unchecked
                } else {
                    BoundsCheckPolicy::Restrict
                },
                ..Default::default()
            },
            zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
            ..Default::default()
        };
        let pipeline = spv::PipelineOptions {
            shader_stage: ShaderStage::Compute,
            entry_point: "main".to_owned(),
        };
        spv::write_vec(&self.module, &self.info, &options, Some(&pipeline)).unwrap()
    }
}

pub fn schemes(pass: &Pass) -> &'static [u32] {
    match pass.name {
        name if ["_single_cell", "_sparse", "_crowded"]
            .iter()
            .any(|end| name.ends_with(end)) =>
        {
            &[0, 2]
        }
        name if name.ends_with("_multi_cell") => &[1],
        _ => &[0, 1, 2],
    }
}

pub fn has_subgroups(pass: &Pass) -> bool {
    pass.features().contains(wgpu::Features::SUBGROUP)
}

pub fn specialised() -> Vec<Specialised> {
    let mut all = Vec::new();
    for pass in passes() {
        let module = naga::front::wgsl::parse_str(&pass.source()).unwrap();
        let capabilities = if has_subgroups(pass) {
            Capabilities::SUBGROUP
        } else {
            Capabilities::empty()
        };
        let info = Validator::new(ValidationFlags::all(), capabilities)
            .validate(&module)
            .unwrap();
        // Others follow from these.
        let is_chosen = |declared: &naga::Override| {
            let value = declared.init.map(|init| &module.global_expressions[init]);
            matches!(value, None | Some(naga::Expression::Literal(_)))
        };
        let declared: BTreeSet<_> = module
            .overrides
            .iter()
            .filter(|(_, declared)| is_chosen(declared))
            .filter_map(|(_, declared)| declared.name.as_deref())
            .collect();
        let known = CONSTANTS.iter().filter(|(name, _)| declared.contains(name));
        assert_eq!(known.clone().count(), declared.len(), "{}: {declared:?}", pass.name);
        let mut choices = vec![Vec::new()];
        for &(name, mut values) in known {
            if name == "SCHEME" {
                values = schemes(pass);
            }
            choices = choices
                .iter()
                .flat_map(|chosen| {
                    values
                        .iter()
                        .map(move |&value| [&chosen[..], &[(name, value)]].concat())
                })
                .collect();
        }
        for constants in choices {
            let values: PipelineConstants = constants
                .iter()
                .map(|&(name, value)| (name.to_owned(), f64::from(value)))
                .collect();
            let main = Some((ShaderStage::Compute, "main"));
            let (module, info) = pipeline_constants::process_overrides(&module, &info, main, &values).unwrap();
            all.push(Specialised {
                pass,
                module: module.into_owned(),
                info: info.into_owned(),
                constants,
            });
        }
    }
    all
}
