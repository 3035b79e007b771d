// Objects that lie one behind the other, as `Aabb`.

@group(0) @binding(1) var<storage, read> given_objects: array<vec4<u32>>;

fn given_corner(object: u32, corner: u32) -> vec4<u32> {
    return given_objects[2u * object + corner];
}
