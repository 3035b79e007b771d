"""Rays against a slab test, and against Embree."""

from __future__ import annotations

from typing import Any

import brute_force
import numpy as np
import pytest
from conftest import broad_phase, peer
from gpu_broad_phase import BroadPhase
from hypothesis import example, given
from hypothesis import strategies as st

MODES: tuple[Any, ...] = ("closest", "any", "all")


def rays_of(kind: str, rows: int, dimensions: int, seed: int) -> dict[str, Any]:
    """Random rays with ranges of t and swept half extents."""
    random = np.random.default_rng(seed)
    shape = (rows, dimensions)
    if kind == "lattice":
        # Exact in float32.
        origins = random.integers(-6, 7, shape)
        directions = random.choice([-2, -1, -0.5, 0, 0, 0.5, 1, 4], shape)
        spans = {"t_min": random.integers(0, 4, rows), "t_max": random.integers(0, 12, rows)}
        half = random.choice([0, 0, 1, 2], shape)
    else:
        origins = random.uniform(-2, 8, shape)
        directions = random.normal(size=shape) * np.where(random.random(shape) < 0.1, 0, 1)
        spans = {"t_min": random.random(rows), "t_max": np.where(random.random(rows) < 0.3, np.inf, 5)}
        half = random.random(shape) * np.where(random.random(shape) < 0.2, 0, 1)
    return {"origins": origins, "directions": directions, **spans, "half_extents": half}


def check(
    mine: BroadPhase,
    rays: dict[str, Any],
    surely: Any,
    perhaps: Any,
    latest: Any,
    earliest: Any,
    *,
    is_sorted: bool = True,
) -> None:
    """Compares all modes: hits include all of `surely` and only those of `perhaps`."""
    closest, met, lists = (mine.rays(**rays, mode=mode) for mode in MODES)
    rows = len(surely)
    assert (closest.objects.dtype, closest.t.dtype) == (np.int64, np.float32)
    assert (lists.offsets.dtype, lists.objects.dtype, lists.t.dtype) == (np.int64, np.int64, np.float32)
    assert met.dtype == np.bool_
    assert closest.objects.shape == closest.t.shape == met.shape == (rows,)
    assert len(lists) == rows
    assert lists.offsets[0] == 0
    assert lists.offsets[-1] == len(lists.objects) == len(lists.t)
    of_ray = np.repeat(np.arange(rows), np.diff(lists.offsets))
    found = np.zeros(surely.shape, bool)
    found[of_ray, lists.objects] = True
    assert found.sum() == len(lists.objects), "no box twice"
    assert not (surely & ~found).any()
    assert not (found & ~perhaps).any()
    assert (lists.t <= latest[of_ray, lists.objects] * (1 + 1e-6)).all()
    assert (lists.t >= earliest[of_ray, lists.objects] * (1 - 1e-6)).all()
    if is_sorted:
        order = np.lexsort((lists.objects, of_ray))
        assert np.array_equal(order, np.arange(len(order)))
    assert np.array_equal(met, found.any(axis=1))
    # The closest hit has the smallest t, then the smallest row.
    assert np.array_equal(closest.objects >= 0, met)
    entered = np.full(surely.shape, np.inf, np.float32)
    entered[of_ray, lists.objects] = lists.t
    assert np.array_equal(closest.t, entered.min(axis=1, initial=np.inf))
    if surely.shape[1] > 0:
        assert np.array_equal(closest.objects, np.where(met, entered.argmin(axis=1), -1))


@given(
    kind=st.sampled_from(["lattice", "spread", "sizes", "points", "infinite", "same"]),
    dimensions=st.sampled_from([2, 3]),
    rows=st.integers(0, 120),
    count=st.integers(0, 60),
    seed=st.integers(0, 1 << 32),
    names=st.frozensets(st.sampled_from(["t_min", "t_max", "half_extents"])),
    is_double=st.booleans(),
    has_filters=st.booleans(),
    has_worlds=st.booleans(),
)
@example("lattice", 3, 120, 60, 1, frozenset({"t_min", "t_max", "half_extents"}), True, True, True)
@example("infinite", 2, 120, 60, 2, frozenset({"t_min"}), False, False, False)
def test_rays_meet_what_a_slab_test_says(
    backend: str,
    kind: str,
    dimensions: int,
    rows: int,
    count: int,
    seed: int,
    names: frozenset[str],
    is_double: bool,
    has_filters: bool,
    has_worlds: bool,
) -> None:
    lower, upper = brute_force.rounded_outward(*brute_force.boxes(kind, rows, dimensions, seed))
    rays = rays_of("lattice" if kind == "lattice" else "spread", count, dimensions, seed)
    rays = {name: given for name, given in rays.items() if name in {"origins", "directions"} | names}
    if not is_double:
        rays = {name: np.asarray(given, np.float32) for name, given in rays.items()}
    surely, perhaps, *t = brute_force.ray_hits(lower, upper, **rays)
    if kind == "lattice" and "half_extents" not in names:
        assert (rays["directions"] * 2 % 1 == 0).all()
        perhaps = surely
    random = np.random.default_rng(seed)
    of_boxes: dict[str, Any] = {}
    may = np.ones((count, rows), bool)
    if has_filters:
        words, masks = (random.integers(0, 16, count + rows) for _ in range(2))
        of_boxes = {"layers": words[count:], "masks": masks[count:], "groups": 1, "static": True}
        rays |= {"layers": words[:count], "masks": masks[:count]}
        may &= (words[:count, None] & masks[None, count:]) != 0
        may &= (masks[:count, None] & words[None, count:]) != 0
    if has_worlds:
        worlds = random.integers(0, 3, rows)
        # World 3 has no boxes.
        of_rays = random.integers(0, 4, count)
        of_boxes["worlds"], rays["worlds"] = worlds, of_rays
        may &= of_rays[:, None] == worlds[None]
    mine = broad_phase(backend, dimensions=dimensions)
    mine.step(np.hstack([lower, upper]), **of_boxes)
    check(mine, rays, surely & may, perhaps & may, *t)


@pytest.mark.parametrize("scheme", ["hierarchical", "uniform", "adaptive"])
@pytest.mark.parametrize("sort", [True, False])
def test_rays_in_every_scheme(backend: str, scheme: str, sort: bool) -> None:
    lower, upper = brute_force.rounded_outward(*brute_force.boxes("sizes", 400, 3, 3))
    rays = rays_of("spread", 200, 3, 3)
    mine = broad_phase(backend, scheme=scheme, sort=sort)
    mine.step(np.hstack([lower, upper]))
    check(mine, rays, *brute_force.ray_hits(lower, upper, **rays), is_sorted=sort)


def test_both_backends_give_the_same_bytes(gpu: str) -> None:
    lower, upper = brute_force.boxes("sizes", 20_000, 3, 5)
    rays = rays_of("spread", 3_000, 3, 6)
    rays["origins"] = rays["origins"] * 3
    answers = []
    for name in ("cpu", gpu):
        mine = broad_phase(name)
        mine.step(np.hstack([lower, upper]))
        closest, met, lists = (mine.rays(**rays, mode=mode) for mode in MODES)
        answers.append([closest.objects, closest.t, met, lists.offsets, lists.objects, lists.t])
    assert answers[0][2].sum() > 1000
    assert [answer.tobytes() for answer in answers[0]] == [answer.tobytes() for answer in answers[1]]


def test_embree_finds_the_same_closest_hits(backend: str) -> None:
    trimesh = peer("trimesh")
    embree = peer("trimesh.ray.ray_pyembree")
    random = np.random.default_rng(7)
    center, half = random.random((500, 3)) * 10, random.random((500, 3)) * 0.4 + 0.05
    lower, upper = (bound.astype(np.float32) for bound in (center - half, center + half))
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    vertices = np.where(corners[None] == 1, upper[:, None], lower[:, None]).reshape(-1, 3)
    sides = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1)]
    sides += [(2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)]
    faces = (np.array(sides)[None] + 8 * np.arange(500)[:, None, None]).reshape(-1, 3)
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    # Rays start outside, because Embree also hits boxes from inside.
    away = random.normal(size=(2000, 3))
    origins = 5 + 20 * away / np.linalg.norm(away, axis=1, keepdims=True)
    directions = random.random((2000, 3)) * 10 - origins
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    intersector = embree.RayMeshIntersector(mesh)
    triangles, rays, places = intersector.intersects_id(origins, directions, multiple_hits=False, return_locations=True)
    mine = broad_phase(backend)
    mine.step(np.hstack([lower, upper]))
    hits = mine.rays(origins, directions)
    expected = np.full(2000, -1)
    expected[rays] = triangles // 12
    assert (expected >= 0).sum() > 1000
    assert np.array_equal(hits.objects, expected)
    lengths = np.linalg.norm(places - origins[rays], axis=1)
    # Embree computes in float32, at distances of about 20.
    np.testing.assert_allclose(hits.t[rays], lengths, rtol=1e-4)


def test_rays_before_a_step_are_refused(backend: str) -> None:
    mine = BroadPhase(backend=backend)
    for mode in MODES:
        with pytest.raises(RuntimeError, match="call step"):
            mine.rays([[0, 0, 0]], [[1, 0, 0]], mode=mode)
    with pytest.raises(RuntimeError, match="call step"):
        mine.query(points=[[0, 0, 0]])
    assert len(mine.step(np.zeros((2, 6)))) == 1
    assert mine.rays([[0, 0, 0]], [[1, 0, 0]]).objects.tolist() == [0]
    # Points of `neighbors` cannot be queried.
    mine.neighbors(np.zeros((2, 3)), 1.0)
    with pytest.raises(RuntimeError, match="call step"):
        mine.rays([[0, 0, 0]], [[1, 0, 0]])


def test_modes_may_change_back_and_forth(backend: str) -> None:
    lower, upper = brute_force.boxes("spread", 300, 3, 9)
    rays = rays_of("spread", 50, 3, 10)
    mine = BroadPhase(backend=backend)
    boxes = np.hstack([lower, upper])
    worlds, excluded = np.arange(300) % 2, [[0, 1]]

    def answers(mode: Any) -> list[bytes]:
        found: Any = mine.rays(**rays, worlds=1, mode=mode)
        of_all = [getattr(found, name) for name in ("objects", "t", "offsets") if hasattr(found, name)]
        return [array.tobytes() for array in of_all or [found]]

    pairs = mine.step(boxes, worlds=worlds, excluded=excluded).pairs
    first = {mode: answers(mode) for mode in MODES}
    counted = mine.stats()["pairs"]
    assert len({tuple(answer) for answer in first.values()}) == 3
    for mode in ("closest", "all", "any", "all", "closest", "any"):
        assert answers(mode) == first[mode]
        assert mine.query(boxes=boxes[:1], worlds=0).of(0)[0] == 0
        assert mine.stats()["pairs"] == counted == len(pairs)
        assert mine.stats()["objects"] == 300
    assert mine.step(boxes, worlds=worlds, excluded=excluded).pairs.tobytes() == pairs.tobytes()
    assert answers("closest") == first["closest"]


def test_a_change_of_mode_keeps_an_object_set(backend: str) -> None:
    from gpu_broad_phase import ObjectSet

    objects = ObjectSet()
    walls = objects.insert([[4, 0, 0, 5, 1, 1]], static=True)
    balls = objects.insert([[0, 0, 0, 1, 1, 1], [2, 0, 0, 3, 1, 1]])
    mine = BroadPhase(backend=backend)
    mine.step(objects)
    for mode in ("closest", "all", "any", "closest"):
        found: Any = mine.rays([[-1, 0.5, 0.5], [9, 0.5, 0.5]], [[1, 0, 0], [-1, 0, 0]], mode=mode)
        if mode == "closest":
            assert objects.handles_of(found.objects).tolist() == [balls[0], walls[0]]
        elif mode == "all":
            assert sorted(objects.handles_of(found.of(0)).tolist()) == sorted([*balls, *walls])
        else:
            assert found.tolist() == [True, True]
    assert [len(rows) for rows in (mine.step(objects).began, mine.step(objects).ended)] == [0, 0]


def test_special_rays(backend: str) -> None:
    mine = broad_phase(backend)
    mine.step([[0, 0, 0, 1, 1, 1], [3, 0, 0, 4, 1, 1]])
    # With direction zero, a ray hits boxes that contain its origin.
    still = mine.rays([[0.5, 0.5, 0.5], [2, 0.5, 0.5]], np.zeros((2, 3)))
    assert (still.objects.tolist(), still.t.tolist()) == ([0, -1], [0.0, np.inf])
    # If a ray starts inside a box, t is t_min.
    assert mine.rays([[0.5, 0.5, 0.5]], [[1, 0, 0]], t_min=0.25).t.tolist() == [0.25]
    origin, way = [[0.5, 0.5, 0.5]], [[2, 0, 0]]
    assert mine.rays(origin, way, t_min=0.5).objects.tolist() == [1]
    assert mine.rays(origin, way, t_min=0.5, t_max=1.25).objects.tolist() == [1]
    assert mine.rays(origin, way, t_min=0.5, t_max=1.2).objects.tolist() == [-1]
    assert mine.rays(origin, way, t_max=-1).objects.tolist() == [-1]
    assert mine.rays(origin, way, t_min=2, t_max=1).objects.tolist() == [-1]
    # Rays along a face touch the box, and -0 equals 0.
    assert mine.rays([[-1, 1, 1]], [[1, -0.0, 0.0]]).t.tolist() == [1.0]
    assert mine.rays(origin, way, worlds=(1 << 32) - 1).objects.tolist() == [-1]
    lists = mine.rays([[-1, 0.5, 0.5]], [[1, 0, 0]], mode="all")
    assert (lists.of(0).tolist(), lists.t.tolist()) == ([0, 1], [1.0, 4.0])
    assert lists.of(-1).tolist() == [0, 1]
    for row in (1, -2):
        with pytest.raises(IndexError, match="there is no row"):
            lists.of(row)


def test_margins_count_for_rays_and_queries(backend: str) -> None:
    mine = broad_phase(backend, margin=0.5)
    mine.step([[0, 0, 0, 1, 1, 1]])
    hits = mine.rays([[-2, 1.25, 0.5], [-2, 1.75, 0.5]], [[1, 0, 0], [1, 0, 0]])
    assert hits.objects.tolist() == [0, -1]
    np.testing.assert_allclose(hits.t[0], 1.5, rtol=1e-6)
    assert [len(found) for found in map(mine.query(points=[[1.25, 0, 0], [1.75, 0, 0]]).of, range(2))] == [1, 0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"origins": [[0, 0, 0], [np.nan, 0, 0]]}, r"origins\[1\]"),
        ({"origins": [[0, 0, 0], [np.inf, 0, 0]]}, r"origins\[1\]"),
        ({"origins": [[0, 0, 0], [1e39, 0, 0]]}, r"origins\[1\]"),
        ({"directions": [[0, 0, np.nan], [1, 0, 0]]}, r"directions\[0\]"),
        ({"directions": [[1, 0, 0], [0, np.inf, 0]]}, r"directions\[1\]"),
        ({"directions": [[1, 0, 0], [0, 2e38, 0]]}, r"directions\[1\]"),
        ({"t_min": [0, np.nan]}, r"t_min\[1\]"),
        ({"t_max": [np.nan, 0]}, r"t_max\[0\]"),
        ({"half_extents": [[0, 0, 0], [0, 0, -1]]}, r"half_extents\[1\]"),
        ({"half_extents": [[0, np.nan, 0], [0, 0, 1]]}, r"half_extents\[0\]"),
        ({"half_extents": [[0, np.inf, 0], [0, 0, 1]]}, r"half_extents\[0\]"),
        ({"half_extents": [0, 0, 1]}, "half_extents has the shape"),
        ({"origins": np.zeros((2, 2))}, "origins has the shape"),
        ({"directions": np.zeros((3, 3))}, "directions has 3 rows, and 2 are needed"),
        ({"t_min": [0, 0, 0]}, "t_min has the shape"),
        ({"t_max": [[0], [0]]}, "t_max has the shape"),
        ({"layers": [1 << 16, 0]}, r"layers\[0\] is 65536"),
        ({"worlds": [0, -1]}, r"worlds\[1\] is -1"),
        ({"mode": "first"}, "there is no mode"),
    ],
)
def test_bad_rays_are_refused_with_their_row(backend: str, given: dict[str, Any], message: str) -> None:
    mine = broad_phase(backend)
    mine.step([[0, 0, 0, 1, 1, 1]])
    good = {"origins": [[-1, 0.5, 0.5]] * 2, "directions": [[1, 0, 0]] * 2}
    with pytest.raises(ValueError, match=message):
        mine.rays(**(good | given))
    assert mine.rays(**good).objects.tolist() == [0, 0]


def test_one_origin_or_direction_stands_for_all_rays(backend: str) -> None:
    mine = broad_phase(backend)
    mine.step([[0, 0, 0, 1, 1, 1], [0, 0, 3, 1, 1, 4]])
    origins = np.array([[0.5, 0.5, -1], [0.5, 0.5, 2], [9, 9, 9]])
    assert mine.rays(origins, [0, 0, 1]).objects.tolist() == [0, 1, -1]
    assert mine.rays([0.5, 0.5, 2], [[0, 0, 1], [0, 0, -1], [1, 0, 0]]).objects.tolist() == [1, 0, -1]
    assert mine.rays([0.5, 0.5, 2], [0, 0, 1]).objects.tolist() == [1]
    assert mine.rays(np.empty((0, 3)), [0, 0, 1], mode="all").offsets.tolist() == [0]
    assert mine.rays([0, 0, 1], []).objects.tolist() == []
    with pytest.raises(ValueError, match=r"directions has the shape \(2,\), and \(n, 3\) is needed"):
        mine.rays(origins, [0, 1])
    flat = broad_phase(backend, dimensions=2)
    flat.step([[0, 0, 1, 1]])
    assert flat.rays([[-1, 0.5], [-1, 2]], [1, 0]).objects.tolist() == [0, -1]


def test_ignored_rays_meet_nothing(backend: str) -> None:
    mine = broad_phase(backend, invalid="ignore")
    mine.step([[0, 0, 0, 1, 1, 1]])
    origins = [[-1, 0.5, 0.5], [np.nan, 0.5, 0.5], [-1, np.inf, 0.5], [-1, 0.5, 0.5], [-1, 0.5, 0.5]]
    directions = np.array([[1, 0, 0]] * 3 + [[1, np.nan, 0], [1, 0, 0]])
    t_max = [9, 9, 9, 9, np.nan]
    assert mine.rays(origins, directions, t_max=t_max).objects.tolist() == [0, -1, -1, -1, -1]
    assert mine.rays(origins, directions, t_max=t_max, mode="any").tolist() == [True] + [False] * 4
    assert mine.rays(origins, directions, t_max=t_max, mode="all").offsets.tolist() == [0, 1, 1, 1, 1, 1]
