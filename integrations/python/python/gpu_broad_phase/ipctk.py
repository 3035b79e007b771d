"""A broad phase for the IPC Toolkit. This module needs ipctk; the rest of the package does not."""

from __future__ import annotations

from typing import Any

import ipctk
import numpy as np
import numpy.typing as npt

from . import _arrays as arrays
from . import broad_phase as ours
from .candidates import KINDS, Candidates, collision_candidates

Words = npt.NDArray[np.uint32]
Rows = npt.NDArray[np.int64]


class BroadPhase(ipctk.BroadPhase):  # type: ignore[misc]
    """A broad phase for calls such as ``ipctk.Candidates.build`` and ``ipctk.has_intersections``.

    It finds the candidates of ``ipctk.HashGrid`` and ``ipctk.BruteForce``. Boxes are compared in float64, and are one
    unit in the last place larger on each side than necessary. ``ipctk.LBVH`` compares in float32 and may find more.

    ipctk takes lists of Python objects, which take longer to create than the pairs take to find. On a CPU,
    ``ipctk.LBVH`` is therefore faster. `candidates` and `pairs` return arrays, without this cost.

    ``can_vertices_collide`` may be a Python function, with which ``ipctk.LBVH`` of version 1.6.1 hangs.

    Parameters
    ----------
    broad_phase : gpu_broad_phase.BroadPhase, optional
        Broad phase to use, with the dimensions of the meshes. Default: created with the first mesh.
    all_may_collide : bool
        True if ``can_vertices_collide`` is True for all vertices, as it is by default for a mesh. It is then never
        called. Otherwise, it is called at least once per pair.

    Examples
    --------
    >>> import ipctk
    >>> vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, 1], [1.2, 0.2, 1], [0.2, 1.2, 1]])
    >>> fallen = vertices - [0, 0, 2] * (vertices[:, 2:] > 0)
    >>> faces = np.array([[0, 1, 2], [3, 4, 5]])
    >>> mesh = ipctk.CollisionMesh(vertices, ipctk.edges(faces), faces)
    >>> candidates = ipctk.Candidates()
    >>> candidates.build(mesh, vertices, fallen, broad_phase=BroadPhase())
    >>> len(candidates.fv_candidates)
    1
    """

    def __init__(self, broad_phase: ours.BroadPhase | None = None, *, all_may_collide: bool = False) -> None:
        super().__init__()
        self._broad_phase = broad_phase
        self._all_may_collide = all_may_collide
        self._mesh: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], Words, Words] | None = None
        self._found: dict[str, Rows] = {}

    def name(self) -> str:
        """Returns the name for ipctk's messages."""
        return "gpu_broad_phase"

    def build(self, *args: Any, **named: Any) -> None:
        """Stores a mesh, passed as ``vertices, edges, faces`` or as ``vertices_t0, vertices_t1, edges, faces``.

        Parameters
        ----------
        vertices, vertices_t0, vertices_t1 : array_like
            Positions at rest, or at the start and at the end of a motion along straight lines.
        edges, faces : array_like of int
            Vertices of each edge and face.
        inflation_radius : float
            Distance by which the box of each vertex grows on each side. Default: 0.

        Raises
        ------
        ValueError
            For a wrong shape, or an element with a vertex that does not exist.
        """
        tables = sum(np.ndim(given) > 0 for given in args) + len(named) - ("inflation_radius" in named)
        start = ["vertices"] if tables < 4 else ["vertices_t0", "vertices_t1"]
        names = [*start, "edges", "faces", "inflation_radius"]
        given = {**dict(zip(names, args, strict=False)), **named}
        if len(args) > len(names) or len(given) < len(args) + len(named) or set(names[:-1]) - set(given):
            raise TypeError(f"build: {', '.join(names[:-1])} and perhaps inflation_radius are needed")
        first = arrays.floats(names[0], given[names[0]])
        if first.ndim != 2 or first.shape[1] not in (2, 3):
            raise ValueError(f"{names[0]} has the shape {first.shape}, and (n, 3) or (n, 2) is needed")
        last = arrays.table(start[-1], given[start[-1]], first.shape[1], len(first))
        edges = arrays.index_table("edges", given["edges"], 2, len(first))
        faces = arrays.index_table("faces", given["faces"], 3, len(first))
        inflation = float(given.get("inflation_radius", 0.0))
        # The base class stores the number of dimensions and clears old results.
        super().build(np.zeros((1, first.shape[1])), np.empty((0, 2), np.int32), np.empty((0, 3), np.int32), 0.0)
        # Rounds outward, as ipctk does.
        lower = np.nextafter(np.minimum(first, last, dtype=np.float64) - inflation, -np.inf)
        upper = np.nextafter(np.maximum(first, last, dtype=np.float64) + inflation, np.inf)
        self._mesh = lower, upper, edges, faces

    def clear(self) -> None:
        """Removes the mesh and all results."""
        super().clear()
        self._mesh = None
        self._found = {}

    def pairs(self, kind: str) -> Rows:
        """Returns the candidates of one kind.

        Parameters
        ----------
        kind : str
            Name of a table of `gpu_broad_phase.Candidates`, such as "edges_faces".

        Returns
        -------
        ndarray of int64
            Shape (m, 2).

        Raises
        ------
        RuntimeError
            Before `build`.
        ValueError
            For another kind.
        """
        if kind not in KINDS:
            raise ValueError(f"kind is {kind!r}, and one of {', '.join(KINDS)} is needed")
        if self._mesh is None:
            raise RuntimeError("there is no mesh yet: build comes first")
        if kind not in self._found:
            lower, upper, edges, faces = self._mesh
            if self._broad_phase is None:
                self._broad_phase = ours.BroadPhase(dimensions=2 if lower.shape[1] == 2 else 3)
            # One kind at a time is faster than several at once.
            wanted: dict[str, Any] = {name: name == kind for name in KINDS}
            # A vertex that sweeps from `lower` to `upper` has this box.
            found = collision_candidates(lower, upper, edges, faces, broad_phase=self._broad_phase, **wanted)
            self._found[kind] = self._admitted(kind, getattr(found, kind))
        return self._found[kind]

    @property
    def candidates(self) -> Candidates:
        """Returns the candidates that ipctk needs for a moving mesh, as arrays: edges with edges and faces with
        vertices, in 2D edges with vertices. The other tables are empty.
        """
        if self._mesh is None:
            raise RuntimeError("there is no mesh yet: build comes first")
        wanted = ["edges_vertices"] if self._mesh[0].shape[1] == 2 else ["edges_edges", "faces_vertices"]
        none = np.empty((0, 2), np.int64)
        return Candidates(**{kind: self.pairs(kind) if kind in wanted else none for kind in KINDS})

    def _admitted(self, kind: str, pairs: Rows) -> Rows:
        """Returns the pairs of which any two vertices may collide."""
        if self._all_may_collide or self._mesh is None:
            return pairs
        vertices, edges, faces = np.arange(len(self._mesh[0]), dtype=np.uint32)[:, None], *self._mesh[2:]
        tables = {"vertices": vertices, "edges": edges, "faces": faces}
        of_first, of_second = (tables[name][pairs[:, place]] for place, name in enumerate(kind.split("_")))
        may_collide = self.can_vertices_collide
        admitted = np.zeros(len(pairs), np.bool_)
        for a in range(of_first.shape[1]):
            for b in range(of_second.shape[1]):
                open_rows = np.flatnonzero(~admitted)
                asked = of_first[open_rows, a].tolist(), of_second[open_rows, b].tolist()
                admitted[open_rows] = np.fromiter(map(may_collide, *asked), np.bool_, len(open_rows))
        return pairs[admitted]

    def _listed(self, kind: str, candidate: Any) -> list[Any]:
        pairs = self.pairs(kind)
        return list(map(candidate, pairs[:, 0].tolist(), pairs[:, 1].tolist()))

    def detect_vertex_vertex_candidates(self) -> list[Any]:
        """Vertices whose boxes overlap."""
        return self._listed("vertices_vertices", ipctk.VertexVertexCandidate)

    def detect_edge_vertex_candidates(self) -> list[Any]:
        """Edges and vertices whose boxes overlap and that share no vertex."""
        return self._listed("edges_vertices", ipctk.EdgeVertexCandidate)

    def detect_edge_edge_candidates(self) -> list[Any]:
        """Edges whose boxes overlap and that share no vertex."""
        return self._listed("edges_edges", ipctk.EdgeEdgeCandidate)

    def detect_face_vertex_candidates(self) -> list[Any]:
        """Faces and vertices whose boxes overlap and that share no vertex."""
        return self._listed("faces_vertices", ipctk.FaceVertexCandidate)

    def detect_edge_face_candidates(self) -> list[Any]:
        """Edges and faces whose boxes overlap and that share no vertex."""
        return self._listed("edges_faces", ipctk.EdgeFaceCandidate)

    def detect_face_face_candidates(self) -> list[Any]:
        """Faces whose boxes overlap and that share no vertex."""
        return self._listed("faces_faces", ipctk.FaceFaceCandidate)
