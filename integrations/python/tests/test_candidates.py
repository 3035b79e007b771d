"""Collision candidates against brute force in double precision, and against all broad phases of ipctk."""

from __future__ import annotations

from typing import Any

import brute_force
import numpy as np
import pytest
from conftest import broad_phase, peer
from gpu_broad_phase import BroadPhase, collision_candidates
from gpu_broad_phase.candidates import KINDS
from hypothesis import given
from hypothesis import strategies as st

# ipctk's names of each kind, and of the elements of its pairs.
PEER_NAMES = {
    "vertices_vertices": ("vertex_vertex", "vertex0_id", "vertex1_id"),
    "edges_vertices": ("edge_vertex", "edge_id", "vertex_id"),
    "edges_edges": ("edge_edge", "edge0_id", "edge1_id"),
    "edges_faces": ("edge_face", "edge_id", "face_id"),
    "faces_vertices": ("face_vertex", "face_id", "vertex_id"),
    "faces_faces": ("face_face", "face0_id", "face1_id"),
}
PEERS = ("BruteForce", "HashGrid", "SpatialHash", "SweepAndPrune", "LBVH")
EVERY_KIND: dict[str, Any] = dict.fromkeys(KINDS, True)


def random_mesh(seed: int, *, dimensions: int = 3, vertices: int = 60) -> tuple[Any, Any, Any, Any]:
    random = np.random.default_rng(seed)
    start = random.random((vertices, dimensions)) * 4
    end = start + random.normal(size=start.shape) * 0.1
    faces = random.integers(0, vertices, (vertices // 2, 3))
    faces = faces[[len(set(face)) == 3 for face in faces.tolist()]]
    return start, end, edges_of(faces), faces


def cloth(seed: int, *, side: int = 12) -> tuple[Any, Any, Any, Any]:
    """Flat grid of triangles at the start, with random heights at the end. Neighbouring elements touch."""
    x, y = np.meshgrid(np.arange(side) * 0.1, np.arange(side) * 0.1)
    start = np.stack([x.ravel(), y.ravel(), np.zeros(side * side)], axis=1)
    at = np.arange(side * side).reshape(side, side)
    corners = [at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]]
    faces = np.concatenate(
        [np.stack([corners[corner] for corner in half], axis=-1).reshape(-1, 3) for half in ((0, 1, 2), (0, 2, 3))]
    )
    end = start + np.random.default_rng(seed).normal(size=start.shape) * [0.0, 0.0, 0.1]
    return start, end, edges_of(faces), faces


def edges_of(faces: Any) -> Any:
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    return np.unique(np.sort(sides, axis=1), axis=0)


def expected_of(start: Any, end: Any, edges: Any, faces: Any, inflation: float) -> dict[str, Any]:
    """Candidates of each kind by brute force."""
    end = start if end is None else end
    lower, upper = np.minimum(start, end) - inflation, np.maximum(start, end) + inflation
    elements = {"vertices": np.arange(len(start))[:, None], "edges": edges, "faces": faces}
    bounds = {name: (lower[rows].min(axis=1), upper[rows].max(axis=1)) for name, rows in elements.items()}
    answers = {}
    for kind in KINDS:
        a, b = kind.split("_")
        meet = brute_force.overlap(*bounds[a], *bounds[b])
        meet &= ~(elements[a][:, None, :, None] == elements[b][None, :, None, :]).any(axis=(2, 3))
        answers[kind] = np.argwhere(np.triu(meet, 1) if a == b else meet)
    return answers


def rows_of(table: Any) -> list[tuple[int, ...]]:
    return sorted(map(tuple, table.tolist()))


@given(
    mesh=st.sampled_from(["random", "cloth"]),
    seed=st.integers(0, 1 << 32),
    inflation=st.sampled_from([0.0, 1e-9, 0.05]),
    is_double=st.booleans(),
    rests=st.booleans(),
    offset=st.sampled_from([0.0, 1e6]),
    kinds=st.frozensets(st.sampled_from(KINDS), min_size=1),
)
def test_candidates_are_those_of_brute_force(
    backend: str,
    mesh: str,
    seed: int,
    inflation: float,
    is_double: bool,
    rests: bool,
    offset: float,
    kinds: frozenset[str],
) -> None:
    start, end, edges, faces = random_mesh(seed) if mesh == "random" else cloth(seed, side=8)
    start, end = start + offset, end + offset
    if not is_double:
        start, end = start.astype(np.float32), end.astype(np.float32)
    moved = None if rests else end
    found = collision_candidates(
        start,
        moved,
        edges,
        faces,
        inflation=inflation,
        broad_phase=broad_phase(backend),
        **{kind: kind in kinds for kind in KINDS},
    )
    doubles = [None if given is None else given.astype(np.float64) for given in (start, moved)]
    expected = expected_of(doubles[0], doubles[1], edges, faces, inflation)
    for kind in KINDS:
        table = getattr(found, kind)
        assert (table.dtype, table.shape[1]) == (np.int64, 2)
        assert rows_of(table) == (rows_of(expected[kind]) if kind in kinds else []), kind
    assert len(found) == sum(len(expected[kind]) for kind in kinds)


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("mesh", ["random", "cloth"])
# ipctk rounds outward. With these inflations, no elements just touch, so rounding does not matter.
@pytest.mark.parametrize("inflation", [0.0, 0.03])
def test_ipctk_finds_the_same(backend: str, name: str, mesh: str, inflation: float) -> None:
    ipctk = peer("ipctk")
    start, end, edges, faces = random_mesh(1, vertices=120) if mesh == "random" else cloth(1)
    theirs = getattr(ipctk, name)()
    tables = [np.asfortranarray(table.astype(np.int32)) for table in (edges, faces)]
    theirs.build(np.asfortranarray(start), np.asfortranarray(end), *tables, inflation)
    ours = collision_candidates(
        start, end, edges, faces, inflation=inflation, broad_phase=broad_phase(backend), **EVERY_KIND
    )
    assert len(ours) > 1000
    for kind in KINDS:
        detected, a, b = PEER_NAMES[kind]
        rows = [(getattr(pair, a), getattr(pair, b)) for pair in getattr(theirs, f"detect_{detected}_candidates")()]
        if a[:-4] == b[:-4]:
            rows = [(min(row), max(row)) for row in rows]
        assert rows_of(getattr(ours, kind)) == sorted(rows), kind


@pytest.mark.parametrize("inflation", [0.0, 0.05])
def test_two_dimensions(backend: str, inflation: float) -> None:
    start, end, edges, _ = random_mesh(2, dimensions=2, vertices=100)
    mine = broad_phase(backend, dimensions=2)
    found = collision_candidates(start, end, edges, None, inflation=inflation, broad_phase=mine)
    expected = expected_of(start, end, edges, np.empty((0, 3), int), inflation)
    assert rows_of(found.edges_vertices) == rows_of(expected["edges_vertices"])
    assert len(found) == len(found.edges_vertices) > 100
    theirs = peer("ipctk").BruteForce()
    tables = [np.asfortranarray(table, np.int32) for table in (edges, np.empty((0, 3)))]
    theirs.build(np.asfortranarray(start), np.asfortranarray(end), *tables, inflation)
    rows = sorted((pair.edge_id, pair.vertex_id) for pair in theirs.detect_edge_vertex_candidates())
    assert rows_of(found.edges_vertices) == rows


def test_doubles_nearer_than_single_precision(backend: str) -> None:
    # Stacked faces with a gap below float32 precision, or none.
    triangle = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    for gap, expected in ((1e-10, 0), (0.0, 1)):
        vertices = np.vstack([triangle + 1000, triangle + [1000, 1000, 1000 + gap]])
        found = collision_candidates(
            vertices,
            None,
            None,
            [[0, 1, 2], [3, 4, 5]],
            faces_faces=True,
            faces_vertices=False,
            edges_edges=False,
            broad_phase=broad_phase(backend),
        )
        assert len(found.faces_faces) == len(found) == expected


def test_both_backends_give_the_same_bytes(gpu: str) -> None:
    mesh = cloth(3, side=40)
    of_cpu, of_gpu = (
        collision_candidates(*mesh, broad_phase=broad_phase(name), inflation=0.06, **EVERY_KIND)
        for name in ("cpu", gpu)
    )
    for kind in KINDS:
        assert len(getattr(of_cpu, kind)) > 1000
        assert getattr(of_cpu, kind).tobytes() == getattr(of_gpu, kind).tobytes(), kind


def test_elements_may_be_missing(backend: str) -> None:
    mine = broad_phase(backend)
    vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, 0]]
    assert len(collision_candidates(vertices, None, None, None, broad_phase=mine)) == 0
    assert len(collision_candidates(vertices, None, [], [], broad_phase=mine, **EVERY_KIND)) == 0
    assert len(collision_candidates(np.empty((0, 3)), None, None, None, broad_phase=mine, **EVERY_KIND)) == 0
    none: dict[str, Any] = dict.fromkeys(KINDS, False)
    assert len(collision_candidates(vertices, None, [[0, 1]], [[0, 1, 2]], broad_phase=mine, **none)) == 0
    assert len(mine.step(np.zeros((2, 6)))) == 1
    found = collision_candidates(vertices, None, None, [[0, 1, 2]], broad_phase=mine)
    assert found.faces_vertices.tolist() == [[0, 3]]
    assert len(mine.step(np.zeros((2, 6)))) == 1


def test_unsorted_candidates_are_the_same_set(backend: str) -> None:
    mesh = cloth(4, side=8)
    found = [
        collision_candidates(*mesh, broad_phase=broad_phase(backend, sort=sort), **EVERY_KIND) for sort in (True, False)
    ]
    for kind in KINDS:
        assert rows_of(getattr(found[0], kind)) == rows_of(getattr(found[1], kind))


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"vertices0": np.zeros((4, 4))}, ValueError, "vertices0 has the shape"),
        ({"vertices0": [[0, 0, 0], [0, np.nan, 0], [0, 0, 0], [0, 0, 0]]}, ValueError, r"vertices0\[1\]"),
        ({"vertices1": [[0, 0, 0]] * 3 + [[0, np.inf, 0]]}, ValueError, r"vertices1\[3\]"),
        ({"vertices1": np.zeros((3, 3))}, ValueError, "vertices1 has 3 rows"),
        ({"vertices1": np.zeros((4, 2))}, ValueError, "vertices1 has the shape"),
        ({"edges": [[0, 1], [1, 4]]}, ValueError, r"edges\[1\] names vertex 4"),
        ({"edges": [[0, -1]]}, ValueError, r"edges\[.*\] is -1"),
        ({"edges": [[0.0, 1.0]]}, TypeError, "edges: whole numbers"),
        ({"edges": [0, 1]}, ValueError, "edges has the shape"),
        ({"faces": [[0, 1]]}, ValueError, "faces has the shape"),
        ({"faces": [[0, 1, 9]]}, ValueError, r"faces\[0\] names vertex 9"),
        ({"inflation": -1}, ValueError, "inflation"),
        ({"inflation": "1"}, TypeError, "inflation: numbers are needed"),
        ({"inflation": np.nan}, ValueError, "inflation"),
    ],
)
def test_bad_meshes_are_refused(backend: str, changed: dict[str, Any], error: type[Exception], message: str) -> None:
    mesh: dict[str, Any] = {
        "vertices0": np.zeros((4, 3)),
        "vertices1": None,
        "edges": [[0, 1]],
        "faces": [[0, 1, 2]],
        "broad_phase": broad_phase(backend),
    }
    with pytest.raises(error, match=message):
        collision_candidates(**(mesh | changed))


def test_a_margin_or_other_dimensions_are_refused(backend: str) -> None:
    vertices = np.zeros((2, 3))
    with pytest.raises(ValueError, match="vertices0 is in 3D"):
        collision_candidates(vertices, None, None, None, broad_phase=broad_phase(backend, dimensions=2))
    with pytest.raises(ValueError, match="margin"):
        collision_candidates(vertices, None, None, None, broad_phase=BroadPhase(backend=backend, margin=0.1))


def test_elements_of_one_group_are_no_candidates(backend: str) -> None:
    """Three equal triangles, two of which have one group."""
    triangle = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]])
    vertices = np.concatenate([triangle, triangle, triangle])
    faces = np.arange(9).reshape(3, 3)
    mine = broad_phase(backend)

    def found(groups: Any) -> list[list[int]]:
        kinds: dict[str, Any] = {"edges_edges": False, "faces_vertices": False, "faces_faces": True}
        return collision_candidates(
            vertices, None, None, faces, groups=groups, broad_phase=mine, **kinds
        ).faces_faces.tolist()

    assert found(None) == [[0, 1], [0, 2], [1, 2]]
    assert found([7, 7, 7, 7, 7, 7, 8, 8, 8]) == [[0, 2], [1, 2]]
    assert found(7) == []
    with pytest.raises(ValueError, match="groups has the shape"):
        found([1, 2])
