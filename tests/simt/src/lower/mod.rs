//! Lowers naga's IR to flat code: calls are inlined, vectors become scalars, control flow becomes lane masks.

mod effects;
mod expressions;
mod flow;
mod fold;
mod memory;
mod registers;
mod statements;

use std::collections::{BTreeSet, HashMap, HashSet};

use naga::valid::{Capabilities, FunctionInfo, ModuleInfo, ValidationFlags, Validator};
use naga::{
    AddressSpace, ArraySize, BuiltIn, Expression, Function, GlobalVariable, Handle, Literal, LocalVariable, Module,
    Scalar, Type, TypeInner, VectorSize,
};

use crate::code::{Buffer, BufferKind, K, Program, bin, tri, un};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum V {
    C(u32),
    R(u32),
}

#[derive(Clone, Debug)]
enum Val {
    Comps(Vec<V>),
    Ptr(Ptr),
}

#[derive(Clone, Copy, Debug)]
enum Root {
    /// First register of an invocation's variable, and its length.
    Local {
        block: u32,
        len: u32,
    },
    Buffer(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stored {
    Local(Handle<naga::LocalVariable>),
    Private(Handle<GlobalVariable>),
    Argument(u32),
}

#[derive(Clone, Copy, Debug)]
enum PtrTy {
    Ty(Handle<Type>),
    Scalar,
}

/// Pointer to the words from `dynamic + off` on.
#[derive(Clone, Debug)]
struct Ptr {
    root: Root,
    off: u32,
    dynamic: Option<V>,
    ty: PtrTy,
}

#[derive(Clone, Debug, Default)]
pub struct Mem {
    pub buffer: u32,
    pub dynamic: Option<V>,
    pub offs: Vec<u32>,
}

#[derive(Clone, Debug)]
pub struct LOp {
    pub k: K,
    pub d: Vec<u32>,
    pub s: Vec<V>,
    pub imm: u32,
    pub imm2: u32,
    pub mem: Option<Mem>,
    pub block: Option<(u32, u32)>,
    pub line: u32,
}

struct Frame<'m> {
    function: &'m Function,
    info: &'m FunctionInfo,
    vals: HashMap<Handle<Expression>, Val>,
    locals: HashMap<Handle<LocalVariable>, (u32, u32)>,
    args: Vec<Val>,
    /// Results of a function with early returns.
    ret: Option<(Vec<u32>, u32)>,
    direct: Option<Vec<V>>,
}

type Known = HashMap<u32, V>;

#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Alu(K, Vec<V>),
    Load(u32, Option<V>, Vec<u32>),
}

pub struct Lowerer<'m> {
    module: &'m Module,
    info: &'m ModuleInfo,
    line_starts: Vec<usize>,
    ops: Vec<LOp>,
    next: u32,
    known: Known,
    cse: Vec<HashMap<Key, Vec<u32>>>,
    /// Jumps to the next join, whose target is patched there, by nesting depth.
    joins: Vec<Vec<usize>>,
    slot: u32,
    slots: u32,
    line: u32,
    loops: Vec<u32>,
    buffers: Vec<Buffer>,
    buffer_of: HashMap<Handle<GlobalVariable>, u32>,
    privates: HashMap<Handle<GlobalVariable>, (u32, u32)>,
    builtins: Vec<(BuiltIn, u32, u32)>,
    /// Registers that a speculated block stores to.
    spec: Option<BTreeSet<u32>>,
    stores_of_function: HashMap<Handle<Function>, HashSet<Stored>>,
    keep_loads: bool,
}

fn words_of(size: VectorSize) -> u32 {
    size as u32
}
impl<'m> Lowerer<'m> {
    fn layout(&self, ty: Handle<Type>) -> Vec<u32> {
        match &self.module.types[ty].inner {
            TypeInner::Scalar(_) | TypeInner::Atomic(_) => vec![0],
            TypeInner::Vector { size, .. } => (0..words_of(*size)).collect(),
            TypeInner::Array { base, size, stride } => {
                let ArraySize::Constant(count) = size else {
                    panic!("a value of a runtime array")
                };
                let inner = self.layout(*base);
                (0..count.get())
                    .flat_map(|i| inner.iter().map(move |word| i * (stride / 4) + word))
                    .collect()
            }
            TypeInner::Struct { members, .. } => members
                .iter()
                .flat_map(|member| {
                    let first = member.offset / 4;
                    self.layout(member.ty).into_iter().map(move |word| first + word)
                })
                .collect(),
            other => panic!("type {other:?}"),
        }
    }

    fn comps(&self, ty: Handle<Type>) -> u32 {
        match &self.module.types[ty].inner {
            TypeInner::Scalar(_) | TypeInner::Atomic(_) => 1,
            TypeInner::Vector { size, .. } => words_of(*size),
            TypeInner::Array { base, size, .. } => {
                let ArraySize::Constant(count) = size else {
                    panic!("a value of a runtime array")
                };
                count.get() * self.comps(*base)
            }
            TypeInner::Struct { members, .. } => members.iter().map(|member| self.comps(member.ty)).sum(),
            other => panic!("type {other:?}"),
        }
    }

    fn inner(&self, frame: &Frame<'m>, expr: Handle<Expression>) -> TypeInner {
        frame.info[expr].ty.inner_with(&self.module.types).clone()
    }

    fn scalar_of(inner: &TypeInner) -> Scalar {
        match inner {
            TypeInner::Scalar(scalar) | TypeInner::Vector { scalar, .. } => *scalar,
            other => panic!("no scalar: {other:?}"),
        }
    }

    fn line_at(&self, span: naga::Span) -> u32 {
        match span.to_range() {
            Some(range) => self.line_starts.partition_point(|&start| start <= range.start) as u32,
            None => self.line,
        }
    }

    fn fresh(&mut self, count: u32) -> u32 {
        let first = self.next;
        self.next += count;
        first
    }

    fn push(&mut self, k: K, d: Vec<u32>, s: Vec<V>) -> usize {
        self.ops.push(LOp {
            k,
            d,
            s,
            imm: 0,
            imm2: 0,
            mem: None,
            block: None,
            line: self.line,
        });
        self.ops.len() - 1
    }

    fn alu(&mut self, k: K, s: &[V]) -> V {
        let constant: Option<Vec<u32>> = s
            .iter()
            .map(|v| if let V::C(c) = v { Some(*c) } else { None })
            .collect();
        if let Some(c) = constant {
            return V::C(match c.len() {
                1 => un(k, c[0]),
                2 => bin(k, c[0], c[1]),
                _ => tri(k, c[0], c[1], c[2]),
            });
        }
        match (k, s) {
            (K::Sel, &[V::C(c), a, b]) => return if c != 0 { a } else { b },
            (K::Sel, &[_, a, b]) if a == b => return a,
            (K::Sel, &[c, V::C(1), V::C(0)]) => return c,
            (K::IAdd | K::Or | K::Xor | K::ISub | K::Shl | K::ShrU | K::ShrS, &[a, V::C(0)]) => return a,
            (K::IAdd | K::Or | K::Xor, &[V::C(0), a]) => return a,
            (K::IMul, &[a, V::C(1)] | &[V::C(1), a]) => return a,
            (K::IMul | K::And, &[_, V::C(0)] | &[V::C(0), _]) => return V::C(0),
            (K::DivU, &[a, V::C(1)]) => return a,
            (K::LNot, &[V::R(_)]) | (_, _) => {}
        }
        let key = Key::Alu(k, s.to_vec());
        if let Some(found) = self.cse.iter().rev().find_map(|scope| scope.get(&key)) {
            return V::R(found[0]);
        }
        let d = self.fresh(1);
        self.push(k, vec![d], s.to_vec());
        self.cse.last_mut().unwrap().insert(key, vec![d]);
        V::R(d)
    }

    fn patch(&mut self, pending: Vec<usize>) {
        let target = self.ops.len() as u32;
        for at in pending {
            self.ops[at].imm2 = target;
        }
    }

    fn take_slots(&mut self, count: u32) -> u32 {
        let first = self.slot;
        self.slot += count;
        self.slots = self.slots.max(self.slot);
        first
    }

    fn constant_literal(literal: &Literal) -> u32 {
        match *literal {
            Literal::F32(value) => value.to_bits(),
            Literal::U32(value) => value,
            Literal::I32(value) => value as u32,
            Literal::Bool(value) => value.into(),
            Literal::AbstractInt(value) => value as u32,
            Literal::AbstractFloat(value) => (value as f32).to_bits(),
            ref other => panic!("literal {other:?}"),
        }
    }

    fn global_const(&self, expr: Handle<Expression>) -> Vec<V> {
        match &self.module.global_expressions[expr] {
            Expression::Literal(literal) => vec![V::C(Self::constant_literal(literal))],
            Expression::Constant(constant) => self.global_const(self.module.constants[*constant].init),
            Expression::ZeroValue(ty) => vec![V::C(0); self.comps(*ty) as usize],
            Expression::Compose { components, .. } => components
                .iter()
                .flat_map(|&component| self.global_const(component))
                .collect(),
            Expression::Splat { size, value } => {
                let value = self.global_const(*value)[0];
                vec![value; words_of(*size) as usize]
            }
            other => panic!("constant {other:?}"),
        }
    }
}

/// `keep_loads` keeps loads whose values are unused.
pub fn lower(name: &str, source: &str, constants: &[(&str, u32)], keep_loads: bool) -> Program {
    let module =
        naga::front::wgsl::parse_str(source).unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(source)));
    let validate = |module: &Module| {
        Validator::new(ValidationFlags::all(), Capabilities::all())
            .validate(module)
            .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(source)))
    };
    let info = validate(&module);
    let constants: naga::back::PipelineConstants = constants
        .iter()
        .map(|&(name, value)| (name.to_owned(), f64::from(value)))
        .collect();
    let (module, info) = naga::back::pipeline_constants::process_overrides(
        &module,
        &info,
        Some((naga::ShaderStage::Compute, "main")),
        &constants,
    )
    .unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut module = module.into_owned();
    fold::take_known_branches(&mut module);
    let entry = module
        .entry_points
        .iter()
        .find(|entry| entry.name == "main")
        .expect("main");
    let mut lowerer = Lowerer {
        module: &module,
        info: &info,
        line_starts: std::iter::once(0)
            .chain(source.match_indices('\n').map(|(at, _)| at + 1))
            .collect(),
        ops: Vec::new(),
        next: 0,
        known: HashMap::new(),
        cse: vec![HashMap::new()],
        joins: vec![Vec::new()],
        slot: 0,
        slots: 0,
        line: 0,
        loops: Vec::new(),
        buffers: Vec::new(),
        buffer_of: HashMap::new(),
        privates: HashMap::new(),
        builtins: Vec::new(),
        spec: None,
        stores_of_function: HashMap::new(),
        keep_loads,
    };
    let mut bank_base = 0;
    for (handle, variable) in module.global_variables.iter() {
        let name = variable.name.clone().unwrap_or_default();
        let (kind, words) = match variable.space {
            AddressSpace::Private => {
                let len = lowerer.comps(variable.ty);
                let block = lowerer.fresh(len);
                lowerer.privates.insert(handle, (block, len));
                let init = match variable.init {
                    None => vec![V::C(0); len as usize],
                    Some(init) => lowerer.global_const(init),
                };
                for (row, value) in (block..).zip(init) {
                    lowerer.known.insert(row, value);
                    lowerer.push(K::Init, vec![row], vec![value]);
                }
                continue;
            }
            AddressSpace::WorkGroup => {
                let size = module.types[variable.ty].inner.size(module.to_ctx());
                (BufferKind::Workgroup, size.div_ceil(4))
            }
            AddressSpace::Uniform => (BufferKind::Uniform, 0),
            AddressSpace::Storage { access } if access.contains(naga::StorageAccess::STORE) => (BufferKind::Write, 0),
            AddressSpace::Storage { .. } => (BufferKind::Read, 0),
            other => panic!("{other:?}"),
        };
        let [group, binding] = (variable.binding).map_or([u32::MAX; 2], |bound| [bound.group, bound.binding]);
        lowerer.buffer_of.insert(handle, lowerer.buffers.len() as u32);
        lowerer.buffers.push(Buffer {
            name,
            group,
            binding,
            kind,
            words,
            bank_base,
        });
        if kind == BufferKind::Workgroup {
            bank_base += words.next_multiple_of(4);
        }
    }
    let mut args = Vec::new();
    for argument in &entry.function.arguments {
        let Some(naga::Binding::BuiltIn(builtin)) = argument.binding else {
            panic!("{name}: an argument")
        };
        let comps = lowerer.comps(argument.ty);
        let first = lowerer.fresh(comps);
        for comp in 0..comps {
            lowerer.builtins.push((builtin, comp, first + comp));
            let at = lowerer.push(K::Builtin, vec![first + comp], vec![]);
            lowerer.ops[at].imm = lowerer.builtins.len() as u32 - 1;
        }
        args.push(Val::Comps((first..first + comps).map(V::R).collect()));
    }
    let entry_info = info.get_entry_point(
        module
            .entry_points
            .iter()
            .position(|entry| entry.name == "main")
            .unwrap(),
    );
    lowerer.call(&entry.function, entry_info, None, args);
    let pending = lowerer.joins.pop().unwrap();
    lowerer.patch(pending);
    lowerer.push(K::Exit, vec![], vec![]);
    let size = entry.workgroup_size;
    registers::finish(lowerer, size.iter().product(), name, source)
}
