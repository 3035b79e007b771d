"""Compares times of calls with those of other libraries, as Markdown tables.

Calls start and end with host arrays; those of ipctk end with its own objects. Times include building the table or tree,
except for rays. Each result is compared with the CPU result of gpu_broad_phase. The script fails if a result differs
for an unknown reason. Libraries that are not installed are left out.

python bench/compare.py --question pairs neighbors --sizes 10000 100000
python bench/compare.py --question candidates --scene frame0.ply frame1.ply
"""

from __future__ import annotations

import argparse
import datetime
import gc
import importlib.metadata
import importlib.util
import itertools
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scenes
from gpu_broad_phase import BroadPhase, NoAdapterError, collision_candidates

QUESTIONS = {
    "pairs": "Boxes that overlap",
    "neighbors": f"Points within a radius of {scenes.RADIUS}",
    "periodic": f"Points within a radius of {scenes.RADIUS}, in a space with periods",
    "structures": f"Points of periodic structures within a radius of {scenes.RADIUS}",
    "candidates": "Collision candidates of a mesh: edges with edges, and faces with vertices",
    "rays": "The box that each ray meets first. The table or tree of the boxes is there before the time begins",
}
PEERS = {
    "scipy": "scipy",
    "freud": "freud-analysis",
    "matscipy": "matscipy",
    "ase": "ase",
    "vesin": "vesin",
    "warp": "warp-lang",
    "ipctk": "ipctk",
    "rtree": "rtree",
    "trimesh": "trimesh",
    "embreex": "embreex",
}
STRUCTURES = 64
Keys = npt.NDArray[np.int64]


class Differs(Exception):
    """A result of another library differs for an unknown reason."""


@dataclass
class Call:
    """A timed call and the check of its result, which returns a note on allowed differences."""

    run: Callable[[], Any]
    check: Callable[[Any], str]


@dataclass
class Column:
    """A library. `make` creates its call when needed, because calls take memory."""

    name: str
    make: Callable[[], Call]
    largest: float = float("inf")
    """Larger scenes are skipped, because time or memory grows too fast."""
    power: float = 1.0
    """Lowest power of the size by which the time grows. It predicts calls that would take too long."""


@dataclass
class Row:
    """A scene of one size, and its libraries."""

    name: str
    kind: str
    """Rows of one kind differ only in size. Times of smaller ones predict those of larger ones."""
    size: int
    columns: list[Column]


@dataclass
class Options:
    sizes: list[int]
    meshes: list[scenes.Mesh]
    rays: int
    limit: float
    sort: bool
    broad_phases: dict[str, BroadPhase] = field(default_factory=dict)

    def ours(self) -> dict[str, BroadPhase]:
        """Broad phases for all calls, one per backend, the CPU first."""
        if not self.broad_phases:
            self.broad_phases["ours, CPU"] = BroadPhase(backend="cpu", sort=self.sort)
            try:
                self.broad_phases["ours, GPU"] = BroadPhase(backend="gpu", sort=self.sort)
            except NoAdapterError:
                print("there is no GPU and no software driver: its column is missing", file=sys.stderr)
        return self.broad_phases


def has(*modules: str) -> bool:
    return all(importlib.util.find_spec(module) is not None for module in modules)


def keys_of(first: npt.NDArray[Any], second: npt.NDArray[Any], count: int) -> Keys:
    return first.astype(np.int64) * count + second.astype(np.int64)


def once(pairs: npt.NDArray[Any], count: int) -> Keys:
    """One key per pair, the same for both orders."""
    return keys_of(pairs.min(axis=1), pairs.max(axis=1), count)


def same(found: Keys, expected: Keys) -> str:
    """Raises `Differs` unless both have the same keys, each once."""
    found, expected = np.sort(found), np.sort(expected)
    if not np.array_equal(found, expected):
        more, fewer = np.setdiff1d(found, expected), np.setdiff1d(expected, found)
        repeated = len(found) - len(np.unique(found))
        counts = f"{len(more)} more, {len(fewer)} fewer, {repeated} twice"
        raise Differs(f"{len(found)} rows in place of {len(expected)}: {counts}")
    return ""


def pairs(options: Options) -> Iterator[Row]:
    for size in options.sizes:
        yield Row(f"{size:,} uniform boxes", "uniform", size, box_columns(scenes.uniform_boxes(size), options))
    for mesh in meshes(options):
        yield Row(f"{len(mesh):,} boxes of {mesh.name}", mesh.name, len(mesh), box_columns(mesh.boxes(), options))


def box_columns(boxes: scenes.Boxes, options: Options) -> list[Column]:
    count = len(boxes)
    expected = once(options.ours()["ours, CPU"].step(boxes).pairs, count)

    def ours(broad_phase: BroadPhase) -> Call:
        return Call(lambda: broad_phase.step(boxes).pairs, lambda found: same(once(found, count), expected))

    def warp() -> Call:
        import warp_peer

        warp_peer.Tree(boxes[:2]).overlaps()
        return Call(lambda: warp_peer.Tree(boxes).overlaps(), lambda found: same(once(found, count), expected))

    def rtree() -> Call:
        from rtree import index

        lower, upper, ids = boxes[:, :3].astype(np.float64), boxes[:, 3:].astype(np.float64), np.arange(count)

        def run() -> Any:
            tree = index.Index((ids, lower, upper), properties=index.Property(dimension=3))
            return tree.intersection_v(lower, upper)

        def check(found: Any) -> str:
            # A query finds each box itself, and each pair twice.
            first, second = np.repeat(ids, found[1].astype(np.int64)), found[0]
            return same(keys_of(first, second, count)[first < second], expected)

        return Call(run, check)

    columns = [Column(name, partial(ours, of)) for name, of in options.ours().items()]
    columns += [Column("rtree", rtree)] if has("rtree") else []
    columns += [Column("warp Bvh", warp)] if has("warp") else []
    return columns


def neighbors(options: Options) -> Iterator[Row]:
    yield from near(options, False)


def periodic(options: Options) -> Iterator[Row]:
    yield from near(options, True)


def near(options: Options, has_periods: bool) -> Iterator[Row]:
    for size in options.sizes:
        points = scenes.uniform_points(size)
        for half, kind in ((True, "each pair once"), (False, "each pair twice, with distances")):
            columns = point_columns(points, scenes.side(size) if has_periods else 0.0, half, options)
            yield Row(f"{size:,} points, {kind}", kind, size, columns)


@dataclass
class Near:
    """Expected neighbours, sorted by key."""

    points: scenes.Array
    period: float
    keys: Keys
    distances: scenes.Array
    shifts: npt.NDArray[np.int32]

    def distances_of(self, keys: Keys) -> scenes.Array:
        offsets = self.points[keys % len(self.points)] - self.points[keys // len(self.points)]
        if self.period:
            offsets -= self.period * np.round(offsets / self.period)
        distances: scenes.Array = np.linalg.norm(offsets, axis=1)
        return distances

    def check(
        self, found: Keys, distances: npt.NDArray[Any] | None, shifts: npt.NDArray[Any] | None, is_single: bool
    ) -> str:
        """Returns a note on pairs that differ because their distance rounds to the radius. Raises `Differs` for others.

        Squared distances are exact in float64. In float32, a coordinate is off by at most one unit in the last place,
        and a distance by a few.
        """
        extent = float(np.ptp(self.points, axis=0).max())
        tolerance = 4 * extent * float(np.finfo(np.float32 if is_single else np.float64).eps)
        order = np.argsort(found, kind="stable")
        found = found[order]
        if (found[1:] == found[:-1]).any():
            raise Differs(f"{(found[1:] == found[:-1]).sum()} pairs stand there twice")
        different = np.setxor1d(found, self.keys, assume_unique=True)
        if len(different) > 0:
            off = float(np.abs(self.distances_of(different) - scenes.RADIUS).max())
            if off > tolerance:
                raise Differs(f"{len(different)} pairs differ, by up to {off} from the radius")
        mine = np.isin(self.keys, found, assume_unique=True)
        theirs = np.isin(found, self.keys, assume_unique=True)
        if distances is not None:
            off = float(np.abs(distances[order][theirs] - self.distances[mine]).max(initial=0.0))
            if off > tolerance:
                raise Differs(f"distances differ by up to {off}")
        if shifts is not None and not np.array_equal(shifts[order][theirs], self.shifts[mine]):
            raise Differs("shifts differ")
        if len(different) == 0:
            return ""
        kind = "float32" if is_single else "float64, in another order,"
        pairs = f"{len(different)} of {len(self.keys):,} pairs differ"
        return f"{pairs}: it rounds to {kind} and their distance is the radius but for {off:.0e}"


def point_columns(points: scenes.Array, period: float, half: bool, options: Options) -> list[Column]:
    count, radius = len(points), scenes.RADIUS
    found = options.ours()["ours, CPU"].neighbors(points, radius, cell=period, half=half)
    keys = keys_of(found.i, found.j, count)
    order = np.argsort(keys, kind="stable")
    expected = Near(points, period, keys[order], found.distances[order], found.shifts[order])
    del found, keys, order
    box = max(period, float(np.ptp(points, axis=0).max()) + 4 * radius)

    def ours(broad_phase: BroadPhase) -> Call:
        def run() -> Any:
            return broad_phase.neighbors(points, radius, cell=period, half=half)

        return Call(run, lambda one: expected.check(keys_of(one.i, one.j, count), one.distances, one.shifts, False))

    def scipy() -> Call:
        from scipy.spatial import cKDTree

        def run() -> Any:
            return cKDTree(points, boxsize=period or None).query_pairs(radius, output_type="ndarray")

        return Call(run, lambda pairs: expected.check(once(pairs, count), None, None, False))

    def freud(kind: str) -> Call:
        import freud.box
        import freud.locality

        # freud requires periods: without ours, they are too long to matter. Its box is centred; positions are float32.
        space = freud.box.Box.cube(period or box)
        centered = np.ascontiguousarray(points - (period or float(points.max())) / 2, np.float32)

        def run() -> Any:
            if kind == "AABBQuery":
                query = freud.locality.AABBQuery(space, centered)
            else:
                query = freud.locality.LinkCell(space, centered, radius)
            listed = query.query(centered, {"mode": "ball", "r_max": radius, "exclude_ii": True}).toNeighborList()
            return listed.query_point_indices, listed.point_indices, listed.distances

        return Call(run, lambda one: expected.check(keys_of(one[0], one[1], count), one[2], None, True))

    def atoms(neighbor_list: Callable[..., Any]) -> Call:
        cell, wraps = np.diag([box if period == 0.0 else period] * 3), [period > 0.0] * 3

        def run() -> Any:
            return neighbor_list(cell, wraps)

        return Call(run, lambda one: expected.check(keys_of(one[0], one[1], count), one[2], one[3], False))

    def matscipy() -> Call:
        from matscipy.neighbours import neighbour_list

        return atoms(lambda cell, wraps: neighbour_list("ijdS", cutoff=radius, positions=points, cell=cell, pbc=wraps))

    def ase() -> Call:
        from ase.neighborlist import primitive_neighbor_list

        return atoms(lambda cell, wraps: primitive_neighbor_list("ijdS", wraps, cell, points, radius))

    def warp() -> Call:
        import warp_peer

        warp_peer.near(points[:2], radius, period, half)
        return Call(
            lambda: warp_peer.near(points, radius, period, half),
            lambda one: expected.check(keys_of(one[0][:, 0], one[0][:, 1], count), one[1], None, True),
        )

    columns = [Column(name, partial(ours, of)) for name, of in options.ours().items()]
    columns += [Column("scipy cKDTree", scipy)] if half and has("scipy") else []
    if not half and has("freud"):
        columns += [Column("freud AABBQuery", partial(freud, "AABBQuery"))]
        # From 1,000 to 10,000 points, the measured time grows 40-fold, at any cell width.
        columns += [Column("freud LinkCell", partial(freud, "LinkCell"), power=1.6)]
    columns += [Column("matscipy", matscipy)] if not half and has("matscipy") else []
    columns += [Column("ase", ase, largest=10_000)] if not half and has("ase") else []
    columns += [Column("warp HashGrid", warp)] if has("warp") else []
    return columns


def structures(options: Options) -> Iterator[Row]:
    for size in options.sizes:
        count = size // STRUCTURES
        if count > 0:
            name = f"{STRUCTURES} structures of {count:,} points, each pair once"
            yield Row(name, "structures", size, structure_columns(count, options))


def structure_columns(count: int, options: Options) -> list[Column]:
    radius, cell, total = scenes.RADIUS, scenes.side(count), STRUCTURES * count
    points = scenes.uniform_points(total) % cell
    worlds, parts = np.repeat(np.arange(STRUCTURES), count), points.reshape(STRUCTURES, count, 3)

    def find(broad_phase: BroadPhase) -> Any:
        return broad_phase.neighbors(points, radius, cell=cell, worlds=worlds, half=True)

    def keys(pairs: list[Any]) -> Keys:
        return np.concatenate([once(np.asarray(part) + at * count, total) for at, part in enumerate(pairs)])

    near = find(options.ours()["ours, CPU"])
    expected = once(np.stack([near.i, near.j], axis=1), total)

    def ours(broad_phase: BroadPhase) -> Call:
        def check(near: Any) -> str:
            return same(once(np.stack([near.i, near.j], axis=1), total), expected)

        return Call(lambda: find(broad_phase), check)

    def scipy() -> Call:
        from scipy.spatial import cKDTree

        def run() -> Any:
            return [cKDTree(part, boxsize=cell).query_pairs(radius, output_type="ndarray") for part in parts]

        return Call(run, lambda pairs: same(keys(pairs), expected))

    def vesin() -> Call:
        from vesin import NeighborList

        finder = NeighborList(cutoff=radius, full_list=False)

        def run() -> Any:
            return [finder.compute(part, np.eye(3) * cell, True, quantities="Pd") for part in parts]

        return Call(run, lambda answers: same(keys([answer[0] for answer in answers]), expected))

    columns = [Column(name, partial(ours, of)) for name, of in options.ours().items()]
    columns += [Column("scipy cKDTree", scipy)] if has("scipy") else []
    columns += [Column("vesin", vesin)] if has("vesin") else []
    return columns


def meshes(options: Options) -> Iterator[scenes.Mesh]:
    for size in options.sizes:
        yield scenes.cloth(size)
    yield from options.meshes


def candidates(options: Options) -> Iterator[Row]:
    for mesh in meshes(options):
        name = f"{len(mesh):,} vertices, edges and faces of {mesh.name}"
        yield Row(name, mesh.name, len(mesh), mesh_columns(mesh, options))


def mesh_columns(mesh: scenes.Mesh, options: Options) -> list[Column]:
    inflation, count = mesh.inflation, len(mesh)

    def run_ours(broad_phase: BroadPhase) -> Any:
        return collision_candidates(
            mesh.start, mesh.end, mesh.edges, mesh.faces, inflation=inflation, broad_phase=broad_phase
        )

    def keys(edges_edges: npt.NDArray[Any], faces_vertices: npt.NDArray[Any]) -> Keys:
        of_faces = keys_of(faces_vertices[:, 0], faces_vertices[:, 1], count)
        return np.concatenate([once(edges_edges, count), of_faces + count * count])

    def gaps(some: Keys) -> scenes.Array:
        """Gaps between the boxes of candidates, in float64."""
        are_faces, pairs = some >= count * count, some % (count * count)
        lower, upper = np.minimum(mesh.start, mesh.end) - inflation, np.maximum(mesh.start, mesh.end) + inflation
        # Vertices of both elements, repeated up to three.
        first, second = pairs // count, pairs % count
        edge_corners = mesh.edges[:, [0, 1, 1]]
        of_first = np.where(are_faces[:, None], mesh.faces[first * are_faces], edge_corners[first * ~are_faces])
        of_second = np.where(are_faces[:, None], second[:, None], edge_corners[second * ~are_faces])
        apart = np.maximum(
            lower[of_first].min(axis=1) - upper[of_second].max(axis=1),
            lower[of_second].min(axis=1) - upper[of_first].max(axis=1),
        )
        distances: scenes.Array = apart.max(axis=1)
        return distances

    found = run_ours(options.ours()["ours, CPU"])
    expected = keys(found.edges_edges, found.faces_vertices)

    def ours(broad_phase: BroadPhase) -> Call:
        return Call(
            lambda: run_ours(broad_phase), lambda one: same(keys(one.edges_edges, one.faces_vertices), expected)
        )

    def ipctk(method: str) -> Call:
        import ipctk as library

        # ipctk takes this layout without a copy.
        start, end = np.asfortranarray(mesh.start), np.asfortranarray(mesh.end)
        edges, faces = np.asfortranarray(mesh.edges, np.int32), np.asfortranarray(mesh.faces, np.int32)

        def run() -> Any:
            broad_phase = getattr(library, method)()
            broad_phase.build(start, end, edges, faces, inflation)
            return broad_phase.detect_collision_candidates()

        def check(one: Any) -> str:
            began = time.perf_counter()
            of_edges = ((pair.edge0_id, pair.edge1_id) for pair in one.ee_candidates)
            edges_edges = np.fromiter(of_edges, np.dtype((np.int64, 2)))
            of_faces = ((pair.face_id, pair.vertex_id) for pair in one.fv_candidates)
            faces_vertices = np.fromiter(of_faces, np.dtype((np.int64, 2)))
            seconds = time.perf_counter() - began
            answer = keys(edges_edges, faces_vertices)
            # Only LBVH has float32 bounds, rounded outward.
            if method != "LBVH":
                return same(answer, expected)
            more = np.setdiff1d(answer, expected)
            same(np.setdiff1d(answer, more), expected)
            # Each bound is at most 1.5 units in the last place farther out: half from rounding to nearest, plus one.
            tolerance = 3 * float(np.spacing(np.float32(max(np.abs(start).max(), np.abs(end).max()) + inflation)))
            if len(answer) != len(expected) + len(more) or (gaps(more) > tolerance).any():
                raise Differs(f"{len(more)} more candidates, with gaps of up to {gaps(more).max(initial=0.0)}")
            reason = f"has {len(more)} more, since it rounds bounds outward to float32; " if len(more) > 0 else ""
            arrays = f"its {len(answer):,} candidates are objects of its own, and arrays of them take another"
            return f"{reason}{arrays} {shown(seconds)}"

        return Call(run, check)

    columns = [Column(name, partial(ours, of)) for name, of in options.ours().items()]
    if has("ipctk"):
        for method in ("LBVH", "SweepAndPrune", "HashGrid", "SpatialHash", "BruteForce"):
            largest = 3_000.0 if method == "BruteForce" else float("inf")
            columns.append(Column(f"ipctk {method}", partial(ipctk, method), largest))
    return columns


def rays(options: Options) -> Iterator[Row]:
    for size in options.sizes:
        boxes = scenes.uniform_boxes(size)
        for kind, make in (("of a camera", scenes.camera_rays), ("in no order", scenes.scattered_rays)):
            # All libraries here take float32.
            origins, directions = (np.asarray(part, np.float32) for part in make(boxes, options.rays))
            name = f"{len(origins):,} rays {kind}, {size:,} boxes"
            yield Row(name, kind, size, ray_columns(boxes, origins, directions, options))


def ray_columns(
    boxes: scenes.Boxes, origins: npt.NDArray[np.float32], directions: npt.NDArray[np.float32], options: Options
) -> list[Column]:
    cpu = options.ours()["ours, CPU"]
    cpu.step(boxes, pairs=False)
    expected = cpu.rays(origins, directions).objects

    def check(found: npt.NDArray[np.int32]) -> str:
        """Returns a note on rays that differ by float32 rounding: they graze a box, or hit two at one point."""
        different = np.flatnonzero(found != expected)
        if len(different) == 0:
            return ""
        # Entry into each box in float64, with the box shrunk or grown by some units in the last place.
        extent = float(np.abs(origins).max())
        tolerance = 16 * extent * float(np.finfo(np.float32).eps)
        start, way = origins[different].astype(np.float64), directions[different].astype(np.float64)
        way /= np.linalg.norm(way, axis=1, keepdims=True)

        def entry(objects: npt.NDArray[np.int32], grown: float) -> tuple[scenes.Array, npt.NDArray[np.bool_]]:
            of = boxes[np.maximum(objects, 0)].astype(np.float64)
            with np.errstate(divide="ignore"):
                low, high = (of[:, :3] - grown - start) / way, (of[:, 3:] + grown - start) / way
            first, last = np.minimum(low, high).max(axis=1), np.maximum(low, high).min(axis=1)
            return first, (first <= last) & (objects >= 0)

        at_mine, mine_is_met = entry(expected[different], -tolerance)
        at_theirs, theirs_is_met = entry(found[different], -tolerance)
        wide_mine, mine_may_be_met = entry(expected[different], tolerance)
        wide_theirs, theirs_may_be_met = entry(found[different], tolerance)
        may_be = (expected[different] < 0) | mine_may_be_met
        may_be &= (found[different] < 0) | theirs_may_be_met
        # If a box is surely entered before the other one, both libraries must find it.
        late_theirs = np.where(found[different] < 0, np.inf, wide_theirs)
        late_mine = np.where(expected[different] < 0, np.inf, wide_mine)
        wrong = ~may_be | (mine_is_met & (at_mine < late_theirs)) | (theirs_is_met & (at_theirs < late_mine))
        if wrong.any():
            some = different[wrong][:3].tolist()
            raise Differs(f"{wrong.sum()} rays of {len(different)} differ without a reason, such as {some}")
        mine = ((expected[different] >= 0) & ~entry(expected[different], 0.0)[1]).sum()
        theirs = ((found[different] >= 0) & ~entry(found[different], 0.0)[1]).sum()
        return (
            f"{len(different)} of {len(expected):,} rays differ by what float32 rounds away, up to {tolerance:.0e}: in "
            f"{mine} of them ours takes a box that the ray passes so closely, and in {theirs} the other library does"
        )

    def ours(broad_phase: BroadPhase) -> Call:
        broad_phase.step(boxes, pairs=False)

        def exactly(found: Any) -> str:
            if not np.array_equal(found.objects, expected):
                raise Differs(f"{(found.objects != expected).sum()} rays")
            return ""

        return Call(lambda: broad_phase.rays(origins, directions), exactly)

    def warp() -> Call:
        import warp_peer

        tree = warp_peer.Tree(boxes)
        tree.closest(origins[:1], directions[:1])
        return Call(lambda: tree.closest(origins, directions), check)

    def embree() -> Call:
        from trimesh import Trimesh
        from trimesh.ray.ray_pyembree import RayMeshIntersector

        corners = boxes.reshape(-1, 2, 3)
        choices = itertools.product((0, 1), repeat=3)
        vertices = np.stack([corners[:, choice, (0, 1, 2)] for choice in choices], axis=1)
        # Two triangles per face. Corner index = 4 x + 2 y + z.
        quads = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
        triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
        faces = (np.arange(len(boxes))[:, None, None] * 8 + triangles).reshape(-1, 3)
        mesh = Trimesh(vertices.reshape(-1, 3), faces, process=False)
        intersector = RayMeshIntersector(mesh, scale_to_box=False)
        intersector.intersects_first(origins[:1], directions[:1])

        def run() -> Any:
            hit = intersector.intersects_first(origins, directions)
            return np.where(hit < 0, -1, hit // len(triangles)).astype(np.int32)

        return Call(run, check)

    columns = [Column(name, partial(ours, of)) for name, of in options.ours().items()]
    columns += [Column("trimesh, embree", embree)] if has("trimesh", "embreex") else []
    columns += [Column("warp Bvh", warp)] if has("warp") else []
    return columns


def shown(seconds: float) -> str:
    """A time with three digits."""
    milliseconds = 1000 * seconds
    digits = 2 if milliseconds < 10 else 1 if milliseconds < 100 else 0
    return f"{milliseconds:,.{digits}f} ms" if seconds < 10 else f"{seconds:,.1f} s"


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    began = time.perf_counter()
    result = run()
    return time.perf_counter() - began, result


def measure(column: Column, row: Row, foretold: float, limit: float) -> tuple[float | str, str]:
    """Time, or the reason for its absence; note of the check."""
    if row.size > column.largest:
        return f"left out above {column.largest:,.0f}", ""
    if foretold > limit:
        return f"left out, over {limit:,.0f} s", ""
    call = column.make()
    seconds, result = timed(call.run)
    try:
        note = call.check(result)
    except Differs as differs:
        raise Differs(f"{row.name}: {column.name} differs: {differs}") from None
    del result
    if seconds <= 10.0:
        seconds = statistics.median(timed(call.run)[0] for _ in range(5))
    return seconds, note


def print_table(question: str, options: Options) -> None:
    print(f"\n### {QUESTIONS[question]}\n", flush=True)
    rows: list[tuple[str, dict[str, float | str]]] = []
    columns: dict[str, None] = {}
    notes: list[str] = []
    last: dict[tuple[str, str], tuple[int, float]] = {}
    finders = (pairs, neighbors, periodic, structures, candidates, rays)
    for row in {finder.__name__: finder for finder in finders}[question](options):
        cells: dict[str, float | str] = {}
        for column in row.columns:
            size, before = last.get((column.name, row.kind), (row.size, 0.0))
            print(f"{row.name}: {column.name}", file=sys.stderr, flush=True)
            cell, note = measure(column, row, before * (row.size / size) ** column.power, options.limit)
            cells[column.name] = cell
            columns[column.name] = None
            if not isinstance(cell, str):
                last[column.name, row.kind] = row.size, cell
            if note:
                notes.append(f"{column.name}, {row.name}: {note}.")
        rows.append((row.name, cells))
        gc.collect()
    print(f"| | {' | '.join(columns)} |\n|---|{'--:|' * len(columns)}")
    for name, cells in rows:
        best = min((cell for cell in cells.values() if not isinstance(cell, str)), default=0.0)
        texts = []
        for column_name in columns:
            cell = cells.get(column_name, "–")
            text = cell if isinstance(cell, str) else shown(cell)
            texts.append(f"**{text}**" if cell == best else text)
        print(f"| {name} | {' | '.join(texts)} |")
    for note in notes:
        print(f"\n{note}")


def print_header(options: Options) -> None:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    packages = ["gpu-broad-phase", "numpy"] + [package for module, package in PEERS.items() if has(module)]
    versions = ", ".join(f"{package} {importlib.metadata.version(package)}" for package in packages)
    missing = [package for module, package in PEERS.items() if not has(module)]
    load = f"{os.getloadavg()[0]:.1f} programs ran when this began. " if hasattr(os, "getloadavg") else ""
    print(f"{processor()}, {cores} cores; {platform.system()}, Python {platform.python_version()}.")
    for name, broad_phase in options.ours().items():
        if broad_phase.adapter is not None:
            adapter = broad_phase.adapter
            print(f"{name}: {adapter['name']} ({adapter['kind']}) through {adapter['backend']}.")
    print(f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}. {load}{versions}.")
    if missing:
        print(f"Not installed: {', '.join(missing)}.")
    order = "sorts its answers" if options.sort else "does not sort its answers"
    print(
        "\nMedians of 5 calls after a warm-up; of what takes longer than 10 s, one call. From arrays to arrays of the "
        f"host. Ours {order}. All answers are compared, and differ only where a line says so. A library is left out "
        f"where its smaller sizes foretell more than {options.limit:,.0f} s."
    )


def processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--question", nargs="+", choices=QUESTIONS, default=list(QUESTIONS))
    parser.add_argument("--sizes", nargs="*", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--scene", nargs=2, action="append", type=Path, default=[], help="two frames of a mesh, as PLY")
    parser.add_argument("--rays", type=int, default=100_000, help="how many rays")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds above which a library is left out")
    parser.add_argument("--unsorted", action="store_true", help="make ours without sort")
    given = parser.parse_args()
    frames = [scenes.read_mesh(*paths) for paths in given.scene]
    options = Options(sorted(given.sizes), frames, given.rays, given.limit, not given.unsorted)
    print_header(options)
    for question in given.question:
        try:
            print_table(question, options)
        except Differs as differs:
            sys.exit(str(differs))


if __name__ == "__main__":
    main()
