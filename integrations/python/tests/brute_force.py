"""Brute force in NumPy: tests each object against all others."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def rounded_outward(lower: Array, upper: Array) -> tuple[Array, Array]:
    """Rounds boxes outward to float32."""
    with np.errstate(over="ignore"):
        low, high = lower.astype(np.float32), upper.astype(np.float32)
        low = np.where(low.astype(lower.dtype) > lower, np.nextafter(low, np.float32(-np.inf)), low)
        high = np.where(high.astype(upper.dtype) < upper, np.nextafter(high, np.float32(np.inf)), high)
    return low, high


def grown(lower: Array, upper: Array, margin: float) -> tuple[Array, Array]:
    """Grows float32 boxes by `margin` and one float, which covers the rounding."""
    if margin == 0.0:
        return lower, upper
    by = np.float32(margin)
    low = np.where(np.isfinite(lower), np.nextafter(lower - by, np.float32(-np.inf)), lower)
    high = np.where(np.isfinite(upper), np.nextafter(upper + by, np.float32(np.inf)), upper)
    return low, high


def overlap(a_lower: Array, a_upper: Array, b_lower: Array, b_upper: Array) -> Array:
    """Tests closed boxes for overlap: a row per box of `a`, a column per box of `b`."""
    meet = (a_lower[:, None] <= b_upper[None]) & (b_lower[None] <= a_upper[:, None])
    return np.asarray(meet.all(axis=-1))


def admitted(rows: int, layers: Any, masks: Any, groups: Any, static: Any, worlds: Any) -> Array:
    """True for each pair of boxes that filters and worlds admit."""
    may = np.ones((rows, rows), bool)
    membership = np.broadcast_to(np.asarray(0xFFFF if layers is None else layers, np.int64), rows)
    mask = np.broadcast_to(np.asarray(0xFFFF if masks is None else masks, np.int64), rows)
    meets = (membership[:, None] & mask[None]) != 0
    may &= meets & meets.T
    if groups is not None:
        group = np.broadcast_to(np.asarray(groups), rows)
        may &= (group[:, None] == 0) | (group[:, None] != group[None])
    if static is not None:
        still = np.broadcast_to(np.asarray(static), rows)
        may &= ~(still[:, None] & still[None])
    if worlds is not None:
        of_all = np.equal(worlds, -1)
        may &= np.equal.outer(worlds, worlds) | of_all[:, None] | of_all
    return may


def pairs(
    lower: Array,
    upper: Array,
    *,
    layers: Any = None,
    masks: Any = None,
    groups: Any = None,
    static: Any = None,
    worlds: Any = None,
    excluded: Any = None,
) -> Array:
    """Pairs of boxes, ascending, worlds one after the other."""
    meet = overlap(lower, upper, lower, upper) & admitted(len(lower), layers, masks, groups, static, worlds)
    if excluded is not None and len(excluded) > 0:
        inside = excluded[(excluded < len(lower)).all(axis=1)]
        meet[inside[:, 0], inside[:, 1]] = meet[inside[:, 1], inside[:, 0]] = False
    found = np.argwhere(np.triu(meet, 1)).astype(np.int64)
    return found if worlds is None else found[np.argsort(world_of(found, worlds), kind="stable")]


def world_of(found: Array, worlds: Any) -> Array:
    """World of each pair, 2^20 if both boxes are in all worlds."""
    first, second = worlds[found[:, 0]], worlds[found[:, 1]]
    either = np.where(first < 0, second, first)
    return np.where(either < 0, 1 << 20, either)


def ascending(rows: Array) -> Array:
    """Sorts rows lexicographically."""
    return rows[np.lexsort(rows.T[::-1])] if len(rows) > 0 else rows


def boxes(kind: str, rows: int, dimensions: int, seed: int) -> tuple[Array, Array]:
    """Random float64 boxes of one of `KINDS_OF_BOXES`."""
    random = np.random.default_rng(seed)
    shape = (rows, dimensions)
    side = max(rows, 1) ** (1 / dimensions)
    if kind == "lattice":
        lower = random.integers(-4, 5, shape).astype(float)
        return lower, lower + random.integers(0, 3, shape)
    if kind == "same":
        return np.zeros(shape), np.ones(shape)
    center = random.random(shape) * side
    if kind == "sizes":
        half = 10.0 ** random.uniform(-4, 1, (rows, 1)) * random.random(shape)
    else:
        half = random.random(shape) * 0.7
    lower, upper = center - half, center + half
    if kind == "points":
        lower = upper = random.integers(0, 6, shape) / 4
    elif kind == "infinite":
        lower = np.where(random.random(shape) < 0.1, -np.inf, lower)
        upper = np.where(random.random(shape) < 0.1, np.inf, upper)
    elif kind == "far":
        lower, upper = lower + 1e6, upper + 1e6
    elif kind == "tiny":
        lower, upper = lower * 1e-44, upper * 1e-44
    elif kind == "huge":
        # Some exceed the largest float32 and become infinity.
        lower, upper = lower * 1e38, upper * 1e38
    return lower, upper


KINDS_OF_BOXES = ("lattice", "same", "spread", "sizes", "points", "infinite", "far", "tiny", "huge")


def ray_hits(
    lower: Array,
    upper: Array,
    origins: Array,
    directions: Array,
    *,
    t_min: Any = 0.0,
    t_max: Any = np.inf,
    half_extents: Any = None,
) -> tuple[Array, Array, Array, Array]:
    """Returns sure hits, hits possible within the rounding, and the latest and the earliest t of entry.

    Each is a table with a row per ray and a column per box.
    """
    low, high, origin, way = (np.asarray(given, np.float64) for given in (lower, upper, origins, directions))
    rows = len(origin)
    first, last = (np.broadcast_to(np.asarray(given, np.float64), rows)[:, None] for given in (t_min, t_max))
    half = np.zeros_like(origin)
    if half_extents is not None:
        half = rounded_outward(*[np.asarray(half_extents)] * 2)[1].astype(np.float64)
    is_swept = (half > 0) | (origin != origin.astype(np.float32)) | (way != way.astype(np.float32))
    answers = []
    for slack in (0.0, 4e-7):
        # Boxes are grown by the half extents and the rounding of the ray, and rounded outward.
        spare = np.where(is_swept, slack, 0.0)[:, None]
        bounds = []
        for bound, sign in ((low, -1), (high, 1)):
            finite = np.where(np.isfinite(bound), np.abs(bound), 0.0)
            by = half[:, None] + spare * (finite + np.abs(origin)[:, None] + half[:, None])
            bounds.append(bound[None] + sign * by)
        near, far = bounds
        moves = np.broadcast_to((way != 0)[:, None], near.shape)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            at = np.stack([(near - origin[:, None]) / way[:, None], (far - origin[:, None]) / way[:, None]])
        inside = (near <= origin[:, None]) & (origin[:, None] <= far)
        enter = np.where(moves, at.min(axis=0), np.where(inside, -np.inf, np.inf)).max(axis=2)
        leave = np.where(moves, at.max(axis=0), np.where(inside, np.inf, -np.inf)).min(axis=2)
        start, end = np.maximum(enter, np.maximum(first, 0.0)), np.minimum(leave, last)
        beyond = np.where(np.isfinite(end), end * (1 + slack), end)
        hit = (start <= beyond) & (start < np.inf) & (end >= 0)
        answers.append((hit, start))
    (surely, latest), (perhaps, earliest) = answers
    return surely, perhaps, latest, earliest


def distances(a_lower: Array, a_upper: Array, b_lower: Array, b_upper: Array) -> Array:
    """Distances between closed boxes: a row per box of `a`, a column per box of `b`."""
    low, high, below, above = (given.astype(np.float64) for given in (a_lower, a_upper, b_lower, b_upper))
    with np.errstate(invalid="ignore"):
        gap = np.maximum(below[None] - high[:, None], low[:, None] - above[None])
    # Equal infinite bounds touch.
    gap = np.maximum(np.nan_to_num(gap, nan=0.0, posinf=np.inf, neginf=-np.inf), 0.0)
    return np.asarray(np.sqrt((gap**2).sum(axis=2)))


def neighbors(points: Array, cell: Array, radius: float, worlds: Any = None) -> tuple[Array, Array, Array, Array]:
    """Neighbours i and j with shift and distance, sorted by i, j and shift. Vectors of `cell` may be zero."""
    axes = points.shape[1]
    worlds = np.zeros(len(points), int) if worlds is None else np.asarray(worlds)
    reciprocal = np.zeros((axes, axes))
    is_periodic = cell.any(axis=1)
    reciprocal[:, is_periodic] = np.linalg.pinv(cell[is_periodic])
    home = -np.floor(points @ reciprocal).astype(int)
    reach = np.where(is_periodic, np.ceil(radius * np.linalg.norm(reciprocal, axis=0)) + 1, 0).astype(int)
    found = []
    for image in np.ndindex(*(2 * reach + 1)):
        shifts = image - reach + home[None] - home[:, None]
        apart = np.linalg.norm(points[None] - points[:, None] + shifts @ cell, axis=2)
        near = (apart <= radius) & np.equal.outer(worlds, worlds)
        near &= ~np.eye(len(points), dtype=bool) | shifts.any(axis=2)
        i, j = near.nonzero()
        found.append((i, j, shifts[near], apart[near]))
    i, j, shifts, apart = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort([*shifts.T[::-1], j, i])
    return i[order], j[order], shifts[order], apart[order]
