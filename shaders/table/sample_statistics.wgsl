// uses: common/box, common/cells, common/grid, common/prelude, common/workgroup, table/octave, table/worlds

// Statistics of a sample of the objects, from which base_cell chooses the finest cell.
//   size classes  samples by longest side, in quarter octaves
//   densities     for each of 24 octaves, pairs of samples that share a cell
// Each octave has a small hash table. A sample adds the number of earlier samples in its bucket, so the sum is the
// number of pairs. It includes pairs that share a bucket but no cell, which base_cell subtracts. A second sum limits
// the addend, so that a few crowds cannot stand for the scene. The order of additions does not matter.

@group(0) @binding(1) var<storage, read> objects: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> sample_statistics: array<atomic<u32>, 1097>;
@group(0) @binding(3) var<storage, read_write> density_buckets: array<atomic<u32>>;

override SERIAL_SORT: bool = false;
// Invocations that share a sample, since each octave waits for an atomic. CPUs use one, since workgroups are costly.
const LANES_PER_SAMPLE: u32 = 4u;
override LANES: u32 = select(LANES_PER_SAMPLE, 1u, SERIAL_SORT);

var<workgroup> classes: array<atomic<u32>, 1024>;
var<workgroup> local_density: array<atomic<u32>, 72>;
var<workgroup> extent: atomic<u32>;

// One object per run of `sample_stride`, at a scattered offset that follows no pattern of the objects.
fn sampled_object(sample: u32) -> u32 {
    let offset = ((sample * 0x9e3779b1u) >> 16u) % params.sample_stride;
    return min(sample * params.sample_stride + offset, params.object_count - 1u);
}

fn longest_side_bits(low: vec3<u32>, high: vec3<u32>) -> u32 {
    // Half sides, since differences of whole bounds could overflow.
    let half_sides = flush(flush(flush_bits(high) * 0.5) - flush(flush_bits(low) * 0.5));
    let half_side = max(half_sides.x, max(half_sides.y, half_sides.z));
    let bits = bitcast<u32>(half_side);
    return select(min(bits + 0x00800000u, 0x7f7fffffu), 0u, bits == 0u);
}

// Smallest class that holds the side: class `4 e + q` stands for `(1 + q / 4) 2^(e - 127)`, class 0 for points.
fn size_class(low: vec3<u32>, high: vec3<u32>) -> u32 {
    return (longest_side_bits(low, high) + 0x001fffffu) >> 21u;
}

fn add_extent(sample: u32) {
    let object = params.first_object + sampled_object(sample);
    let low = objects[2u * object];
    let high = objects[2u * object + 1u];
    if (classify(low, high) == CLASS_FINITE) {
        let magnitude = max(low.xyz & vec3<u32>(0x7fffffffu), high.xyz & vec3<u32>(0x7fffffffu));
        atomicMax(&extent, max(magnitude.x, max(magnitude.y, magnitude.z)));
    }
}

// Adds a sample to the octaves from `first` on, in steps of `LANES`.
fn add_sample(sample: u32, first: u32, top: i32) {
    let object = sampled_object(sample);
    let low = objects[2u * (params.first_object + object)];
    let high = objects[2u * (params.first_object + object) + 1u];
    if (classify(low, high) != CLASS_FINITE) {
        return;
    }
    if (first == 0u) {
        atomicAdd(&classes[size_class(low.xyz, high.xyz)], 1u);
    }
    let side = longest_side_bits(low.xyz, high.xyz);
    let position = flush_bits(low.xyz);
    let world = world_of(object);
    let slots = octave_buckets();
    for (var octave = first; octave < OCTAVES; octave += LANES) {
        let exponent = octave_exponent(top, octave);
        // Objects up to twice the octave's cell size are entered: with a fraction of 1.75, they are still on the finest
        // level.
        if (side <= u32(exponent + 128) << 23u) {
            let inverse = vec3<f32>(bitcast<f32>(u32(127 - exponent) << 23u));
            let cell = bitcast<vec3<u32>>(cell_of(position, inverse));
            var hash = cell.x * 0x8da6b343u + cell.y * 0xd8163841u + cell.z * 0xcb1ab31fu + world * HASH_WORLD;
            hash = (hash ^ (hash >> 15u)) * 0x2c1b3c6du;
            hash = hash ^ (hash >> 13u);
            let before = atomicAdd(&density_buckets[octave * slots + (hash & (slots - 1u))], 1u);
            atomicAdd(&local_density[OCTAVE_WORDS * octave], 1u);
            atomicAdd(&local_density[OCTAVE_WORDS * octave + 1u], before);
            atomicAdd(&local_density[OCTAVE_WORDS * octave + 2u], min(before, most_pairs()));
        }
    }
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    for (var i = local; i < SIZE_CLASSES; i += WORKGROUP) {
        atomicStore(&classes[i], 0u);
    }
    if (local < OCTAVE_WORDS * OCTAVES) {
        atomicStore(&local_density[local], 0u);
    }
    if (local == 0u) {
        atomicStore(&extent, 0u);
    }
    workgroupBarrier();
    // All workgroups read the same few samples, so that all use the same octaves.
    if (params.sample_count > 0u) {
        add_extent(local * params.sample_count / WORKGROUP);
    }
    workgroupBarrier();
    let place = flat_workgroup(group, groups) * WORKGROUP + local;
    if (place / LANES < params.sample_count) {
        add_sample(place / LANES, place % LANES, top_exponent(atomicLoad(&extent)));
    }
    workgroupBarrier();

    for (var i = local; i < SIZE_CLASSES; i += WORKGROUP) {
        let count = atomicLoad(&classes[i]);
        if (count != 0u) {
            atomicAdd(&sample_statistics[i], count);
        }
    }
    if (local < OCTAVE_WORDS * OCTAVES) {
        atomicAdd(&sample_statistics[DENSITY + local], atomicLoad(&local_density[local]));
    }
    if (local == 0u) {
        atomicMax(&sample_statistics[EXTENT], atomicLoad(&extent));
    }
}
