// uses: common/source

@group(0) @binding(1) var<storage, read> source_objects: array<u32>;
@group(0) @binding(4) var<uniform> source_layout: SourceLayout;

fn source_word(place: u32) -> u32 {
    return source_objects[place];
}

fn source_corner(object: u32, corner: u32) -> vec4<u32> {
    let first = 4u * corner;
    return vec4<u32>(
        element_word(source_layout, object, first),
        element_word(source_layout, object, first + 1u),
        element_word(source_layout, object, first + 2u),
        element_word(source_layout, object, first + 3u),
    );
}
