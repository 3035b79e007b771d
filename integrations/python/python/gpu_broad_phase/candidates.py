"""Collision candidates of a mesh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _arrays as arrays
from . import _native
from ._progress import bar
from .broad_phase import BroadPhase

KINDS = (
    "vertices_vertices",
    "edges_vertices",
    "edges_edges",
    "edges_faces",
    "faces_vertices",
    "faces_faces",
)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidate pairs of mesh elements, as one table of shape (m, 2) per kind. Tables of kinds that were not requested
    are empty.

    Indices count within each kind, in the order of the table's name: a row of `faces_vertices` is a face and a vertex.
    In pairs of one kind, the smaller index comes first. Rows ascend, unless ``sort=False``.
    """

    vertices_vertices: npt.NDArray[np.int64]
    edges_vertices: npt.NDArray[np.int64]
    edges_edges: npt.NDArray[np.int64]
    edges_faces: npt.NDArray[np.int64]
    faces_vertices: npt.NDArray[np.int64]
    faces_faces: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return sum(len(getattr(self, kind)) for kind in KINDS)


def collision_candidates(
    vertices0: npt.ArrayLike,
    vertices1: npt.ArrayLike | None,
    edges: npt.ArrayLike | None,
    faces: npt.ArrayLike | None,
    *,
    inflation: float = 0.0,
    groups: npt.ArrayLike | None = None,
    vertices_vertices: bool = False,
    edges_vertices: bool | None = None,
    edges_edges: bool | None = None,
    edges_faces: bool = False,
    faces_vertices: bool | None = None,
    faces_faces: bool = False,
    broad_phase: BroadPhase | None = None,
) -> Candidates:
    """Finds the vertices, edges and faces of a mesh that may collide while its vertices move along straight lines.

    Two elements are candidates if the boxes that they sweep overlap and they share no vertex. Boxes are compared in
    float64. The result equals that of ipctk, except that ipctk's boxes are one unit in the last place larger on each
    side.

    Parameters
    ----------
    vertices0, vertices1 : array_like
        Shape (n, 3), or (n, 2) in 2D: positions at the start and at the end of the motion. `vertices1` is None for a
        mesh at rest.
    edges : array_like of int, optional
        Shape (e, 2): vertices of each edge.
    faces : array_like of int, optional
        Shape (f, 3): vertices of each face.
    inflation : float
        Distance by which the box of each vertex grows on each side.
    groups : array_like of int, optional
        Shape (n,): a number below 2^30 per vertex, such as the index of its body. Elements of the same group are not
        candidates. An element has the group of its first vertex. 0 means no group.
    vertices_vertices, edges_vertices, edges_edges, edges_faces, faces_vertices, faces_faces : bool
        Kinds of candidates to find. Default: edges with edges and faces with vertices. In 2D: edges with vertices.
    broad_phase : BroadPhase, optional
        Broad phase to use. Pass the same one to every call to save the setup of the GPU. Its margin must be 0, and its
        `rays` and `query` need a new step afterwards. Default: a new ``BroadPhase()`` with the dimensions of the
        vertices.

    Returns
    -------
    Candidates

    Raises
    ------
    ValueError
        For a wrong shape, a position that is not finite, or an element with a vertex that does not exist. The message
        names the row.

    Examples
    --------
    >>> vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, 1]]
    >>> fallen = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, -1]]
    >>> collision_candidates(vertices, fallen, None, [[0, 1, 2]]).faces_vertices
    array([[0, 3]])
    """
    start = arrays.floats("vertices0", vertices0)
    if start.ndim != 2 or start.shape[1] not in (2, 3):
        raise ValueError(f"vertices0 has the shape {start.shape}, and (n, 3) or (n, 2) is needed")
    rows, axes = start.shape
    end = None if vertices1 is None else arrays.table("vertices1", vertices1, axes, rows)
    inflation = arrays.length("inflation", inflation)
    is_flat = axes == 2
    wanted = [
        vertices_vertices,
        is_flat if edges_vertices is None else edges_vertices,
        not is_flat if edges_edges is None else edges_edges,
        edges_faces,
        not is_flat if faces_vertices is None else faces_vertices,
        faces_faces,
    ]
    if broad_phase is None:
        broad_phase = BroadPhase(dimensions=2 if is_flat else 3)
    elif broad_phase.dimensions != axes:
        raise ValueError(f"vertices0 is in {axes}D, and the broad phase in {broad_phase.dimensions}D")
    elif broad_phase._margin != 0:
        raise ValueError(f"the broad phase has a margin of {broad_phase._margin}, and 0 is needed: see inflation")
    with bar("candidates", broad_phase._progress) as progress:
        tables = _native.candidates(
            broad_phase._engine,
            start,
            end,
            _elements("edges", edges, 2),
            _elements("faces", faces, 3),
            inflation=inflation,
            groups=None if groups is None else np.broadcast_to(arrays.indices("groups", groups, 1 << 30, rows), rows),
            wanted=wanted,
            progress=progress,
        )
    found: dict[str, Any] = {kind: np.empty((0, 2), np.int64) for kind in KINDS}
    found.update(zip((kind for kind, is_wanted in zip(KINDS, wanted, strict=True) if is_wanted), tables, strict=True))
    return Candidates(**found)


def _elements(name: str, given: npt.ArrayLike | None, corners: int) -> npt.NDArray[np.uint32]:
    return arrays.index_table(name, np.empty((0, corners), int) if given is None else given, corners, 1 << 32)
