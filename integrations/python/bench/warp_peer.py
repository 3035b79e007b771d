"""Warp on its CPU device. Kernels first count results, then write them into arrays of that size."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

# Standard output is only for tables.
wp.config.log_level = wp.LOG_ERROR
wp.config.enable_backward = False
wp.init()

DEVICE = "cpu"


@wp.func
def nearest(offset: wp.vec3, period: wp.vec3) -> wp.vec3:
    """Vector to the nearest image. A period of 0 means no period."""
    return wp.vec3(
        offset[0] - period[0] * wp.round(offset[0] / wp.max(period[0], 1.0e-30)),
        offset[1] - period[1] * wp.round(offset[1] / wp.max(period[1], 1.0e-30)),
        offset[2] - period[2] * wp.round(offset[2] / wp.max(period[2], 1.0e-30)),
    )


@wp.kernel
def count_near(
    grid: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    radius: float,
    period: wp.vec3,
    half: int,
    counts: wp.array(dtype=int),
):
    i = wp.tid()
    point = points[i]
    count = int(0)
    for j in wp.hash_grid_query(grid, point, radius):
        if j > i or (half == 0 and j != i):
            if wp.length_sq(nearest(points[j] - point, period)) <= radius * radius:
                count += 1
    counts[i] = count


@wp.kernel
def write_near(
    grid: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    radius: float,
    period: wp.vec3,
    half: int,
    offsets: wp.array(dtype=int),
    pairs: wp.array(dtype=wp.vec2i),
    distances: wp.array(dtype=float),
):
    i = wp.tid()
    point = points[i]
    at = offsets[i]
    for j in wp.hash_grid_query(grid, point, radius):
        if j > i or (half == 0 and j != i):
            square = wp.length_sq(nearest(points[j] - point, period))
            if square <= radius * radius:
                pairs[at] = wp.vec2i(i, j)
                distances[at] = wp.sqrt(square)
                at += 1


@wp.kernel
def count_overlaps(
    tree: wp.uint64, lowers: wp.array(dtype=wp.vec3), uppers: wp.array(dtype=wp.vec3), counts: wp.array(dtype=int)
):
    i = wp.tid()
    count = int(0)
    query = wp.bvh_query_aabb(tree, lowers[i], uppers[i])
    j = int(0)
    while wp.bvh_query_next(query, j):
        if j > i:
            count += 1
    counts[i] = count


@wp.kernel
def write_overlaps(
    tree: wp.uint64,
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
    offsets: wp.array(dtype=int),
    pairs: wp.array(dtype=wp.vec2i),
):
    i = wp.tid()
    at = offsets[i]
    query = wp.bvh_query_aabb(tree, lowers[i], uppers[i])
    j = int(0)
    while wp.bvh_query_next(query, j):
        if j > i:
            pairs[at] = wp.vec2i(i, j)
            at += 1


@wp.kernel
def cast(
    tree: wp.uint64,
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
    origins: wp.array(dtype=wp.vec3),
    directions: wp.array(dtype=wp.vec3),
    objects: wp.array(dtype=int),
    places: wp.array(dtype=float),
):
    i = wp.tid()
    origin = origins[i]
    way = directions[i]
    closest = float(3.0e38)
    found = int(-1)
    query = wp.bvh_query_ray(tree, origin, way)
    j = int(0)
    # Skips boxes beyond the closest hit so far.
    while wp.bvh_query_next(query, j, closest):
        near = wp.cw_div(lowers[j] - origin, way)
        far = wp.cw_div(uppers[j] - origin, way)
        first = wp.max(wp.max(wp.min(near, far)), 0.0)
        last = wp.min(wp.max(near, far))
        if first <= last and (first < closest or (first == closest and j < found)):
            closest = first
            found = j
    objects[i] = found
    places[i] = closest


def _offsets(counts: wp.array) -> tuple[wp.array, int]:
    ends = np.cumsum(counts.numpy(), dtype=np.int64)
    if len(ends) == 0:
        return wp.zeros(0, dtype=int, device=DEVICE), 0
    return wp.array((ends - counts.numpy()).astype(np.int32), dtype=int, device=DEVICE), int(ends[-1])


def _vectors(array: npt.NDArray[Any]) -> wp.array:
    return wp.array(np.ascontiguousarray(array, np.float32), dtype=wp.vec3, device=DEVICE)


def near(
    points: npt.NDArray[Any], radius: float, period: float, half: bool
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Points within a radius of each other by a `HashGrid`, and their distances."""
    extent = period or float(np.ptp(points, axis=0).max())
    # Warp's grid repeats. With a period, the grid must fill it, and positions must be positive.
    cells = max(1, min(128, int(extent / radius)))
    width = period / cells if period else radius
    placed = _vectors(points + period)
    grid = wp.HashGrid(cells, cells, cells, device=DEVICE)
    grid.build(placed, width)
    counts = wp.empty(len(points), dtype=int, device=DEVICE)
    lengths = wp.vec3(period, period, period)
    wp.launch(count_near, len(points), [grid.id, placed, radius, lengths, int(half), counts], device=DEVICE)
    offsets, total = _offsets(counts)
    pairs = wp.empty(total, dtype=wp.vec2i, device=DEVICE)
    distances = wp.empty(total, dtype=float, device=DEVICE)
    inputs = [grid.id, placed, radius, lengths, int(half), offsets, pairs, distances]
    wp.launch(write_near, len(points), inputs, device=DEVICE)
    return pairs.numpy(), distances.numpy()


class Tree:
    """A `Bvh` of boxes."""

    def __init__(self, boxes: npt.NDArray[np.float32]) -> None:
        self._lowers, self._uppers = _vectors(boxes[:, :3]), _vectors(boxes[:, 3:])
        self._tree = wp.Bvh(self._lowers, self._uppers)

    def overlaps(self) -> npt.NDArray[np.int32]:
        """Boxes that overlap, each pair once."""
        count = len(self._lowers)
        counts = wp.empty(count, dtype=int, device=DEVICE)
        wp.launch(count_overlaps, count, [self._tree.id, self._lowers, self._uppers, counts], device=DEVICE)
        offsets, total = _offsets(counts)
        pairs = wp.empty(total, dtype=wp.vec2i, device=DEVICE)
        wp.launch(write_overlaps, count, [self._tree.id, self._lowers, self._uppers, offsets, pairs], device=DEVICE)
        return pairs.numpy()

    def closest(self, origins: npt.NDArray[Any], directions: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        """The box that each ray meets first, or -1."""
        count = len(origins)
        objects = wp.empty(count, dtype=int, device=DEVICE)
        places = wp.empty(count, dtype=float, device=DEVICE)
        inputs = [self._tree.id, self._lowers, self._uppers, _vectors(origins), _vectors(directions), objects, places]
        wp.launch(cast, count, inputs, device=DEVICE)
        return objects.numpy()
