"""Queries against brute force, and against scipy."""

from __future__ import annotations

from typing import Any

import brute_force
import numpy as np
import pytest
from conftest import broad_phase, peer
from hypothesis import example, given
from hypothesis import strategies as st

FEW_UNITS = 5 * 2.0**-23


def asked(kind: str, count: int, dimensions: int, seed: int, *, are_points: bool) -> tuple[Any, Any]:
    lower, upper = brute_force.boxes(kind, count, dimensions, seed + 1)
    if are_points:
        lower = upper = np.where(np.isfinite(lower), lower, 0)
    return lower, upper


@given(
    kind=st.sampled_from(brute_force.KINDS_OF_BOXES),
    dimensions=st.sampled_from([2, 3]),
    rows=st.integers(0, 150),
    count=st.integers(0, 40),
    seed=st.integers(0, 1 << 32),
    radius=st.sampled_from([None, 0.0, 0.5, 2.0, np.inf, "rows"]),
    are_points=st.booleans(),
    is_double=st.booleans(),
    has_filters=st.booleans(),
)
@example("lattice", 3, 150, 40, 1, None, False, False, True)
@example("infinite", 3, 150, 40, 1, "rows", False, True, False)
def test_queries_find_what_brute_force_finds(
    backend: str,
    kind: str,
    dimensions: int,
    rows: int,
    count: int,
    seed: int,
    radius: Any,
    are_points: bool,
    is_double: bool,
    has_filters: bool,
) -> None:
    lower, upper = brute_force.rounded_outward(*brute_force.boxes(kind, rows, dimensions, seed))
    low, high = asked(kind, count, dimensions, seed, are_points=are_points)
    if not is_double:
        low, high = brute_force.rounded_outward(low, high)
        if are_points:
            high = low
    random = np.random.default_rng(seed)
    if radius == "rows":
        radius = random.random(count) * 3
    question: dict[str, Any] = {"points": low} if are_points else {"boxes": np.hstack([low, high])}
    if radius is not None:
        question["radius"] = radius
    of_boxes: dict[str, Any] = {}
    may = np.ones((count, rows), bool)
    if has_filters:
        names = {"layers": 16, "masks": 16, "groups": 3, "worlds": 3}
        words = {name: random.integers(0, below, count + rows) for name, below in names.items()}
        of_boxes = {name: word[count:] for name, word in words.items()}
        question |= {name: word[:count] for name, word in words.items()}
        of_both = [words[name] for name in ("layers", "masks", "groups")]
        may = brute_force.admitted(count + rows, *of_both, None, words["worlds"])[:count, count:]
    mine = broad_phase(backend, dimensions=dimensions)
    mine.step(np.hstack([lower, upper]), **of_boxes)
    result = mine.query(**question)

    # Bounds may be measured exactly, or rounded outward.
    singles = brute_force.rounded_outward(low, high)
    apart, apart_rounded = (brute_force.distances(*of, lower, upper) for of in [(low, high), singles])
    reach = np.broadcast_to(np.asarray(0.0 if radius is None else radius), count)[:, None]
    reach = brute_force.rounded_outward(reach, reach)[1].astype(np.float64)
    with np.errstate(invalid="ignore"):
        spare = np.nan_to_num(reach * FEW_UNITS, posinf=0.0) + 1e-37
    meet, meet_rounded = (brute_force.overlap(*of, lower, upper) for of in [(low, high), singles])
    surely = ((apart <= reach - spare) | meet) & may
    perhaps = ((apart_rounded <= reach + spare) | meet_rounded) & may
    assert (result.offsets.dtype, result.objects.dtype) == (np.int64, np.int64)
    assert len(result) == count
    assert result.offsets[0] == 0
    assert result.offsets[-1] == len(result.objects)
    found = np.zeros((count, rows), bool)
    for row in range(count):
        one = result.of(row)
        assert (np.diff(one.astype(np.int64)) > 0).all(), "ascending, none twice"
        found[row, one] = True
    assert not (surely & ~found).any()
    assert not (found & ~perhaps).any()


@given(
    kind=st.sampled_from(["lattice", "spread", "sizes", "points", "same"]),
    dimensions=st.sampled_from([2, 3]),
    rows=st.integers(0, 100),
    count=st.integers(0, 30),
    seed=st.integers(0, 1 << 32),
    k=st.sampled_from([1, 2, 7, 64]),
    radius=st.sampled_from([None, 1.5, 0.0]),
    are_points=st.booleans(),
)
@example("lattice", 3, 100, 30, 1, 7, None, True)
def test_the_nearest_come_first(
    backend: str, kind: str, dimensions: int, rows: int, count: int, seed: int, k: int, radius: Any, are_points: bool
) -> None:
    lower, upper = brute_force.rounded_outward(*brute_force.boxes(kind, rows, dimensions, seed))
    low, high = brute_force.rounded_outward(*asked(kind, count, dimensions, seed, are_points=are_points))
    question: dict[str, Any] = {"points": low} if are_points else {"boxes": np.hstack([low, high])}
    if are_points:
        high = low
    mine = broad_phase(backend, dimensions=dimensions)
    mine.step(np.hstack([lower, upper]))
    result = mine.query(**question, k=k, radius=radius)
    assert (result.objects.dtype, result.distances.dtype) == (np.int64, np.float32)
    assert result.objects.shape == result.distances.shape == (count, k)
    reach = np.inf if radius is None else radius
    apart = brute_force.distances(low, high, lower, upper)
    apart[apart > reach] = np.inf
    padded = np.hstack([apart, np.full((count, k), np.inf)])
    order = np.argsort(padded, axis=1, kind="stable")[:, :k]
    nearest = np.take_along_axis(padded, order, axis=1)
    np.testing.assert_allclose(result.distances, nearest, rtol=1e-6, atol=1e-30)
    assert np.array_equal(result.objects == rows, np.isinf(result.distances))
    if kind in ("lattice", "points", "same"):
        # Squared distances are exact here. Of equal ones, the smaller row comes first.
        assert np.array_equal(result.objects, np.where(np.isinf(nearest), rows, order))
    for row in range(count):
        named = result.objects[row][result.objects[row] < rows]
        assert len(set(named.tolist())) == len(named)
        np.testing.assert_allclose(apart[row, named], result.distances[row, : len(named)], rtol=1e-6, atol=1e-30)


def test_scipy_finds_the_same_points(backend: str) -> None:
    spatial = peer("scipy.spatial")
    random = np.random.default_rng(2)
    points = random.random((5000, 3)).astype(np.float32)
    places = random.random((300, 3)).astype(np.float32)
    radii = random.random(300).astype(np.float32) * np.float32(0.1)
    tree = spatial.cKDTree(points)
    mine = broad_phase(backend)
    mine.step(points)
    for radius in (0.08, radii):
        found = mine.query(points=places, radius=radius)
        expected = tree.query_ball_point(places, radius, return_sorted=True)
        assert sum(map(len, expected)) > 500
        assert [found.of(row).tolist() for row in range(300)] == list(expected)
    lengths, order = tree.query(places, k=5)
    nearest = mine.query(points=places, k=5)
    assert np.array_equal(nearest.objects, order)
    np.testing.assert_allclose(nearest.distances, lengths, rtol=1e-6)
    lengths, order = tree.query(places, k=5, distance_upper_bound=0.05)
    nearest = mine.query(points=places, k=5, radius=0.05)
    assert np.array_equal(nearest.objects, order)
    assert (nearest.objects == 5000).any()
    assert np.array_equal(np.isinf(nearest.distances), nearest.objects == 5000)


def test_both_backends_give_the_same_bytes(gpu: str) -> None:
    lower, upper = brute_force.boxes("sizes", 20_000, 3, 5)
    low, high = brute_force.boxes("spread", 500, 3, 6)
    answers = []
    for name in ("cpu", gpu):
        mine = broad_phase(name)
        mine.step(np.hstack([lower, upper]))
        met = mine.query(boxes=np.hstack([low, high]) * 2)
        answers.append((met.offsets.tobytes(), met.objects.tobytes()))
        assert len(met.objects) > 1000
    assert answers[0] == answers[1]


def test_unsorted_lists_are_the_same_sets(backend: str) -> None:
    lower, upper = brute_force.boxes("spread", 2000, 3, 5)
    boxes = np.hstack([lower, upper])
    lists = []
    for sort in (True, False):
        mine = broad_phase(backend, sort=sort)
        mine.step(boxes)
        found = mine.query(boxes=boxes[:100], radius=0.25)
        lists.append([sorted(found.of(row).tolist()) for row in range(100)])
    assert lists[0] == lists[1]


def test_special_queries(backend: str) -> None:
    mine = broad_phase(backend)
    mine.step([[0, 0, 0, 1, 1, 1], [3, 0, 0, 4, 1, 1]])
    assert mine.query(points=[[0, 0, 0]], k=1024).objects.shape == (1, 1024)
    assert mine.query(points=[[2, 0, 0]], k=2).distances.tolist() == [[1.0, 1.0]]
    assert mine.query(points=[[2, 0, 0]], k=2).objects.tolist() == [[0, 1]]
    assert mine.query(points=[[0, 0, 0]], worlds=(1 << 32) - 1).of(0).tolist() == []
    assert mine.query(points=[[1e30, 0, 0]], radius=np.inf).of(0).tolist() == [0, 1]
    assert mine.query(boxes=[[-np.inf] * 3 + [np.inf] * 3]).of(0).tolist() == [0, 1]
    # A float64 radius is rounded up, so 1 + 1e-15 still reaches.
    assert mine.query(points=[[5, 0, 0]], radius=1 + 1e-15).of(0).tolist() == [1]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, TypeError, "either boxes or points"),
        ({"boxes": np.zeros((1, 6)), "points": np.zeros((1, 3))}, TypeError, "either boxes or points"),
        ({"points": [[0, 0, 0], [0, np.nan, 0]]}, ValueError, r"points\[1\] has a NaN in y"),
        ({"boxes": [[0, 0, 0, 1, 1, np.nan]]}, ValueError, r"boxes\[0\] has a NaN in its max z"),
        ({"boxes": [[0, 0, 5, 1, 1, 1]]}, ValueError, r"boxes\[0\] has a min z of 5 above its max of 1"),
        ({"points": np.zeros((2, 6))}, ValueError, r"points has the shape \(2, 6\)"),
        ({"points": [[0, 0, 0]] * 2, "radius": [0, -1]}, ValueError, r"radius\[1\]"),
        ({"points": [[0, 0, 0]], "radius": np.nan}, ValueError, r"radius\[0\]"),
        ({"points": [[0, 0, 0]], "radius": [1, 2]}, ValueError, "radius has the shape"),
        ({"points": [[0, 0, 0]], "radius": "1"}, TypeError, "radius"),
        ({"points": [[0, 0, 0]], "k": 0}, ValueError, "k "),
        ({"points": [[0, 0, 0]], "k": 1025}, ValueError, "k "),
        ({"points": [[0, 0, 0]], "k": -1}, ValueError, "k "),
        ({"points": [[0, 0, 0]], "k": 1.5}, TypeError, "k: a whole number"),
        ({"points": [[0, 0, 0]], "groups": 1 << 30}, ValueError, r"groups is 1073741824"),
        ({"points": [[0, 0, 0]], "worlds": 0.5}, TypeError, "worlds: whole numbers are needed"),
    ],
)
def test_bad_queries_are_refused(backend: str, given: dict[str, Any], error: type[Exception], message: str) -> None:
    mine = broad_phase(backend)
    mine.step([[0, 0, 0, 1, 1, 1]])
    with pytest.raises(error, match=message):
        mine.query(**given)
    assert mine.query(points=[[0, 0, 0]]).of(0).tolist() == [0]


def test_ignored_queries_find_nothing(backend: str) -> None:
    mine = broad_phase(backend, invalid="ignore")
    mine.step([[0, 0, 0, 1, 1, 1]])
    places = [[0, 0, 0], [np.nan, 0, 0], [0, 0, 0]]
    assert mine.query(points=places, radius=[1, 1, -1]).offsets.tolist() == [0, 1, 1, 1]
    assert mine.query(points=places, radius=[1, 1, np.nan], k=1).objects.tolist() == [[0], [1], [1]]
