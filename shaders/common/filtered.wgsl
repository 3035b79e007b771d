// Layers and groups of objects, for filters of rays and queries.

@group(0) @binding(5) var<storage, read> objects: array<vec4<u32>>;

override FILTERS: bool = true;
