// uses: common/given

// Objects that lie anywhere in a caller's buffer, in one of several forms.

@group(0) @binding(1) var<storage, read> given_objects: array<u32>;
@group(0) @binding(4) var<uniform> given_layout: GivenLayout;

fn given_word(place: u32) -> u32 {
    return given_objects[place];
}

fn given_corner(object: u32, corner: u32) -> vec4<u32> {
    let first = 4u * corner;
    return vec4<u32>(
        element_word(given_layout, object, first),
        element_word(given_layout, object, first + 1u),
        element_word(given_layout, object, first + 2u),
        element_word(given_layout, object, first + 3u),
    );
}
