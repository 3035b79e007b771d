"""Coordinates far from zero in float64, against brute force in float64 and in fractions."""

from __future__ import annotations

import pickle
import re
import warnings
from fractions import Fraction
from typing import Any

import brute_force
import gpu_broad_phase as gbp
import numpy as np
import pytest
from conftest import broad_phase
from gpu_broad_phase import BroadPhase, ObjectSet
from hypothesis import example, given
from hypothesis import strategies as st

UTM = np.array([500_000.0, 4_500_000.0, 0.0])


def step_of(places: Any, origin: Any) -> Any:
    """Distance of neighbouring float32 numbers at places measured from an origin, or more."""
    return np.spacing(np.abs(places - np.asarray(origin)).astype(np.float32)).astype(np.float64) * 2


def far_scene(place: str, rows: int, dimensions: int, seed: int) -> tuple[Any, Any, Any]:
    """Boxes far away, and the place."""
    random = np.random.default_rng(seed)
    shape = (rows, dimensions)
    center = {
        "utm": UTM[:dimensions],
        "one axis": 1e9 * np.eye(3)[1, :dimensions],
        "thousand": np.full(dimensions, -1e3),
        "trillion": np.array([1e12, -3e11, 7e9])[:dimensions],
        "whole": np.full(dimensions, 2.0**30 + 1),
        "mixed": random.choice([-1, 1], dimensions) * 10.0 ** random.uniform(0, 12, dimensions),
    }[place]
    side = max(rows, 1) ** (1 / dimensions)
    size = np.max(np.abs(center)) * 1e-12 + 0.02
    if place == "whole":
        lower = center + random.integers(0, 1 + int(side), shape)
        return lower, lower + random.integers(0, 2, shape), center
    lower = center + random.random(shape) * side
    upper = lower + random.random(shape) * 20 * size
    if rows > 100:
        # Strays, which must not decide the origin.
        lower[0], upper[0] = 1e10, 1e10 + 1
        lower[1], upper[1] = -3.3, 0.1
        lower[2] = -np.inf
    return lower, upper, center


def pairs_of(lower: Any, upper: Any) -> Any:
    return set(map(tuple, brute_force.pairs(lower, upper).tolist()))


PLACES = st.sampled_from(["utm", "one axis", "thousand", "trillion", "whole", "mixed"])


@pytest.mark.filterwarnings("ignore:coordinates are rounded:RuntimeWarning")
@given(place=PLACES, dimensions=st.sampled_from([2, 3]), rows=st.integers(0, 150), seed=st.integers(0, 1 << 32))
@example("utm", 3, 150, 1)
@example("whole", 2, 150, 1)
def test_no_pair_is_lost_and_few_are_added(backend: str, place: str, dimensions: int, rows: int, seed: int) -> None:
    lower, upper, center = far_scene(place, rows, dimensions, seed)
    mine = broad_phase(backend, dimensions=dimensions)
    found = set(map(tuple, mine.step(np.hstack([lower, upper])).pairs.tolist()))
    exact = pairs_of(lower, upper)
    assert exact <= found
    origin = mine.stats()["origin"]
    assert len(origin) == dimensions
    if rows > 0:
        assert np.abs(center - origin).max() <= 4 * rows ** (1 / dimensions) + 50
    # Boxes may touch within the rounding of both.
    by = [np.nan_to_num(step_of(bound, origin), nan=0.0, posinf=0.0) for bound in (lower, upper)]
    assert found <= pairs_of(lower - by[0], upper + by[1])
    if place == "whole" and rows <= 100:
        assert found == exact


def fractions(array: Any) -> Any:
    return np.vectorize(Fraction, otypes=[object])(np.asarray(array, np.float64))


def exact_hits(lower: Any, upper: Any, rays: dict[str, Any], spare: Any = 0.0, wide: float = 0.0) -> Any:
    """Tests rays against boxes in fractions: a row per ray, a column per box. Boxes grow by `spare`."""
    low, high = fractions(lower - spare), fractions(upper + spare)
    starts, ways = fractions(rays["origins"]), fractions(rays["directions"])
    half = fractions(rays["half_extents"])
    hit = np.zeros((len(starts), len(low)), bool)
    for ray, (start, way) in enumerate(zip(starts, ways, strict=True)):
        near, far = Fraction(rays["t_min"][ray]), Fraction(rays["t_max"][ray]) * Fraction(1 + wide)
        for box in range(len(low)):
            first, last = near, far
            for axis in range(len(start)):
                bounds = low[box, axis] - half[ray, axis], high[box, axis] + half[ray, axis]
                if way[axis] == 0:
                    if not bounds[0] <= start[axis] <= bounds[1]:
                        last = Fraction(-1)
                    continue
                enter, leave = sorted((bound - start[axis]) / way[axis] for bound in bounds)
                first, last = max(first, enter), min(last, leave)
            hit[ray, box] = first <= last
    return hit


def listed(mine: BroadPhase, rays: dict[str, Any], shape: Any) -> Any:
    lists = mine.rays(**rays, mode="all")
    found = np.zeros(shape, bool)
    found[np.repeat(np.arange(shape[0]), np.diff(lists.offsets)), lists.objects] = True
    assert np.array_equal(found.any(axis=1), mine.rays(**rays, mode="any"))
    assert np.array_equal(found.any(axis=1), mine.rays(**rays).objects >= 0)
    return found


@given(
    place=PLACES,
    dimensions=st.sampled_from([2, 3]),
    seed=st.integers(0, 1 << 32),
    has_extents=st.booleans(),
    are_exact=st.booleans(),
)
@example("utm", 3, 1, False, False)
@example("utm", 3, 1, False, True)
def test_no_hit_is_lost(
    backend: str, place: str, dimensions: int, seed: int, has_extents: bool, are_exact: bool
) -> None:
    lower, upper, _ = far_scene(place, 20, dimensions, seed)
    if are_exact:
        lower, upper = (bound.astype(np.float32).astype(np.float64) for bound in (lower, upper))
    random = np.random.default_rng(seed)
    shape = (16, dimensions)
    # Rays through points of boxes, corners among them.
    box = random.integers(0, 20, 16)
    part = random.choice([0.0, 0.25, 0.5, 1.0], shape)
    ways = random.normal(size=shape) * (random.random(shape) < 0.8)
    aims = lower[box] + (upper - lower)[box] * part
    rays: dict[str, Any] = {
        "origins": aims - ways * random.choice([0.0, 1.0, 3.0, 1e3], (16, 1)),
        "directions": ways,
        "t_min": random.choice([0.0, 0.0, 0.1], 16),
        "t_max": random.choice([1.0, 3.0, 3.3, 1e5], 16),
        "half_extents": random.random(shape) * has_extents,
    }
    mine = broad_phase(backend, dimensions=dimensions)
    mine.step(np.hstack([lower, upper]))
    found = listed(mine, rays, (16, 20))
    assert not (exact_hits(lower, upper, rays) & ~found).any()
    origin = mine.stats()["origin"]
    most = max(step_of(bound, origin).max() for bound in (lower, upper, rays["origins"]))
    assert not (found & ~exact_hits(lower, upper, rays, 4 * most, 2e-6)).any()


@given(place=PLACES, dimensions=st.sampled_from([2, 3]), seed=st.integers(0, 1 << 32), are_exact=st.booleans())
@example("utm", 3, 1, False)
@example("utm", 3, 1, True)
def test_no_result_of_a_query_is_lost(backend: str, place: str, dimensions: int, seed: int, are_exact: bool) -> None:
    lower, upper, center = far_scene(place, 20, dimensions, seed)
    if are_exact:
        lower, upper = (bound.astype(np.float32).astype(np.float64) for bound in (lower, upper))
    random = np.random.default_rng(seed)
    points = center + random.random((30, dimensions)) * 4 + 0.1
    mine = broad_phase(backend, dimensions=dimensions)
    mine.step(np.hstack([lower, upper]))
    results = [(0.0, mine.query(boxes=np.hstack([points, points + 1]))), (1.1, mine.query(points=points, radius=1.1))]
    origin = mine.stats()["origin"]
    most = max(step_of(bound, origin).max() for bound in (lower, upper, points))
    for radius, result in results:
        high = points + (radius == 0.0)
        apart = brute_force.distances(points, high, lower, upper)
        found = np.zeros(apart.shape, bool)
        found[np.repeat(np.arange(30), np.diff(result.offsets)), result.objects] = True
        # Distances of the brute force are rounded, too.
        assert not ((apart <= radius * (1 - 1e-6)) & ~found).any()
        assert not (found & (apart > radius * (1 + 1e-6) + 4 * most)).any()
    near = mine.query(points=points, k=3)
    apart = np.sort(brute_force.distances(points, points, lower, upper), axis=1)[:, :3]
    np.testing.assert_allclose(near.distances, apart, rtol=1e-6, atol=4 * most)


def utm_boxes(rows: int = 2000, length: float = 13.0) -> Any:
    lower = UTM + np.random.default_rng(0).random((rows, 3)) * length
    return np.hstack([lower, lower + 0.1])


def test_boxes_at_utm_coordinates(backend: str) -> None:
    boxes = utm_boxes()
    lower, upper = boxes[:, :3], boxes[:, 3:]
    mine = broad_phase(backend)
    pairs = mine.step(boxes).pairs
    assert len(pairs) == 7
    assert np.array_equal(pairs, brute_force.pairs(lower, upper))
    random = np.random.default_rng(1)
    starts = UTM + random.random((2000, 3)) * [13, 13, 0] + [0, 0, 40]
    over = (lower[None, :, :2] <= starts[:, None, :2]) & (starts[:, None, :2] <= upper[None, :, :2])
    tops = np.where(over.all(axis=2), upper[None, :, 2], -np.inf)
    closest = np.where(np.isfinite(tops.max(axis=1)), tops.argmax(axis=1), -1)
    assert np.array_equal(mine.rays(starts, [0.0, 0.0, -1.0]).objects, closest)
    aimed = random.integers(0, 2000, 2000)
    hits = mine.rays(starts, (lower + upper)[aimed] / 2 - starts, mode="all")
    assert all(aimed[ray] in hits.of(ray) for ray in range(2000))
    near = mine.query(points=starts - [0, 0, 33], k=1)
    apart = brute_force.distances(starts - [0, 0, 33], starts - [0, 0, 33], lower, upper)
    assert np.array_equal(near.objects[:, 0], apart.argmin(axis=1))


def test_why_measures_from_the_origin(backend: str) -> None:
    mine = broad_phase(backend)
    mine.step([[500000.1, 4500000.0, 0.0], [500000.1, 4500000.1, 0.0]])
    gap = re.search(r"are not a pair: the boxes are (\S+) apart along y", mine.why(0, 1))
    assert gap is not None
    assert abs(float(gap[1]) - 0.1) < 1e-6
    # Above 2^24, float32 has no odd numbers.
    mine.step(np.array([[2**25, 0, 0], [2**25 + 1, 0, 0]]))
    assert "are 1 apart along x" in mine.why(0, 1)
    assert mine.stats()["origin"][0] >= 2**25


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_exact_numbers_are_never_moved(backend: str, kind: Any) -> None:
    boxes = utm_boxes().astype(np.float32).astype(kind)
    mine = BroadPhase(backend=backend)
    mine.step(utm_boxes())
    origin = mine.stats()["origin"]
    assert origin[1] > 4e6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mine.step(boxes).pairs
    assert mine.stats()["origin"] == (0.0, 0.0, 0.0)
    single = boxes.astype(np.float32)
    assert np.array_equal(found, brute_force.pairs(single[:, :3], single[:, 3:]))
    mine.rays([[500_000.5, 4_500_000.5, 9]], [[0, 0, -1]])
    mine.query(points=[[500_000.5, 4_500_000.5, 9]])
    assert mine.stats()["origin"] == (0.0, 0.0, 0.0)
    # The origin of the last boxes that were not exact still serves.
    mine.step(utm_boxes())
    assert mine.stats()["origin"] == origin


def test_an_origin_stays_while_it_serves(backend: str) -> None:
    mine = BroadPhase(backend=backend)
    origins = []
    for frame in range(30):
        mine.step(utm_boxes(200) + np.tile([3.1 * frame, 0, 0], 2))
        origins.append(mine.stats()["origin"])
    assert 1 < len(set(origins)) < 10
    mine.step(utm_boxes(200) - np.tile(UTM, 2))
    assert mine.stats()["origin"] == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(("scheme", "unit"), [("uniform", 0.3), ("adaptive", 0.5)])
def test_an_origin_is_on_the_borders_of_cells(backend: str, scheme: Any, unit: float) -> None:
    mine = BroadPhase(backend=backend, scheme=scheme, cell_size=0.3)
    pairs = mine.step(utm_boxes()).pairs
    assert len(pairs) == 7
    cells = np.array(mine.stats()["origin"][:2]) / np.float32(unit).astype(np.float64)
    np.testing.assert_allclose(cells, np.round(cells), atol=1e-6)
    derived = BroadPhase(backend=backend, scheme=scheme)
    assert np.array_equal(derived.step(utm_boxes()).pairs, pairs)
    # From the rounded boxes at their place, cells would be as large as the rounding.
    assert derived.stats()["cell_size"] < 2


def test_a_stray_box_does_not_decide(backend: str) -> None:
    boxes = np.vstack([utm_boxes(), [[1e10] * 3 + [1e10 + 1] * 3, [-1e12] * 6]])
    mine = broad_phase(backend)
    assert len(mine.step(boxes).pairs) == 7
    assert np.abs(UTM - mine.stats()["origin"]).max() < 20


def test_exact_boxes_and_rays_that_are_not(backend: str) -> None:
    """The answer depends on boxes and rays alone, not on earlier calls."""
    lower = UTM + np.arange(12).reshape(4, 3) * 0.5
    boxes = np.hstack([lower, lower + 0.5]).astype(np.float32)
    worlds = [0, 0, 1, 1]
    exact: Any = (lower[[0, 3]].astype(np.float32) + [[0.25, 0.0, 4]]).astype(np.float32), np.float32([0, 0, -1])
    near: Any = lower[[1, 2]] + [0.1, 0.2, 9], [0.0, 1e-9, -1.0]
    mine = BroadPhase(backend=backend)
    result = mine.step(boxes, worlds=worlds)
    counts = mine.stats()
    plain = mine.rays(*exact, worlds=[0, 1])
    assert mine.stats()["origin"] == (0.0, 0.0, 0.0)
    for _ in range(2):
        hits = mine.rays(*near, worlds=[0, 1])
        assert hits.objects.tolist() == [1, 2]
        np.testing.assert_allclose(hits.t, 8.5, rtol=1e-6)
        assert mine.stats()["origin"][1] > 4e6
        assert mine.rays(*near, worlds=[1, 0]).objects.tolist() == [-1, -1]
        assert mine.query(points=near[0] - [0, 0, 9], worlds=[0, 1]).objects.tolist() == [1, 2]
        again = mine.rays(*exact, worlds=[0, 1])
        assert mine.stats()["origin"] == (0.0, 0.0, 0.0)
        assert pickle.dumps(again) == pickle.dumps(plain)
    same = ("objects", "pairs", "cells", "entries", "invalid", "excluded")
    assert {name: mine.stats()[name] for name in same} == {name: counts[name] for name in same}
    assert result.counts["pairs"] == counts["pairs"]
    assert "are not a pair" in mine.why(0, 2)
    mine.neighbors(np.zeros((2, 3)), 1.0)
    with pytest.raises(RuntimeError, match="call step"):
        mine.rays(*near)


def test_rays_near_large_boxes_build_no_other_table(backend: str) -> None:
    mine = BroadPhase(backend=backend)
    boxes = np.array([[1000, 1000, 1000, 1001, 1001, 1001], [1002, 1000, 1000, 1003, 1001, 1001]], np.float32)
    mine.step(boxes)
    assert mine.rays([[1000.1, 1000.1, 1009.1]], [[0, 0, -1.0]]).objects.tolist() == [0]
    assert mine.stats()["origin"] == (0.0, 0.0, 0.0)
    mine.step(np.float32(UTM[None]))
    near = mine.query(points=UTM[None] + [0.1, 0, 0], k=1)
    np.testing.assert_allclose(near.distances, [[0.1]], atol=1e-6)
    # Points have no size: the distance between them counts.
    mine.step(np.float32(UTM + np.arange(9).reshape(3, 3)))
    assert mine.query(points=[UTM + [3.1, 4.2, 5.3]], k=1).objects.tolist() == [[1]]
    assert mine.stats()["origin"][1] > 4e6


def test_lengths_are_rounded_outward(backend: str) -> None:
    mine = broad_phase(backend)
    mine.step(np.array([[5, 0, 0, 6, 1, 1], [0, 0, 0, 0, 1, 1]], np.float32))
    way = [[1.0, 0, 0]]
    # The float32 next to 5 - 1e-9 is 5.
    start = np.array([[0.0, 0.5, 0.5]])
    for t_max in (5.0, np.float64(5.0), np.array([5.0]), np.array([5.0], np.float32), 5 - 1e-9):
        assert mine.rays(start, way, t_min=0.5, t_max=t_max).objects.tolist() == [0]
    assert mine.rays(start, way, t_min=0.5, t_max=4.999).objects.tolist() == [-1]
    below = 0.5 + 2.0**-26
    assert mine.rays(start, way, t_min=below).t[0] == 5
    mine.step([[0, 0, 0, below, 1, 1]])
    assert mine.rays(start, way, t_min=[below]).objects.tolist() == [0]
    # The half extents of the caller and of the rounding.
    mine.step(np.array([[0, 0, 0, 1, 1, 1]], np.float32))
    hits = mine.rays([[1.1, 0.5, 5]], [[0, 0, -1.0]], half_extents=[[1.1 - 1.0, 0, 0]])
    assert hits.objects.tolist() == [0]
    mine = broad_phase(backend, invalid="ignore")
    mine.step([[0, 0, 0, 1, 1, 1.1]])
    for bad in (-1e-12, np.nan, np.inf):
        assert mine.rays([[0.1, 0.5, 5]], [[0, 0, -1.0]], half_extents=[[bad, 0, 0]]).objects.tolist() == [-1]


@pytest.mark.filterwarnings("ignore:coordinates are rounded:RuntimeWarning")
def test_rays_beyond_float32(backend: str) -> None:
    mine = broad_phase(backend)
    mine.step([[1e39, 0, 0, 1.1e39, 1, 1], [1.2e39, 0, 0, 1.3e39, 1, 1]])
    assert mine.rays([[1.15e39, 0.5, 0.5]], [[1e37, 0, 0]]).objects.tolist() == [1]
    mine.step([[0, 0, 0, 1, 1, 1.1]])
    with pytest.raises(ValueError, match=r"origins\[0\] is not finite in float32"):
        mine.rays([[1e39, 0.5, 0.5]], [[1, 0, 0]])


def test_coarse_rounding_warns_once(backend: str) -> None:
    wide = np.random.default_rng(1).random((500, 3)) * 1e9
    boxes = np.hstack([wide, wide + 0.1])
    mine = BroadPhase(backend=backend)
    with pytest.warns(RuntimeWarning, match=r"rounded by up to 64, and the median side of the boxes is 0\.1") as seen:
        mine.step(boxes)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    # Warnings are errors here.
    mine.step(boxes + 0.3)
    mine.step(boxes.astype(np.float32))
    mine.step(utm_boxes())
    objects = ObjectSet()
    objects.insert(boxes)
    with pytest.warns(RuntimeWarning, match="rounded by up to 64"):
        mine.step(objects)
    mine.step(objects)
    # Ignored and infinite boxes do not count.
    mine = BroadPhase(backend=backend, invalid="ignore")
    ignored = np.array([[0, 0, 0, 1, 1, 1], [0.1, 0.1, 0.1, 0.0, 0.0, 0.0], [np.nan] * 6, [-np.inf] * 3 + [np.inf] * 3])
    mine.step(ignored + 2**20)
    assert mine.stats()["origin"] == (0.0, 0.0, 0.0)


def pairs_as_handles(objects: ObjectSet, result: gbp.StepResult) -> set[tuple[int, ...]]:
    return set(map(tuple, objects.handles_of(result.pairs).tolist()))


def test_a_set_far_away(backend: str) -> None:
    mine = BroadPhase(backend=backend)
    boxes = utm_boxes(600, 7.0)
    exact = {(a, b) for a, b in pairs_of(boxes[:, :3], boxes[:, 3:]) if b >= 200}
    objects = ObjectSet()
    # Static boxes are exact, and then there are others.
    handles = np.concatenate([objects.insert(boxes[:200], static=True), objects.insert(boxes[200:])])
    result = mine.step(objects)
    assert len(exact) > 3
    assert set(map(tuple, result.pairs.tolist())) == exact
    assert np.array_equal(objects.boxes(), boxes)
    assert objects.boxes().dtype == np.float64
    assert mine.stats()["origin"][1] > 4e6
    starts = (boxes[:, :3] + boxes[:, 3:]) / 2 + [0, 0, 9]
    hits = mine.rays(starts, [0.0, 0.0, -1.0], mode="all")
    assert all(row in hits.of(row) for row in range(600))
    assert mine.query(points=starts - [0, 0, 9], k=1).distances.max() == 0
    # All move: the origin changes, and no pair begins or ends.
    before = mine.stats()["origin"]
    by = np.tile([512.0, -64.0, 32.0], 2)
    objects.move(handles, boxes + by)
    moved = mine.step(objects)
    assert mine.stats()["origin"] != before
    assert moved.began is not None and moved.ended is not None
    assert len(moved.began) == len(moved.ended) == 0
    assert np.array_equal(moved.pairs, result.pairs)
    assert np.array_equal(objects.handles(), handles)
    # Objects at rest are rounded again from what was given.
    objects.move(handles[200:], boxes[200:] + 2 * by)
    mine.step(objects)
    assert np.array_equal(objects.boxes()[:200], boxes[:200] + by)
    objects.move(handles, boxes)
    assert set(map(tuple, mine.step(objects).pairs.tolist())) == exact
    objects.remove(handles)
    assert objects.boxes().dtype == np.float32
    objects.insert(boxes.astype(np.float32))
    mine.step(objects)
    assert mine.stats()["origin"] == (0.0, 0.0, 0.0)
    assert objects.boxes().dtype == np.float32


def test_a_set_with_many_free_slots(backend: str) -> None:
    mine = BroadPhase(backend=backend)
    objects = ObjectSet()
    gone = objects.insert(np.zeros((3000, 6)))
    last = objects.insert(utm_boxes(2, 0.1))
    objects.remove(gone)
    assert objects.boxes().dtype == np.float64
    assert len(mine.step(objects)) == 1
    assert mine.stats()["origin"][1] > 4e6
    # An exact set, and rays that are not.
    objects.remove(last)
    handles = objects.insert(np.float32([[500_000, 4_500_000, 0, 500_000.5, 4_500_000.5, 1]]))
    mine.step(objects)
    assert mine.stats()["origin"] == (0.0, 0.0, 0.0)
    starts = UTM + [[0.1, 0.6, 5.0], [0.1, 0.4, 5.0]]
    assert mine.rays(starts, [0, 0, -1.0]).objects.tolist() == [-1, *objects.objects_of(handles)]
    assert mine.stats()["origin"][1] > 4e6


def test_the_first_number_that_is_not_exact_moves_a_set(backend: str) -> None:
    mine = BroadPhase(backend=backend, dimensions=2)
    objects = ObjectSet(dimensions=2)
    place = 2.0**23
    walls = objects.insert([[place, 0, place + 1, 1], [place + 1, 0, place + 2, 1]], static=True)
    ball = objects.insert([[place, 2, place + 1, 3]])
    assert len(mine.step(objects).pairs) == 0
    assert objects.boxes().dtype == np.float32
    objects.move(ball, [[place + 2.25, 0.0, place + 2.75, 1.0]])
    assert objects.boxes().dtype == np.float64, "even before the step"
    result = mine.step(objects)
    assert mine.stats()["origin"][0] > 1e6
    assert len(result.pairs) == 0
    objects.move(ball, [[place + 1.9, 0.0, place + 2.75, 1.0]])
    result = mine.step(objects)
    assert result.began is not None
    assert result.began.tolist() == [[walls[1], ball[0]]]
    objects.remove(ball)
    result = mine.step(objects)
    assert result.ended is not None
    assert result.ended.tolist() == [[walls[1], ball[0]]]
    assert objects.boxes().tolist() == [[place, 0, place + 1, 1], [place + 1, 0, place + 2, 1]]


@given(seed=st.integers(0, 1 << 32), place=st.sampled_from(["utm", "one axis", "thousand", "trillion", "whole"]))
@example(1, "utm")
def test_sets_find_what_arrays_find(backend: str, seed: int, place: str) -> None:
    random = np.random.default_rng(seed)
    mine = broad_phase(backend)
    objects = ObjectSet()
    now: dict[int, Any] = {}
    before: set[Any] = set()
    for frame in range(5):
        lower, upper, _ = far_scene(place, 20, 3, seed + frame)
        boxes = np.hstack([lower, upper])
        if random.random() < 0.3:
            boxes = boxes.astype(np.float32).astype(np.float64)
            boxes[:, 3:] = np.maximum(boxes[:, :3], boxes[:, 3:])
        count = int(random.integers(0, 20))
        known = random.permutation(np.array(list(now), np.uint64))
        gone, moves = known[: len(known) // 4], known[len(known) // 4 : len(known) // 2]
        objects.remove(gone)
        for handle in gone.tolist():
            del now[handle]
        objects.move(moves, boxes[: len(moves)])
        now.update(zip(moves.tolist(), boxes, strict=False))
        rest = boxes[len(moves) : len(moves) + count]
        now.update(zip(objects.insert(rest).tolist(), rest, strict=True))
        result = mine.step(objects)
        handles = list(now)
        all_boxes = np.array(list(now.values())).reshape(-1, 6)
        exact = {frozenset((handles[a], handles[b])) for a, b in pairs_of(all_boxes[:, :3], all_boxes[:, 3:])}
        found = {frozenset(pair) for pair in pairs_as_handles(objects, result)}
        origin = mine.stats()["origin"]
        by = np.nan_to_num(step_of(all_boxes, [*origin, *origin]), posinf=0.0)
        wide = {
            frozenset((handles[a], handles[b]))
            for a, b in pairs_of(all_boxes[:, :3] - by[:, :3], all_boxes[:, 3:] + by[:, 3:])
        }
        assert exact <= found <= wide
        assert result.began is not None and result.ended is not None
        assert {frozenset(pair) for pair in result.began.tolist()} == found - before
        assert {frozenset(pair) for pair in result.ended.tolist()} == before - found
        before = found
        if objects.boxes().dtype == np.float64:
            given_boxes = np.array([now[handle] for handle in objects.handles().tolist()])
            assert np.array_equal(objects.boxes(), given_boxes.reshape(-1, 6))


def test_candidates_far_away(backend: str) -> None:
    random = np.random.default_rng(3)
    rows = 400
    vertices = random.random((rows, 3)) * 10
    faces = random.integers(0, rows, (rows, 3))
    near, far = (
        gbp.collision_candidates(
            vertices + place, None, faces[:, :2], faces, inflation=0.1, broad_phase=broad_phase(backend)
        )
        for place in (0.0, np.array([2.0**19, 2.0**22, 0.0]))
    )
    # Adding the place rounds: few candidates differ.
    for name in ("edges_edges", "faces_vertices"):
        sets = [set(map(tuple, getattr(found, name).tolist())) for found in (near, far)]
        assert len(sets[0] ^ sets[1]) <= len(sets[0]) / 1000


def test_heatmap_far_away() -> None:
    boxes = utm_boxes()
    near = boxes - np.tile(UTM, 2)
    far = gbp.heatmap(boxes, cells=64, axis=2)
    assert np.abs(far.counts - gbp.heatmap(near, cells=64, axis=2).counts).sum() <= 4
    assert far.extent[0] >= 5e5
