// uses: common/box, common/cells, common/grid, common/prelude, common/workgroup, table/octave, table/worlds

// Statistics of a sample of the objects, from which base_cell chooses the finest cell.
//   size classes  samples by longest side, in quarter octaves
//   densities     for each of 24 octaves, pairs of samples that share a cell
//   aspect        sides of typical boxes, from 256 samples; if long, there are classes and densities for such cells too
// Each octave has a small hash table. A sample adds the number of earlier samples in its bucket, so the sum is the
// number of pairs. It includes pairs that share a bucket but no cell, which base_cell subtracts. A second sum limits
// the addend, so that a few crowds cannot stand for the scene. The order of additions does not matter.

@group(0) @binding(1) var<storage, read> objects: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> sample_statistics: array<atomic<u32>, 2194>;
@group(0) @binding(3) var<storage, read_write> density_buckets: array<atomic<u32>>;

override SERIAL_SORT: bool = false;
// Invocations that share a sample, since each octave waits for an atomic. CPUs use one, since workgroups are costly.
const LANES_PER_SAMPLE: u32 = 4u;
override LANES: u32 = select(LANES_PER_SAMPLE, 1u, SERIAL_SORT);

var<workgroup> classes: array<atomic<u32>, 2048>;
var<workgroup> local_density: array<atomic<u32>, 144>;
var<workgroup> extent: atomic<u32>;
// Exponent of the longest side of any of 256 samples, and number of these samples.
var<workgroup> longest: atomic<u32>;
var<workgroup> shaped: atomic<u32>;
// Numbers of samples by octaves that a side is shorter than `longest`: along x, then y, then z.
var<workgroup> lengths: array<atomic<u32>, 96>;
// Exponents of the sides of typical boxes.
var<workgroup> typical: array<atomic<u32>, 3>;

// One object per run of `sample_stride`, at a scattered offset that follows no pattern of the objects.
fn sampled_object(sample: u32) -> u32 {
    let offset = ((sample * 0x9e3779b1u) >> 16u) % params.sample_stride;
    return min(sample * params.sample_stride + offset, params.object_count - 1u);
}

// Boxes longer by this or fewer octaves count as cubes.
const NEARLY_CUBES: i32 = 1;
// One sample in this many may be larger than typical boxes.
const FEW_LONGER: u32 = 32u;
const LENGTHS: u32 = 32u;

fn half_side_bits(low: vec3<u32>, high: vec3<u32>) -> vec3<u32> {
    // Half sides, since differences of whole bounds could overflow.
    return bitcast<vec3<u32>>(flush(flush(flush_bits(high) * 0.5) - flush(flush_bits(low) * 0.5)));
}

fn side_bits(low: vec3<u32>, high: vec3<u32>) -> vec3<u32> {
    let halves = half_side_bits(low, high);
    let sides = min(halves + vec3<u32>(0x00800000u), vec3<u32>(0x7f7fffffu));
    return select(sides, vec3<u32>(0u), halves == vec3<u32>(0u));
}

// Bits of the longest side, with each axis shorter by `octaves`.
fn longest_of(sides: vec3<u32>, octaves: vec3<i32>) -> u32 {
    let shorter = vec3<u32>(octaves) << vec3<u32>(23u);
    return largest(max(sides, shorter) - shorter);
}

fn largest(values: vec3<u32>) -> u32 {
    return max(values.x, max(values.y, values.z));
}

// Smallest class that holds the side: class `4 e + q` stands for `(1 + q / 4) 2^(e - 127)`, class 0 for points.
fn size_class(side: u32) -> u32 {
    return (side + 0x001fffffu) >> 21u;
}

fn add_lengths(exponents: vec3<u32>) {
    let shorter = vec3<u32>(atomicLoad(&longest)) - exponents;
    for (var axis = 0u; axis < 3u; axis += 1u) {
        let octaves = select(select(shorter.z, shorter.y, axis == 1u), shorter.x, axis == 0u);
        if (octaves < LENGTHS) {
            atomicAdd(&lengths[axis * LENGTHS + octaves], 1u);
        }
    }
}

fn store_typical(axis: u32) {
    let few = atomicLoad(&shaped) / FEW_LONGER;
    var shorter = 0u;
    var count = atomicLoad(&lengths[axis * LENGTHS]);
    for (; count <= few && shorter + 1u < LENGTHS; ) {
        shorter += 1u;
        count += atomicLoad(&lengths[axis * LENGTHS + shorter]);
    }
    let exponent = atomicLoad(&longest);
    atomicStore(&typical[axis], select(0u, exponent - min(shorter, exponent), count > few));
}

fn typical_exponents() -> vec3<i32> {
    return vec3<i32>(vec3<u32>(atomicLoad(&typical[0]), atomicLoad(&typical[1]), atomicLoad(&typical[2])));
}

fn aspect_of_samples() -> Aspect {
    let exponents = typical_exponents();
    let least = min(exponents.x, select(min(exponents.y, exponents.z), exponents.y, params.dimensions == 2u));
    let shortest = max(least, i32(largest(vec3<u32>(exponents))) - MAX_ASPECT);
    let octaves = max(exponents - vec3<i32>(shortest), vec3<i32>(0));
    return Aspect(select(vec3<i32>(0), octaves, octaves > vec3<i32>(NEARLY_CUBES)), shortest - 126);
}

// Returns the exponents of half the sides of a finite sample.
fn add_extent(low: vec3<u32>, high: vec3<u32>) -> vec3<u32> {
    let exponents = half_side_bits(low, high) >> vec3<u32>(23u);
    atomicMax(&extent, largest(max(low & vec3<u32>(0x7fffffffu), high & vec3<u32>(0x7fffffffu))));
    atomicMax(&longest, largest(exponents));
    atomicAdd(&shaped, 1u);
    return exponents;
}

// Adds a sample to the octaves of a shape from `first` on, in steps of `LANES`. Shape 0 is that of cubes.
fn add_sample(sample: u32, first: u32, top: i32, shape: u32, aspect: Aspect) {
    let object = sampled_object(sample);
    let low = objects[2u * (params.first_object + object)];
    let high = objects[2u * (params.first_object + object) + 1u];
    let world = world_of(object);
    if (!enters_cells(classify(low, high), world)) {
        return;
    }
    let sides = side_bits(low.xyz, high.xyz);
    if (first == 0u) {
        atomicAdd(&classes[shape * SIZE_CLASSES + size_class(longest_of(sides, aspect.octaves))], 1u);
    }
    let position = flush_bits(low.xyz);
    let slots = octave_buckets();
    for (var octave = first; octave < OCTAVES; octave += LANES) {
        let exponents = cell_exponents(aspect, octave_exponent(top, octave));
        // Objects up to twice the octave's cell size are entered: with a fraction of 1.75, they are still on the finest
        // level.
        if (all(sides <= vec3<u32>(exponents + 128) << vec3<u32>(23u))) {
            let inverse = bitcast<vec3<f32>>(vec3<u32>(127 - exponents) << vec3<u32>(23u));
            let cell = bitcast<vec3<u32>>(cell_of(position, inverse));
            var hash = cell.x * 0x8da6b343u + cell.y * 0xd8163841u + cell.z * 0xcb1ab31fu + world * HASH_WORLD;
            hash = (hash ^ (hash >> 15u)) * 0x2c1b3c6du;
            hash = hash ^ (hash >> 13u);
            let place = shape * OCTAVES + octave;
            let before = atomicAdd(&density_buckets[place * slots + (hash & (slots - 1u))], 1u);
            atomicAdd(&local_density[OCTAVE_WORDS * place], 1u);
            atomicAdd(&local_density[OCTAVE_WORDS * place + 1u], before);
            atomicAdd(&local_density[OCTAVE_WORDS * place + 2u], min(before, most_pairs()));
        }
    }
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    for (var i = local; i < 2u * SIZE_CLASSES; i += WORKGROUP) {
        atomicStore(&classes[i], 0u);
    }
    if (local < 2u * OCTAVE_WORDS * OCTAVES) {
        atomicStore(&local_density[local], 0u);
    }
    if (local < 3u * LENGTHS) {
        atomicStore(&lengths[local], 0u);
    }
    if (local == 0u) {
        atomicStore(&extent, 0u);
        atomicStore(&longest, 0u);
        atomicStore(&shaped, 0u);
    }
    workgroupBarrier();
    // All workgroups read the same few samples, so that all use the same octaves.
    var is_shaped = false;
    var exponents = vec3<u32>(0u);
    if (params.sample_count > 0u) {
        let object = sampled_object(local * params.sample_count / WORKGROUP);
        let low = objects[2u * (params.first_object + object)];
        let high = objects[2u * (params.first_object + object) + 1u];
        is_shaped = enters_cells(classify(low, high), world_of(object));
        if (is_shaped) {
            exponents = add_extent(low.xyz, high.xyz);
        }
    }
    workgroupBarrier();
    if (is_shaped) {
        add_lengths(exponents);
    }
    workgroupBarrier();
    // A loop of one iteration: CPU drivers skip loops that no lane enters, but execute both sides of branches.
    for (var axis = local; axis < 3u; axis += WORKGROUP) {
        store_typical(axis);
    }
    workgroupBarrier();
    let aspect = aspect_of_samples();
    let place = flat_workgroup(group, groups) * WORKGROUP + local;
    let shapes = select(1u, 2u, is_long(aspect));
    let is_sampled = place / LANES < params.sample_count;
    for (var shape = select(shapes, 0u, is_sampled); shape < shapes; shape += 1u) {
        var cell = cubes();
        if (shape > 0u) {
            cell = aspect;
        }
        add_sample(place / LANES, place % LANES, top_exponent(atomicLoad(&extent)), shape, cell);
    }
    workgroupBarrier();

    for (var i = local; i < shapes * SIZE_CLASSES; i += WORKGROUP) {
        let count = atomicLoad(&classes[i]);
        if (count != 0u) {
            atomicAdd(&sample_statistics[i / SIZE_CLASSES * SHAPE_WORDS + i % SIZE_CLASSES], count);
        }
    }
    if (local < shapes * OCTAVE_WORDS * OCTAVES) {
        let words = OCTAVE_WORDS * OCTAVES;
        let word = local / words * SHAPE_WORDS + DENSITY + local % words;
        atomicAdd(&sample_statistics[word], atomicLoad(&local_density[local]));
    }
    if (local == 0u) {
        atomicMax(&sample_statistics[EXTENT], atomicLoad(&extent));
        atomicMax(&sample_statistics[ASPECT], packed_aspect(aspect));
    }
}
