"""Scenes of the benchmarks: uniform boxes, points, meshes and rays, the same on every run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Boxes = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int32]

# All coordinates are multiples of this, so float32 holds them and their differences exactly.
STEP = 2.0**-16
RADIUS = 1.5


@dataclass(frozen=True)
class Mesh:
    """Two frames of a mesh."""

    name: str
    start: Array
    end: Array
    edges: Rows
    faces: Rows

    def __len__(self) -> int:
        return len(self.start) + len(self.edges) + len(self.faces)

    @property
    def inflation(self) -> float:
        """A hundredth of the median edge length."""
        ends = self.start[self.edges]
        return 0.01 * float(np.median(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)))

    def boxes(self) -> Boxes:
        """Boxes that vertices, then edges, then faces sweep, rounded outward to float32."""
        lower, upper = np.minimum(self.start, self.end), np.maximum(self.start, self.end)
        lower = np.concatenate([lower, lower[self.edges].min(axis=1), lower[self.faces].min(axis=1)])
        upper = np.concatenate([upper, upper[self.edges].max(axis=1), upper[self.faces].max(axis=1)])
        low = np.nextafter(lower.astype(np.float32), np.float32(-np.inf))
        high = np.nextafter(upper.astype(np.float32), np.float32(np.inf))
        return np.ascontiguousarray(np.concatenate([low, high], axis=1))


def side(count: int) -> float:
    """The edge of a cube with one point per unit of volume, as a whole multiple of `STEP`."""
    return float(np.round(count ** (1 / 3) / STEP) * STEP)


def uniform_boxes(count: int) -> Boxes:
    """Boxes of similar size, of which each meets about six others. Shape (n, 6)."""
    random = np.random.default_rng(1)
    centers = random.random((count, 3)) * side(count)
    halves = random.random((count, 3)) * 0.45 + 0.225
    return np.concatenate([centers - halves, centers + halves], axis=1).astype(np.float32)


def uniform_points(count: int) -> Array:
    """One point per unit of volume. Shape (n, 3)."""
    ticks = np.random.default_rng(2).integers(0, int(side(count) / STEP), (count, 3))
    return ticks.astype(np.float64) * STEP


def grid_faces(rows: int, columns: int) -> Rows:
    """Two triangles per cell of a grid of vertices."""
    at = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    a, b, c, d = at[:-1, :-1].ravel(), at[1:, :-1].ravel(), at[:-1, 1:].ravel(), at[1:, 1:].ravel()
    return np.concatenate([np.stack([a, b, c], axis=1), np.stack([c, b, d], axis=1)])


def edges_of(faces: Rows) -> Rows:
    """The edges of triangles, each once, the smaller vertex first."""
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    return np.unique(np.sort(sides, axis=1), axis=0).astype(np.int32)


def cloth(count: int) -> Mesh:
    """Cloth that hangs over a ball in folds, with about `count` vertices, edges and faces in total."""
    rows = max(4, round((0.85 * count / 6) ** 0.5))
    lines = max(4, round((0.15 * count / 12) ** 0.5))
    across = np.linspace(-2.4, 2.4, rows)
    x, y = (axis.ravel() for axis in np.meshgrid(across, across, indexing="ij"))
    along, angle = np.hypot(x, y), np.arctan2(y, x)
    # The cloth rests on the ball within a quarter circle. Beyond, it hangs down in folds.
    lying, hanging = np.minimum(along, np.pi / 2), np.maximum(along - np.pi / 2, 0.0)
    out = np.sin(lying) * (1.0 + 0.35 * hanging * np.cos(14 * angle))
    hung = np.stack([out * np.cos(angle), out * np.sin(angle), np.cos(lying) - hanging], axis=1)
    length = 4.8 / rows
    polar, around = np.meshgrid(np.linspace(0.01, np.pi - 0.01, lines), np.linspace(0, 6.2, 2 * lines), indexing="ij")
    ball = np.stack([np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)], axis=-1)
    start = np.concatenate([hung * (1.0 + 0.2 * length), ball.reshape(-1, 3)])
    fall = np.random.default_rng(3).normal(0.0, 0.2 * length, start.shape)
    fall[:, 2] -= 0.5 * length
    fall[len(hung) :] = 0.0
    faces = np.concatenate([grid_faces(rows, rows), grid_faces(lines, 2 * lines) + np.int32(len(hung))])
    return Mesh("cloth", start, start + fall, edges_of(faces), faces)


def read_ply(path: Path) -> tuple[Array, Rows]:
    """Vertices and triangles of a binary PLY file."""
    data = path.read_bytes()
    header, _, body = data.partition(b"end_header\n")
    lines = [line.split() for line in header.decode("ascii").splitlines()]
    forms = {line[1]: line[1] for line in lines if line[0] == "format"}
    order = {"binary_little_endian": "<", "binary_big_endian": ">"}.get(next(iter(forms), ""))
    if order is None:
        raise ValueError(f"{path}: no binary PLY file")
    kinds = {"float": "f4", "float32": "f4", "double": "f8", "float64": "f8", "int": "i4", "uint": "u4", "uchar": "u1"}
    counts, fields, element = {}, [], ""
    for line in lines:
        if line[0] == "element":
            element = line[1]
            counts[element] = int(line[2])
        elif line[0] == "property" and element == "vertex":
            fields.append((line[2], order + kinds[line[1]]))
    vertices = np.frombuffer(body, np.dtype(fields), counts["vertex"])
    corners = np.dtype([("count", "u1"), ("corners", order + "i4", 3)])
    faces = np.frombuffer(body, corners, counts["face"], vertices.nbytes)
    if (faces["count"] != 3).any():
        raise ValueError(f"{path}: a face is no triangle")
    places = np.stack([vertices[axis] for axis in "xyz"], axis=1).astype(np.float64)
    return places, faces["corners"].astype(np.int32)


def read_mesh(first: Path, second: Path) -> Mesh:
    """Two frames of one mesh from two PLY files."""
    (start, faces), (end, _) = read_ply(first), read_ply(second)
    if start.shape != end.shape:
        raise ValueError(f"{first} has {len(start)} vertices, and {second} has {len(end)}")
    return Mesh(first.resolve().parent.name, start, end, edges_of(faces), faces)


def camera_rays(boxes: Boxes, count: int) -> tuple[Array, Array]:
    """Rays of a camera that looks at all boxes from outside."""
    low, high = boxes[:, :3].min(axis=0).astype(np.float64), boxes[:, 3:].max(axis=0).astype(np.float64)
    center, length = (low + high) / 2, float((high - low).max())
    lines = round(count**0.5)
    across = (np.arange(lines) + 0.5) / lines - 0.5
    x, y = np.meshgrid(across, across)
    directions = np.stack([x, y, np.ones_like(x)], axis=-1).reshape(-1, 3) @ _turn()
    origins = np.broadcast_to(center - _turn()[2] * 1.6 * length, directions.shape)
    return np.ascontiguousarray(origins), directions


def scattered_rays(boxes: Boxes, count: int) -> tuple[Array, Array]:
    """Rays from random points on a sphere around all boxes to random points among the boxes."""
    random = np.random.default_rng(4)
    low, high = boxes[:, :3].min(axis=0).astype(np.float64), boxes[:, 3:].max(axis=0).astype(np.float64)
    ways = random.normal(size=(count, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    origins = (low + high) / 2 + ways * float(np.linalg.norm(high - low))
    return origins, low + random.random((count, 3)) * (high - low) - origins


def _turn() -> Array:
    """A rotation that changes every axis."""
    rotation, _ = np.linalg.qr(np.array([[2.0, 1.0, 0.5], [-1.0, 2.0, 0.3], [0.4, -0.6, 2.0]]))
    return rotation
