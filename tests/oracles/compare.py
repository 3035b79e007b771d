#!/usr/bin/env python3
"""Holds the command line `broadphase` to libraries that nobody here wrote; README.md beside it says how.

A comparison is a function that yields rows. To add one, write such a function and name it in COMPARISONS.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[2]
# Most differing rows to judge one by one. Rounding cannot explain more.
MOST_EXACT = 20_000


@dataclass
class Verdict:
    """What exact arithmetic says of a row that only one side has."""

    belongs: bool
    is_borderline: bool


@dataclass
class Row:
    scene: str
    command: str
    library: str
    ours: int
    theirs: int
    differ: int
    borderline: int
    ours_exact: int
    ours_ms: float
    theirs_ms: float

    @property
    def unexplained(self) -> int:
        return self.differ - self.borderline


# The command line


class Ours:
    """Runs the command line in a folder of its own."""

    def __init__(self, program: Path, backend: str, folder: Path) -> None:
        self.program = program
        self.backend = backend
        self.folder = folder

    def generate(self, kind: str, count: int, name: str, *options: str) -> Path:
        path = self.folder / name
        self._call("generate", kind, "--count", str(count), "--seed", "1", "-o", str(path), *options)
        return path

    def save(self, name: str, array: NDArray) -> Path:
        path = self.folder / name
        np.save(path, array)
        return path

    def rows(self, command: str, *arguments: str | Path) -> tuple[NDArray, float]:
        """The result, and the milliseconds that the command itself tells for its step."""
        result = self.folder / "result.npy"
        began = time.perf_counter()
        said = self._call(command, *map(str, arguments), "--backend", self.backend, "-o", str(result))
        wall = 1e3 * (time.perf_counter() - began)
        told = re.search(r"; ([0-9.]+) ms$", said, re.MULTILINE)
        return np.load(result), float(told.group(1)) if told else wall

    def adapter(self) -> str:
        """What answers, as a command names it."""
        points = self.save("one.npy", np.zeros((2, 3), np.float32))
        said = self._call("neighbors", str(points), "--radius", "1", "--backend", self.backend, "-o", "-")
        named = re.search(r"^adapter: (.*)$", said, re.MULTILINE)
        return named.group(1) if named else f"backend {self.backend}"

    def _call(self, *arguments: str) -> str:
        ran = subprocess.run([self.program, *arguments], capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            sys.exit(f"broadphase {' '.join(arguments)}: status {ran.returncode}\n{ran.stderr}")
        return ran.stderr


# Comparing


def joined(pairs: NDArray) -> NDArray[np.uint64]:
    """Rows of two numbers as one number each."""
    pairs = np.asarray(pairs).reshape(-1, 2).astype(np.uint64)
    return pairs[:, 0] << np.uint64(32) | pairs[:, 1]


def keys(pairs: NDArray) -> NDArray[np.uint64]:
    """The same, ascending and distinct."""
    return np.unique(joined(pairs))


def ordered(pairs: NDArray) -> NDArray:
    """Smaller number first."""
    return np.sort(np.asarray(pairs).reshape(-1, 2), axis=1)


def compare(
    scene: str,
    command: str,
    library: str,
    ours: tuple[NDArray, float],
    theirs: tuple[NDArray, float],
    judge: Callable[[int, int], Verdict],
) -> Row:
    our_keys, their_keys = keys(ours[0]), keys(theirs[0])
    if not np.array_equal(our_keys, joined(ours[0])):
        sys.exit(f"{scene}, {command}: rows of ours are not ascending and distinct")
    only_ours = np.setdiff1d(our_keys, their_keys, assume_unique=True)
    only_theirs = np.setdiff1d(their_keys, our_keys, assume_unique=True)
    borderline = ours_exact = 0
    for side, is_ours in ((only_ours, True), (only_theirs, False)):
        for key in map(int, side[:MOST_EXACT]):
            verdict = judge(key >> 32, key & 0xFFFF_FFFF)
            borderline += verdict.is_borderline
            ours_exact += verdict.belongs == is_ours
    differ = len(only_ours) + len(only_theirs)
    sizes = len(our_keys), len(their_keys)
    return Row(scene, command, library, *sizes, differ, borderline, ours_exact, ours[1], theirs[1])


def timed(work: Callable[[], T]) -> tuple[T, float]:
    began = time.perf_counter()
    result = work()
    return result, 1e3 * (time.perf_counter() - began)


def ulp(value: float) -> Fraction:
    """The distance from this f32 to the next one."""
    return Fraction(float(np.spacing(np.float32(abs(value)))))


def exact(values: NDArray) -> list[Fraction]:
    return [Fraction(float(value)) for value in values]


# Boxes. Bounds are f32 on both sides and comparing does not round, so no row is borderline.


def judge_boxes(a: NDArray, b: NDArray) -> Callable[[int, int], Verdict]:
    def judge(i: int, j: int) -> Verdict:
        meets = bool(np.all(a[i, :3] <= b[j, 3:]) and np.all(b[j, :3] <= a[i, 3:]))
        return Verdict(meets, is_borderline=False)

    return judge


def rtree_overlaps(objects: NDArray, asked: NDArray) -> NDArray:
    """Rows asked, object."""
    from rtree import index

    stream = ((number, box, None) for number, box in enumerate(objects.astype(float).tolist()))
    tree = index.Index(stream, properties=index.Property(dimension=3))
    found, counts = tree.intersection_v(asked[:, :3].astype(float), asked[:, 3:].astype(float))
    return np.column_stack([np.repeat(np.arange(len(asked)), counts.astype(np.int64)), found])


def box_pairs(ours: Ours) -> Iterator[Row]:
    for kind, count in (("uniform", 50_000), ("power-law", 50_000), ("clustered", 20_000), ("lattice", 20_000)):
        path = ours.generate(kind, count, f"{kind}.npy")
        boxes = np.load(path)
        found = ours.rows("pairs", path)

        def rtree_pairs(boxes: NDArray = boxes) -> NDArray:
            rows = rtree_overlaps(boxes, boxes)
            return rows[rows[:, 0] < rows[:, 1]]

        judge = judge_boxes(boxes, boxes)
        scene = f"{kind}, {count:,} boxes"
        yield compare(scene, "pairs", "rtree", found, timed(rtree_pairs), judge)
        yield compare(scene, "pairs", "warp Bvh", found, warp_overlaps(boxes, boxes, once=True), judge)


def box_queries(ours: Ours) -> Iterator[Row]:
    path = ours.generate("power-law", 50_000, "objects.npy")
    asked_path = ours.generate("lattice", 10_000, "asked.npy")
    objects, asked = np.load(path), np.load(asked_path)
    # Moves the queries to the middle of the objects.
    asked += np.tile(np.float32(objects[:, :3].mean()), 6)
    ours.save("asked.npy", asked)
    found = ours.rows("query", path, asked_path)
    judge = judge_boxes(asked, objects)
    scene = "power-law, 50,000 boxes; lattice, 10,000 queries"
    yield compare(scene, "query", "rtree", found, timed(lambda: rtree_overlaps(objects, asked)), judge)
    yield compare(scene, "query", "warp Bvh", found, warp_overlaps(objects, asked, once=False), judge)


# Neighbours. Our rows are exact, except within 4 ulp of the radius. Libraries round in f32 or f64 and, with periods,
# positions too. Only this may explain a differing row.


def judge_neighbours(points: NDArray, radius: float, period: float) -> Callable[[int, int], Verdict]:
    slack = 4 * ulp(radius) + (2 * ulp(period) if period else 2 * ulp(float(np.abs(points).max())))
    side, reach = Fraction(period), Fraction(radius)

    def judge(i: int, j: int) -> Verdict:
        squared = Fraction(0)
        for one, other in zip(exact(points[i]), exact(points[j]), strict=True):
            gap = abs(one - other)
            if side:
                gap %= side
                gap = min(gap, side - gap)
            squared += gap * gap
        near, far = max(reach - slack, Fraction(0)), reach + slack
        return Verdict(squared <= reach * reach, near * near <= squared <= far * far)

    return judge


def neighbours(ours: Ours) -> Iterator[Row]:
    from scipy.spatial import cKDTree

    side = 32.0
    path = ours.generate("points", 100_000, "points.npy", "--side", str(side))
    # Coordinates are multiples of 1/4, so some pairs are exactly `radius` apart.
    lattice = np.random.default_rng(1).integers(0, int(4 * side), (50_000, 3)).astype(np.float32) / 4
    scenes = [
        ("points, 100,000", path, 0.75, 0.0),
        ("points, 100,000", path, 0.75, side),
        ("points on a lattice, 50,000", ours.save("lattice.npy", lattice), 0.75, 0.0),
        ("points on a lattice, 50,000", ours.save("lattice.npy", lattice), 0.75, side),
    ]
    for scene, path, radius, period in scenes:
        points = np.load(path)
        options = ["--radius", str(radius)]
        options += ["--period", ",".join([str(period)] * 3)] if period else []
        found = ours.rows("neighbors", path, *options)
        judge = judge_neighbours(points, radius, period)
        command = "neighbors, periodic" if period else "neighbors"

        def kd_tree(points: NDArray = points, radius: float = radius, period: float = period) -> NDArray:
            doubles = points.astype(float)
            tree = cKDTree(np.mod(doubles, period), boxsize=period) if period else cKDTree(doubles)
            return ordered(tree.query_pairs(radius, output_type="ndarray"))

        yield compare(scene, command, "scipy cKDTree", found, timed(kd_tree), judge)
        if period:
            theirs = timed(lambda: freud_neighbours(points, radius, period))  # noqa: B023
            yield compare(scene, command, "freud AABBQuery", found, theirs, judge)
        else:
            yield compare(scene, command, "warp HashGrid", found, warp_neighbours(points, radius), judge)


def freud_neighbours(points: NDArray, radius: float, period: float) -> NDArray:
    """In f32, around the origin; whoever is exactly as far away as the radius is left out."""
    import freud

    around = points - np.float32(period / 2)
    box = freud.box.Box.cube(period)
    query = freud.locality.AABBQuery(box, around).query(around, {"r_max": radius, "exclude_ii": True})
    return np.unique(ordered(query.toNeighborList()[:]), axis=0)


# k-nearest. Objects at equal distances may swap, so only distances are compared, in doubles, within 4 ulp of an f32.


def nearest(ours: Ours) -> Iterator[Row]:
    from scipy.spatial import cKDTree

    side, count = 32.0, 8
    path = ours.generate("points", 50_000, "points.npy", "--side", str(side))
    points = np.load(path)
    doubles = points.astype(float)
    for period in (0.0, side):
        # Large enough for `count` neighbours, and at most half a period.
        radius = 8.0
        options = ["--nearest", str(count), "--radius", str(radius), "--distances"]
        options += ["--period", str(period), "--shifts"] if period else []
        rows, ours_ms = ours.rows("neighbors", path, *options)
        a, b = rows[:, 0].astype(int), rows[:, 1].astype(int)
        if period:
            # The image named by the shifts must be at the reported distance.
            away = np.linalg.norm(doubles[b] + rows[:, 3:] * period - doubles[a], axis=1)
            if not np.allclose(away, rows[:, 2], rtol=1e-12, atol=0):
                sys.exit("neighbors: shifts name another image than distances")

        def kd_tree(period: float = period) -> NDArray:
            tree = cKDTree(np.mod(doubles, period), boxsize=period) if period else cKDTree(doubles)
            return tree.query(np.mod(doubles, period) if period else doubles, k=count + 1)[0][:, 1:]

        theirs, theirs_ms = timed(kd_tree)
        if len(rows) != theirs.size or not np.array_equal(a, np.repeat(np.arange(len(points)), count)):
            sys.exit("neighbors: not so many nearest ones per point as were asked for")
        told = rows[:, 2].reshape(theirs.shape)
        differ = int((np.abs(told - theirs) > 4 * np.spacing(theirs.astype(np.float32))).sum())
        command = f"neighbors, {count} nearest" + (", periodic" if period else "")
        sizes = len(rows), theirs.size
        yield Row("points, 50,000", command, "scipy cKDTree", *sizes, differ, 0, 0, ours_ms, theirs_ms)


# Rays. We promise every exact hit, and add near misses, since the far parameter is raised.

# Our far parameter is rounded to 24 bits and raised by a part in 2^21. The libraries also round in f32.
RAY_SLACK = Fraction(1, 2**20)


def slab(ray: NDArray, box: NDArray) -> tuple[Fraction, Fraction] | None:
    """Where the ray enters and leaves the box, by exact arithmetic; entering may be behind leaving."""
    near, far = Fraction(0), Fraction(10**40)
    bounds = exact(box)
    for axis, (origin, direction) in enumerate(zip(exact(ray[:3]), exact(ray[3:6]), strict=True)):
        low, high = bounds[axis] - origin, bounds[axis + 3] - origin
        if direction == 0:
            if low > 0 or high < 0:
                return None
            continue
        first, last = sorted((low / direction, high / direction))
        near, far = max(near, first), min(far, last)
    return near, far


def judge_rays(rays: NDArray, boxes: NDArray) -> Callable[[int, int], Verdict]:
    def judge(ray: int, box: int) -> Verdict:
        found = slab(rays[ray], boxes[box])
        if found is None:
            return Verdict(belongs=False, is_borderline=False)
        near, far = found
        return Verdict(near <= far, abs(far - near) <= RAY_SLACK * max(abs(near), abs(far)))

    return judge


def rays_at(boxes: NDArray, count: int) -> NDArray[np.float32]:
    """From outside of all boxes to uniform points among them."""
    random = np.random.default_rng(2)
    low, high = boxes[:, :3].min(axis=0), boxes[:, 3:].max(axis=0)
    centre, reach = (low + high) / 2, float(np.linalg.norm(high - low))
    outward = random.normal(size=(count, 3))
    origins = centre + reach * outward / np.linalg.norm(outward, axis=1, keepdims=True)
    targets = random.uniform(low, high, (count, 3))
    endless = np.full((count, 1), np.inf)
    return np.hstack([origins, targets - origins, endless]).astype(np.float32)


def rays(ours: Ours) -> Iterator[Row]:
    for kind, count in (("uniform", 50_000), ("power-law", 50_000)):
        path = ours.generate(kind, count, f"{kind}.npy")
        boxes = np.load(path)
        asked = rays_at(boxes, 20_000)
        asked_path = ours.save("rays.npy", asked)
        judge = judge_rays(asked, boxes)
        scene = f"{kind}, {count:,} boxes; 20,000 rays"
        found = ours.rows("rays", path, asked_path, "--mode", "all")
        yield compare(scene, "rays, all", "warp Bvh", found, warp_rays(boxes, asked), judge)
        closest = ours.rows("rays", path, asked_path, "--mode", "closest")
        yield compare_closest(scene, closest, timed(lambda: embree_closest(boxes, asked)), asked, boxes)  # noqa: B023


def embree_closest(boxes: NDArray, asked: NDArray) -> NDArray:
    """Rows ray, object of the closest of twelve triangles per box."""
    from embreex.mesh_construction import TriangleMesh
    from embreex.rtcore_scene import EmbreeScene

    # Corner c has the upper bound of axis a if bit a of c is set. Each side of the box has two triangles.
    takes = [[axis + 3 * (corner >> axis & 1) for axis in range(3)] for corner in range(8)]
    sides = [(0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5)]
    triangles = [[a, b, c] for a, b, c, _ in sides] + [[a, c, d] for a, _, c, d in sides]
    corners = boxes[:, np.array(takes)]
    scene = EmbreeScene(robust=True)
    TriangleMesh(scene, np.ascontiguousarray(corners[:, np.array(triangles)].reshape(-1, 3, 3), dtype=np.float32))
    directions = np.ascontiguousarray(asked[:, 3:6])
    hit = scene.run(np.ascontiguousarray(asked[:, :3]), directions, output=True)["primID"].astype(np.int64)
    return np.column_stack([np.arange(len(asked)), np.where(hit >= 0, hit // len(triangles), -1)])


def compare_closest(
    scene: str, ours: tuple[NDArray, float], theirs: tuple[NDArray, float], asked: NDArray, boxes: NDArray
) -> Row:
    """A ray for a ray: another object is borderline where exact arithmetic has both at the same t, but for rounding."""
    mine, other = ours[0][:, 1].astype(np.int64), theirs[0][:, 1]
    different = np.flatnonzero(mine != other)
    borderline = ours_exact = 0
    for ray in map(int, different[:MOST_EXACT]):

        def enters(box: int, ray: int = ray) -> Fraction | None:
            """None where the ray misses the box, by more than a graze or by any amount."""
            found = slab(asked[ray], boxes[box]) if box >= 0 else None
            return found[0] if found and found[0] <= found[1] * (1 + RAY_SLACK) else None

        def grazes(box: int, ray: int = ray) -> bool:
            return box >= 0 and judge_rays(asked, boxes)(ray, box).is_borderline

        at, there = enters(int(mine[ray])), enters(int(other[ray]))
        ours_exact += at is not None and (there is None or at <= there)
        is_tie = at is not None and there is not None and abs(at - there) <= RAY_SLACK * max(at, there)
        borderline += is_tie or grazes(int(mine[ray])) or grazes(int(other[ray]))
    hits = int((mine >= 0).sum()), int((other >= 0).sum())
    return Row(scene, "rays, closest", "embree", *hits, len(different), borderline, ours_exact, ours[1], theirs[1])


# Meshes in motion


def read_ply(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Vertices and triangles of a PLY file, as the published scenes and `generate cloth` have them."""
    data = path.read_bytes()
    head, body = data.split(b"end_header\n", 1)
    order = ">" if b"big_endian" in head else "<"
    vertices, faces = (int(count) for count in re.findall(rb"element (?:vertex|face) (\d+)", head))
    number = "f8" if b"property double x" in head else "f4"
    columns = len(re.findall(rb"property (?:float|double) \w+", head))
    points = np.frombuffer(body, order + number, vertices * columns).reshape(vertices, columns)
    row = np.dtype([("count", "u1"), ("corners", order + "i4", 3)])
    triangles = np.frombuffer(body, row, faces, points.nbytes)
    assert (triangles["count"] == 3).all(), path
    return points[:, :3].astype(np.float64), np.ascontiguousarray(triangles["corners"], dtype=np.int32)


def edges_of(faces: NDArray[np.int32]) -> NDArray[np.int32]:
    """By larger, then smaller vertex: the order of our ids."""
    sides = np.sort(np.vstack([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    edges = np.unique(sides, axis=0)
    return np.ascontiguousarray(edges[np.lexsort((edges[:, 0], edges[:, 1]))])


def judge_elements(elements: list[NDArray], frames: list[NDArray]) -> Callable[[int, int], Verdict]:
    """Boxes from unrounded positions. Both sides round them outward, each in its way: by some steps of f32."""
    ends = np.cumsum([0, *map(len, elements)])

    def box(number: int) -> tuple[NDArray, NDArray]:
        kind = int(np.searchsorted(ends, number, side="right")) - 1
        corners = np.vstack([frame[elements[kind][number - ends[kind]]] for frame in frames])
        return corners.min(axis=0), corners.max(axis=0)

    def judge(i: int, j: int) -> Verdict:
        (low, high), (other_low, other_high) = box(i), box(j)
        gap = np.maximum(low - other_high, other_low - high)
        steps = 4 * np.spacing(np.abs(np.concatenate([low, high, other_low, other_high])).max().astype(np.float32))
        return Verdict(bool((gap <= 0).all()), bool((gap <= steps).all() and (gap > -steps).any()))

    return judge


def meshes(ours: Ours) -> Iterator[Row]:
    import ipctk

    ours.generate("cloth", 20_000, "cloth.ply")
    scenes = [("cloth of ours", ours.folder / "cloth0.ply", ours.folder / "cloth1.ply")]
    published = os.environ.get("GPU_BROAD_PHASE_SCENES")
    if published:
        for folder in (Path(published) / name for name in ("cloth-funnel", "cloth-ball")):
            scenes.append((folder.name, folder / "frame0.ply", folder / "frame1.ply"))
    for scene, first, second in scenes:
        (start, faces), (end, _) = read_ply(first), read_ply(second)
        edges = edges_of(faces)
        elements = [np.arange(len(start))[:, None], edges, faces]
        judge = judge_elements(elements, [start, end])
        scene = f"{scene}: {len(start):,} vertices, {len(edges):,} edges, {len(faces):,} faces"
        offsets = {"v": 0, "e": len(start), "f": len(start) + len(edges)}
        for between, method, names in (
            ("edges,edges", "detect_edge_edge_candidates", ("edge0_id", "e", "edge1_id", "e")),
            ("vertices,faces", "detect_face_vertex_candidates", ("vertex_id", "v", "face_id", "f")),
        ):
            found = ours.rows("pairs", first, "--next", second, "--between", between, "--free")
            for library in ("LBVH", "SweepAndPrune"):

                def candidates(library: str = library, method: str = method) -> list:
                    phase = getattr(ipctk, library)()
                    phase.build(start, end, edges, faces)  # noqa: B023
                    return getattr(phase, method)()

                listed, spent = timed(candidates)
                one, kind, other, other_kind = names
                pairs = np.array([(getattr(it, one), getattr(it, other)) for it in listed], np.int64).reshape(-1, 2)
                pairs = ordered(pairs + [offsets[kind], offsets[other_kind]])
                yield compare(scene, f"pairs, {between}", f"ipctk {library}", found, (pairs, spent), judge)


# Warp's kernels, on the CPU. Each runs twice, to count and to write; a run without input compiles it.


def warp_overlaps(objects: NDArray, asked: NDArray, *, once: bool) -> tuple[NDArray, float]:
    import warp as wp

    from warp_kernels import overlaps

    with on_cpu():
        low, high = split(objects)
        asked_low, asked_high = split(asked)

        def work() -> NDArray:
            tree = wp.Bvh(wp.array(low, dtype=wp.vec3), wp.array(high, dtype=wp.vec3))
            inputs = [tree.id, wp.array(asked_low, dtype=wp.vec3), wp.array(asked_high, dtype=wp.vec3), int(once)]
            return count_and_write(overlaps, len(asked), inputs)

        work()
        return timed(work)


def warp_rays(boxes: NDArray, asked: NDArray) -> tuple[NDArray, float]:
    import warp as wp

    from warp_kernels import ray_hits

    with on_cpu():
        low, high = split(boxes)

        def work() -> NDArray:
            tree = wp.Bvh(wp.array(low, dtype=wp.vec3), wp.array(high, dtype=wp.vec3))
            origins = wp.array(np.ascontiguousarray(asked[:, :3]), dtype=wp.vec3)
            directions = wp.array(np.ascontiguousarray(asked[:, 3:6]), dtype=wp.vec3)
            return count_and_write(ray_hits, len(asked), [tree.id, origins, directions])

        work()
        return timed(work)


def warp_neighbours(points: NDArray, radius: float) -> tuple[NDArray, float]:
    import warp as wp

    from warp_kernels import near

    with on_cpu():

        def work() -> NDArray:
            where = wp.array(points, dtype=wp.vec3)
            grid = wp.HashGrid(128, 128, 128)
            grid.build(where, radius)
            return count_and_write(near, len(points), [grid.id, where, radius])

        work()
        return timed(work)


def on_cpu():
    import warp as wp

    return wp.ScopedDevice("cpu")


def split(boxes: NDArray) -> tuple[NDArray, NDArray]:
    return np.ascontiguousarray(boxes[:, :3]), np.ascontiguousarray(boxes[:, 3:])


def count_and_write(kernel, threads: int, inputs: list) -> NDArray:
    import warp as wp

    cursor = wp.zeros(1, dtype=wp.int32)
    nothing = wp.zeros((0, 2), dtype=wp.int32)
    wp.launch(kernel, dim=threads, inputs=[*inputs, cursor, nothing])
    count = int(cursor.numpy()[0])
    rows = wp.zeros((count, 2), dtype=wp.int32)
    cursor.zero_()
    wp.launch(kernel, dim=threads, inputs=[*inputs, cursor, rows])
    return rows.numpy()


COMPARISONS: dict[str, Callable[[Ours], Iterator[Row]]] = {
    "pairs": box_pairs,
    "query": box_queries,
    "neighbors": neighbours,
    "nearest": nearest,
    "rays": rays,
    "meshes": meshes,
}


def table(rows: list[Row]) -> str:
    head = "scene | command | library | rows, ours | rows, theirs | rows that differ | borderline | "
    head += "ours is exact | ours, ms | theirs, ms"
    lines = [f"| {head} |", "|---|---|---" + "|--:" * 7 + "|"]
    for row in rows:
        numbers = (row.ours, row.theirs, row.differ, row.borderline, row.ours_exact)
        counts = " | ".join(f"{number:,}" for number in numbers)
        times = f"{row.ours_ms:,.0f} | {row.theirs_ms:,.0f}"
        lines.append(f"| {row.scene} | {row.command} | {row.library} | {counts} | {times} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Holds `broadphase` to independent libraries.")
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/broadphase")
    parser.add_argument("--backend", default="vulkan", help="as the command line takes it")
    parser.add_argument("--only", choices=sorted(COMPARISONS), action="append", help="these alone")
    arguments = parser.parse_args()
    if not arguments.program.is_file():
        sys.exit(f"{arguments.program} is missing: cargo build --release -p broadphase")

    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(arguments.program.resolve(), arguments.backend, Path(folder))
        adapter = ours.adapter()
        for name, comparison in COMPARISONS.items():
            if arguments.only and name not in arguments.only:
                continue
            for row in comparison(ours):
                print(f"{row.scene}, {row.command}, {row.library}: {row.differ} differ", file=sys.stderr)
                rows.append(row)
    requirements = (Path(__file__).parent / "requirements.txt").read_text().splitlines()
    libraries = ", ".join(f"{name} {version(name)}" for name in (line.split("==")[0] for line in requirements))
    print(f"- Date: {time.strftime('%Y-%m-%d')}")
    print(f"- Ours: {adapter}, {os.cpu_count()} threads")
    print(f"- Theirs: {libraries}; Python {platform.python_version()}\n")
    print(table(rows))
    unexplained = [row for row in rows if row.unexplained]
    for row in unexplained:
        print(f"not explained by rounding: {row.unexplained} rows of {row}", file=sys.stderr)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
