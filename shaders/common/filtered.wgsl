// What filters of rays and queries read: layers and owners are words of the objects.

@group(0) @binding(5) var<storage, read> objects: array<vec4<u32>>;

override FILTERS: bool = true;
