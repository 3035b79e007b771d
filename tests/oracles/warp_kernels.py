"""Kernels of Warp, which wants their text in a file. Rows past the end of `rows` are counted alone."""

import warp as wp

# Otherwise Warp logs to standard output, which is for the table.
wp.config.log_level = wp.LOG_ERROR


@wp.func
def put(cursor: wp.array(dtype=wp.int32), rows: wp.array2d(dtype=wp.int32), one: int, other: int):
    at = wp.atomic_add(cursor, 0, 1)
    if at < rows.shape[0]:
        rows[at, 0] = one
        rows[at, 1] = other


@wp.kernel
def overlaps(
    tree: wp.uint64,
    low: wp.array(dtype=wp.vec3),
    high: wp.array(dtype=wp.vec3),
    once: int,
    cursor: wp.array(dtype=wp.int32),
    rows: wp.array2d(dtype=wp.int32),
):
    asked = wp.tid()
    query = wp.bvh_query_aabb(tree, low[asked], high[asked])
    found = int(0)
    while wp.bvh_query_next(query, found):
        if once == 0 or asked < found:
            put(cursor, rows, asked, found)


@wp.kernel
def ray_hits(
    tree: wp.uint64,
    origins: wp.array(dtype=wp.vec3),
    directions: wp.array(dtype=wp.vec3),
    cursor: wp.array(dtype=wp.int32),
    rows: wp.array2d(dtype=wp.int32),
):
    ray = wp.tid()
    query = wp.bvh_query_ray(tree, origins[ray], directions[ray])
    found = int(0)
    while wp.bvh_query_next(query, found):
        put(cursor, rows, ray, found)


@wp.kernel
def near(
    grid: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    radius: float,
    cursor: wp.array(dtype=wp.int32),
    rows: wp.array2d(dtype=wp.int32),
):
    # In grid order, neighbours are adjacent in memory.
    point = wp.hash_grid_point_id(grid, wp.tid())
    query = wp.hash_grid_query(grid, points[point], radius)
    found = int(0)
    while wp.hash_grid_query_next(query, found):
        if point < found and wp.length(points[point] - points[found]) <= radius:
            put(cursor, rows, point, found)
