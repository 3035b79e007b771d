// uses: common/box, common/cells, common/grid, common/prelude, common/workgroup, table/octave, table/size
// uses: table/worlds

// How crowded cells of each of 24 octaves would be: a sample of the objects is entered into a small hash table an
// octave, and each entry adds the number that its slot held before. The sums are the pairs of samples that share a
// cell (plus chance collisions, which the next pass subtracts); they do not depend on the order of the additions.

@group(0) @binding(1) var<storage, read> objects: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> size_statistics: array<u32, 1025>;
@group(0) @binding(3) var<storage, read_write> density_slots: array<atomic<u32>>;
// An octave each: samples entered, pairs of them in one slot.
@group(0) @binding(4) var<storage, read_write> density: array<atomic<u32>, 48>;

var<workgroup> local_density: array<atomic<u32>, 48>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    if (local < 48u) {
        atomicStore(&local_density[local], 0u);
    }
    workgroupBarrier();

    let sample = flat_workgroup(group, groups) * WORKGROUP + local;
    if (sample < params.sample_count) {
        let object = sampled_object(sample);
        let low = objects[2u * (params.first_object + object)];
        let high = objects[2u * (params.first_object + object) + 1u];
        if (classify(low, high) == CLASS_FINITE) {
            let side = longest_side_bits(low.xyz, high.xyz);
            let top = top_exponent(size_statistics[1024]);
            let position = flush_bits(low.xyz);
            let world = world_of(object);
            for (var octave = 0u; octave < OCTAVES; octave += 1u) {
                let exponent = octave_exponent(top, octave);
                // Objects up to twice the cell: with a cell side of 1.75 units they still lie in the base level.
                if (side <= u32(exponent + 128) << 23u) {
                    let inverse = vec3<f32>(bitcast<f32>(u32(127 - exponent) << 23u));
                    let cell = bitcast<vec3<u32>>(cell_of(position, inverse));
                    var hash = cell.x * 0x8da6b343u + cell.y * 0xd8163841u + cell.z * 0xcb1ab31fu + world * HASH_WORLD;
                    hash = (hash ^ (hash >> 15u)) * 0x2c1b3c6du;
                    hash = hash ^ (hash >> 13u);
                    let before = atomicAdd(&density_slots[octave * SLOTS + (hash & (SLOTS - 1u))], 1u);
                    atomicAdd(&local_density[2u * octave], 1u);
                    atomicAdd(&local_density[2u * octave + 1u], before);
                }
            }
        }
    }
    workgroupBarrier();

    if (local < 48u) {
        atomicAdd(&density[local], atomicLoad(&local_density[local]));
    }
}
