// uses: common/box, common/filtered, rays/ray

// Whom a ray may hit.

fn admits(ray: Ray, object: u32) -> bool {
    if (!FILTERS) {
        return true;
    }
    return layers_meet(ray.layers, objects[2u * object].w);
}
