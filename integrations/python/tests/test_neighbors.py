"""Compares neighbours with scipy, freud, Warp, ase, matscipy, vesin and brute force."""

from typing import Any

import brute_force
import numpy as np
import pytest
from conftest import broad_phase, peer
from gpu_broad_phase import BroadPhase
from hypothesis import example, given
from hypothesis import strategies as st


def check(found: Any, points: Any, radius: float, cell: Any = None, *, half: bool = False, worlds: Any = None) -> None:
    """Compares lists, distances, shifts and vectors with brute force in float64."""
    points = np.asarray(points, np.float64)
    rows, axes = points.shape
    cell = np.asarray(0.0 if cell is None else cell, float)
    cell = np.diag(np.broadcast_to(cell, axes)) if cell.ndim < 2 else cell
    rounding = 1e-15 * (np.abs(points).max(initial=0.0) + radius)
    # Near the radius, both results are valid.
    i, j, shifts, apart = brute_force.neighbors(points, cell, radius * (1 + 1e-12) + 8 * rounding, worlds)
    assert (found.offsets.dtype, found.objects.dtype) == (np.int64, np.int64)
    assert (found.distances.dtype, found.shifts.dtype) == (np.float64, np.int32)
    assert found.shifts.shape == (len(found.objects), axes)
    assert len(found) == rows
    assert found.offsets[0] == 0
    assert found.offsets[-1] == len(found.objects) == len(found.distances)
    expected = dict(zip(map(tuple, np.column_stack([i, j, shifts]).tolist()), apart, strict=True))
    if half:
        expected = {
            key: apart
            for key, apart in expected.items()
            if key[0] < key[1] or (key[0] == key[1] and key[2:] > (0,) * axes)
        }
    mine = list(map(tuple, np.column_stack([found.i, found.j, found.shifts]).tolist()))
    assert mine == sorted(set(mine))
    assert set(mine) <= set(expected)
    for key in set(expected) - set(mine):
        assert expected[key] >= radius * (1 - 1e-12) - 8 * rounding, key
    np.testing.assert_allclose(found.distances, [expected[key] for key in mine], rtol=1e-12, atol=8 * rounding)
    assert (found.distances <= radius).all()
    if found.vectors is not None:
        images = points[found.j] - points[found.i] + found.shifts @ cell
        assert found.vectors.shape == found.shifts.shape
        np.testing.assert_allclose(found.vectors, images, rtol=1e-12, atol=8 * rounding)


@given(
    kind=st.sampled_from(["spread", "lattice", "same", "clusters"]),
    rows=st.integers(1, 120),
    seed=st.integers(0, 1 << 32),
    dimensions=st.sampled_from([2, 3]),
    radius=st.sampled_from([0.0, 0.1, 0.3, 1.0, 2.7]),
    cell=st.sampled_from([None, 1.0, 2.0, -0.7, "axes", "some", "skew", "flat", "plane"]),
    offset=st.sampled_from([0.0, -3.3, 1e6]),
    half=st.booleans(),
    is_double=st.booleans(),
)
@example("lattice", 120, 1, 3, 1.0, 2.0, 0.0, True, True)
@example("spread", 120, 1, 3, 2.7, -0.7, 1e6, False, True)
def test_neighbors_are_those_of_brute_force(
    backend: str,
    kind: str,
    rows: int,
    seed: int,
    dimensions: int,
    radius: float,
    cell: Any,
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
    cells = {
        "axes": np.array([1.0, 2.5, 0.3])[:dimensions],
        "some": np.array([0.0, 1.5, 0.0])[:dimensions],
        "skew": random.uniform(-2, 2, (dimensions, dimensions)),
        "flat": np.array([[2.0, 0, 0], [2.0, 0.4, 0], [1.0, 0.2, 1.5]])[:dimensions, :dimensions],
        "plane": np.array([[2.0, 1.0, 0.5], [0, 0, 0], [-1.0, 2.0, 0]])[:dimensions, :dimensions],
    }
    if isinstance(cell, str):
        cell = cells[cell]
    if cell is not None and radius > 1.0:
        points = points[:12]
    mine = broad_phase(backend, dimensions=dimensions)
    found = mine.neighbors(points, radius, cell=cell, half=half, vectors=True)
    check(found, points, radius, cell, half=half)
    assert found.vectors is not None
    assert mine.neighbors(points, radius, cell=cell, half=half).vectors is None


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
    found = broad_phase(backend).neighbors(outside, 1.0, cell=period, half=True)
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
    found = broad_phase(backend, dimensions=dimensions).neighbors(points[:, :dimensions], radius, cell=side)
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
    for cell in (None, 20.0, [[20.0, 0, 0], [7.0, 20.0, 0], [0, -3.0, 20.0]]):
        answers = [broad_phase(name).neighbors(points, 0.8, cell=cell, vectors=True) for name in ("cpu", gpu)]
        assert len(answers[0].objects) > 50_000
        for name in ("offsets", "objects", "distances", "shifts", "vectors"):
            one, other = (getattr(answer, name) for answer in answers)
            assert one.tobytes() == other.tobytes(), name


def test_lists_are_sorted_in_any_case(backend: str) -> None:
    points = np.random.default_rng(6).random((2000, 3))
    found = [broad_phase(backend, sort=sort).neighbors(points, 0.1, cell=1.0) for sort in (True, False)]
    for name in ("offsets", "objects", "distances", "shifts"):
        assert getattr(found[0], name).tobytes() == getattr(found[1], name).tobytes(), name


def test_duplicates_are_neighbors_at_radius_zero(backend: str) -> None:
    points = np.array([[1e6 + 0.1, 2, 3], [1e6 + 0.1, 2, 3], [1e6 + 0.1 + 1e-9, 2, 3], [-0.0, 0, 0], [0.0, 0, 0]])
    found = broad_phase(backend).neighbors(points, 0.0)
    assert np.stack([found.i, found.j], axis=1).tolist() == [[0, 1], [1, 0], [3, 4], [4, 3]]
    assert found.distances.tolist() == [0.0] * 4
    found = broad_phase(backend).neighbors(points, 0.0, cell=1.0, half=True)
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


def test_all_images_count(backend: str) -> None:
    found = broad_phase(backend).neighbors([[0.1, 0.5, 0.5], [0.9, 0.5, 0.5]], 1.0, cell=[1, 0, 0])
    assert found.of(0).tolist() == [0, 0, 1, 1]
    assert found.shifts[: found.offsets[1], 0].tolist() == [-1, 1, -1, 0]
    np.testing.assert_allclose(found.distances[:4], [1.0, 1.0, 0.2, 0.8], rtol=1e-12)
    once = broad_phase(backend).neighbors([[0.1, 0.5, 0.5], [0.9, 0.5, 0.5]], 1.0, cell=[1, 0, 0], half=True)
    assert [once.of(0).tolist(), once.of(1).tolist()] == [[0, 1, 1], [1]]
    assert once.shifts[:, 0].tolist() == [1, -1, 0, 1]


def test_an_atom_sees_its_own_images(backend: str) -> None:
    found = broad_phase(backend).neighbors([[0.3, 0.4, 0.5]], 3.0, cell=[[0, 1.8, 1.8], [1.8, 0, 1.8], [1.8, 1.8, 0]])
    assert found.of(0).tolist() == [0] * 12
    np.testing.assert_allclose(found.distances, 1.8 * 2**0.5, rtol=1e-12)
    # More images than atoms: 4 pi / 3 * 20^3 of them.
    crowd = broad_phase(backend).neighbors([[0, 0, 0]], 20.0, cell=1.0)
    assert len(crowd.j) == 33_400


@given(seed=st.integers(0, 1 << 32), half=st.booleans(), is_shuffled=st.booleans(), has_one_cell=st.booleans())
def test_worlds_are_searched_alone(backend: str, seed: int, half: bool, is_shuffled: bool, has_one_cell: bool) -> None:
    random = np.random.default_rng(seed)
    counts = random.integers(0, 12, 7)
    worlds = np.repeat(np.arange(7), counts)
    if is_shuffled:
        worlds = random.permutation(worlds)
    cells = random.uniform(-1.5, 1.5, (7, 3, 3)) + 2 * np.eye(3)
    pbc = random.random((7, 3)) < 0.6
    if has_one_cell:
        cells, pbc = cells[:1].repeat(7, 0), pbc[:1].repeat(7, 0)
    points = random.random((len(worlds), 3)) * 5 - 1
    mine = broad_phase(backend)
    given_cells = (cells[0], pbc[0]) if has_one_cell else (cells, pbc)
    found = mine.neighbors(points, 1.7, cell=given_cells[0], pbc=given_cells[1], worlds=worlds, half=half)
    assert len(found) == len(points)
    for world in range(7):
        rows = np.flatnonzero(worlds == world)
        alone = mine.neighbors(points[rows], 1.7, cell=cells[world], pbc=pbc[world], half=half)
        check(alone, points[rows], 1.7, np.where(pbc[world][:, None], cells[world], 0.0), half=half)
        spans = [slice(*found.offsets[row : row + 2]) for row in rows]
        for name, expected in (("objects", rows[alone.j]), ("distances", alone.distances), ("shifts", alone.shifts)):
            parts = [getattr(found, name)[span] for span in spans]
            np.testing.assert_array_equal(np.concatenate(parts) if parts else expected, expected)


def test_vesin_finds_the_same(backend: str) -> None:
    vesin = peer("vesin")
    random = np.random.default_rng(11)
    for edge in (2.0, 9.0):
        cell = edge * (np.eye(3) + random.uniform(-0.3, 0.3, (3, 3)))
        points = random.random((150, 3)) @ cell
        theirs = vesin.NeighborList(cutoff=3.0, full_list=True).compute(points, cell, True, quantities="ijSd")
        i, j, shifts, distances = theirs
        order = np.lexsort([*shifts.T[::-1], j, i])
        found = broad_phase(backend).neighbors(points, 3.0, cell=cell)
        for own, other in ((found.i, i), (found.j, j), (found.shifts, shifts)):
            np.testing.assert_array_equal(own, other[order])
        np.testing.assert_allclose(found.distances, distances[order], rtol=1e-12)


def test_neighbors_leave_no_trace_in_other_calls(backend: str) -> None:
    mine = BroadPhase(backend=backend, scheme="uniform")
    points = np.random.default_rng(7).random((300, 3))
    lower, upper = brute_force.rounded_outward(*brute_force.boxes("spread", 200, 3, 1))
    expected = brute_force.pairs(lower, upper)
    for cell in (1.0, None, 1.0):
        check(mine.neighbors(points, 0.2, cell=cell), points, 0.2, cell)
        assert mine.step(np.hstack([lower, upper])).pairs.tobytes() == expected.tobytes()


def test_a_margin_is_no_part_of_distances(backend: str) -> None:
    points = np.random.default_rng(8).random((300, 3))
    check(BroadPhase(backend=backend, margin=0.3).neighbors(points, 0.2), points, 0.2)


@pytest.mark.parametrize("scheme", ["uniform", "adaptive"])
def test_neighbors_in_every_scheme(backend: str, scheme: str) -> None:
    points = np.random.default_rng(9).random((300, 3))
    for cell in (None, 1.0):
        check(broad_phase(backend, scheme=scheme).neighbors(points, 0.2, cell=cell), points, 0.2, cell)


def test_no_points_have_no_neighbors(backend: str) -> None:
    for options in ({}, {"cell": 1.0}, {"cell": np.ones((2, 3, 3)) + np.eye(3), "worlds": []}):
        found = broad_phase(backend).neighbors(np.empty((0, 3)), 1.0, **options)
        check(found, np.empty((0, 3)), 1.0)
        assert found.offsets.tolist() == [0]
    assert len(broad_phase(backend).neighbors([], 1.0)) == 0


def test_far_points_name_their_image(backend: str) -> None:
    points = [[0.25, 0, 0], [1e8 + 0.5, 0, 0], [-1e8 + 0.5, 0, 0]]
    found = broad_phase(backend).neighbors(points, 0.3, cell=1.0)
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
        ({"cell": [1.0, np.nan, 1.0]}, ValueError, r"cell\[1\] is not finite"),
        ({"cell": np.inf}, ValueError, "cell is not finite"),
        ({"cell": [1.0, 1.0]}, ValueError, r"cell has the shape \(2,\), and \(\) or \(3,\) or \(3, 3\) is needed"),
        ({"cell": np.ones((2, 3, 3))}, ValueError, r"cell has the shape \(2, 3, 3\)"),
        ({"cell": np.ones((1, 3, 3)), "worlds": [0, 1]}, ValueError, r"or \(2, 3, 3\) is needed"),
        ({"cell": np.ones((3, 3))}, ValueError, "cell: periodic vectors are in one plane"),
        ({"cell": [np.eye(3), np.ones((3, 3))], "worlds": [0, 1]}, ValueError, r"cell\[1\]: periodic vectors are"),
        ({"cell": 1e-310}, ValueError, "cell: periodic vectors are in one plane, or too short"),
        ({"cell": "abc"}, TypeError, "cell"),
        ({"pbc": True}, ValueError, r"cell\[0\] is zero, and pbc needs a vector"),
        ({"cell": [1, 0, 1], "pbc": [False, True, True]}, ValueError, r"cell\[1\] is zero"),
        ({"cell": 1, "pbc": [True] * 2}, ValueError, "pbc has the shape"),
        ({"cell": 1, "pbc": 0.5}, TypeError, "pbc: booleans are needed"),
        ({"worlds": 0}, ValueError, r"worlds has the shape \(\), and \(2,\) is needed"),
        ({"worlds": [0, -1]}, ValueError, r"worlds\[1\] is -1"),
        ({"points": [[0, 0, 0], [0, 1e10, 0]], "cell": 1.0}, ValueError, r"points\[1\] is more than 2\^29 cells away"),
        (
            {"radius": 1e9, "cell": 1.0},
            OverflowError,
            "radius is 1000000000.0, and 8.* images of points may be within it",
        ),
    ],
)
def test_bad_points_are_refused(backend: str, given: dict[str, Any], error: type[Exception], message: str) -> None:
    good: dict[str, Any] = {"points": np.zeros((2, 3)), "radius": 1.0}
    with pytest.raises(error, match=message):
        broad_phase(backend).neighbors(**(good | given))
    assert len(broad_phase(backend).neighbors(**good).objects) == 2


FAR = 1e300


def test_numbers_past_single_precision(backend: str) -> None:
    mine = broad_phase(backend)
    assert mine.neighbors([[0, 0, 0], [1, 1, 1]], FAR).of(0).tolist() == [1]
    for far, near in (
        ([[FAR, 0, 0], [-FAR, 0, 0]], []),
        ([[0, 0, 0], [0, 0, 1e39]], []),
        ([[2e40, 0, 0], [2e40, 0, 0], [0, 0, 0]], [1, 0]),
    ):
        assert mine.neighbors(far, 1.0).j.tolist() == near
        assert len(mine.neighbors(far, 3 * FAR, half=True).j) == len(far) * (len(far) - 1) // 2
    assert mine.neighbors([[0.1, 0, 0], [0.9, 0, 0]], 0.3, cell=[1, 1e150, 1]).j.tolist() == [1, 0]


@pytest.mark.parametrize("cell", [None, (12.0, 12.0, 0.0)])
@pytest.mark.parametrize(
    "strays",
    [
        [[1e10] * 3],
        [[1.0, 1.0, -3.4e38], [1.0, 2.0, -3.4e38], [5.0, 2.0, 1e300]],
        [[0, 1e3, 0], [0, 0, -1e7], [1e8, 0, 1e14]],
    ],
)
def test_far_points_change_no_other_ones(backend: str, strays: Any, cell: Any) -> None:
    points = np.random.default_rng(12).random((4000, 3)) * 12
    strays = np.array(strays) * (1.0 if cell is None else [1e-3, 1e-3, 1.0])
    mine = broad_phase(backend)
    alone = mine.neighbors(points, 0.5, cell=cell)
    found = mine.neighbors(np.vstack([points, strays + [0, 0, 100]]), 0.5, cell=cell)
    assert np.array_equal(found.offsets[:4001], alone.offsets)
    for name in ("objects", "distances", "shifts"):
        assert getattr(found, name)[: len(alone.j)].tobytes() == getattr(alone, name).tobytes(), name
    # Boxes around points overlap at up to twice as many pairs.
    assert mine.stats()["pairs"] < 1.25 * len(alone.j)


def test_clusters_far_from_each_other(backend: str) -> None:
    random = np.random.default_rng(13)
    for far in (1e7, 1e10, 1e13):
        points = random.random((1800, 3)) * 7 + random.integers(0, 3, (1800, 1)) * far
        mine = broad_phase(backend)
        found = mine.neighbors(points, 0.4)
        check(found, points, 0.4)
        assert mine.stats()["pairs"] < 1.25 * len(found.j)


def test_far_from_the_origin_as_near_as_elsewhere(backend: str) -> None:
    points = np.array([[FAR, 0, 0], [FAR, 0.5, 0]])
    assert broad_phase(backend).neighbors(points, 1.0, half=True).distances.tolist() == [0.5]


def test_all_arrays_are_the_callers(backend: str) -> None:
    for cell in (None, 3.0):
        near = broad_phase(backend).neighbors([[0, 0, 0], [1, 0, 0]], 1.5, cell=cell)
        for array in (near.offsets, near.i, near.j, near.distances, near.shifts):
            array[:1] = 0
