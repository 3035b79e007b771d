"""Results of calls. All of them can be pickled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class StepResult:
    """The pairs of a step. Its length is the number of pairs."""

    pairs: npt.NDArray[np.int64]
    """Shape (m, 2): rows of the overlapping boxes, the smaller row first. Ascending, worlds one after the other, unless
    ``sort=False``.
    """
    counts: dict[str, int]
    """Counts of the step: ``objects``, ``pairs``, ``invalid`` and ``excluded`` boxes, ``large`` boxes (compared with
    every other box), and ``levels``, ``cells`` and ``entries`` of the table (0 levels and cells on the CPU).
    """
    world_pairs: npt.NDArray[np.int64] | None = None
    """Shape (w,): number of pairs in each world, if the step had worlds."""
    began: npt.NDArray[np.uint64] | None = None
    """Shape (k, 2): handles of the pairs that this step of an `ObjectSet` has and its previous step had not.
    Ascending.
    """
    ended: npt.NDArray[np.uint64] | None = None
    """Shape (k, 2): handles of the pairs that the previous step had and this step has not. Their objects may be
    removed.
    """
    world_offsets: npt.NDArray[np.int64] | None = None
    """Shape (w + 1,): world ``w`` has the pairs ``world_offsets[w]:world_offsets[w + 1]``, if the step had worlds. None
    with ``sort=False``.
    """

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True, eq=False)
class RayHits:
    """The closest hit of each ray."""

    objects: npt.NDArray[np.int64]
    """Shape (n,): row of the first box that each ray hits, or -1. Of boxes at the same ``t``, the smallest row."""
    t: npt.NDArray[np.float32]
    """Shape (n,): ray parameter at which the ray enters the box, in lengths of its direction, or infinity. ``t_min``
    if the ray starts inside the box.
    """


@dataclass(frozen=True, eq=False)
class RayLists:
    """All boxes that each ray hits. The boxes of ray ``r`` are at ``offsets[r]:offsets[r + 1]``."""

    offsets: npt.NDArray[np.int64]
    """Shape (n + 1,)."""
    objects: npt.NDArray[np.int64]
    """Shape (m,): rows of boxes, ascending per ray, unless ``sort=False``."""
    t: npt.NDArray[np.float32]
    """Shape (m,): ray parameter at which the ray enters each box, in lengths of its direction."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def of(self, ray: int) -> npt.NDArray[np.int64]:
        """Returns the boxes that a ray hits."""
        return self.objects[_span(self.offsets, ray)]


@dataclass(frozen=True, eq=False)
class QueryResult:
    """Boxes that each query finds. Those of query ``q`` are at ``offsets[q]:offsets[q + 1]``."""

    offsets: npt.NDArray[np.int64]
    """Shape (n + 1,)."""
    objects: npt.NDArray[np.int64]
    """Shape (m,): rows of boxes, ascending per query, unless ``sort=False``."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def of(self, query: int) -> npt.NDArray[np.int64]:
        """Returns the boxes that a query finds."""
        return self.objects[_span(self.offsets, query)]


class Nearest(NamedTuple):
    """The nearest boxes of each query, nearest first, as scipy's ``KDTree.query`` returns them. At equal distances, the
    smaller row comes first.
    """

    distances: npt.NDArray[np.float32]
    """Shape (n, k): distances to the boxes, padded with infinity."""
    objects: npt.NDArray[np.int64]
    """Shape (n, k): rows of boxes, padded with the number of boxes if fewer than ``k`` are within the radius."""


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Neighbours of each point. Those of point ``i`` are at ``offsets[i]:offsets[i + 1]``."""

    offsets: npt.NDArray[np.int64]
    """Shape (n + 1,)."""
    objects: npt.NDArray[np.int64]
    """Shape (m,): rows of the neighbours, ascending per point. Also available as `j`. A row appears once per periodic
    image within the radius.
    """
    distances: npt.NDArray[np.float64]
    """Shape (m,): distances to the images."""
    shifts: npt.NDArray[np.int32]
    """Shape (m, 3): shift of each image, in cells per axis, ascending for images of one neighbour. All are 0 without a
    cell.
    """
    vectors: npt.NDArray[np.float64] | None = None
    """Shape (m, 3): vector from each point to the image, ``points[j] + shifts @ cell - points[i]``. None unless
    requested.
    """

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def of(self, point: int) -> npt.NDArray[np.int64]:
        """Returns the neighbours of a point."""
        return self.objects[_span(self.offsets, point)]

    @property
    def i(self) -> npt.NDArray[np.int64]:
        """Shape (m,): row of the point of each neighbour. Computed at each access."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.offsets))

    @property
    def j(self) -> npt.NDArray[np.int64]:
        """Shape (m,): row of each neighbour, the same as `objects`."""
        return self.objects


def _span(offsets: npt.NDArray[np.int64], row: int) -> slice:
    rows = len(offsets) - 1
    if not -rows <= row < rows:
        raise IndexError(f"there is no row {row}: there are {rows}")
    row %= rows
    return slice(int(offsets[row]), int(offsets[row + 1]))
