import numpy as np, warp as wp

@wp.kernel
def count(grid: wp.uint64, p: wp.array[wp.vec3], n: wp.array[int]):
    for b in wp.hash_grid_query(grid, p[wp.tid()], 1.0):
        wp.atomic_add(n, int(wp.length(p[wp.tid()] - p[b]) <= 1.0), 1)

p = wp.array(np.random.default_rng(1).random((1000, 3)) * 10, dtype=wp.vec3)
grid, n = wp.HashGrid(8, 8, 8), wp.zeros(2, dtype=int)
grid.build(p, 1.0)
wp.launch(count, 1000, [grid.id, p, n])
print(n)
