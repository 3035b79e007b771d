"""Compares stand-ins for parts of ase and ipctk with these parts."""

from __future__ import annotations

import importlib
import subprocess
import sys
from itertools import combinations, product
from types import SimpleNamespace
from typing import Any

import gpu_broad_phase.ase as ours
import numpy as np
import pytest
from conftest import broad_phase, peer
from gpu_broad_phase import BroadPhase
from gpu_broad_phase.candidates import KINDS

LATTICES: dict[str, dict[str, Any]] = {
    "sc": {"a": 2.6},
    "fcc": {"a": 3.6},
    "bcc": {"a": 2.9},
    "hcp": {"a": 2.7, "c": 4.3},
    "diamond": {"a": 4.0},
    "bct": {"a": 2.9, "c": 3.7},
    "rhombohedral": {"a": 4.7, "alpha": 57.3, "name": "Bi"},
    "orthorhombic": {"a": 3.1, "b": 3.7, "c": 4.9},
    "zincblende": {"crystalstructure": "zincblende", "a": 4.1, "name": "ZnS"},
    "rocksalt": {"a": 4.2, "name": "NaCl"},
    "cesiumchloride": {"a": 3.3, "name": "CsCl"},
    "fluorite": {"a": 5.0, "name": "CaFF"},
    "wurtzite": {"a": 3.8, "c": 6.2, "name": "ZnS"},
}


def ascending(rows: Any) -> tuple[Any, ...]:
    """Sorts neighbours by i, j and S."""
    i, j, shifts, *rest = rows
    order = np.lexsort([*shifts.T[::-1], j, i])
    return i[order], j[order], shifts[order], *(array[order] for array in rest)


def compare(atoms: Any, cutoff: Any, backend: str = "cpu", **options: Any) -> int:
    """Compares neighbours with those of ase. Returns their number."""
    theirs = peer("ase.neighborlist")
    found = ours.neighbor_list("ijSdD", atoms, cutoff, broad_phase=broad_phase(backend), **options)
    assert (np.diff(found[0]) >= 0).all()
    (*names, d, vectors), (*their_names, their_d, their_vectors) = (
        ascending(found),
        ascending(theirs.neighbor_list("ijSdD", atoms, cutoff, **options)),
    )
    for own, other in zip(names, their_names, strict=True):
        assert own.dtype == other.dtype
        np.testing.assert_array_equal(own, other)
    np.testing.assert_allclose(d, their_d, rtol=0, atol=1e-12)
    np.testing.assert_allclose(vectors, their_vectors, rtol=0, atol=1e-12)
    return len(d)


def some_atoms(random: np.random.Generator, cell: Any, pbc: Any, count: int) -> Any:
    """Atoms in the cell and around it."""
    ase = peer("ase")
    scaled = random.uniform(-1.5, 2.5, (count, 3))
    return ase.Atoms(random.choice(["C", "H", "O"], count), scaled_positions=scaled, cell=cell, pbc=pbc)


@pytest.mark.parametrize("pbc", list(product([False, True], repeat=3)), ids=str)
def test_random_cells_have_the_neighbors_of_ase(pbc: tuple[bool, bool, bool]) -> None:
    random = np.random.default_rng([3, *pbc])
    rows = 0
    for case in range(12):
        # Cell edges from far below to above the cutoff.
        edge = 1.5 * 1.7 ** (case % 6)
        cell = edge * (np.eye(3) + random.uniform(-0.35, 0.35, (3, 3)))
        atoms = some_atoms(random, cell, pbc, int(random.integers(1, 30)))
        rows += compare(atoms, random.uniform(0.5, 4.0), self_interaction=bool(case % 2))
    assert rows > 100


@pytest.mark.parametrize("lattice", LATTICES)
def test_lattices_have_the_neighbors_of_ase_and_matscipy(lattice: str) -> None:
    options = {"name": "Cu", "crystalstructure": lattice, **LATTICES[lattice]}
    crystal = peer("ase.build").bulk(**options)
    for atoms in (crystal, crystal * (2, 1, 3), crystal * 3):
        # Bond lengths could be rounded to either side.
        for cutoff in (3.217, 6.513):
            compare(atoms, cutoff)
            found = ascending(ours.neighbor_list("ijS", atoms, cutoff))
            theirs = peer("matscipy.neighbours").neighbour_list("ijS", atoms, cutoff)
            for own, other in zip(found, ascending(theirs), strict=True):
                np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize("name", ["H2O", "CH3CH2OH", "isobutane", "C60", "bicyclobutane"])
def test_molecules_without_a_cell_have_the_neighbors_of_ase(name: str) -> None:
    molecule = peer("ase.build").molecule(name)
    by_pairs = {("H", "H"): 1.7, ("C", "H"): 1.3, (6, "C"): 1.85, ("O", 1): 1.1, ("N", "Au"): 9.0}
    radii = np.linspace(0.4, 0.9, len(molecule))
    for cutoff in (1.85, 0.0, by_pairs, radii, list(radii)):
        for self_interaction in (False, True):
            compare(molecule, cutoff, self_interaction=self_interaction)


@pytest.mark.parametrize("pbc", list(product([False, True], repeat=3)), ids=str)
def test_slabs_have_the_neighbors_of_ase(pbc: tuple[bool, bool, bool]) -> None:
    slab = peer("ase.build").fcc111("Al", size=(2, 3, 3), vacuum=4.0)
    slab.pbc = pbc
    slab.rattle(0.1, seed=4)
    assert compare(slab, 3.3) > 0
    assert compare(slab, 9.1) > 0
    # A slab whose cell has only two vectors.
    flat = peer("ase.build").fcc100("Cu", size=(2, 2, 2))
    assert flat.cell.rank == 2
    assert compare(flat, 5.3) > 0


@pytest.mark.parametrize("pbc", [True, (True, False, False)])
def test_cutoffs_per_pair_and_radii_count_in_crystals(pbc: Any) -> None:
    random = np.random.default_rng(8)
    atoms = some_atoms(random, np.diag([4.0, 5.0, 6.0]) + 0.5, pbc, 20)
    by_pairs = {("C", "H"): 2.5, ("H", "C"): 2.0, ("O", "O"): 4.5, (6, 6): 1.0}
    for cutoff in (by_pairs, random.uniform(0.2, 2.0, 20)):
        for self_interaction in (False, True):
            assert compare(atoms, cutoff, self_interaction=self_interaction) > 0


def test_a_cutoff_at_the_length_of_a_bond_cuts_as_ase_does() -> None:
    crystal = peer("ase.build").bulk("Cu", "sc", a=2.0) * 4
    assert compare(crystal, 2.0) == 0
    assert compare(crystal, np.nextafter(2.0, 3.0)) == 6 * len(crystal)


def test_gpus_find_the_same_neighbors(gpu: str) -> None:
    random = np.random.default_rng(5)
    for edge in (1.5, 12.0):
        atoms = some_atoms(random, edge * (np.eye(3) + random.uniform(-0.2, 0.2, (3, 3))), True, 50)
        assert compare(atoms, 3.0, gpu) > 0


def test_atoms_far_outside_of_the_cell_are_near_all_the_same() -> None:
    far = SimpleNamespace(positions=[[1e6 + 0.1, 0.2, -1e6 + 0.3], [0.5, 0.2, 0.3]], pbc=True, cell=np.eye(3))
    i, j, d, shifts = ours.neighbor_list("ijdS", far, 0.7)
    assert (i.tolist(), j.tolist()) == ([0, 0, 1, 1], [1, 1, 0, 0])
    # Positions near a million are exact only to 1e-10.
    np.testing.assert_allclose(np.sort(d), [0.4, 0.4, 0.6, 0.6], rtol=0, atol=1e-9)
    assert sorted(shifts[:2].tolist()) == [[10**6 - 1, 0, -(10**6)], [10**6, 0, -(10**6)]]


def test_calls_are_those_of_ase() -> None:
    theirs = peer("ase.neighborlist")
    copper = peer("ase.build").bulk("Cu")
    for call in (
        lambda find: find("ij", copper, 3.0, True),
        lambda find: find("ij", copper, 3.0, False, 1e5),
        lambda find: find("ij", copper, 3.0, max_nbins=1e6),
        lambda find: find(quantities="ij", a=copper, cutoff=3.0, self_interaction=True),
    ):
        assert [len(array) for array in call(ours.neighbor_list)] == [
            len(array) for array in call(theirs.neighbor_list)
        ]


def test_what_is_wanted_comes_in_the_order_that_is_asked_for() -> None:
    pair = SimpleNamespace(positions=[[0, 0, 0], [0, 0, 2]], pbc=False, cell=None)
    shifts, j, i = ours.neighbor_list("Sji", pair, 2.5)
    assert (shifts.tolist(), j.tolist(), i.tolist()) == ([[0, 0, 0], [0, 0, 0]], [1, 0], [0, 1])
    assert ours.neighbor_list("d", pair, 2.5).tolist() == [2.0, 2.0]
    assert ours.neighbor_list("D", pair, 2.5).tolist() == [[0, 0, 2], [0, 0, -2]]
    assert ours.neighbor_list("", pair, 2.5) == ()
    assert [len(array) for array in ours.neighbor_list("ijdDS", pair, 2.0)] == [0] * 5
    none = SimpleNamespace(positions=np.empty((0, 3)), pbc=[True] * 3, cell=[3, 4, 5])
    assert [array.shape for array in ours.neighbor_list("iD", none, 1.0)] == [(0,), (0, 3)]


def test_ase_itself_is_not_needed() -> None:
    script = "import sys, gpu_broad_phase.ase; sys.exit('ase' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_broad_phase_that_is_given_is_the_one_that_works() -> None:
    flat = BroadPhase(dimensions=2, backend="cpu")
    pair = SimpleNamespace(positions=[[0, 0, 0], [0, 0, 2]], pbc=False, cell=None)
    with pytest.raises(ValueError, match="broad_phase is in 2D"):
        ours.neighbor_list("i", pair, 2.5, broad_phase=flat)


@pytest.mark.parametrize(
    ("change", "quantities", "cutoff", "text"),
    [
        ({}, "ijx", 1.0, "quantities has 'x'"),
        ({"positions": [[0, 0, 0], [0, np.nan, 0]]}, "i", 1.0, r"positions\[1\] is not finite"),
        ({"pbc": True}, "i", 1.0, r"cell\[0\] is zero"),
        ({"pbc": True, "cell": np.ones((3, 3))}, "i", 1.0, "periodic vectors are in one plane"),
        ({"pbc": True, "cell": np.diag([1, 1, np.inf])}, "i", 1.0, r"cell\[2, 2\] is not finite"),
        ({}, "i", [1.0, 1.0, 1.0], r"cutoff has the shape \(3,\), and \(2,\) is needed"),
        ({"positions": [[0, 0], [1, 1]]}, "i", 1.0, r"positions has the shape \(2, 2\)"),
        ({"positions": [[0, 0, 0], [1e19, 0, 0]], "pbc": True, "cell": np.eye(3)}, "i", 1.0, r"points\[1\] is more"),
        ({}, "i", np.nan, "cutoff.* is not finite"),
        ({}, "i", {("H", "Foo"): 1.0}, "there is no element 'Foo'"),
    ],
)
def test_atoms_that_cannot_be_are_refused(change: dict[str, Any], quantities: str, cutoff: Any, text: str) -> None:
    pair = {"positions": [[0, 0, 0], [0, 0, 2]], "pbc": False, "cell": np.zeros((3, 3)), "numbers": [1, 1]}
    with pytest.raises(ValueError, match=text):
        ours.neighbor_list(quantities, SimpleNamespace(**{**pair, **change}), cutoff)


DETECTED = {
    "vertices_vertices": "detect_vertex_vertex_candidates",
    "edges_vertices": "detect_edge_vertex_candidates",
    "edges_edges": "detect_edge_edge_candidates",
    "edges_faces": "detect_edge_face_candidates",
    "faces_vertices": "detect_face_vertex_candidates",
    "faces_faces": "detect_face_face_candidates",
}


@pytest.fixture(scope="module")
def ipctk() -> Any:
    return peer("ipctk")


def stand_in(axes: int, backend: str = "cpu", **options: Any) -> Any:
    return importlib.import_module("gpu_broad_phase.ipctk").BroadPhase(broad_phase(backend, dimensions=axes), **options)


def mesh_at_random(random: np.random.Generator, axes: int) -> tuple[Any, Any, Any, Any]:
    """Mesh with random edges and faces, in two frames on a lattice, so that many boxes just touch."""
    count = int(random.integers(6, 50))
    start = 0.1 * random.integers(0, 12, (count, axes))
    end = start + 0.1 * random.integers(-2, 3, (count, axes))
    edges = np.array([random.choice(count, 2, replace=False) for _ in range(30)], np.int32)
    faces = [random.choice(count, 3, replace=False) for _ in range(20)]
    return start, end, edges, np.array(faces, np.int32) if axes == 3 else np.empty((0, 3), np.int32)


def numbers(kind: str, candidates: Any) -> list[list[int]]:
    """Element indices of ipctk's candidates, ascending. In pairs of one kind, the smaller index is first."""
    first, second = {
        "vertices_vertices": ("vertex0_id", "vertex1_id"),
        "edges_vertices": ("edge_id", "vertex_id"),
        "edges_edges": ("edge0_id", "edge1_id"),
        "edges_faces": ("edge_id", "face_id"),
        "faces_vertices": ("face_id", "vertex_id"),
        "faces_faces": ("face0_id", "face1_id"),
    }[kind]
    rows = [[getattr(candidate, first), getattr(candidate, second)] for candidate in candidates]
    a, b = kind.split("_")
    return sorted(sorted(row) for row in rows) if a == b else sorted(rows)


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("theirs", ["BruteForce", "HashGrid"])
def test_meshes_have_the_candidates_of_ipctk(ipctk: Any, theirs: str, axes: int) -> None:
    random = np.random.default_rng(axes)
    found = dict.fromkeys(KINDS, 0)
    for case in range(10):
        start, end, edges, faces = mesh_at_random(random, axes)
        inflation = (0.0, 0.05, 0.1)[case % 3]
        patches = random.integers(0, 2, len(start)).astype(np.int32)
        filters = (
            ipctk.CollisionFilter(),
            ipctk.make_vertex_patches_filter(patches),
            ipctk.make_static_obstacle_filter(len(start) // 2),
            ipctk.make_sparse_filter({(0, 1): True, (2, 5): True}, False),
        )
        for admits, frames in product(filters, ([start], [start, end])):
            own, other = stand_in(axes), getattr(ipctk, theirs)()
            for each in (own, other):
                each.can_vertices_collide = admits
                each.build(*frames, edges, faces, inflation)
            for kind, detect in DETECTED.items():
                listed = numbers(kind, getattr(own, detect)())
                assert listed == numbers(kind, getattr(other, detect)())
                assert listed == sorted(own.pairs(kind).tolist())
                found[kind] += len(listed)
            assert len(own.candidates) == len(other.detect_collision_candidates())
            assert len(own.candidates) == len(own.detect_collision_candidates())
    assert all(found[kind] > 0 for kind in KINDS if axes == 3 or "faces" not in kind)


def test_boxes_that_just_touch_are_rounded_as_those_of_ipctk(ipctk: Any) -> None:
    random = np.random.default_rng(2)
    for axes, _ in product((2, 3), range(50)):
        start, end = 10.0 ** random.uniform(-5, 5) * random.normal(size=(2, 1, axes))
        inflation = random.choice([0.0, 0.1, 1e-9])
        box = ipctk.AABB.from_point(start[0], end[0], inflation)
        own = stand_in(axes)
        own.build(start, end, np.empty((0, 2), int), np.empty((0, 3), int), inflation)
        lower, upper, *_ = own._mesh
        np.testing.assert_array_equal(lower[0], box.min[:axes])
        np.testing.assert_array_equal(upper[0], box.max[:axes])


def two_sheets(ipctk: Any, gap: float = 0.3) -> tuple[Any, Any, Any]:
    """A mesh of two bent sheets, the upper of which falls through the lower one."""
    x, y = (axis.ravel() for axis in np.meshgrid(np.linspace(0, 1, 7), np.linspace(0, 1, 7)))
    corner = np.arange(49).reshape(7, 7)
    quads = [corner[:-1, :-1], corner[:-1, 1:], corner[1:, :-1], corner[1:, 1:]]
    a, b, c, d = (quad.ravel() for quad in quads)
    sheet = np.concatenate([np.stack([a, b, c], 1), np.stack([b, d, c], 1)])
    faces = np.concatenate([sheet, sheet + 49]).astype(np.int32)
    low = np.stack([x, y, 0.1 * np.sin(4 * x)], 1)
    start = np.concatenate([low, low @ np.diag([1, 1, -1]) + [0.03, 0.05, gap]])
    end = start - np.repeat([[0, 0, 0], [0, 0, 2 * gap]], 49, axis=0)
    return ipctk.CollisionMesh(start, ipctk.edges(faces), faces), start, end


@pytest.mark.parametrize("all_may_collide", [False, True])
def test_all_of_ipctk_that_takes_a_broad_phase_takes_ours(ipctk: Any, all_may_collide: bool) -> None:
    mesh, start, end = two_sheets(ipctk)
    own, other = stand_in(3, all_may_collide=all_may_collide), ipctk.HashGrid()

    def both(name: str, *given: Any) -> Any:
        answers = [getattr(ipctk, name)(mesh, *given, broad_phase=each) for each in (own, other)]
        # ipctk's steps depend on the order of threads.
        assert answers[0] == pytest.approx(answers[1], abs=1e-5)
        return answers[0]

    assert not both("has_intersections", start)
    assert both("has_intersections", (start + end) / 2)
    assert not both("is_step_collision_free", start, end)
    assert both("is_step_collision_free", start, start)
    assert 0.0 < both("compute_collision_free_stepsize", start, end) < 1.0
    for kind in ("NormalCollisions", "Candidates"):
        made = [getattr(ipctk, kind)() for _ in range(2)]
        for each, by in zip(made, (own, other), strict=True):
            each.build(mesh, start, 0.2, broad_phase=by)
        assert len(made[0]) == len(made[1]) > 0
    moving = [ipctk.Candidates() for _ in range(2)]
    for each, by in zip(moving, (own, other), strict=True):
        each.build(mesh, start, end, 0.01, by)
    assert len(moving[0].ee_candidates) > 0
    for table, kind in (("ee_candidates", "edges_edges"), ("fv_candidates", "faces_vertices")):
        assert numbers(kind, getattr(moving[0], table)) == numbers(kind, getattr(moving[1], table))


def test_meshes_of_points_and_of_edges_have_the_candidates_of_ipctk(ipctk: Any) -> None:
    random = np.random.default_rng(6)
    for axes in (2, 3):
        start = random.random((40, axes))
        end = start + random.uniform(-0.1, 0.1, start.shape)
        edges = np.arange(20, dtype=np.int32).reshape(10, 2)
        for mesh in (ipctk.CollisionMesh(start), ipctk.CollisionMesh(start, edges)):
            made = [ipctk.Candidates() for _ in range(2)]
            for each, by in zip(made, (stand_in(axes), ipctk.HashGrid()), strict=True):
                each.build(mesh, start, end, 0.05, by)
            assert len(made[0]) == len(made[1]) > 0


def test_functions_of_python_say_what_may_collide(ipctk: Any) -> None:
    mesh, start, end = two_sheets(ipctk)
    asked = []

    def admits(a: int, b: int) -> bool:
        asked.append((a, b))
        return (a < 49) != (b < 49)

    mesh.can_collide = admits
    own = stand_in(3)
    candidates = ipctk.Candidates()
    candidates.build(mesh, start, end, 0.01, own)
    free = stand_in(3, all_may_collide=True)
    free.build(start, end, mesh.edges, mesh.faces, 0.01)
    sheets = mesh.edges[free.candidates.edges_edges][:, :, 0] < 49
    wanted = free.candidates.edges_edges[sheets[:, 0] != sheets[:, 1]]
    assert len(asked) > len(free.candidates)
    assert 0 < len(wanted) < len(free.candidates.edges_edges)
    assert numbers("edges_edges", candidates.ee_candidates) == wanted.tolist()
    asked.clear()
    candidates.build(mesh, start, end, 0.01, stand_in(3, all_may_collide=True))
    assert asked == []
    assert len(candidates) == len(free.candidates)


def test_errors_of_the_filter_arrive(ipctk: Any) -> None:
    mesh, start, end = two_sheets(ipctk)

    def fails(a: int, b: int) -> bool:
        raise KeyError("no such vertex")

    mesh.can_collide = fails
    with pytest.raises(KeyError, match="no such vertex"):
        ipctk.Candidates().build(mesh, start, end, 0.01, stand_in(3))


def test_gpus_find_the_same_candidates(ipctk: Any, gpu: str) -> None:
    mesh, start, end = two_sheets(ipctk)
    own, other = stand_in(3, gpu), stand_in(3)
    for each in (own, other):
        each.build(start, end, mesh.edges, mesh.faces, 0.05)
    for kind in KINDS:
        assert len(own.pairs(kind)) > 0
        np.testing.assert_array_equal(own.pairs(kind), other.pairs(kind))


def test_a_mesh_can_be_forgotten_and_built_by_names(ipctk: Any) -> None:
    own = importlib.import_module("gpu_broad_phase.ipctk").BroadPhase()
    assert own.name() == "gpu_broad_phase"
    tables = {"edges": [[0, 1], [2, 3]], "faces": []}
    frame = [[0, 0], [2, 2], [0, 2], [2, 0]]
    aside = [[0, 0], [2, 2], [10, 2], [12, 0]]
    own.build(vertices=frame, **tables)
    assert own.pairs("edges_edges").tolist() == [[0, 1]]
    own.build(aside, edges=tables["edges"], faces=[], inflation_radius=0.5)
    assert own.pairs("edges_edges").tolist() == []
    own.build(frame, vertices_t1=aside, **tables)
    assert own.pairs("edges_edges").tolist() == [[0, 1]]
    assert sorted(own.candidates.edges_vertices.tolist()) == [[0, 2], [0, 3], [1, 0], [1, 1]]
    own.clear()
    with pytest.raises(RuntimeError, match="build comes first"):
        own.detect_edge_edge_candidates()
    with pytest.raises(RuntimeError, match="build comes first"):
        _ = own.candidates


def test_meshes_that_cannot_be_are_refused(ipctk: Any) -> None:
    own = stand_in(3)
    square = np.eye(3)
    none = np.empty((0, 2), int), np.empty((0, 3), int)
    with pytest.raises(ValueError, match=r"edges\[.*\] is 3"):
        own.build(square, [[0, 3]], [])
    with pytest.raises(ValueError, match="vertices_t1 has 2 rows, and 3 are needed"):
        own.build(square, square[:2], *none)
    with pytest.raises(ValueError, match=r"vertices has the shape \(3,\)"):
        own.build(square[0], *none)
    for given, named in (((square, none[0]), {}), ((square, *none, 0.0, 0.0), {}), ((square, *none), {"radius": 1.0})):
        with pytest.raises(TypeError, match="build"):
            own.build(*given, **named)
    own.build(square, *none)
    with pytest.raises(ValueError, match="kind is 'edges'"):
        own.pairs("edges")


def test_boxes_of_all_elements_are_those_of_brute_force(ipctk: Any) -> None:
    """Tests our array of face pairs, without ipctk's objects."""
    mesh, start, end = two_sheets(ipctk)
    own = stand_in(3)
    own.build(start, end, mesh.edges, mesh.faces)
    corners = np.stack([start, end])[:, mesh.faces]
    low, high = corners.min(axis=(0, 2)), corners.max(axis=(0, 2))
    wanted = [
        [a, b]
        for a, b in combinations(range(len(mesh.faces)), 2)
        if (low[a] <= high[b]).all() and (low[b] <= high[a]).all() and not set(mesh.faces[a]) & set(mesh.faces[b])
    ]
    assert own.pairs("faces_faces").tolist() == wanted
