//! Checks passes, the pass table, host layouts and constants, and WebGPU's default limits.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;
use std::path::Path;
use std::sync::LazyLock;

use naga::proc::TypeResolution;
use naga::valid::{Capabilities, FunctionInfo, ModuleInfo, ValidationFlags, Validator};
use naga::{AddressSpace, Expression, Function, Module, Statement, StorageAccess, TypeInner};

use super::*;
use crate::api::queries::self_query;
use crate::gpu::link;
use crate::layout::grid::{self, Grid, Level};
use crate::shared::wgsl::{FILES, File, number};

struct Parsed {
    pass: &'static Pass,
    module: Module,
    info: ModuleInfo,
}

impl Parsed {
    fn new(pass: &'static Pass) -> Self {
        let (name, source) = (pass.name, pass.source());
        let module = naga::front::wgsl::parse_str(&source)
            .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(&source)));
        let info = Validator::new(ValidationFlags::all(), capabilities(pass))
            .validate(&module)
            .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(&source)));
        Self { pass, module, info }
    }

    fn functions(&self) -> impl Iterator<Item = (&Function, &FunctionInfo)> {
        let of_functions = self.module.functions.iter();
        let of_entries = self.module.entry_points.iter().enumerate();
        of_functions
            .map(|(handle, function)| (function, &self.info[handle]))
            .chain(of_entries.map(|(index, entry)| (&entry.function, self.info.get_entry_point(index))))
    }
}

fn parsed() -> &'static [Parsed] {
    static PARSED: LazyLock<Vec<Parsed>> = LazyLock::new(|| passes().map(Parsed::new).collect());
    &PARSED
}

fn capabilities(pass: &Pass) -> Capabilities {
    match pass.features() {
        wgpu::Features::SUBGROUP => Capabilities::SUBGROUP,
        _ => Capabilities::empty(),
    }
}

fn inner_blocks(statement: &Statement) -> Vec<&naga::Block> {
    match statement {
        Statement::Block(inner) => vec![inner],
        Statement::If { accept, reject, .. } => vec![accept, reject],
        Statement::Loop { body, continuing, .. } => vec![body, continuing],
        Statement::Switch { cases, .. } => cases.iter().map(|case| &case.body).collect(),
        _ => Vec::new(),
    }
}

fn for_each_statement<'m>(block: &'m naga::Block, visit: &mut impl FnMut(&'m Statement)) {
    for statement in block {
        visit(statement);
        for inner in inner_blocks(statement) {
            for_each_statement(inner, visit);
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
}

/// Subgroup sizes vary, and some devices have no subgroups. One pass uses subgroups, without their sizes, ids or
/// barriers; it has a portable reference pass.
#[test]
fn no_pass_depends_on_subgroups() {
    for pass in passes() {
        let by_ballots = pass.name == "sort_scatter_subgroups";
        let expected = [wgpu::Features::empty(), wgpu::Features::SUBGROUP][usize::from(by_ballots)];
        assert_eq!(pass.features(), expected, "{}", pass.name);
        let others = "enable ,quad,subgroup_size,subgroup_id,num_subgroups,subgroupBarrier".split(',');
        for word in others.chain((!by_ballots).then_some("subgroup")) {
            assert!(!pass.source().contains(word), "{}: {word}", pass.name);
        }
    }
}

/// The FXC compiler unrolls loops that write vector components by variable index, or fails.
#[test]
fn components_of_variables_are_written_by_constants() {
    for parsed in parsed() {
        for (function, info) in parsed.functions() {
            for_each_statement(&function.body, &mut |statement| {
                let Statement::Store { pointer, .. } = *statement else {
                    return;
                };
                let Expression::Access { base, .. } = function.expressions[pointer] else {
                    return;
                };
                let types = &parsed.module.types;
                let is_vector = match *info[base].ty.inner_with(types) {
                    TypeInner::Pointer { base, .. } => matches!(types[base].inner, TypeInner::Vector { .. }),
                    TypeInner::ValuePointer { size, .. } => size.is_some(),
                    _ => false,
                };
                assert!(!is_vector, "{}", parsed.pass.name);
            });
        }
    }
}

#[test]
fn every_loop_has_a_condition() {
    let ends_loop = |block: &naga::Block| matches!(block[..], [Statement::Break]);
    let has_condition = |statement: &Statement| match statement {
        Statement::If { accept, reject, .. } if ends_loop(accept) || ends_loop(reject) => Some(true),
        Statement::Loop { .. } | Statement::Switch { .. } | Statement::Continue => Some(false),
        _ => None,
    };
    let of_texts = crate::addons::table_shader::texts().into_iter();
    let of_texts = of_texts.map(|text| ("table", naga::front::wgsl::parse_str(&text).unwrap(), text));
    let of_passes = parsed().iter().map(|parsed| {
        let source = parsed.pass.source().to_owned();
        (parsed.pass.name, parsed.module.clone(), source)
    });
    for (name, module, source) in of_passes.chain(of_texts) {
        let functions = module.functions.iter().map(|(_, function)| function);
        let mut loops = 0;
        for function in functions.chain(module.entry_points.iter().map(|entry| &entry.function)) {
            for_each_statement(&function.body, &mut |statement| {
                if let Statement::Loop { body, break_if, .. } = statement {
                    loops += 1;
                    let condition = body.iter().find_map(has_condition);
                    assert!(condition == Some(true) || break_if.is_some(), "{name}: {body:?}");
                }
            });
        }
        let written = source.lines().filter(|line| line.trim_start().starts_with("for ("));
        assert_eq!(loops, written.count(), "{name}: loops in another form");
    }
}

fn modules() -> Vec<(&'static str, Vec<File>)> {
    let of_passes = passes().map(|pass| (pass.name, pass.files().to_vec()));
    let roots = ["walk", "cast", "shape_rays", "shape_queries"].map(|root| ["table_shader/", root].concat());
    let tables = roots.map(|root| ("a table's text", link::link(&root, &[])));
    of_passes.chain(tables).collect()
}

fn declared(text: &str) -> BTreeSet<&str> {
    let kinds = ["fn ", "const ", "override ", "struct ", "alias "];
    let lines = text.lines().map(|line| line.strip_prefix("@must_use ").unwrap_or(line));
    let names = lines.filter_map(|line| {
        let variable = line
            .split_once("> ")
            .filter(|_| line.contains("var<") && !line.starts_with(' '));
        let rest = kinds.iter().find_map(|kind| line.strip_prefix(kind));
        words(rest.or(variable.map(|(_, rest)| rest))?).next()
    });
    names.collect()
}

#[test]
fn every_file_on_disk_is_part_of_a_module() {
    fn add(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{prefix}{}", path.file_stem().unwrap().to_str().unwrap());
            if path.is_dir() {
                add(&path, &format!("{name}/"), found);
            } else {
                found.insert(name);
            }
        }
    }
    let mut on_disk = BTreeSet::new();
    add(&Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders"), "", &mut on_disk);
    let known: BTreeSet<_> = FILES.iter().map(|(path, _)| path.to_string()).collect();
    assert!(FILES.is_sorted_by_key(|(path, _)| path));
    let unknown: Vec<_> = on_disk.difference(&known).collect();
    assert!(unknown.is_empty(), "src/shared/wgsl.rs does not list {unknown:?}");
    let files = modules().into_iter().flat_map(|(_, files)| files);
    let linked: BTreeSet<_> = files.map(|(path, _)| path.to_owned()).collect();
    let unused: Vec<_> = on_disk.difference(&linked).collect();
    assert!(unused.is_empty(), "no row of the pass table joins {unused:?}");
}

#[test]
fn files_have_the_names_that_they_need_and_use_all_holes() {
    for (name, files) in modules() {
        let all: BTreeSet<_> = files.iter().flat_map(|(_, text)| declared(text)).collect();
        for (path, text) in &files {
            let own = declared(text);
            for needed in link::named(text, "needs") {
                let is_there = all.contains(needed) && !own.contains(needed);
                assert!(is_there, "{path} of {name} needs {needed}");
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
        let code = text.lines().filter(|line| !line.starts_with("//"));
        let used_words: BTreeSet<_> = code.flat_map(words).collect();
        for used in link::named(text, "uses") {
            // Files for the same hole, such as `{entry}`, declare the same names, so any of them will do.
            let is_like = |known: &str| match used.split_once('{') {
                Some((before, rest)) => known.starts_with(before) && known.ends_with(rest.split_once('}').unwrap().1),
                None => known == used,
            };
            let mut likely = FILES.iter().filter(|(known, _)| is_like(known));
            let gives = likely.any(|(_, text)| {
                let names = declared(text);
                names
                    .iter()
                    .any(|name| used_words.contains(name) || needed.contains(name))
            });
            assert!(gives, "{path} uses {used} in vain");
        }
    }
}

#[test]
fn passes_have_names_of_their_own_and_name_their_files_and_switches() {
    let names: BTreeSet<_> = passes().map(|pass| pass.name).collect();
    assert_eq!(names.len(), passes().count());
    for pass in passes() {
        assert!(pass.source().starts_with("// ---- "), "{}", pass.name);
        // `SWEPT` defaults to true, so a pass that misses its switch would always sweep.
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

    let stages: [(&[_], &[_]); 16] = [
        (shape::buffer::ALL, shape::variable::ALL),
        (upload::buffer::ALL, &[]),
        (table::buffer::ALL, table::variable::ALL),
        (table::statics::buffer::ALL, &[]),
        (scan::buffer::ALL, scan::variable::ALL),
        (sort::buffer::ALL, sort::variable::ALL),
        (pairs::buffer::ALL, pairs::variable::ALL),
        (rays::buffer::ALL, rays::variable::ALL),
        (queries::buffer::ALL, queries::variable::ALL),
        (order::buffer::ALL, order::variable::ALL),
        (draw::buffer::ALL, draw::variable::ALL),
        (dispatch::buffer::ALL, dispatch::variable::ALL),
        (&[], input::variable::ALL),
        (&[], component::variable::ALL),
        (events::buffer::ALL, events::variable::ALL),
        (cull::buffer::ALL, cull::variable::ALL),
    ];
    // Events and culling have buffers of their own.
    for own in [&stages[..14], &stages[14..15], &stages[15..]] {
        let names: Vec<_> = own.iter().flat_map(|(buffers, _)| *buffers).map(|id| id.name).collect();
        let distinct: BTreeSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len(), "{names:?}");
    }
    let bindings = passes().flat_map(|pass| pass.bindings());
    let bound: BTreeSet<_> = bindings.map(|(_, _, name)| *name).collect();
    let variables = || stages.iter().flat_map(|(_, variables)| *variables);
    for variable in variables() {
        assert!(bound.contains(variable.0), "{variable:?}");
    }
    // Each bound name is a buffer's name or a variable that the dispatch binds.
    let buffers = stages.iter().flat_map(|(buffers, _)| *buffers);
    let mut known: BTreeSet<_> = buffers.map(|id| id.name).collect();
    assert!(known.len() > 50);
    known.extend(variables().map(|variable| variable.0));
    // The pass of an `ObjectSet` binds these variables itself.
    known.extend(["scatter", "changed_slots", "changed_boxes", "boxes"]);
    let unknown: Vec<_> = bound.difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn bindings_are_read_from_the_text_as_naga_reads_them() {
    for Parsed { pass, module, .. } in parsed() {
        let variables = module.global_variables.iter();
        let declared: BTreeMap<u32, (Binding, &str)> = variables
            .filter_map(|(_, variable)| {
                let resource = variable.binding.as_ref()?;
                assert_eq!(resource.group, 0, "{}", pass.name);
                let kind = match variable.space {
                    AddressSpace::Uniform => Binding::Uniform,
                    AddressSpace::Storage { access } if access.contains(StorageAccess::STORE) => Binding::Write,
                    AddressSpace::Storage { .. } => Binding::Read,
                    other => panic!("{}: {other:?}", pass.name),
                };
                Some((resource.binding, (kind, variable.name.as_deref()?)))
            })
            .collect();
        let bindings = pass.bindings().iter();
        let read: BTreeMap<_, _> = bindings.map(|&(number, kind, name)| (number, (kind, name))).collect();
        assert_eq!(declared, read, "{}", pass.name);
        assert_eq!(declared.len(), pass.bindings().len(), "{}: a number twice", pass.name);
    }
}

#[test]
fn passes_have_one_entry_point_and_keep_baseline_limits() {
    for Parsed { pass, module, .. } in parsed() {
        let name = pass.name;
        assert_eq!(module.entry_points.len(), 1, "{name}");
        assert_eq!(module.entry_points[0].name, "main", "{name}");
        let uniforms = pass.bindings().iter().filter(|(_, kind, _)| *kind == Binding::Uniform);
        let uniforms: Vec<_> = uniforms.map(|(_, _, name)| *name).collect();
        let storage = pass.bindings().len() - uniforms.len();
        assert!(storage <= 8, "{name}: {storage} storage buffers");
        // lavapipe (Mesa 22.3) overwrites memory if a condition compares words of a fourth uniform block.
        let further = uniforms.get(3..).unwrap_or_default();
        assert!([&[][..], &["exclusions"]].contains(&further), "{name}: {uniforms:?}");
        let size = module.entry_points[0].workgroup_size;
        assert!(size.iter().product::<u32>() <= 256 && size[2] <= 64, "{name}: {size:?}");
        let mut layouter = naga::proc::Layouter::default();
        layouter.update(module.to_ctx()).unwrap();
        let variables = module.global_variables.iter().map(|(_, variable)| variable);
        let of_group = variables.filter(|variable| variable.space == AddressSpace::WorkGroup);
        let memory: u32 = of_group
            .map(|variable| layouter[variable.ty].size.next_multiple_of(16))
            .sum();
        assert!(memory <= 16_384, "{name}: {memory} bytes of workgroup memory");
    }
}

fn wgsl_struct(name: &str) -> (u32, Vec<&'static str>, Vec<u32>) {
    let mut types = parsed().iter().flat_map(|parsed| parsed.module.types.iter());
    let found = types.find_map(|(_, ty)| match &ty.inner {
        TypeInner::Struct { members, span } if ty.name.as_deref() == Some(name) => {
            let member = |member: &'static naga::StructMember| (member.name.as_deref().unwrap(), member.offset);
            let (names, offsets) = members.iter().map(member).unzip();
            Some((*span, names, offsets))
        }
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no pass declares {name}"))
}

/// Uniform blocks are written field by field, in the order of the source. `Level` and `Grid` are copied.
#[test]
fn structs_have_the_fields_of_the_shaders() {
    let sources = [
        include_str!("../layout/blocks.rs"),
        include_str!("../layout/grid.rs"),
        include_str!("../shared/source.rs"),
    ];
    let mut missing: BTreeSet<_> = uniform_fields().into_keys().collect();
    missing.extend(["Level", "Grid"].map(str::to_owned));
    for text in sources.iter().flat_map(|text| text.split("pub struct ").skip(1)) {
        let (name, rest) = text.split_once(" {").unwrap();
        if !missing.remove(name) {
            continue;
        }
        let lines = rest.split("\n}").next().unwrap().lines();
        let fields = lines.filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(": "));
        let (fields, kinds): (Vec<_>, Vec<_>) = fields.unzip();
        let is_scalar = |kind: &&&str| ["u32,", "i32,", "f32,"].contains(kind);
        let scalars = kinds.iter().take_while(is_scalar).count();
        let (size, members, offsets) = wgsl_struct(name);
        assert_eq!(members, fields, "{name}");
        assert!(
            offsets[..scalars]
                .iter()
                .copied()
                .eq((0..4 * scalars as u32).step_by(4)),
            "{name}"
        );
        let expected = match name {
            "Level" => size_of::<Level>(),
            "Grid" => offset_of!(Grid, levels) - 4 * scalars + size_of::<Grid>(),
            _ => 4 * fields.len(),
        };
        assert_eq!(size as usize, expected, "{name}");
    }
    assert!(missing.is_empty(), "{missing:?}");
}

/// Returns the fields of each uniform block, and true for those that some pass reads.
fn uniform_fields() -> BTreeMap<String, BTreeMap<String, bool>> {
    let mut blocks: BTreeMap<String, BTreeMap<String, bool>> = BTreeMap::new();
    for parsed in parsed() {
        let Parsed { pass, module, .. } = parsed;
        let mut read = BTreeSet::new();
        for (function, info) in parsed.functions() {
            for (_, expression) in function.expressions.iter() {
                if let Expression::AccessIndex { base, index } = *expression
                    && let TypeResolution::Handle(block) | TypeResolution::Value(TypeInner::Pointer { base: block, .. }) =
                        info[base].ty
                {
                    read.insert((block, index));
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
                let is_read = fields.entry(member.name.clone().unwrap()).or_default();
                *is_read |= read.contains(&(variable.ty, index));
            }
        }
    }
    blocks
}

#[test]
fn uniform_blocks_are_small_and_passes_read_every_field() {
    for (block, fields) in uniform_fields() {
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
        let one_each = "KEYS_PER_THREAD,ROW_ITERATIONS,SORT_TILE,SORT_WORKGROUP,STATIC_CACHED";
        let one_each = one_each.split(',').any(|one| one == name);
        let alike = values.windows(2).all(|pair| pair[0].1 == pair[1].1);
        assert!(alike || one_each, "{name}: {values:?}");
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    /// By an integer operation.
    Settled,
    /// Bits of a float result.
    Bits,
    Float,
}

#[derive(Clone, PartialEq, Eq)]
struct Origins {
    expressions: Vec<Origin>,
    locals: Vec<Origin>,
    result: Origin,
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
        let mut origins = Origins {
            expressions: vec![Origin::Settled; function.expressions.len()],
            locals: vec![Origin::Settled; function.local_variables.len()],
            result: Origin::Settled,
        };
        loop {
            let before = origins.clone();
            let (count, operations) = (self.chained.len(), self.operations);
            self.evaluate(function, info, arguments, &mut origins);
            self.run(&function.body, function, &mut origins);
            if before == origins {
                return origins.result;
            }
            self.chained.truncate(count);
            self.operations = operations;
        }
    }

    fn evaluate(&mut self, function: &Function, info: &FunctionInfo, arguments: &[Origin], origins: &mut Origins) {
        for (handle, expression) in function.expressions.iter() {
            let of = |part: &naga::Handle<Expression>| origins.expressions[part.index()];
            let most = |parts: &[naga::Handle<Expression>]| parts.iter().map(of).max().unwrap_or(Origin::Settled);
            let gives_float = self.is_float(info, handle);
            let mut operands = Vec::new();
            let origin = match expression {
                Expression::FunctionArgument(index) => arguments[*index as usize],
                Expression::LocalVariable(variable) => origins.locals[variable.index()],
                Expression::Load { pointer } => of(pointer),
                Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => of(base),
                Expression::Splat { value, .. } => of(value),
                Expression::Swizzle { vector, .. } => of(vector),
                Expression::Compose { components, .. } => most(components),
                Expression::CallResult(_) => of(&handle),
                Expression::As {
                    expr, convert: None, ..
                } => match of(expr) {
                    Origin::Settled => Origin::Settled,
                    _ if gives_float => Origin::Float,
                    _ => Origin::Bits,
                },
                // `select` is an integer operation, but it passes float results through.
                Expression::Select { accept, reject, .. } if gives_float => most(&[*accept, *reject]),
                Expression::As { expr, .. } | Expression::Unary { expr, .. } => {
                    operands.push(*expr);
                    Origin::Float
                }
                Expression::Binary { left, right, .. } => {
                    operands.extend([*left, *right]);
                    Origin::Float
                }
                Expression::Math { arg, arg1, arg2, .. } => {
                    operands.extend([arg].into_iter().chain(arg1).chain(arg2));
                    Origin::Float
                }
                _ => Origin::Settled,
            };
            let takes_floats = operands.iter().any(|&operand| self.is_float(info, operand));
            let is_operation = !operands.is_empty();
            if is_operation && (takes_floats || gives_float) {
                self.operations += 1;
                if most(&operands) != Origin::Settled {
                    self.chained.push(format!("{:?}: {expression:?}", function.name));
                }
            }
            let is_settled = is_operation && !gives_float;
            origins.expressions[handle.index()] = if is_settled { Origin::Settled } else { origin };
        }
    }

    fn run(&mut self, block: &naga::Block, function: &Function, origins: &mut Origins) {
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
                        let local = &mut origins.locals[variable.index()];
                        *local = (*local).max(origins.expressions[value.index()]);
                    }
                }
                Statement::Call {
                    function: called,
                    arguments,
                    result,
                } => {
                    let arguments = arguments.iter().map(|argument| origins.expressions[argument.index()]);
                    let origin = self.returned(*called, &arguments.collect::<Vec<_>>());
                    if let Some(result) = result {
                        origins.expressions[result.index()] = origin;
                    }
                }
                Statement::Return { value: Some(value) } => {
                    origins.result = origins.result.max(origins.expressions[value.index()]);
                }
                _ => {}
            }
            for inner in inner_blocks(statement) {
                self.run(inner, function, origins);
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
        let entry = &module.entry_points[0].function;
        flow.flow(entry, info.get_entry_point(0), &[Origin::Settled; 8]);
    } else {
        let named = |function: &Function| function.name.as_deref() == Some(name);
        let (handle, _) = module.functions.iter().find(|(_, function)| named(function))?;
        flow.returned(handle, &[Origin::Settled; 16]);
    }
    Some((flow.chained, flow.operations))
}

#[test]
fn box_tests_of_pairs_use_integers_only() {
    const WITHOUT_TEST: [&str; 3] = ["pair_replay", "pair_emit_cached", "pair_exclude"];
    let of_pairs = |name: &str| name.starts_with("pair_") && !WITHOUT_TEST.contains(&name);
    for Parsed { pass, module, info } in parsed().iter().filter(|parsed| of_pairs(parsed.pass.name)) {
        let operations = chained_floats(module, info, "overlaps").map(|(_, operations)| operations);
        assert_eq!(operations, Some(0), "{}", pass.name);
        assert!(pass.source().matches("overlaps(").count() > 1, "{}", pass.name);
    }
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
        let Parsed { pass, module, info } = parsed().iter().find(|parsed| parsed.pass.name == pass).unwrap();
        let (mut chained, operations) = chained_floats(module, info, function).unwrap();
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
    for body in [
        "return a * b + a;",
        "return flush(a - b) * a;",
        "var x = a; for (var i = 0; i < 2; i += 1) { x = x + b; } return x;",
        "return bitcast<f32>(bitcast<u32>(a - b)) * a;",
        "let x = vec2<f32>(a - b, b); if (x.x > 1.0) { return a; } return b;",
    ] {
        assert!(chains(body), "{body}");
    }
    assert!(!chains("return bitcast<f32>(bitcast<u32>(a - b) & 0x7fffffffu) * a;"));
    assert!(!chains("return select(a + b, a * b, a < b);"));
}

#[test]
fn every_pass_translates_to_hlsl_and_msl() {
    use naga::back::{hlsl, msl, pipeline_constants};

    for Parsed { pass, module, info } in parsed() {
        let name = pass.name;
        let (module, info) = pipeline_constants::process_overrides(module, info, None, &Default::default()).unwrap();
        let options = hlsl::Options {
            fake_missing_bindings: true,
            ..Default::default()
        };
        let (mut text, of_pipeline) = (String::new(), Default::default());
        let written = hlsl::Writer::new(&mut text, &options, &of_pipeline).write(&module, &info, None);
        assert!(written.is_ok() && text.contains("numthreads"), "{name} to HLSL");

        let options = msl::Options {
            fake_missing_bindings: true,
            ..Default::default()
        };
        let written = msl::write_string(&module, &info, &options, &Default::default());
        assert!(written.is_ok_and(|(text, _)| text.contains("kernel")), "{name} to MSL");
    }
}
