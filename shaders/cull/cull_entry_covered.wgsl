// uses: common/box
// needs: objects

// Records lie in the order of the objects, of all of them.

fn takes_part(record: u32, name: u32) -> bool {
    return classify(objects[2u * name], objects[2u * name + 1u]) < CLASS_INVALID;
}
