//! Checks passes, the pass table, host layouts and constants, and WebGPU's default limits.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;

use encase::ShaderType;
use naga::proc::TypeResolution;
use naga::valid::{Capabilities, FunctionInfo, ModuleInfo, ValidationFlags, Validator};
use naga::{AddressSpace, Expression, Function, Module, Statement, StorageAccess, TypeInner};

use super::*;
use crate::api::queries::self_query;
use crate::gpu::link;
use crate::layout::blocks::{
    CountParams, CullParams, DispatchParams, DrawParams, EventParams, Exclusions, GatherParams, OrderParams,
    PairParams, QueryParams, RayParams, Round, ScanParams, ScatterParams, SortParams, SourceLayout,
};
use crate::layout::grid::{self, Grid, Level, Params};
use crate::shared::wgsl::{FILES, File, number};

fn capabilities(pass: &Pass) -> Capabilities {
    if pass.features() == wgpu::Features::SUBGROUP {
        Capabilities::SUBGROUP
    } else {
        assert_eq!(pass.features(), wgpu::Features::empty(), "{}", pass.name);
        Capabilities::empty()
    }
}

fn parse(pass: &Pass) -> (Module, ModuleInfo) {
    let source = pass.source();
    let module = naga::front::wgsl::parse_str(&source)
        .unwrap_or_else(|error| panic!("{}: {}", pass.name, error.emit_to_string(&source)));
    let info = Validator::new(ValidationFlags::all(), capabilities(pass))
        .validate(&module)
        .unwrap_or_else(|error| panic!("{}: {}", pass.name, error.emit_to_string(&source)));
    (module, info)
}

fn functions<'m>(module: &'m Module, info: &'m ModuleInfo) -> impl Iterator<Item = (&'m Function, &'m FunctionInfo)> {
    let of_functions = module.functions.iter();
    let of_entries = module.entry_points.iter().enumerate();
    of_functions
        .map(|(handle, function)| (function, &info[handle]))
        .chain(of_entries.map(|(index, entry)| (&entry.function, info.get_entry_point(index))))
}

#[test]
fn every_pass_is_valid_with_no_capability_but_its_own_and_has_one_entry_point() {
    for pass in passes() {
        let (module, _) = parse(pass);
        let names: Vec<_> = module.entry_points.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["main"], "{}", pass.name);
    }
}

/// Subgroup sizes vary, and some devices have no subgroups. One pass uses subgroups, without their sizes, ids or
/// barriers; it has a portable reference pass.
#[test]
fn no_pass_depends_on_subgroups() {
    for pass in passes() {
        let by_ballots = pass.name == "sort_scatter_subgroups";
        assert_eq!(pass.features() == wgpu::Features::SUBGROUP, by_ballots, "{}", pass.name);
        let other = [
            "enable ",
            "quad",
            "subgroup_size",
            "subgroup_id",
            "num_subgroups",
            "subgroupBarrier",
        ];
        for word in other.into_iter().chain((!by_ballots).then_some("subgroup")) {
            assert!(!pass.source().contains(word), "{}: {word}", pass.name);
        }
    }
}

/// The FXC compiler unrolls loops that write vector components by variable index, or fails.
#[test]
fn components_of_variables_are_written_by_constants() {
    fn stores(block: &naga::Block, pointers: &mut Vec<naga::Handle<Expression>>) {
        for statement in block {
            match statement {
                Statement::Store { pointer, .. } => pointers.push(*pointer),
                Statement::Block(inner) => stores(inner, pointers),
                Statement::If { accept, reject, .. } => {
                    [accept, reject].iter().for_each(|inner| stores(inner, pointers))
                }
                Statement::Loop { body, continuing, .. } => {
                    [body, continuing].iter().for_each(|inner| stores(inner, pointers));
                }
                Statement::Switch { cases, .. } => cases.iter().for_each(|case| stores(&case.body, pointers)),
                _ => {}
            }
        }
    }
    for pass in passes() {
        let (module, info) = parse(pass);
        for (function, info) in functions(&module, &info) {
            let mut pointers = Vec::new();
            stores(&function.body, &mut pointers);
            for pointer in pointers {
                let Expression::Access { base, .. } = function.expressions[pointer] else {
                    continue;
                };
                let is_vector = match *info[base].ty.inner_with(&module.types) {
                    TypeInner::Pointer { base, .. } => matches!(module.types[base].inner, TypeInner::Vector { .. }),
                    TypeInner::ValuePointer { size, .. } => size.is_some(),
                    _ => false,
                };
                assert!(!is_vector, "{}", pass.name);
            }
        }
    }
}

#[test]
fn every_loop_has_a_condition() {
    fn ends_loop(block: &naga::Block) -> bool {
        matches!(block[..], [Statement::Break])
    }
    fn check(block: &naga::Block, name: &str) -> usize {
        block
            .iter()
            .map(|statement| match statement {
                Statement::Loop {
                    body,
                    continuing,
                    break_if,
                } => {
                    let condition = body.iter().find_map(|statement| match statement {
                        Statement::If { accept, reject, .. } if ends_loop(accept) || ends_loop(reject) => Some(true),
                        Statement::Loop { .. } | Statement::Switch { .. } | Statement::Continue => Some(false),
                        _ => None,
                    });
                    assert!(condition == Some(true) || break_if.is_some(), "{name}: {body:?}");
                    1 + check(body, name) + check(continuing, name)
                }
                Statement::Block(inner) => check(inner, name),
                Statement::If { accept, reject, .. } => check(accept, name) + check(reject, name),
                Statement::Switch { cases, .. } => cases.iter().map(|case| check(&case.body, name)).sum(),
                _ => 0,
            })
            .sum()
    }
    let of_passes = passes().map(|pass| (pass.name, parse(pass).0, pass.source().to_owned()));
    let of_texts = crate::addons::table_shader::texts()
        .into_iter()
        .map(|text| ("table", naga::front::wgsl::parse_str(&text).unwrap(), text));
    for (name, module, source) in of_passes.chain(of_texts) {
        let functions = module.functions.iter().map(|(_, function)| function);
        let loops: usize = functions
            .chain(module.entry_points.iter().map(|entry| &entry.function))
            .map(|function| check(&function.body, name))
            .sum();
        let lines = source.lines().map(str::trim_start);
        let written = lines.filter(|line| line.starts_with("for (")).count();
        assert_eq!(loops, written, "{name}: loops in another form");
    }
}

fn modules() -> Vec<(&'static str, Vec<File>)> {
    let of_passes = passes().map(|pass| (pass.name, pass.files().to_vec()));
    let tables = ["table_shader/walk", "table_shader/cast"].map(|root| (root, link::link(root, &[])));
    of_passes.chain(tables).collect()
}

fn declared(text: &str) -> BTreeSet<&str> {
    let words = ["fn ", "const ", "override ", "struct ", "alias "];
    let lines = text.lines().map(|line| line.strip_prefix("@must_use ").unwrap_or(line));
    let starts = lines.filter_map(|line| {
        let variable = line
            .contains("var<")
            .then(|| line.split_once("> ").map(|(_, rest)| rest));
        let rest = words.iter().find_map(|word| line.strip_prefix(word));
        rest.or_else(|| variable.flatten().filter(|_| !line.starts_with(' ')))
    });
    starts
        .filter_map(|rest| {
            rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
                .next()
        })
        .collect()
}

#[test]
fn every_file_on_disk_is_part_of_a_module() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    let mut folders = vec![folder.clone()];
    let mut on_disk = BTreeSet::new();
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let path = path.strip_prefix(&folder).unwrap().with_extension("");
                on_disk.insert(path.to_str().unwrap().replace('\\', "/"));
            }
        }
    }
    let known: BTreeSet<_> = FILES.iter().map(|(path, _)| path.to_string()).collect();
    assert!(FILES.is_sorted_by_key(|(path, _)| path));
    let unknown: Vec<_> = on_disk.difference(&known).collect();
    assert!(unknown.is_empty(), "src/shared/wgsl.rs does not list {unknown:?}");
    let linked: BTreeSet<_> = modules()
        .iter()
        .flat_map(|(_, files)| files.iter().map(|(path, _)| path.to_string()))
        .collect();
    let unused: Vec<_> = on_disk.difference(&linked).collect();
    assert!(unused.is_empty(), "no row of the pass table joins {unused:?}");
}

#[test]
fn what_files_use_and_need_is_there_and_every_choice_counts() {
    for (name, files) in modules() {
        let all: BTreeSet<_> = files.iter().flat_map(|(_, text)| declared(text)).collect();
        for (path, text) in &files {
            let own = declared(text);
            for needed in link::named(text, "needs") {
                assert!(
                    all.contains(needed) && !own.contains(needed),
                    "{path} of {name} needs {needed}"
                );
            }
        }
    }
    for pass in passes() {
        let mut holes: BTreeSet<_> = pass.holes().iter().map(|(hole, _)| format!("{{{hole}}}")).collect();
        assert_eq!(holes.len(), pass.holes().len(), "{}: a hole is filled twice", pass.name);
        let files = pass.files();
        let used: Vec<_> = files.iter().flat_map(|(_, text)| link::named(text, "uses")).collect();
        holes.retain(|hole| !used.iter().any(|path| path.contains(hole)));
        assert!(holes.is_empty(), "{}: nothing uses {holes:?}", pass.name);
    }
}

#[test]
fn files_use_nothing_in_vain() {
    let needed: BTreeSet<_> = FILES.iter().flat_map(|(_, text)| link::named(text, "needs")).collect();
    for (path, text) in FILES {
        let code: String = text
            .lines()
            .filter(|line| !line.starts_with("//"))
            .collect::<Vec<_>>()
            .join("\n");
        let words: BTreeSet<_> = code
            .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .collect();
        for used in link::named(text, "uses") {
            // Files for the same hole, such as `{entry}`, declare the same names, so any of them will do.
            let is_like = |known: &str| match used.split_once('{') {
                Some((before, rest)) => known.starts_with(before) && known.ends_with(rest.split_once('}').unwrap().1),
                None => known == used,
            };
            let mut likely = FILES.iter().filter(|(known, _)| is_like(known));
            let gives = likely.any(|(_, text)| {
                let names = declared(text);
                names.iter().any(|name| words.contains(name) || needed.contains(name))
            });
            assert!(gives, "{path} uses {used} in vain");
        }
    }
}

#[test]
fn names_are_unique_and_sources_name_their_files() {
    let mut names: Vec<_> = passes().map(|pass| pass.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), passes().count());
    assert!(passes().all(|pass| pass.source().starts_with("// ---- ")));
}

/// `SWEPT` defaults to true, so a pass that misses its switch would always sweep.
#[test]
fn passes_name_the_switches_that_they_declare() {
    for pass in passes() {
        let declared = ["SWEPT", "EXCLUDES"].into_iter().find(|name| pass.declares(name));
        assert_eq!(pass.switch(), declared, "{}", pass.name);
    }
}

/// The recorder finds buffers by name, so names must be unique and all variables declared.
#[test]
fn buffers_have_names_of_their_own_and_variables_are_declared() {
    use crate::addons::component;
    use crate::gpu::upload;
    use crate::stages::{input, order, pairs, queries, rays, scan, shape, sort, table};

    let of_stages = [
        shape::buffer::ALL,
        upload::buffer::ALL,
        table::buffer::ALL,
        table::statics::buffer::ALL,
        scan::buffer::ALL,
        sort::buffer::ALL,
        pairs::buffer::ALL,
        rays::buffer::ALL,
        queries::buffer::ALL,
        order::buffer::ALL,
        draw::buffer::ALL,
        dispatch::buffer::ALL,
    ];
    let distinct = |names: &[&str]| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    let names: Vec<_> = of_stages.into_iter().flatten().map(|id| id.name).collect();
    assert!(names.len() > 50 && distinct(&names), "{names:?}");
    // Events and culling have buffers and counters of their own.
    let names: Vec<_> = events::buffer::ALL.iter().map(|id| id.name).collect();
    assert!(distinct(&names), "{names:?}");
    let names: Vec<_> = cull::buffer::ALL.iter().map(|id| id.name).collect();
    assert!(distinct(&names), "{names:?}");

    let variables = [
        shape::variable::ALL,
        scan::variable::ALL,
        sort::variable::ALL,
        table::variable::ALL,
        input::variable::ALL,
        pairs::variable::ALL,
        rays::variable::ALL,
        queries::variable::ALL,
        order::variable::ALL,
        component::variable::ALL,
        draw::variable::ALL,
        dispatch::variable::ALL,
        events::variable::ALL,
        cull::variable::ALL,
    ];
    let bound: BTreeSet<_> = passes()
        .flat_map(|pass| pass.bindings().iter().map(|(_, _, name)| *name))
        .collect();
    for variable in variables.into_iter().flatten() {
        assert!(bound.contains(variable.0), "{variable:?}");
    }
    // Each bound name is a buffer's name or a variable that the dispatch binds.
    let mut known: BTreeSet<_> = of_stages.into_iter().flatten().map(|id| id.name).collect();
    known.extend(events::buffer::ALL.iter().chain(cull::buffer::ALL).map(|id| id.name));
    known.extend(variables.into_iter().flatten().map(|variable| variable.0));
    // The pass of an `ObjectSet` binds these variables itself.
    known.extend(["scatter", "changed_slots", "changed_boxes", "boxes"]);
    let unknown: Vec<_> = bound.difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn bindings_are_read_from_the_text_as_naga_reads_them() {
    for pass in passes() {
        let (module, _) = parse(pass);
        let declared: BTreeMap<u32, (Binding, String)> = module
            .global_variables
            .iter()
            .filter_map(|(_, variable)| {
                let resource = variable.binding.as_ref()?;
                assert_eq!(resource.group, 0, "{}", pass.name);
                let kind = match variable.space {
                    AddressSpace::Uniform => Binding::Uniform,
                    AddressSpace::Storage { access } if access.contains(StorageAccess::STORE) => Binding::Write,
                    AddressSpace::Storage { .. } => Binding::Read,
                    other => panic!("{}: {other:?}", pass.name),
                };
                Some((resource.binding, (kind, variable.name.clone()?)))
            })
            .collect();
        let read = pass.bindings().iter();
        let read: BTreeMap<_, _> = read
            .map(|&(number, kind, name)| (number, (kind, name.to_owned())))
            .collect();
        assert_eq!(declared, read, "{}", pass.name);
        assert_eq!(declared.len(), pass.bindings().len(), "{}: a number twice", pass.name);
    }
}

#[test]
fn baseline_limits_are_kept() {
    for pass in passes() {
        let (module, _) = parse(pass);
        let storage = pass
            .bindings()
            .iter()
            .filter(|(_, kind, _)| *kind != Binding::Uniform)
            .count();
        assert!(storage <= 8, "{}: {storage} storage buffers", pass.name);
        let size = module.entry_points[0].workgroup_size;
        assert!(
            size.iter().product::<u32>() <= 256 && size[2] <= 64,
            "{}: {size:?}",
            pass.name
        );
        let mut layouter = naga::proc::Layouter::default();
        layouter.update(module.to_ctx()).unwrap();
        let memory: u32 = module
            .global_variables
            .iter()
            .filter(|(_, variable)| variable.space == AddressSpace::WorkGroup)
            .map(|(_, variable)| layouter[variable.ty].size.next_multiple_of(16))
            .sum();
        assert!(memory <= 16_384, "{}: {memory} bytes of workgroup memory", pass.name);
    }
}

/// lavapipe (Mesa 22.3) overwrites memory if a condition compares words of a fourth uniform block.
#[test]
fn a_fourth_uniform_block_has_only_exclusions() {
    for pass in passes() {
        let uniforms = pass.bindings().iter().filter(|(_, kind, _)| *kind == Binding::Uniform);
        let fourth: Vec<_> = uniforms.skip(3).map(|(_, _, name)| *name).collect();
        assert!(
            [&[][..], &["exclusions"]].contains(&&fourth[..]),
            "{}: {fourth:?}",
            pass.name
        );
    }
}

fn wgsl_struct(name: &str) -> (u32, Vec<(String, u32)>) {
    passes()
        .find_map(|pass| {
            let (module, _) = parse(pass);
            module.types.iter().find_map(|(_, ty)| match &ty.inner {
                TypeInner::Struct { members, span } if ty.name.as_deref() == Some(name) => {
                    let member = |member: &naga::StructMember| (member.name.clone().unwrap_or_default(), member.offset);
                    Some((*span, members.iter().map(member).collect()))
                }
                _ => None,
            })
        })
        .unwrap_or_else(|| panic!("no pass declares {name}"))
}

macro_rules! offsets {
    ($ty:ty: $($field:ident),+ $(,)?) => { vec![$((stringify!($field).to_owned(), offset_of!($ty, $field) as u32)),+] };
}

#[test]
fn structs_lie_in_memory_as_the_shaders_read_them() {
    let (size, members) = wgsl_struct("Level");
    assert_eq!(size as usize, size_of::<Level>());
    assert_eq!(
        members,
        offsets!(Level: inverse, count, table_base, table_size, table_mask, stride_y, stride_z, x_shift, lower_x, lower_y,
            lower_z, next, upper_x, upper_y, upper_z, stride_world)
    );
    let (size, members) = wgsl_struct("Grid");
    assert_eq!(size as usize, size_of::<Grid>());
    assert_eq!(
        members,
        offsets!(Grid: base_inverse, x_detail, first_level, table_cells, entry_count, occupied, fullest_level,
            large_table_below, large_table_shift, key_count, crowded_levels, is_crowded, levels, large_table)
    );
}

#[test]
fn uniform_blocks_lie_in_memory_as_the_shaders_read_them() {
    fn check<T: ShaderType>(name: &str, rust_fields: Vec<(String, u32)>) {
        let (size, members) = wgsl_struct(name);
        assert_eq!(u64::from(size), T::METADATA.min_size().get(), "{name}");
        // All fields have four bytes.
        let expected: Vec<_> = (0..)
            .step_by(4)
            .zip(rust_fields)
            .map(|(offset, (field, _))| (field, offset))
            .collect();
        assert_eq!(members, expected, "{name}");
    }
    check::<Params>(
        "Params",
        offsets!(Params: object_count, entry_capacity, table_capacity, scheme, cell_inverse, sample_count,
            sample_stride, dimensions, world_count, large_mask, margin, period_x, period_y, period_z, first_object,
            static_count, large_table_capacity, object_limit, has_clusters, large_table_tile),
    );
    check::<PairParams>(
        "PairParams",
        offsets!(PairParams: capacity, first, bit_words, chunks, rows, cached, split_bits, entry_rows, variant),
    );
    check::<RayParams>(
        "RayParams",
        offsets!(RayParams: count, hit_capacity, first_hit, stride, cell_capacity, first_cell, is_sorted, cached),
    );
    check::<QueryParams>(
        "QueryParams",
        offsets!(QueryParams: count, is_wide, self_query, half, radius, nearest, capacity, first),
    );
    check::<ScanParams>(
        "ScanParams",
        offsets!(ScanParams: count, total_word, capacity, status_bit),
    );
    check::<Round>(
        "Round",
        offsets!(Round: first, tests, is_last, iterations, canary_iterations, continues, is_continued, walks,
            first_row),
    );
    check::<SortParams>(
        "SortParams",
        offsets!(SortParams: shift, bits, tile, tiles, counts, group_bits, unwritten, next_bits, next_counts),
    );
    check::<DispatchParams>(
        "DispatchParams",
        offsets!(DispatchParams: needed_word, first, capacity, workgroup_rows, missing_bits),
    );
    check::<OrderParams>(
        "OrderParams",
        offsets!(OrderParams: needed_word, first, capacity, row_words, walks),
    );
    check::<EventParams>(
        "EventParams",
        offsets!(EventParams: pair_capacity, previous_capacity, table_mask, previous_mask, static_count,
            static_generations, generations, begun_capacity),
    );
    check::<DrawParams>("DrawParams", offsets!(DrawParams: rows, first, capacity, color, levels));
    check::<CullParams>(
        "CullParams",
        offsets!(CullParams: view_count, words, filters, lists, list_capacity, draw_words, draw_count),
    );
    check::<Exclusions>(
        "Exclusions",
        offsets!(Exclusions: object_count, list_count, table_mask, data_count, data_begin),
    );
    check::<CountParams>(
        "CountParams",
        offsets!(CountParams: rows, stride, limit_word, row_word, value),
    );
    check::<SourceLayout>("SourceLayout", offsets!(SourceLayout: first, stride, second, flags));
    check::<GatherParams>(
        "GatherParams",
        offsets!(GatherParams: first, stride, second, flags, elements, words, limit, row_word, value),
    );
    check::<ScatterParams>("ScatterParams", offsets!(ScatterParams: change_count, object_count));
}

/// Returns the fields of each uniform block, and true for those that some pass reads.
fn uniform_fields() -> BTreeMap<String, BTreeMap<String, bool>> {
    let mut blocks: BTreeMap<String, BTreeMap<String, bool>> = BTreeMap::new();
    for pass in passes() {
        let (module, info) = parse(pass);
        let mut read = BTreeSet::new();
        for (function, info) in functions(&module, &info) {
            for (_, expression) in function.expressions.iter() {
                let Expression::AccessIndex { base, index } = *expression else {
                    continue;
                };
                match info[base].ty {
                    TypeResolution::Handle(block) | TypeResolution::Value(TypeInner::Pointer { base: block, .. }) => {
                        read.insert((block, index));
                    }
                    TypeResolution::Value(_) => {}
                }
            }
        }
        let variables = module.global_variables.iter();
        for (_, variable) in variables.filter(|(_, variable)| variable.space == AddressSpace::Uniform) {
            let ty = &module.types[variable.ty];
            let TypeInner::Struct { members, .. } = &ty.inner else {
                panic!("{}: {:?} is no struct", pass.name, variable.name);
            };
            let fields = blocks.entry(ty.name.clone().unwrap()).or_default();
            for (index, member) in (0..).zip(members) {
                *fields.entry(member.name.clone().unwrap()).or_default() |= read.contains(&(variable.ty, index));
            }
        }
    }
    blocks
}

#[test]
fn uniform_blocks_are_small_and_passes_read_every_field() {
    let blocks = uniform_fields();
    assert_eq!(blocks.len(), 17, "{:?}", blocks.keys());
    for (block, fields) in blocks {
        let most = if block == "Params" { 24 } else { 16 };
        assert!(fields.len() <= most, "{block} has {} fields", fields.len());
        let unread: Vec<_> = fields.iter().filter(|(_, is_read)| !**is_read).collect();
        assert!(unread.is_empty(), "{block}: no pass reads {unread:?}");
    }
}

/// Public constants are written in Rust and in WGSL; others are read from WGSL.
#[test]
fn constants_agree_with_the_host() {
    let expected: &[(&str, u32)] = &[
        ("NO_LEVEL", grid::NO_LEVEL),
        ("STATIC_LEVELS", grid::MAX_LEVELS),
        ("GROUP_EXCLUDED", crate::Aabb::EXCLUDED),
        ("GROUP_STATIC", crate::Aabb::STATIC),
        ("GROUP_MASK", crate::Aabb::GROUP_MASK),
        ("STATUS_PAIRS", crate::Status::PAIRS.bits()),
        ("STATUS_ROUNDS", crate::Status::ROUNDS.bits()),
        ("STATUS_CUT", crate::Status::CUT.bits()),
        ("STATUS_LACKS_PAIRS", crate::Status::LACKS_PAIRS.bits()),
        ("NONE", crate::NONE),
        ("NO_OBJECT", crate::NONE),
        ("SELF_QUERY_NONE", self_query::NONE),
        ("SELF_QUERY_NEIGHBORS", self_query::NEIGHBORS),
        ("QUERY_VECTORS", (size_of::<crate::Query>() / 16) as u32),
    ];
    let mut seen = BTreeMap::new();
    for (path, text) in FILES {
        for line in text.lines().filter_map(|line| line.strip_prefix("const ")) {
            let (name, value) = line.split_once(" = ").unwrap();
            let name = name.split(':').next().unwrap();
            let values: &mut Vec<(&str, &str)> = seen.entry(name).or_default();
            // Boolean constants are switches, which differ between variants of a file.
            if !["true;", "false;"].contains(&value) {
                values.push((path, value));
            }
        }
    }
    for &(name, value) in expected {
        for (path, _) in &seen[name] {
            assert_eq!(number(path, name), value, "{name} of {path}");
        }
    }
    for (name, values) in seen {
        let one_each = [
            "KEYS_PER_THREAD",
            "ROW_ITERATIONS",
            "SORT_TILE",
            "SORT_WORKGROUP",
            "STATIC_CACHED",
        ]
        .contains(&name);
        let alike = values.windows(2).all(|pair| pair[0].1 == pair[1].1);
        assert!(alike || one_each, "{name}: {values:?}");
    }
}

#[test]
fn the_box_test_uses_integers_only() {
    let text = include_str!("../../shaders/common/box.wgsl");
    let fragment = &text[text.find("fn overlaps(").unwrap()..];
    let fragment = &fragment[..fragment.find("\n}").unwrap() + 2];
    let module = naga::front::wgsl::parse_str(fragment).unwrap();
    assert!(
        module
            .functions
            .iter()
            .any(|(_, function)| function.name.as_deref() == Some("overlaps"))
    );
    for (_, ty) in module.types.iter() {
        let scalar = match ty.inner {
            TypeInner::Scalar(scalar) | TypeInner::Vector { scalar, .. } => scalar,
            ref other => panic!("unexpected type {other:?}"),
        };
        assert_ne!(scalar.kind, naga::ScalarKind::Float);
    }
    const WITHOUT_TEST: [&str; 3] = ["pair_replay", "pair_emit_cached", "pair_exclude"];
    let tests_boxes = |pass: &&Pass| pass.name.starts_with("pair_") && !WITHOUT_TEST.contains(&pass.name);
    for pass in passes().filter(tests_boxes) {
        let source = pass.source();
        assert!(
            source.contains(fragment) && source.matches("overlaps(").count() > 1,
            "{}",
            pass.name
        );
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    /// No float operation since the last integer operation.
    Settled,
    /// Result of a float operation, as unmodified integer bits.
    Bits,
    /// Result of a float operation.
    Float,
}

struct FloatFlow<'a> {
    module: &'a Module,
    info: &'a ModuleInfo,
    /// Float operations on results of other float operations, with their function.
    chained: Vec<String>,
    operations: usize,
}

impl FloatFlow<'_> {
    fn is_float(&self, info: &FunctionInfo, expression: naga::Handle<Expression>) -> bool {
        let kind = match *info[expression].ty.inner_with(&self.module.types) {
            TypeInner::Scalar(scalar) | TypeInner::Vector { scalar, .. } => scalar.kind,
            _ => return false,
        };
        matches!(kind, naga::ScalarKind::Float | naga::ScalarKind::AbstractFloat)
    }

    fn returned(&mut self, handle: naga::Handle<Function>, arguments: &[Origin]) -> Origin {
        let (module, info) = (self.module, self.info);
        self.flow(&module.functions[handle], &info[handle], arguments)
    }

    fn flow(&mut self, function: &Function, info: &FunctionInfo, arguments: &[Origin]) -> Origin {
        let mut origins = vec![Origin::Settled; function.expressions.len()];
        let mut locals = vec![Origin::Settled; function.local_variables.len()];
        loop {
            let before = (origins.clone(), locals.clone());
            let (count, operations) = (self.chained.len(), self.operations);
            let mut result = Origin::Settled;
            self.evaluate(function, info, arguments, &mut origins, &locals);
            self.run(&function.body, function, &mut origins, &mut locals, &mut result);
            if before == (origins.clone(), locals.clone()) {
                return result;
            }
            self.chained.truncate(count);
            self.operations = operations;
        }
    }

    fn evaluate(
        &mut self,
        function: &Function,
        info: &FunctionInfo,
        arguments: &[Origin],
        origins: &mut [Origin],
        locals: &[Origin],
    ) {
        for (handle, expression) in function.expressions.iter() {
            let of = |part: &naga::Handle<Expression>| origins[part.index()];
            let most = |parts: &[naga::Handle<Expression>]| parts.iter().map(of).max().unwrap_or(Origin::Settled);
            let mut operands = Vec::new();
            let origin = match expression {
                Expression::FunctionArgument(index) => arguments[*index as usize],
                Expression::LocalVariable(variable) => locals[variable.index()],
                Expression::Load { pointer } => of(pointer),
                Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => of(base),
                Expression::Splat { value, .. } => of(value),
                Expression::Swizzle { vector, .. } => of(vector),
                Expression::Compose { components, .. } => most(components),
                Expression::CallResult(_) => origins[handle.index()],
                Expression::As {
                    expr, convert: None, ..
                } => match of(expr) {
                    Origin::Settled => Origin::Settled,
                    _ if self.is_float(info, handle) => Origin::Float,
                    _ => Origin::Bits,
                },
                Expression::Select { accept, reject, .. } => {
                    // `select` is an integer operation, but it passes float results through.
                    if self.is_float(info, handle) {
                        most(&[*accept, *reject])
                    } else {
                        Origin::Settled
                    }
                }
                Expression::As { expr, .. } => {
                    operands.push(*expr);
                    Origin::Float
                }
                Expression::Unary { expr, .. } => {
                    operands.push(*expr);
                    Origin::Float
                }
                Expression::Binary { left, right, .. } => {
                    operands.extend([*left, *right]);
                    Origin::Float
                }
                Expression::Math { arg, arg1, arg2, .. } => {
                    operands.push(*arg);
                    operands.extend(arg1.iter().chain(arg2));
                    Origin::Float
                }
                _ => Origin::Settled,
            };
            let takes_floats = operands.iter().any(|&operand| self.is_float(info, operand));
            let gives_float = self.is_float(info, handle);
            if takes_floats || (gives_float && !operands.is_empty()) {
                self.operations += 1;
                if operands
                    .iter()
                    .any(|operand| origins[operand.index()] != Origin::Settled)
                {
                    self.chained.push(format!("{:?}: {expression:?}", function.name));
                }
            }
            let is_settled = !operands.is_empty() && !gives_float;
            origins[handle.index()] = if is_settled { Origin::Settled } else { origin };
        }
    }

    fn run(
        &mut self,
        block: &naga::Block,
        function: &Function,
        origins: &mut [Origin],
        locals: &mut [Origin],
        result: &mut Origin,
    ) {
        for statement in block {
            match statement {
                Statement::Store { pointer, value } => {
                    let mut pointer = *pointer;
                    while let Expression::Access { base, .. } | Expression::AccessIndex { base, .. } =
                        function.expressions[pointer]
                    {
                        pointer = base;
                    }
                    if let Expression::LocalVariable(variable) = function.expressions[pointer] {
                        let local = &mut locals[variable.index()];
                        *local = (*local).max(origins[value.index()]);
                    }
                }
                Statement::Call {
                    function: called,
                    arguments,
                    result: place,
                } => {
                    let given: Vec<_> = arguments.iter().map(|argument| origins[argument.index()]).collect();
                    let origin = self.returned(*called, &given);
                    if let Some(place) = place {
                        origins[place.index()] = origin;
                    }
                }
                Statement::Return { value: Some(value) } => *result = (*result).max(origins[value.index()]),
                Statement::Block(inner) => self.run(inner, function, origins, locals, result),
                Statement::If { accept, reject, .. } => {
                    self.run(accept, function, origins, locals, result);
                    self.run(reject, function, origins, locals, result);
                }
                Statement::Loop { body, continuing, .. } => {
                    self.run(body, function, origins, locals, result);
                    self.run(continuing, function, origins, locals, result);
                }
                Statement::Switch { cases, .. } => cases
                    .iter()
                    .for_each(|case| self.run(&case.body, function, origins, locals, result)),
                _ => {}
            }
        }
    }
}

fn chained_floats(module: &Module, info: &ModuleInfo, name: &str) -> Option<(Vec<String>, usize)> {
    let mut flow = FloatFlow {
        module,
        info,
        chained: Vec::new(),
        operations: 0,
    };
    if name == "main" {
        flow.flow(
            &module.entry_points[0].function,
            info.get_entry_point(0),
            &[Origin::Settled; 8],
        );
    } else {
        let named = |function: &Function| function.name.as_deref() == Some(name);
        let (handle, _) = module.functions.iter().find(|(_, function)| named(function))?;
        flow.returned(handle, &[Origin::Settled; 16]);
    }
    Some((flow.chained, flow.operations))
}

/// Compilers may reorder sums, fuse products, and compare before rounding. Where a result depends on exact float
/// bits, an integer operation must separate every two float operations. docs/promises.md lists the exceptions and what
/// makes up for each.
#[test]
fn float_operations_that_decide_answers_stand_alone() {
    // Pass, function, minimum number of float operations (so that the test is not vacuous), functions that may be
    // chained.
    let deciding = [
        ("ray_count", "enter_box", 5, &[][..]),
        ("ray_count", "enter_box_closely", 5, &[]),
        ("ray_closest", "enter_box", 5, &[]),
        ("ray_any", "load_ray", 1, &[]),
        ("prepare", "main", 6, &[]),
        ("query_count", "distance_to", 4, &["nearest_image", "distance_key"]),
        ("cull_objects", "is_outside", 5, &[]),
        ("cull_objects", "side_of_common", 5, &[]),
    ];
    for (pass, function, least, exempt) in deciding {
        let pass = passes().find(|candidate| candidate.name == pass).unwrap();
        let (module, info) = parse(pass);
        let (mut chained, operations) = chained_floats(&module, &info, function).unwrap();
        chained.retain(|place| !exempt.iter().any(|name| place.starts_with(&format!("Some({name:?})"))));
        assert_eq!(chained, [""; 0], "{function} of {}", pass.name);
        assert!(operations >= least, "{function} of {}: {operations}", pass.name);
    }
    let chains = |body: &str| {
        let source = format!(
            "fn flush(x: f32) -> f32 {{ return select(x, 0.0, x < 1.0); }}\nfn f(a: f32, b: f32) -> f32 {{ {body} }}"
        );
        let module = naga::front::wgsl::parse_str(&source).unwrap();
        let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
            .validate(&module)
            .unwrap();
        !chained_floats(&module, &info, "f").unwrap().0.is_empty()
    };
    assert!(chains("return a * b + a;"));
    assert!(chains("return flush(a - b) * a;"));
    assert!(chains(
        "var x = a; for (var i = 0; i < 2; i += 1) { x = x + b; } return x;"
    ));
    assert!(chains("return bitcast<f32>(bitcast<u32>(a - b)) * a;"));
    assert!(chains(
        "let x = vec2<f32>(a - b, b); if (x.x > 1.0) { return a; } return b;"
    ));
    assert!(!chains("return bitcast<f32>(bitcast<u32>(a - b) & 0x7fffffffu) * a;"));
    assert!(!chains("return select(a + b, a * b, a < b);"));
}

#[test]
fn every_pass_translates_to_spirv_hlsl_and_msl() {
    for pass in passes() {
        let (module, info) = parse(pass);
        let (module, info) =
            naga::back::pipeline_constants::process_overrides(&module, &info, None, &Default::default()).unwrap();
        let options = naga::back::spv::Options {
            lang_version: if capabilities(pass).is_empty() { (1, 0) } else { (1, 3) },
            ..Default::default()
        };
        let words = naga::back::spv::write_vec(&module, &info, &options, None)
            .unwrap_or_else(|error| panic!("{} to SPIR-V: {error}", pass.name));
        assert_eq!(words[0], 0x0723_0203);

        let mut hlsl = String::new();
        let options = naga::back::hlsl::Options {
            fake_missing_bindings: true,
            ..Default::default()
        };
        let pipeline_options = Default::default();
        naga::back::hlsl::Writer::new(&mut hlsl, &options, &pipeline_options)
            .write(&module, &info, None)
            .unwrap_or_else(|error| panic!("{} to HLSL: {error}", pass.name));
        assert!(hlsl.contains("numthreads"), "{}", pass.name);

        let options = naga::back::msl::Options {
            fake_missing_bindings: true,
            ..Default::default()
        };
        let (msl, _) = naga::back::msl::write_string(&module, &info, &options, &Default::default())
            .unwrap_or_else(|error| panic!("{} to MSL: {error}", pass.name));
        assert!(msl.contains("kernel"), "{}", pass.name);
    }
}
