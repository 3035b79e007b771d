// uses: common/box

// The object whose pairs are walked, and which others the filters admit.

@group(0) @binding(4) var<storage, read> objects: array<vec4<u32>>;

override FILTERS: bool = true;
override COUNT_CANDIDATES: bool = false;

// The entry whose pairs are walked, and its object.
var<private> entry: u32;
var<private> own_object: u32;
var<private> own_layers: u32;
var<private> own_owner: u32;
var<private> candidates: u32;

fn begin_object(object: u32) {
    own_object = object;
    if (FILTERS) {
        own_layers = objects[2u * object].w;
        own_owner = objects[2u * object + 1u].w;
    }
}

fn admitted(other: u32) -> bool {
    if (!FILTERS) {
        return true;
    }
    return passes_filters(own_layers, own_owner, objects[2u * other].w, objects[2u * other + 1u].w);
}

fn count_candidate() {
    if (COUNT_CANDIDATES) {
        candidates += 1u;
    }
}
