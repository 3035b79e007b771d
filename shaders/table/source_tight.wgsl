@group(0) @binding(1) var<storage, read> source_objects: array<vec4<u32>>;

fn source_corner(object: u32, corner: u32) -> vec4<u32> {
    return source_objects[2u * object + corner];
}
