// Periodic axes have three images of an asker: itself, one period ahead and one behind.
fn walk_query(given: Query) {
    if (!given.answers) {
        return;
    }
    let is_periodic = (periods() > vec3<f32>(0.0)) & vec3<bool>(given.seeks_corners);
    let images = select(vec3<i32>(0), vec3<i32>(1), is_periodic);
    for (var z = -images.z; z <= images.z; z += 1) {
        for (var y = -images.y; y <= images.y; y += 1) {
            for (var x = -images.x; x <= images.x; x += 1) {
                var query = given;
                query.image = vec3<i32>(x, y, z);
                walk_image(with_search_bounds(query));
            }
        }
    }
}
