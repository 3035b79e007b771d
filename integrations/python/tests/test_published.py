"""Compares results in examples of the documentation of scipy and ipctk with ours."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from conftest import broad_phase, peer
from gpu_broad_phase import BroadPhase, collision_candidates

GRID = np.stack(np.mgrid[0:5, 0:5], -1).reshape(-1, 2)
HIGHER_GRID = np.stack(np.mgrid[0:5, 2:8], -1).reshape(-1, 2)


@pytest.fixture
def flat(backend: str) -> BroadPhase:
    return broad_phase(backend, dimensions=2)


@pytest.fixture(scope="module")
def scipy() -> Any:
    return peer("scipy.spatial")


def within(flat: BroadPhase, points: Any, queries: Any, radius: float) -> tuple[Any, Any, Any]:
    """Queries, points and distances within `radius`. A slightly larger query is filtered by float64 distances."""
    flat.step(points, pairs=False)
    found = flat.query(points=queries, radius=radius * (1 + 1e-6))
    asker = np.repeat(np.arange(len(found)), np.diff(found.offsets))
    distances = np.linalg.norm(points[found.objects] - queries[asker], axis=1)
    is_near = distances <= radius
    return asker[is_near], found.objects[is_near], distances[is_near]


def two_clouds(count: int) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    return random.random((count, 2)), random.random((count, 2))


def test_query_pairs(flat: BroadPhase, scipy: Any) -> None:
    points, _ = two_clouds(20)
    wanted = scipy.KDTree(points).query_pairs(r=0.2)
    near = flat.neighbors(points, 0.2, half=True)
    assert len(wanted) > 5
    assert set(zip(near.i.tolist(), near.j.tolist(), strict=True)) == wanted
    assert len(scipy.cKDTree(points).query_pairs(0.2, output_type="ndarray")) == len(near.objects)
    assert 2 * len(near.objects) == len(flat.neighbors(points, 0.2).objects)


def test_query_ball_point(flat: BroadPhase, scipy: Any) -> None:
    _, found, _ = within(flat, GRID, np.array([[2, 0]]), 1.0)
    assert found.tolist() == [5, 10, 11, 15]
    queries = np.array([[2, 0], [3, 3]])
    asker, found, _ = within(flat, GRID, queries, 1.0)
    for query, wanted in enumerate(scipy.KDTree(GRID).query_ball_point(queries, 1)):
        assert found[asker == query].tolist() == sorted(wanted)


def test_query(flat: BroadPhase, scipy: Any) -> None:
    queries = np.array([[0, 0], [2.2, 2.9]])
    tree = scipy.KDTree(HIGHER_GRID)
    flat.step(HIGHER_GRID, pairs=False)
    for k, objects in ((1, [[0], [13]]), (2, [[0, 6], [13, 19]])):
        nearest = flat.query(points=queries, k=k)
        assert nearest.objects.tolist() == objects
        distances, rows = tree.query(queries, k=range(1, k + 1))
        np.testing.assert_array_equal(nearest.objects, rows)
        np.testing.assert_allclose(nearest.distances, distances, rtol=1e-6)
    assert flat.query(points=queries, k=2).objects[:, 1].tolist() == [6, 19]
    # Missing neighbours have the number of points.
    far, rows = tree.query([[0.0, 0.0]], k=3, distance_upper_bound=2.1)
    ours = flat.query(points=[[0.0, 0.0]], k=3, radius=2.1)
    assert ours.objects.tolist() == rows.tolist()
    np.testing.assert_array_equal(np.isinf(ours.distances), np.isinf(far))


def test_query_ball_tree(flat: BroadPhase, scipy: Any) -> None:
    first, second = two_clouds(15)
    asker, found, _ = within(flat, second, first, 0.2)
    wanted = scipy.KDTree(first).query_ball_tree(scipy.KDTree(second), r=0.2)
    assert len(found) > 0
    assert [found[asker == row].tolist() for row in range(15)] == [sorted(row) for row in wanted]


def test_count_neighbors(flat: BroadPhase, scipy: Any) -> None:
    first, second = two_clouds(5)
    asker, _, _ = within(flat, second, first, 0.2)
    assert len(asker) == scipy.KDTree(first).count_neighbors(scipy.KDTree(second), 0.2)


def test_sparse_distance_matrix(flat: BroadPhase, scipy: Any) -> None:
    first, second = two_clouds(5)
    wanted = scipy.KDTree(first).sparse_distance_matrix(scipy.KDTree(second), 0.3).toarray()
    asker, found, distances = within(flat, second, first, 0.3)
    matrix = np.zeros((5, 5))
    matrix[asker, found] = distances
    assert 0 < np.count_nonzero(wanted) < 25
    np.testing.assert_allclose(matrix, wanted, rtol=1e-12)


@pytest.fixture(scope="module")
def ipctk() -> Any:
    return peer("ipctk")


def stand_in(backend: str, axes: int = 3) -> Any:
    return importlib.import_module("gpu_broad_phase.ipctk").BroadPhase(broad_phase(backend, dimensions=axes))


def ring(ipctk: Any) -> Any:
    """A closed surface with a hole, in place of the bunny of ipctk's tutorial."""
    along, around = 16, 8
    u, v = (axis.ravel() for axis in np.meshgrid(np.arange(along), np.arange(around), indexing="ij"))
    a, b = 2 * np.pi * u / along, 2 * np.pi * v / around
    spread = 1 + 0.4 * np.cos(b)
    positions = np.stack([spread * np.cos(a), 0.4 * np.sin(b) + 0.05 * np.cos(3 * a), spread * np.sin(a)], 1)

    def vertex(i: Any, j: Any) -> Any:
        return i % along * around + j % around

    corners = vertex(u, v), vertex(u + 1, v), vertex(u, v + 1), vertex(u + 1, v + 1)
    faces = np.concatenate([np.stack([corners[k] for k in three], 1) for three in ((0, 1, 2), (1, 3, 2))])
    return ipctk.CollisionMesh(positions, ipctk.edges(faces), faces)


def rows_of(kind: str, candidates: Any) -> set[tuple[int, ...]]:
    names = {"ee": ("edge0_id", "edge1_id"), "fv": ("face_id", "vertex_id")}[kind]
    rows = ([getattr(candidate, name) for name in names] for candidate in getattr(candidates, f"{kind}_candidates"))
    return {tuple(sorted(row)) if kind == "ee" else tuple(row) for row in rows}


def test_a_squashed_mesh(ipctk: Any, backend: str) -> None:
    """The tutorial "Getting Started": collisions, steps, candidates, and a minimum separation."""
    mesh = ring(ipctk)
    rest = mesh.rest_positions
    squashed = rest * [1, 0.01, 1]
    own = stand_in(backend)

    made = [ipctk.NormalCollisions(), ipctk.NormalCollisions()]
    made[0].build(mesh, squashed, 1e-2, broad_phase=own)
    made[1].build(mesh, squashed, 1e-2)
    assert len(made[0]) == len(made[1]) > 0
    distances = [each.compute_minimum_distance(mesh, squashed) for each in made]
    assert distances[0] == pytest.approx(distances[1], rel=1e-12)

    for least in (0.0, 1e-4):
        free = ipctk.compute_collision_free_stepsize(mesh, rest, squashed, least, broad_phase=own)
        assert free == pytest.approx(ipctk.compute_collision_free_stepsize(mesh, rest, squashed, least), abs=1e-5)
        reached = rest + free * (squashed - rest)
        assert ipctk.is_step_collision_free(mesh, rest, reached, least, broad_phase=own)
    assert not ipctk.has_intersections(mesh, squashed, own)

    ours, theirs, wider = ipctk.Candidates(), ipctk.Candidates(), ipctk.Candidates()
    ours.build(mesh, rest, squashed, broad_phase=own)
    theirs.build(mesh, rest, squashed, broad_phase=ipctk.SweepAndPrune())
    wider.build(mesh, rest, squashed, broad_phase=ipctk.LBVH())
    arrays = collision_candidates(rest, squashed, mesh.edges, mesh.faces, broad_phase=broad_phase(backend))
    for kind, table in (("ee", arrays.edges_edges), ("fv", arrays.faces_vertices)):
        found = rows_of(kind, ours)
        assert found == rows_of(kind, theirs)
        # LBVH compares in float32, so it may find more.
        assert found <= rows_of(kind, wider)
        # ipctk grows boxes by a unit in the last place, so it may find more.
        assert set(map(tuple, table.tolist())) <= found
        assert len(table) > 0


def test_a_point_through_a_triangle(ipctk: Any, backend: str) -> None:
    """The example of the narrow phase: a point falls through a triangle that rests, and meets it half-way."""
    start = np.array([[0.0, -1, 0], [-1, 0, 1], [1, 0, 1], [0, 0, -1]])
    end = start * [1, -1, 1]
    candidates = collision_candidates(start, end, None, [[1, 2, 3]], broad_phase=broad_phase(backend))
    assert candidates.faces_vertices.tolist() == [[0, 0]]
    meets, when = ipctk.TightInclusionCCD().point_triangle_ccd(*start, *end)
    assert meets
    assert 0.49 < when <= 0.5
    faces = np.array([[1, 2, 3]])
    mesh = ipctk.CollisionMesh(start, ipctk.edges(faces), faces)
    step = ipctk.compute_collision_free_stepsize(mesh, start, end, broad_phase=stand_in(backend))
    assert step == pytest.approx(ipctk.compute_collision_free_stepsize(mesh, start, end), abs=1e-5)
    # The point belongs to no edge or face, so ipctk handles it separately.
    assert 0.49 < step <= 0.5


def test_two_cubes(ipctk: Any, backend: str) -> None:
    """Tests of ipctk: a cube that moves into another one."""
    cube = np.stack(np.meshgrid([0.0, 1], [0.0, 1], [0.0, 1], indexing="ij"), -1).reshape(-1, 3)
    quads = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
    faces = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    faces = np.concatenate([faces, faces + 8])
    start = np.concatenate([cube, cube + [1.1, 0.2, 0.3]])
    end = start - np.repeat([[0, 0, 0], [0.5, 0, 0]], 8, axis=0)
    mesh = ipctk.CollisionMesh(start, ipctk.edges(faces), faces)
    own = stand_in(backend)
    assert not ipctk.has_intersections(mesh, start, own)
    assert ipctk.has_intersections(mesh, end, own)
    assert not ipctk.is_step_collision_free(mesh, start, end, broad_phase=own)
    when = ipctk.compute_collision_free_stepsize(mesh, start, end, broad_phase=own)
    assert when == pytest.approx(ipctk.compute_collision_free_stepsize(mesh, start, end), abs=1e-5)
    assert 0.19 < when <= 0.2
    assert ipctk.is_step_collision_free(mesh, start, start + when * (end - start), broad_phase=own)


def test_two_squares_that_may_collide_only_with_each_other(ipctk: Any, backend: str) -> None:
    """Filter tests of ipctk: Python functions, dictionaries and patches give the same result."""
    square = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])
    sides = np.array([[0, 1], [1, 3], [3, 2], [2, 0]])
    vertices = np.concatenate([square, square + 1.001])
    mesh = ipctk.CollisionMesh(vertices, np.concatenate([sides, sides + 4]))
    patches = np.repeat(np.array([0, 1], np.int32), 4)
    by_pair = {(a, b): False for a in range(8) for b in range(a + 1, 8) if patches[a] == patches[b]}
    counts = []
    for admits in (
        lambda a, b: patches[a] != patches[b],
        ipctk.make_sparse_filter(by_pair, True),
        ipctk.make_vertex_patches_filter(patches),
    ):
        mesh.can_collide = admits
        candidates = ipctk.Candidates()
        candidates.build(mesh, vertices, 0.01, stand_in(backend, 2))
        found = [(candidate.edge_id, candidate.vertex_id) for candidate in candidates.ev_candidates]
        assert all((edge < 4) != (vertex < 4) for edge, vertex in found)
        counts.append(len(found))
    reference = ipctk.Candidates()
    reference.build(mesh, vertices, 0.01, ipctk.BruteForce())
    assert counts == 3 * [len(reference.ev_candidates)]
    assert counts[0] > 0
