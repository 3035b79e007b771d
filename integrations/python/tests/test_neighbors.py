"""Compares neighbours with scipy, freud, Warp and brute force."""

from typing import Any

import brute_force
import numpy as np
import pytest
from conftest import broad_phase, peer
from gpu_broad_phase import BroadPhase
from hypothesis import example, given
from hypothesis import strategies as st


def nearest_images(points: Any, periods: Any) -> tuple[Any, Any]:
    """Vectors from each point to the nearest image of each other point, and the images' shifts in periods."""
    way = points[None] - points[:, None]
    with np.errstate(invalid="ignore"):
        turns = np.where(np.isfinite(periods), -np.round(way / periods), 0.0)
        way = way + np.where(np.isfinite(periods), turns * np.where(np.isfinite(periods), periods, 0.0), 0.0)
    return way, turns


def check(found: Any, points: Any, radius: float, period: Any = None, *, half: bool = False) -> None:
    """Compares lists, distances and shifts with brute force in float64."""
    points = np.asarray(points, np.float64)
    rows, axes = points.shape
    lengths = np.broadcast_to(np.inf if period is None else np.asarray(period, float), axes)
    periods = np.where(lengths == 0, np.inf, lengths)
    way, _ = nearest_images(points, periods)
    apart = np.sqrt((way**2).sum(axis=2))
    near = apart <= radius
    near &= np.triu(np.ones((rows, rows), bool), 1) if half else ~np.eye(rows, dtype=bool)
    # Near the radius, both results are valid.
    is_close = np.isclose(apart, radius, rtol=1e-12, atol=0)
    assert (found.offsets.dtype, found.objects.dtype) == (np.int64, np.uint32)
    assert (found.distances.dtype, found.shifts.dtype) == (np.float64, np.int32)
    assert found.shifts.shape == (len(found.objects), axes)
    assert len(found) == rows
    assert found.offsets[0] == 0
    assert found.offsets[-1] == len(found.objects) == len(found.distances)
    mine = np.zeros((rows, rows), bool)
    mine[found.i, found.j] = True
    assert mine.sum() == len(found.objects), "none twice"
    assert not ((mine != near) & ~is_close).any()
    assert np.array_equal(np.lexsort((found.j, found.i)), np.arange(len(found.objects)))
    np.testing.assert_allclose(found.distances, apart[found.i, found.j], rtol=1e-12, atol=1e-300)
    assert (found.distances <= radius).all()
    # The vector to the shifted image must have the reported distance.
    moved = np.where(found.shifts == 0, 0.0, found.shifts * np.where(np.isfinite(periods), periods, 0.0))
    along = points[found.j] + moved - points[found.i]
    scale = np.abs(points).max(initial=0.0) + np.abs(moved).max(initial=0.0)
    np.testing.assert_allclose(np.linalg.norm(along, axis=1), found.distances, rtol=1e-12, atol=scale * 1e-15)


@given(
    kind=st.sampled_from(["spread", "lattice", "same", "clusters"]),
    rows=st.integers(1, 120),
    seed=st.integers(0, 1 << 32),
    dimensions=st.sampled_from([2, 3]),
    radius=st.sampled_from([0.0, 0.1, 0.3, 1.0, 2.7]),
    period=st.sampled_from([None, 1.0, 2.0, 0.7, "axes", "some"]),
    offset=st.sampled_from([0.0, -3.3, 1e6]),
    half=st.booleans(),
    is_double=st.booleans(),
)
@example("lattice", 120, 1, 3, 1.0, 2.0, 0.0, True, True)
@example("spread", 120, 1, 3, 2.7, 0.7, 1e6, False, True)
def test_neighbors_are_those_of_brute_force(
    backend: str,
    kind: str,
    rows: int,
    seed: int,
    dimensions: int,
    radius: float,
    period: Any,
    offset: float,
    half: bool,
    is_double: bool,
) -> None:
    random = np.random.default_rng(seed)
    points = random.random((rows, dimensions)) * 4
    if kind == "lattice":
        points = random.integers(0, 5, (rows, dimensions)) / 2
    elif kind == "same":
        points = np.full((rows, dimensions), 0.3)
    elif kind == "clusters":
        points = np.round(points) + random.normal(size=points.shape) * 1e-6
    points = points + offset
    if not is_double:
        points = points.astype(np.float32)
    if period == "axes":
        period = np.array([1.0, 2.5, 0.3])[:dimensions]
    elif period == "some":
        period = np.array([0.0, 1.5, np.inf])[:dimensions]
    found = broad_phase(backend, dimensions=dimensions).neighbors(points, radius, period=period, half=half)
    check(found, points, radius, period, half=half)


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("half", [False, True])
def test_scipy_finds_the_same_pairs(backend: str, offset: float, half: bool) -> None:
    spatial = peer("scipy.spatial")
    points = np.random.default_rng(1).random((4000, 3)) * 12 + offset
    found = broad_phase(backend).neighbors(points, 1.0, half=half)
    expected = spatial.cKDTree(points).query_pairs(1.0, output_type="ndarray")
    assert len(expected) > 10_000
    if not half:
        expected = np.concatenate([expected, expected[:, ::-1]])
    assert np.array_equal(np.stack([found.i, found.j], axis=1), brute_force.ascending(expected))
    assert (found.shifts == 0).all()
    exact = np.linalg.norm(points[found.j] - points[found.i], axis=1)
    np.testing.assert_allclose(found.distances, exact, rtol=1e-14)


@pytest.mark.parametrize("period", [12.0, (12.0, 9.0, 0.0), (12.0, 15.5, 13.0)])
@pytest.mark.parametrize("wraps", [0, 5])
def test_scipy_finds_the_same_periodic_pairs(backend: str, period: Any, wraps: int) -> None:
    spatial = peer("scipy.spatial")
    random = np.random.default_rng(2)
    lengths = np.broadcast_to(period, 3)
    points = random.random((4000, 3)) * np.where(lengths == 0, 12, lengths)
    expected = spatial.cKDTree(points, boxsize=period).query_pairs(1.0, output_type="ndarray")
    # Points moved by whole periods are the same points.
    outside = points + random.integers(-wraps, wraps + 1, points.shape) * lengths
    found = broad_phase(backend).neighbors(outside, 1.0, period=period, half=True)
    assert np.array_equal(np.stack([found.i, found.j], axis=1), brute_force.ascending(expected))
    along = outside[found.j] + found.shifts * lengths - outside[found.i]
    np.testing.assert_allclose(np.linalg.norm(along, axis=1), found.distances, rtol=1e-12)
    assert (found.shifts != 0).any()


@pytest.mark.parametrize("dimensions", [2, 3])
def test_freud_finds_the_same(backend: str, dimensions: int) -> None:
    freud = peer("freud")
    side = 10.0
    box = freud.box.Box.square(side) if dimensions == 2 else freud.box.Box.cube(side)
    points = np.zeros((2000, 3), np.float32)
    points[:, :dimensions] = np.random.default_rng(3).random((2000, dimensions)) * side - side / 2
    radius = 0.6
    query = freud.locality.AABBQuery(box, points).query(points, {"r_max": radius, "exclude_ii": True})
    theirs = query.toNeighborList()
    found = broad_phase(backend, dimensions=dimensions).neighbors(points[:, :dimensions], radius, period=side)
    # freud computes in float32, so distances close to the radius are skipped.
    is_clear = np.abs(theirs.distances - radius) > 1e-5
    expected = np.stack([theirs.query_point_indices, theirs.point_indices], axis=1)[is_clear]
    mine = np.abs(found.distances - radius) > 1e-5
    assert mine.sum() > 3000
    assert np.array_equal(np.stack([found.i, found.j], axis=1)[mine], brute_force.ascending(expected))
    order = np.lexsort(expected.T[::-1])
    np.testing.assert_allclose(found.distances[mine], theirs.distances[is_clear][order], atol=1e-5)


def test_warp_finds_the_same(backend: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("WARP_CACHE_PATH", str(tmp_path))
    wp: Any = peer("warp")
    wp.config.quiet = True
    wp.init()
    radius = 0.5

    @wp.kernel  # type: ignore[untyped-decorator]
    def count(grid: wp.uint64, points: wp.array(dtype=wp.vec3), counts: wp.array(dtype=int)):  # type: ignore
        row = wp.tid()
        for other in wp.hash_grid_query(grid, points[row], 0.5):
            if other != row and wp.length(points[other] - points[row]) <= 0.5:
                counts[row] = counts[row] + 1

    points = (np.random.default_rng(4).random((3000, 3)) * 8).astype(np.float32)
    with wp.ScopedDevice("cpu"):
        places = wp.array(points, dtype=wp.vec3)
        counts = wp.zeros(3000, dtype=int)
        grid = wp.HashGrid(32, 32, 32)
        grid.build(places, radius)
        wp.launch(count, dim=3000, inputs=[grid.id, places, counts])
        expected = counts.numpy()
    found = broad_phase(backend).neighbors(points, radius)
    assert expected.sum() > 5000
    # Warp computes in float32, so distances close to the radius may differ.
    near = np.bincount(found.i[np.abs(found.distances - radius) < 1e-5], minlength=3000)
    assert (np.abs(np.diff(found.offsets) - expected) <= near).all()
    assert near.sum() < 100


def test_both_backends_give_the_same_bytes(gpu: str) -> None:
    points = np.random.default_rng(5).random((20_000, 3)) * 20
    for period in (None, 20.0):
        answers = [broad_phase(name).neighbors(points, 0.8, period=period) for name in ("cpu", gpu)]
        assert len(answers[0].objects) > 50_000
        for name in ("offsets", "objects", "distances", "shifts"):
            one, other = (getattr(answer, name) for answer in answers)
            assert one.tobytes() == other.tobytes(), name


def test_unsorted_lists_are_the_same_sets(backend: str) -> None:
    points = np.random.default_rng(6).random((2000, 3))
    found = [broad_phase(backend, sort=sort).neighbors(points, 0.1) for sort in (True, False)]
    assert np.array_equal(found[0].offsets, found[1].offsets)
    for row in range(2000):
        assert found[0].of(row).tolist() == sorted(found[1].of(row).tolist())


def test_duplicates_are_neighbors_at_radius_zero(backend: str) -> None:
    points = np.array([[1e6 + 0.1, 2, 3], [1e6 + 0.1, 2, 3], [1e6 + 0.1 + 1e-9, 2, 3], [-0.0, 0, 0], [0.0, 0, 0]])
    found = broad_phase(backend).neighbors(points, 0.0)
    assert np.stack([found.i, found.j], axis=1).tolist() == [[0, 1], [1, 0], [3, 4], [4, 3]]
    assert found.distances.tolist() == [0.0] * 4
    found = broad_phase(backend).neighbors(points, 0.0, period=1.0, half=True)
    # A whole number of periods apart: distance zero.
    assert [0, 1] in np.stack([found.i, found.j], axis=1).tolist()
    check(found, points, 0.0, 1.0, half=True)


def test_squares_that_vanish(backend: str) -> None:
    # Squares of these distances are 0 in float64.
    found = broad_phase(backend).neighbors([[0, 0, 0], [1e-180, 0, 0]], 1e-190)
    assert found.of(0).tolist() == []


def test_a_distance_of_just_the_radius_counts(backend: str) -> None:
    # float32 cannot represent these differences.
    points = 1e6 + np.array([[0, 0, 0], [0.25, 0, 0], [0.25 + 2.0**-30, 0, 0]])
    found = broad_phase(backend).neighbors(points, 0.25, half=True)
    assert np.stack([found.i, found.j], axis=1).tolist() == [[0, 1], [1, 2]]


def test_the_nearest_image_counts_alone(backend: str) -> None:
    # Several images of each point are within the radius, but only the nearest of the other point is found.
    found = broad_phase(backend).neighbors([[0.1, 0.5, 0.5], [0.9, 0.5, 0.5]], 50.0, period=1.0)
    assert [found.of(0).tolist(), found.of(1).tolist()] == [[1], [0]]
    np.testing.assert_allclose(found.distances, 0.2, rtol=1e-12)
    assert found.shifts.tolist() == [[-1, 0, 0], [1, 0, 0]]


def test_neighbors_leave_no_trace_in_other_calls(backend: str) -> None:
    mine = BroadPhase(backend=backend, scheme="uniform")
    points = np.random.default_rng(7).random((300, 3))
    lower, upper = brute_force.rounded_outward(*brute_force.boxes("spread", 200, 3, 1))
    expected = brute_force.pairs(lower, upper)
    for period in (1.0, None, 1.0):
        check(mine.neighbors(points, 0.2, period=period), points, 0.2, period)
        assert mine.step(np.hstack([lower, upper])).pairs.tobytes() == expected.tobytes()


def test_a_margin_is_no_part_of_distances(backend: str) -> None:
    points = np.random.default_rng(8).random((300, 3))
    check(BroadPhase(backend=backend, margin=0.3).neighbors(points, 0.2), points, 0.2)


@pytest.mark.parametrize("scheme", ["uniform", "adaptive"])
def test_neighbors_in_every_scheme(backend: str, scheme: str) -> None:
    points = np.random.default_rng(9).random((300, 3))
    for period in (None, 1.0):
        check(broad_phase(backend, scheme=scheme).neighbors(points, 0.2, period=period), points, 0.2, period)


def test_no_points_have_no_neighbors(backend: str) -> None:
    for period in (None, 1.0):
        found = broad_phase(backend).neighbors(np.empty((0, 3)), 1.0, period=period)
        check(found, np.empty((0, 3)), 1.0, period)
        assert found.offsets.tolist() == [0]
    assert len(broad_phase(backend).neighbors([], 1.0)) == 0


def test_far_points_name_their_image(backend: str) -> None:
    points = [[0.25, 0, 0], [1e8 + 0.5, 0, 0], [-1e8 + 0.5, 0, 0]]
    found = broad_phase(backend).neighbors(points, 0.3, period=1.0)
    check(found, points, 0.3, 1.0)
    assert np.abs(found.shifts).max() == 200_000_000


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"radius": -1.0}, ValueError, "radius is -1.0"),
        ({"radius": np.nan}, ValueError, "radius is nan"),
        ({"radius": np.inf}, ValueError, "radius is inf"),
        ({"radius": [1.0, 2.0]}, ValueError, "radius has the shape"),
        ({"radius": "1"}, TypeError, "radius: numbers are needed"),
        ({"radius": None}, TypeError, "radius: numbers are needed"),
        ({"points": [[0, 0, 0], [0, np.nan, 0]]}, ValueError, r"points\[1\] is not finite"),
        ({"points": [[0, 0, np.inf]]}, ValueError, r"points\[0\] is not finite"),
        ({"points": np.zeros((2, 6))}, ValueError, "points has the shape"),
        ({"period": -1.0}, ValueError, "period is -1.0 on axis 0"),
        ({"period": [1.0, np.nan, 1.0]}, ValueError, "period is nan on axis 1"),
        ({"period": [1.0, 1.0]}, ValueError, "period has the shape"),
        ({"points": [[0, 0, 0], [0, 1e10, 0]], "period": 1.0}, ValueError, "period is 1.0 on axis 1"),
        ({"period": "abc"}, TypeError, "period"),
        ({"radius": 1e39}, ValueError, "radius"),
    ],
)
def test_bad_points_are_refused(backend: str, given: dict[str, Any], error: type[Exception], message: str) -> None:
    good: dict[str, Any] = {"points": np.zeros((2, 3)), "radius": 1.0}
    with pytest.raises(error, match=message):
        broad_phase(backend).neighbors(**(good | given))
    assert len(broad_phase(backend).neighbors(**good).objects) == 2


FAR = 1e300


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"radius": FAR}, "radius is 1e300, and less than 3.4028234663852886e38 is needed"),
        ({"points": [[FAR, 0, 0], [-FAR, 0, 0]]}, "points reach from -1e300 to 1e300 on axis 0, and may be at most"),
        ({"points": [[0, 0, 0], [0, 0, 1e39]]}, "points reach from 0.0 to 1e39 on axis 2, and may be at most"),
        # Too far from the middle for single precision, although two points coincide.
        ({"points": [[2e40, 0, 0], [2e40, 0, 0], [0, 0, 0]]}, "points reach from 0.0 to 2e40 on axis 0"),
        ({"period": [1, FAR, 1]}, "period is 1e300 on axis 1, and at most 3.4028234663852886e38 is possible"),
    ],
)
def test_numbers_past_single_precision_are_named_in_short(backend: str, given: dict[str, Any], message: str) -> None:
    mine = broad_phase(backend)
    with pytest.raises(ValueError) as raised:
        mine.neighbors(**({"points": [[0, 0, 0], [1, 1, 1]], "radius": 1.0} | given))
    assert str(raised.value).startswith(message)
    assert len(str(raised.value)) < 140


def test_far_from_the_origin_as_near_as_elsewhere(backend: str) -> None:
    points = np.array([[FAR, 0, 0], [FAR, 0.5, 0]])
    assert broad_phase(backend).neighbors(points, 1.0, half=True).distances.tolist() == [0.5]


def test_all_arrays_are_the_callers(backend: str) -> None:
    for period in (None, 3.0):
        near = broad_phase(backend).neighbors([[0, 0, 0], [1, 0, 0]], 1.5, period=period)
        for array in (near.offsets, near.i, near.j, near.distances, near.shifts):
            array[:1] = 0
