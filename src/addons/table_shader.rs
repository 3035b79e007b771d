use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::{InputError, StepError};
use crate::gpu::bindings::RangeRef;
use crate::gpu::link;
use crate::gpu::scope::Scopes;
use crate::layout::grid;
use crate::shared::wgsl::File;
use crate::step::output::{Table, TableKind, table_kind};

/// WGSL that lets your own shaders search the table of a step.
///
/// For compute, vertex and fragment shaders.
///
/// Put [`source`](Self::source) before your WGSL in one module, or after it if yours begins with directives such as
/// `enable`. It declares one bind group, and all its names begin with your prefix. With prefix `bp_`:
///
/// | WGSL | |
/// |---|---|
/// | `bp_box_query(lower: vec3f, upper: vec3f) -> bp_Query` | objects that meet a closed box, as [`Queries::Boxes`](crate::Queries::Boxes) |
/// | `bp_sphere_query(center: vec3f, radius: f32) -> bp_Query` | objects within a radius, as [`Query::sphere`](crate::Query::sphere) |
/// | `bp_query_of(low: vec4u, high: vec4u, radius_bits: u32, world: u32) -> bp_Query` | query from the words of an [`Aabb`](crate::Aabb) with layers and group, radius, world |
/// | `bp_begin_walk(query: bp_Query) -> bp_Walk` | walk before its first object |
/// | `bp_next_object(&walk) -> bool` | moves to the next object; false at the end |
/// | `bp_walk_is_complete(&walk) -> bool` | true if the walk reached its end, so missed nothing |
/// | `walk.object`, `walk.squared_distance`, `walk.record` | current object, its squared distance (0 for radius 0), its record |
/// | `bp_record_min(record: u32) -> vec3f`, `bp_record_max` | corners of a record's box |
/// | `bp_first_level() -> u32`, `bp_level_after(level: u32)` | levels with objects, then `bp_NO_LEVEL` at the end |
/// | `bp_cell_size(level: u32) -> vec3f` | side lengths of a level's cells |
/// | `bp_cell_at(level: u32, position: vec3f) -> vec3i` | cell that contains a position |
/// | `bp_cell_entries(level: u32, cell: vec3i, world: u32) -> vec2u` | range `[first, end)` that includes all entries of the cell |
/// | `bp_is_in_cell(level: u32, entry: u32, cell: vec3i, world: u32) -> bool` | true if the entry is in the cell; hashed cells share buckets |
/// | `bp_entry_record(entry: u32) -> u32`, `bp_record_object(record: u32) -> u32` | record of an entry, object of a record |
///
/// Each object is found once, in no defined order. Layers and groups apply if filters are on. Object indices are those
/// of results, static objects first, in either table.
///
/// Walks are not split into rounds: a large query may take a few times as long as a test of every object. Mesa's
/// software drivers silently end loops after 65,535 iterations, summed over a few invocations. `bp_walk_is_complete` is
/// then false, as after a `break` of your loop.
///
/// Static objects have their own table, [`StepOutput::static_table`](crate::StepOutput::static_table). Search it in a
/// second dispatch or, with [`second_table`](Self::second_table), in the same one. WebGPU guarantees eight storage
/// buffers per stage; tables use:
///
/// | storage buffers | most schemes | without [`filters`](BroadPhaseDescriptor::filters) | [`Scheme::Uniform`](crate::Scheme::Uniform) |
/// |---|---|---|---|
/// | one table | 3 | 2 | 4 |
/// | both, with [`second_table`](Self::second_table) | 5 | 4 | 7 |
///
/// # Rays
///
/// [`with_rays`](Self::with_rays) and [`with_swept_rays`](Self::with_swept_rays) add rays, without more buffers:
///
/// | WGSL | |
/// |---|---|
/// | `bp_ray(origin: vec3f, direction: vec3f, t_max: f32) -> bp_Ray` | as [`Ray::new`](crate::Ray::new) |
/// | `bp_ray_of(head: vec4u, tail: vec4u, sweep: vec4u, world: u32) -> bp_Ray` | ray from a [`SweptRay`](crate::SweptRay)'s words: origin and `t_max`, direction and layers, half extents and `t_min`, world |
/// | `bp_closest_hit(ray: bp_Ray) -> bp_Hit` | hit with the smallest `t`, then the smallest object |
/// | `bp_any_hit(ray: bp_Ray) -> bp_Hit` | first hit found |
/// | `hit.is_hit`, `hit.is_complete` | true if the ray hits an object; true if no loop was cut |
/// | `hit.object`, `hit.t`, `hit.record` | object, `t` where the ray enters its box, its record; without a hit, `bp_NO_OBJECT` and the largest float |
/// | `bp_begin_cast(ray: bp_Ray) -> bp_Cast` | cast before the first of all hits |
/// | `bp_next_hit(&hits) -> bool` | moves to the next hit; false at the end |
/// | `bp_cast_is_complete(&hits) -> bool` | true if the cast reached its end, so missed nothing |
/// | `hits.object`, `hits.t`, `hits.record` | current hit; hits have no defined order |
///
/// [`shape_rays`](Self::shape_rays) and [`shape_queries`](Self::shape_queries) end at shapes of your own.
///
/// Rules are those of [`Ray`](crate::Ray) and [`SweptRay`](crate::SweptRay); invalid rays hit nothing. `t` has the same
/// bits as in [`RayHit`](crate::RayHit), except that [`RayHit::MISS`](crate::RayHit::MISS) is infinite. No variable can
/// be named `cast`: WGSL reserves this word.
///
/// For both tables, cast the same ray in each and take the hit with the smaller `t`, then the smaller object. Do not
/// shorten `t_max` for the second cast: `t` is clamped to it.
///
/// ```
/// # use gpu_broad_phase::{BroadPhaseDescriptor, InputError, StepError, StepOutput, TableShader, wgpu};
/// /// The two texts, and the whole shader.
/// fn shader(descriptor: &BroadPhaseDescriptor<'_>) -> Result<([TableShader; 2], String), InputError> {
///     let moving = TableShader::with_rays(descriptor, "bp_", 1)?;
///     let fixed = moving.second_table("static_", 2)?;
///     let own = "
///         struct Sight {
///             eye: vec3f,
///             distance: f32,
///             direction: vec3f,
///             object: u32,
///         }
///         @group(0) @binding(0) var<storage, read_write> sights: array<Sight>;
///
///         @compute @workgroup_size(64)
///         fn main(@builtin(global_invocation_id) id: vec3u) {
///             if (id.x >= arrayLength(&sights)) {
///                 return;
///             }
///             let eye = sights[id.x].eye;
///             let direction = sights[id.x].direction;
///             let moving = bp_closest_hit(bp_ray(eye, direction, 1000.0));
///             let fixed = static_closest_hit(static_ray(eye, direction, 1000.0));
///             // Without a hit `t` is the largest float. Static objects have the smaller numbers.
///             let is_fixed = fixed.t <= moving.t;
///             sights[id.x].object = select(moving.object, fixed.object, is_fixed);
///             sights[id.x].distance = min(moving.t, fixed.t);
///         }";
///     let text = format!("{}{}{own}", moving.source(), fixed.source());
///     Ok(([moving, fixed], text))
/// }
///
/// /// Once: the layouts of groups 1 and 2 of the pipeline.
/// fn layouts(texts: &[TableShader; 2], device: &wgpu::Device) -> [wgpu::BindGroupLayout; 2] {
///     texts.each_ref().map(|text| text.layout(device, wgpu::ShaderStages::COMPUTE))
/// }
///
/// /// In each frame, behind the step.
/// fn bind(
///     [moving, fixed]: &[TableShader; 2],
///     layouts: &[wgpu::BindGroupLayout; 2],
///     step: &StepOutput,
/// ) -> Result<[wgpu::BindGroup; 2], StepError> {
///     // A step without static objects has no such table. With the other one in its place objects are found twice.
///     let static_table = step.static_table.as_ref().unwrap_or(&step.table);
///     Ok([moving.bind(&layouts[0], &step.table)?, fixed.bind(&layouts[1], static_table)?])
/// }
/// # let (_, text) = shader(&BroadPhaseDescriptor::default()).unwrap();
/// # let module = naga::front::wgsl::parse_str(&text).unwrap();
/// # let mut validator = naga::valid::Validator::new(Default::default(), naga::valid::Capabilities::all());
/// # validator.validate(&module).unwrap();
/// ```
///
/// `bp_cell_entries` omits objects on the large list or of all worlds, which are in no cell, and, except in the uniform
/// scheme, boxes that only reach in from another cell; walks find both. With
/// [`Status::ENTRIES`](crate::Status::ENTRIES), the table lacks objects.
///
/// ```no_run
/// # use gpu_broad_phase::{GpuBroadPhase, StepOutput, TableShader, wgpu};
/// # fn frame(device: &wgpu::Device, broad_phase: &GpuBroadPhase, step: &StepOutput, own: &wgpu::BindGroupLayout)
/// #     -> Result<(), Box<dyn std::error::Error>> {
/// let table = TableShader::new(&broad_phase.descriptor(), "bp_", 1)?;
/// let own_source = "
///     @group(0) @binding(0) var<storage, read> probes: array<vec4f>;
///     @group(0) @binding(1) var<storage, read_write> crowds: array<u32>;
///
///     @compute @workgroup_size(64)
///     fn main(@builtin(global_invocation_id) id: vec3u) {
///         if (id.x >= arrayLength(&probes)) {
///             return;
///         }
///         var walk = bp_begin_walk(bp_sphere_query(probes[id.x].xyz, probes[id.x].w));
///         while (bp_next_object(&walk)) {
///             crowds[id.x] += 1u;
///         }
///     }";
/// let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
///     label: Some("probes"),
///     source: wgpu::ShaderSource::Wgsl(format!("{}{own_source}", table.source()).into()),
/// });
/// let layout = table.layout(device, wgpu::ShaderStages::COMPUTE);
/// let pipeline = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
///     label: Some("probes"),
///     bind_group_layouts: &[Some(own), Some(&layout)],
///     immediate_size: 0,
/// });
/// // In each frame, behind the step:
/// let group = table.bind(&layout, &step.table)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableShader {
    kind: TableKind,
    casts: Casts,
    prefix: String,
    objects: String,
    /// True if this text uses the objects binding that the first table's text declares.
    borrows_objects: bool,
    source: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Casts {
    None,
    Plain,
    Swept,
}

const OBJECTS: &str = "objects";
const VALUES: &str = "values";
/// Ends lines of the texts of shapes that need a second table.
const SECOND: &str = " // second";

impl TableShader {
    /// Creates the text for this descriptor's scheme and [`filters`](BroadPhaseDescriptor::filters). Its names begin
    /// with `prefix`; its bindings are in `group`.
    ///
    /// # Errors
    /// [`InputError::Prefix`](crate::InputError::Prefix): `prefix` is not made of ASCII letters, digits and `_`, or
    /// does not begin with a letter or a single `_`. Also if it turns one name of the text into another, as `un` turns
    /// `ordered` into `unordered`.
    pub fn new(descriptor: &BroadPhaseDescriptor<'_>, prefix: &str, group: u32) -> Result<Self, InputError> {
        Self::write(table_kind(descriptor), Casts::None, prefix, group, None)
    }

    /// As [`new`](Self::new), and adds rays with layers, a `t_min` and a world. Half extents are ignored.
    ///
    /// # Errors
    /// [`InputError::Prefix`](crate::InputError::Prefix): as [`new`](Self::new).
    pub fn with_rays(descriptor: &BroadPhaseDescriptor<'_>, prefix: &str, group: u32) -> Result<Self, InputError> {
        Self::write(table_kind(descriptor), Casts::Plain, prefix, group, None)
    }

    /// As [`with_rays`](Self::with_rays), but each ray may sweep a box. Box tests take longer.
    ///
    /// # Errors
    /// [`InputError::Prefix`](crate::InputError::Prefix): as [`new`](Self::new).
    pub fn with_swept_rays(
        descriptor: &BroadPhaseDescriptor<'_>,
        prefix: &str,
        group: u32,
    ) -> Result<Self, InputError> {
        Self::write(table_kind(descriptor), Casts::Swept, prefix, group, None)
    }

    /// Creates the text for a second table in the same module, such as the static table of the same broad phase. It
    /// shares this text's object binding and ray support.
    ///
    /// # Errors
    /// [`InputError::Prefix`](crate::InputError::Prefix): as [`new`](Self::new), or both texts have a name in common.
    pub fn second_table(&self, prefix: &str, group: u32) -> Result<Self, InputError> {
        Self::write(self.kind, self.casts, prefix, group, Some(self))
    }

    fn write(
        kind: TableKind,
        casts: Casts,
        prefix: &str,
        group: u32,
        first: Option<&Self>,
    ) -> Result<Self, InputError> {
        let mut text = link::join(&files(casts), None);
        for (name, value) in [
            ("SCHEME: u32", format!("{}u", kind.0)),
            ("FILTERS: bool", kind.1.to_string()),
            ("COUNT_CANDIDATES: bool", false.to_string()),
            ("WORLDS: bool", true.to_string()),
            ("SWEPT: bool", (casts == Casts::Swept).to_string()),
        ] {
            text = with_constant(&text, name, &value);
        }
        // A uniform block leaves one more storage buffer to the caller.
        text = text.replace("var<storage, read> grid:", "var<uniform> grid:");
        // Code that reads the unbound variables is unreachable.
        if !reads_objects(kind) {
            text = unbound(&text, OBJECTS, "vec4<u32>");
        }
        if !reads_values(kind) {
            text = unbound(&text, VALUES, "u32");
        }
        let own_objects = format!("{prefix}{OBJECTS}");
        let mut names: Vec<_> = declared(&text)
            .into_iter()
            .map(|name| (name.to_owned(), format!("{prefix}{name}")))
            .collect();
        let is_used = |of: &str| words(of).any(|word| names.iter().any(|(_, name)| name == word));
        if !begins_names(prefix) || is_used(&text) || first.is_some_and(|first| is_used(&first.source)) {
            return Err(InputError::Prefix {
                prefix: prefix.to_owned(),
            });
        }
        let objects = first.map_or(own_objects.clone(), |first| first.objects.clone());
        if first.is_some() {
            let lines = text.lines().filter(|line| !declares(line, OBJECTS));
            text = lines.map(|line| format!("{line}\n")).collect();
            for (_, name) in names.iter_mut().filter(|(_, name)| *name == own_objects) {
                name.clone_from(&objects);
            }
        }
        Ok(Self {
            kind,
            casts,
            prefix: prefix.to_owned(),
            borrows_objects: first.is_some(),
            objects,
            source: renamed(&text, &names).replace("@group(0)", &format!("@group({group})")),
        })
    }

    /// Returns WGSL for rays that end at shapes of your own, such as triangles or spheres. Add it to a text of
    /// [`with_rays`](Self::with_rays) or [`with_swept_rays`](Self::with_swept_rays), and to that of `second`, such as
    /// the static table: one search then covers both tables. With prefix `bp_`:
    ///
    /// | WGSL | |
    /// |---|---|
    /// | `bp_closest_shape(ray: bp_Ray) -> bp_Hit` | hit with the smallest `t`, then the smallest object |
    /// | `bp_any_shape(ray: bp_Ray) -> bp_Hit` | first hit found |
    ///
    /// Your module declares `fn bp_hit_shape(object: u32, origin: vec3f, direction: vec3f, t_max: f32) -> f32`. It
    /// returns the ray parameter where the ray hits the object's shape, or `t_max` without a hit. Values from `t_max`
    /// on and below the ray's `t_min` are no hits either. `t_max` is the smallest value that cannot win: at first just
    /// above the ray's own, then that of the best hit. Calls come for boxes that the ray enters, larger boxes first,
    /// then front to back. A sweep's extents count for boxes only.
    ///
    /// A ray finds only shapes whose boxes, with their margin, it enters. A hit before the box counts as that entry,
    /// one behind it as it is. `hit.record` is a record of the table that has the object. Without a hit, `t` is the
    /// largest float.
    ///
    /// ```
    /// # use gpu_broad_phase::{BroadPhaseDescriptor, InputError, TableShader};
    /// /// Camera rays to spheres that fill their boxes.
    /// fn shader(descriptor: &BroadPhaseDescriptor<'_>) -> Result<String, InputError> {
    ///     let table = TableShader::with_rays(descriptor, "bp_", 1)?;
    ///     let own = "
    ///         struct Sight { eye: vec3f, t: f32, direction: vec3f, object: u32 }
    ///         @group(0) @binding(0) var<storage, read_write> sights: array<Sight>;
    ///         @group(0) @binding(1) var<storage, read> spheres: array<vec4f>;
    ///
    ///         fn bp_hit_shape(object: u32, origin: vec3f, direction: vec3f, t_max: f32) -> f32 {
    ///             let sphere = spheres[object];
    ///             let way = origin - sphere.xyz;
    ///             let b = dot(way, direction);
    ///             let root = b * b - dot(way, way) + sphere.w * sphere.w;
    ///             let t = -b - sqrt(max(root, 0.0));
    ///             return select(t_max, t, root >= 0.0 && t >= 0.0);
    ///         }
    ///
    ///         @compute @workgroup_size(64)
    ///         fn main(@builtin(global_invocation_id) id: vec3u) {
    ///             if (id.x < arrayLength(&sights)) {
    ///                 let hit = bp_closest_shape(bp_ray(sights[id.x].eye, sights[id.x].direction, 1000.0));
    ///                 sights[id.x].object = hit.object;
    ///                 sights[id.x].t = hit.t;
    ///             }
    ///         }";
    ///     Ok(format!("{}{}{own}", table.source(), table.shape_rays(None)))
    /// }
    /// # let text = shader(&BroadPhaseDescriptor::default()).unwrap();
    /// # let module = naga::front::wgsl::parse_str(&text).unwrap();
    /// # let mut validator = naga::valid::Validator::new(Default::default(), naga::valid::Capabilities::all());
    /// # validator.validate(&module).unwrap();
    /// ```
    pub fn shape_rays(&self, second: Option<&Self>) -> String {
        self.shapes("table_shader/shape_rays", "hit_shape", second)
    }

    /// Returns WGSL for the nearest of your own shapes. `second` is as in [`shape_rays`](Self::shape_rays). With prefix
    /// `bp_`:
    ///
    /// | WGSL | |
    /// |---|---|
    /// | `bp_nearest_shape(query: bp_Query) -> bp_Nearest` | shape with the smallest distance, then the smallest object, at most the query's radius away |
    /// | `nearest.is_found`, `nearest.is_complete` | true if there is one; true if no loop was cut |
    /// | `nearest.object`, `nearest.distance` | object and distance; without one, `bp_NO_OBJECT` and the largest float |
    ///
    /// Your module declares `fn bp_shape_distance(object: u32, point: vec3f) -> f32`. It gets the lower corner of the
    /// query's box, which should be a point, and returns the distance to the object's shape, negative inside of it if
    /// you like. The shape must be inside its object's box.
    ///
    /// The search visits growing spheres of cells: `bp_sphere_query(point, bp_LARGEST_FLOAT)` finds the nearest of all.
    /// A point far from shapes in small cells takes long.
    pub fn shape_queries(&self, second: Option<&Self>) -> String {
        self.shapes("table_shader/shape_queries", "shape_distance", second)
    }

    /// Functions of `path` for each table. They call `function` of the caller, which has the first one's prefix.
    fn shapes(&self, path: &str, function: &str, second: Option<&Self>) -> String {
        let files = link::link(path, &[]);
        let all = link::join(&files, None);
        let text = link::join(&files[files.len() - 1..], None);
        let of_table = |table: &Self, second: Option<&Self>| {
            let is_kept = |line: &&str| second.is_some() || !line.ends_with(SECOND);
            let lines = text.lines().filter(is_kept);
            let text: String = lines
                .map(|line| format!("{}\n", line.trim_end_matches(SECOND)))
                .collect();
            let own = |name: &str| (name.to_owned(), format!("{}{name}", table.prefix));
            let mut names: Vec<_> = declared(&all).into_iter().map(own).collect();
            names.push((function.to_owned(), format!("{}{function}", self.prefix)));
            if let Some(Self { prefix, .. }) = second {
                let others = words(&text).filter_map(|word| word.strip_prefix("second_"));
                names.extend(others.map(|name| (format!("second_{name}"), format!("{prefix}{name}"))));
            }
            renamed(&text, &names)
        };
        let last = second.map(|second| of_table(second, None));
        of_table(self, second) + &last.unwrap_or_default()
    }

    fn bindings(&self) -> impl Iterator<Item = (u32, &'static str)> {
        let binds_objects = reads_objects(self.kind) && !self.borrows_objects;
        let bindings = link::bindings(&files(self.casts)).into_iter();
        bindings
            .filter(move |(_, _, name)| binds_objects || *name != OBJECTS)
            .filter(|(_, _, name)| reads_values(self.kind) || *name != VALUES)
            .map(|(number, _, name)| (number, name))
    }

    /// The WGSL source.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Creates the bind group layout: two uniform blocks and read-only storage buffers.
    pub fn layout(&self, device: &wgpu::Device, visibility: wgpu::ShaderStages) -> wgpu::BindGroupLayout {
        device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("gpu_broad_phase/table"),
            entries: &self.layout_entries(visibility),
        })
    }

    /// Returns the entries of [`layout`](Self::layout).
    pub fn layout_entries(&self, visibility: wgpu::ShaderStages) -> Vec<wgpu::BindGroupLayoutEntry> {
        let entry = |(binding, name)| wgpu::BindGroupLayoutEntry {
            binding,
            visibility,
            ty: wgpu::BindingType::Buffer {
                ty: match name {
                    "params" | "grid" => wgpu::BufferBindingType::Uniform,
                    _ => wgpu::BufferBindingType::Storage { read_only: true },
                },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        };
        self.bindings().map(entry).collect()
    }

    /// Creates the bind group for a step's table. Create one after each step, which may replace buffers. Submit the
    /// encoder that uses it before the encoder of the next step.
    ///
    /// # Errors
    /// - [`StepError::OtherTable`]: the table has another scheme or filter setting.
    /// - [`StepError::Dropped`]: the step's encoder was dropped.
    /// - [`StepError::Device`]: `layout` belongs to another device of the same instance.
    pub fn bind(&self, layout: &wgpu::BindGroupLayout, table: &Table) -> Result<wgpu::BindGroup, StepError> {
        let entries = self.entries(table)?;
        let device = table.context.device();
        let scopes = Scopes::begin(device);
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("gpu_broad_phase/table"),
            layout,
            entries: &entries,
        });
        match scopes.end().now() {
            None => Ok(group),
            Some(error) => Err(table.context.refusal(error)),
        }
    }

    /// Returns the entries of [`bind`](Self::bind).
    ///
    /// # Errors
    /// [`StepError::OtherTable`], [`StepError::Dropped`]: as [`bind`](Self::bind).
    pub fn entries<'a>(&self, table: &'a Table) -> Result<Vec<wgpu::BindGroupEntry<'a>>, StepError> {
        if table.kind != self.kind {
            return Err(StepError::OtherTable);
        }
        if table.recording.is_dropped() {
            return Err(StepError::Dropped);
        }
        let parts = table.parts();
        let part = |name| parts.iter().find(|(variable, _)| variable.0 == name);
        let bound = self
            .bindings()
            .filter_map(|(binding, name)| Some((binding, part(name)?.1)));
        let entry = |(binding, RangeRef { buffer, offset, size })| wgpu::BindGroupEntry {
            binding,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size }),
        };
        Ok(bound.map(entry).collect())
    }
}

const fn reads_objects(kind: TableKind) -> bool {
    kind.1 || kind.0 == grid::SCHEME_UNIFORM
}

const fn reads_values(kind: TableKind) -> bool {
    kind.0 == grid::SCHEME_UNIFORM
}

fn declares(line: &str, variable: &str) -> bool {
    line.contains(&format!("> {variable}:"))
}

fn unbound(text: &str, variable: &str, element: &str) -> String {
    let lines = text.lines().map(|line| match declares(line, variable) {
        true => format!("var<private> {variable}: array<{element}, 1>;\n"),
        false => format!("{line}\n"),
    });
    lines.collect()
}

fn files(casts: Casts) -> Vec<File> {
    let root = if casts == Casts::None {
        "table_shader/walk"
    } else {
        "table_shader/cast"
    };
    link::link(root, &[])
}

fn with_constant(text: &str, declared: &str, value: &str) -> String {
    let begin = format!("override {declared} = ");
    let lines = text.lines().map(|line| match line.strip_prefix(&begin) {
        Some(_) => format!("const {declared} = {value};\n"),
        None => format!("{line}\n"),
    });
    lines.collect()
}

fn declared(text: &str) -> Vec<&str> {
    let name = |line: &str| {
        let word = |rest: &str| rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len());
        let rest = ["fn ", "struct ", "const "]
            .iter()
            .find_map(|kind| line.strip_prefix(kind));
        let variable = line.find("var<").and_then(|at| {
            let is_outermost = line.starts_with("var<") || line.starts_with("@group");
            line[at..]
                .split_once("> ")
                .filter(|_| is_outermost)
                .map(|(_, rest)| rest)
        });
        let rest = rest.or(variable)?;
        let begin = line.len() - rest.len();
        Some(begin..begin + word(rest))
    };
    text.lines()
        .filter_map(|line| name(line).map(|range| &line[range]))
        .collect()
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(|line| line.split(|c| !is_of_name(c)))
}

/// WGSL reserves names that begin with `__`.
fn begins_names(prefix: &str) -> bool {
    prefix.chars().all(is_of_name)
        && prefix.starts_with(|first: char| !first.is_ascii_digit())
        && !prefix.starts_with("__")
}

fn renamed(text: &str, names: &[(String, String)]) -> String {
    let mut all = String::with_capacity(2 * text.len());
    for line in text.lines() {
        let (code, comment) = line.split_at(line.find("//").unwrap_or(line.len()));
        let mut rest = code;
        while !rest.is_empty() {
            let is_name = rest.starts_with(is_of_name);
            let end = rest.find(|c| is_of_name(c) != is_name).unwrap_or(rest.len());
            let (part, behind) = rest.split_at(end);
            let other = names.iter().find(|(name, _)| name == part);
            all.push_str(other.map_or(part, |(_, other)| other));
            rest = behind;
        }
        all.push_str(comment);
        all.push('\n');
    }
    all
}

#[cfg(test)]
pub(crate) fn texts() -> Vec<String> {
    use crate::api::descriptor::Scheme;

    let schemes = [
        Scheme::Hierarchical,
        Scheme::Uniform { cell_size: 2.0 },
        Scheme::Adaptive { min_scale: 0.5 },
    ];
    let of_scheme = |scheme| {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            ..Default::default()
        };
        let all = [
            TableShader::new(&descriptor, "bp_", 0),
            TableShader::with_rays(&descriptor, "bp_", 0),
            TableShader::with_swept_rays(&descriptor, "bp_", 0),
        ];
        let all = all.map(Result::unwrap);
        let [_, first, _] = &all;
        let second = first.second_table("other_", 1).unwrap();
        let shapes = [None, Some(&second)].map(|second| {
            let tables = [Some(first), second].into_iter().flatten();
            let own = "
                fn bp_hit_shape(object: u32, origin: vec3f, direction: vec3f, t_max: f32) -> f32 {
                    return origin.x + direction.x + t_max + f32(object);
                }
                fn bp_shape_distance(object: u32, point: vec3f) -> f32 {
                    return point.x + f32(object);
                }
                fn shapes() -> f32 {
                    let ray = bp_ray(vec3f(0.0), vec3f(1.0), 1.0);
                    let nearest = bp_nearest_shape(bp_sphere_query(vec3f(0.0), 1.0));
                    return bp_closest_shape(ray).t + bp_any_shape(ray).t + nearest.distance;
                }
            ";
            let texts = tables.map(|table| table.source.clone());
            texts.collect::<String>() + &first.shape_rays(second) + &first.shape_queries(second) + own
        });
        all.into_iter().map(|shader| shader.source).chain(shapes)
    };
    schemes.into_iter().flat_map(of_scheme).collect()
}

#[cfg(test)]
mod tests {
    use naga::valid::{Capabilities, ValidationFlags, Validator};

    use super::*;
    use crate::api::descriptor::Scheme;

    type Make = fn(&BroadPhaseDescriptor<'_>, &str, u32) -> Result<TableShader, InputError>;

    const MAKERS: [Make; 3] = [TableShader::new, TableShader::with_rays, TableShader::with_swept_rays];

    #[test]
    fn texts_are_valid_and_keep_to_their_prefix_and_group() {
        let schemes = [
            Scheme::Hierarchical,
            Scheme::Uniform { cell_size: 2.0 },
            Scheme::Adaptive { min_scale: 0.5 },
        ];
        let choices = schemes.into_iter().flat_map(|scheme| [(scheme, true), (scheme, false)]);
        for ((scheme, filters), make) in choices.flat_map(|choice| MAKERS.map(|make| (choice, make))) {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                filters,
                ..Default::default()
            };
            let first = make(&descriptor, "bp_", 2).unwrap();
            let second = make(&descriptor, "Other_", 3).unwrap();
            let beside = first.second_table("static_", 1).unwrap();
            let further = beside.second_table("_", 0).unwrap();
            for (texts, own, group) in [
                (vec![&first], "bp_", 2),
                (vec![&second], "Other_", 3),
                (vec![&first, &beside], "static_", 1),
                (vec![&first, &beside, &further], "_", 0),
            ] {
                let text: String = texts.iter().map(|shader| shader.source()).collect();
                let module = naga::front::wgsl::parse_str(&text)
                    .unwrap_or_else(|error| panic!("{}", error.emit_to_string(&text)));
                Validator::new(ValidationFlags::all(), Capabilities::empty())
                    .validate(&module)
                    .unwrap_or_else(|error| panic!("{}", error.emit_to_string(&text)));
                let functions = module
                    .functions
                    .iter()
                    .filter_map(|(_, function)| function.name.as_deref());
                let constants = module
                    .constants
                    .iter()
                    .filter_map(|(_, constant)| constant.name.as_deref());
                let types = module.types.iter().filter_map(|(_, ty)| ty.name.as_deref());
                let variables = module
                    .global_variables
                    .iter()
                    .filter_map(|(_, global)| global.name.as_deref());
                let prefixes = ["bp_", "static_", own];
                for name in functions.chain(constants).chain(types).chain(variables) {
                    assert!(prefixes.iter().any(|prefix| name.starts_with(prefix)), "{name}");
                }
                assert!(module.overrides.is_empty());
                let of_group = |bound: &naga::ResourceBinding| bound.group == group;
                let mut declared: Vec<_> = module
                    .global_variables
                    .iter()
                    .filter_map(|(_, global)| global.binding.filter(of_group))
                    .map(|bound| bound.binding)
                    .collect();
                declared.sort_unstable();
                let expected: Vec<_> = texts[texts.len() - 1].bindings().map(|(number, _)| number).collect();
                assert_eq!(declared, expected);
                let is_storage = |space| matches!(space, naga::AddressSpace::Storage { .. });
                let buffers = module.global_variables.iter().filter(|(_, of)| is_storage(of.space));
                let each = if table_kind(&descriptor).0 == grid::SCHEME_UNIFORM {
                    3
                } else {
                    2
                };
                let objects = usize::from(filters || each == 3);
                assert_eq!(buffers.count(), each * texts.len() + objects);
            }
            let both = format!("{}{}", first.source(), second.source());
            assert!(naga::front::wgsl::parse_str(&both).is_ok());
        }
    }

    #[test]
    fn rays_come_on_request_and_take_no_buffers() {
        let descriptor = BroadPhaseDescriptor::default();
        let [plain, rays, swept] = MAKERS.map(|make| make(&descriptor, "bp_", 0).unwrap());
        assert!(!plain.source().contains("bp_Ray") && rays.source().contains("fn bp_closest_hit("));
        assert!(rays.source().contains("const bp_SWEPT: bool = false;"));
        assert!(swept.source().contains("const bp_SWEPT: bool = true;"));
        let bindings = |shader: &TableShader| shader.bindings().collect::<Vec<_>>();
        assert_eq!(bindings(&plain), bindings(&rays));
        assert_eq!(bindings(&plain), bindings(&swept));
        assert!(
            rays.second_table("static_", 1)
                .unwrap()
                .source()
                .contains("fn static_closest_hit(")
        );
        let own = "fn sees(eye: vec3f, place: vec3f) -> bool {
                return !bp_any_hit(bp_ray(eye, place - eye, 1.0)).is_hit;
            }

            fn distance_ahead(eye: vec3f, unit_direction: vec3f) -> f32 {
                let hit = bp_closest_hit(bp_ray(eye, unit_direction, 1000.0));
                return select(1000.0, hit.t, hit.is_hit);
            }";
        let text = format!("{own}{}", rays.source());
        assert!(naga::front::wgsl::parse_str(&text).is_ok());
    }

    #[test]
    fn texts_translate_to_spirv_hlsl_and_msl() {
        let queries = "
            var<private> met: u32;

            @compute @workgroup_size(64)
            fn main(@builtin(global_invocation_id) id: vec3<u32>) {
                var walk = bp_begin_walk(bp_sphere_query(vec3<f32>(id), 2.0));
                for (; bp_next_object(&walk);) {
                    met += walk.object;
                }
                CASTS
            }";
        let casts = "
                let ray = bp_ray(vec3<f32>(id), vec3<f32>(1.0), 9.0);
                var hits = bp_begin_cast(ray);
                for (; bp_next_hit(&hits);) {
                    met += hits.object;
                }
                met += bp_closest_hit(ray).object + u32(bp_any_hit(ray).is_hit) + u32(bp_cast_is_complete(&hits));";
        for text in texts() {
            let casts = if text.contains("bp_Ray") { casts } else { "" };
            let text = format!("{text}{}", queries.replace("CASTS", casts));
            let module = naga::front::wgsl::parse_str(&text).unwrap();
            let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
                .validate(&module)
                .unwrap();
            let options = naga::back::spv::Options {
                fake_missing_bindings: true,
                ..Default::default()
            };
            let words = naga::back::spv::write_vec(&module, &info, &options, None).unwrap();
            assert_eq!(words[0], 0x0723_0203);

            let mut hlsl = String::new();
            let options = naga::back::hlsl::Options {
                fake_missing_bindings: true,
                ..Default::default()
            };
            naga::back::hlsl::Writer::new(&mut hlsl, &options, &Default::default())
                .write(&module, &info, None)
                .unwrap();
            assert!(hlsl.contains("numthreads"));

            let options = naga::back::msl::Options {
                fake_missing_bindings: true,
                ..Default::default()
            };
            let (msl, _) = naga::back::msl::write_string(&module, &info, &options, &Default::default()).unwrap();
            assert!(msl.contains("kernel"));
        }
    }

    #[test]
    fn prefixes_that_make_no_names_are_refused() {
        let descriptor = BroadPhaseDescriptor::default();
        for make in MAKERS {
            let first = make(&descriptor, "bp_", 0).unwrap();
            for prefix in ["", "1x", "a-b", "a b", "__", "__a", "é", "a.", "//", "\n", "a;", "fn a"] {
                let expected = InputError::Prefix {
                    prefix: prefix.to_owned(),
                };
                assert_eq!(make(&descriptor, prefix, 0), Err(expected.clone()));
                assert_eq!(first.second_table(prefix, 1), Err(expected));
            }
            // `ordered` and `unordered` are functions of the text.
            assert!(make(&descriptor, "un", 0).is_err());
            assert!(first.second_table("bp_", 1).is_err());
            for prefix in ["a", "_", "A1", "_1", "bp", "bp__", "override", "vec4"] {
                let shader = make(&descriptor, prefix, 0).unwrap();
                assert!(naga::front::wgsl::parse_str(shader.source()).is_ok(), "{prefix}");
            }
        }

        for (make, casts) in MAKERS.into_iter().zip([Casts::None, Casts::Plain, Casts::Swept]) {
            let text = link::join(&files(casts), None);
            let names = declared(&text);
            for word in naga::keywords::wgsl::RESERVED {
                for name in names.iter().filter(|name| word.ends_with(**name)) {
                    let prefix = &word[..word.len() - name.len()];
                    if let Ok(shader) = make(&descriptor, prefix, 0) {
                        let parsed = naga::front::wgsl::parse_str(shader.source());
                        assert!(parsed.is_ok(), "{prefix} makes {word} of {name}");
                    }
                }
            }
        }
    }

    #[test]
    fn names_in_comments_and_longer_names_stay() {
        let text = "const low: u32 = 1u; // low is low\nfn lower(low_: u32) -> u32 {\n    return low + low_;\n}\n";
        assert_eq!(
            renamed(
                text,
                &[
                    ("low".to_owned(), "p_low".to_owned()),
                    ("lower".to_owned(), "p_lower".to_owned())
                ]
            ),
            "const p_low: u32 = 1u; // low is low\nfn p_lower(low_: u32) -> u32 {\n    return p_low + low_;\n}\n"
        );
    }
}
