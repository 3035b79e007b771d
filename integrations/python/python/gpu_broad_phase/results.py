"""What calls return. All of it can be pickled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class StepResult:
    """The pairs of a step. Its length is their number."""

    pairs: npt.NDArray[np.uint32]
    """Shape (m, 2): rows of the boxes that overlap, the smaller first. Ascending, unless ``sort=False``."""
    counts: dict[str, int]
    """What the step counted: ``objects``, ``pairs``, ``invalid`` and ``excluded`` boxes, ``large`` ones that every other
    is compared with, ``levels``, ``cells`` and ``entries`` of the table."""
    world_pairs: npt.NDArray[np.uint32] | None = None
    """Shape (w,): pairs of each world, where the step had worlds."""
    began: npt.NDArray[np.uint64] | None = None
    """Shape (k, 2): handles of pairs that the step of an `ObjectSet` has and its last one had not. Ascending."""
    ended: npt.NDArray[np.uint64] | None = None
    """Shape (k, 2): handles of pairs that the last step had and this one has not. Their objects may be removed."""

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True, eq=False)
class RayHits:
    """The closest hit of each ray."""

    objects: npt.NDArray[np.int32]
    """Shape (n,): the box that each ray meets first, or -1. Of boxes at the same ``t`` it is the first row."""
    t: npt.NDArray[np.float32]
    """Shape (n,): where the ray enters the box, in lengths of its direction, or infinity. Where it starts inside it is
    ``t_min``."""


@dataclass(frozen=True, eq=False)
class RayLists:
    """All boxes that each ray meets: those of ray ``r`` stand at ``offsets[r]:offsets[r + 1]``."""

    offsets: npt.NDArray[np.int64]
    """Shape (n + 1,)."""
    objects: npt.NDArray[np.int32]
    """Shape (m,): boxes, ascending per ray, unless ``sort=False``."""
    t: npt.NDArray[np.float32]
    """Shape (m,): where the ray enters each, in lengths of its direction."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def of(self, ray: int) -> npt.NDArray[np.int32]:
        """The boxes that a ray meets."""
        return self.objects[_span(self.offsets, ray)]


@dataclass(frozen=True, eq=False)
class QueryResult:
    """What each query finds: that of query ``q`` stands at ``offsets[q]:offsets[q + 1]``."""

    offsets: npt.NDArray[np.int64]
    """Shape (n + 1,)."""
    objects: npt.NDArray[np.uint32]
    """Shape (m,): boxes, ascending per query, unless ``sort=False``."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def of(self, query: int) -> npt.NDArray[np.uint32]:
        """What a query finds."""
        return self.objects[_span(self.offsets, query)]


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest boxes of each query, nearest first; of equals the first row comes first."""

    objects: npt.NDArray[np.int32]
    """Shape (n, k): boxes, or -1 where there are no more within the radius."""
    distances: npt.NDArray[np.float32]
    """Shape (n, k): distances to the closed boxes, or infinity."""


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Who is near whom: the neighbours of point ``i`` stand at ``offsets[i]:offsets[i + 1]``."""

    offsets: npt.NDArray[np.int64]
    """Shape (n + 1,)."""
    objects: npt.NDArray[np.uint32]
    """Shape (m,): the neighbours, ascending per point, unless ``sort=False``. `j` is another name of it."""
    distances: npt.NDArray[np.float64]
    """Shape (m,): distances, to the nearest image on axes with a period."""
    shifts: npt.NDArray[np.int32]
    """Shape (m, 3): how many periods the nearest image of the neighbour lies away from it on each axis. The way from
    ``i`` to ``j`` is ``points[j] + shifts * period - points[i]``. All are zero without periods."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def of(self, point: int) -> npt.NDArray[np.uint32]:
        """The neighbours of a point."""
        return self.objects[_span(self.offsets, point)]

    @property
    def i(self) -> npt.NDArray[np.uint32]:
        """Shape (m,): the point of each row. Made with each look at it."""
        return np.repeat(np.arange(len(self), dtype=np.uint32), np.diff(self.offsets))

    @property
    def j(self) -> npt.NDArray[np.uint32]:
        """Shape (m,): the neighbour of each row: `objects`."""
        return self.objects


def _span(offsets: npt.NDArray[np.int64], row: int) -> slice:
    rows = len(offsets) - 1
    if not -rows <= row < rows:
        raise IndexError(f"there is no row {row}: there are {rows}")
    row %= rows
    return slice(int(offsets[row]), int(offsets[row + 1]))
