"""Number of boxes over each cell of a plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _arrays as arrays


@dataclass(frozen=True, eq=False)
class Heatmap:
    """Number of boxes over each cell of a plane."""

    counts: npt.NDArray[np.int64]
    """Shape (height, width): number of boxes over each cell. The first cell is the lower left one."""
    extent: tuple[float, float, float, float]
    """Left, right, bottom and top, as ``matplotlib.pyplot.imshow`` expects them."""
    labels: tuple[str, str]
    """Names of the axes: "x", "y", "z"."""

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draws the heatmap with matplotlib, which must be installed.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into. Default: the axes of the current figure.
        **options
            Arguments of ``Axes.imshow``.

        Returns
        -------
        matplotlib.image.AxesImage
        """
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.gca()
        ax.set(xlabel=self.labels[0], ylabel=self.labels[1])
        return ax.imshow(self.counts, **{"origin": "lower", "extent": self.extent, "cmap": "inferno", **options})


def heatmap(boxes: npt.ArrayLike, *, cells: int = 512, axis: int | None = None) -> Heatmap:
    """Counts the boxes over each cell of a plane. Boxes with a bound that is not finite or a min above its max are
    ignored.

    Parameters
    ----------
    boxes : array_like
        Shape (n, 6) or (n, 2, 3), in 2D (n, 4) or (n, 2, 2), as for `BroadPhase.step`.
    cells : int
        Number of cells along the longer side, at most 16,384.
    axis : int, optional
        Axis to project along, for boxes in 3D. Default: the axis along which the boxes extend least.

    Raises
    ------
    ValueError
        For a wrong shape.
    """
    array = arrays.floats("boxes", boxes)
    is_flat = array.shape[1:] in ((4,), (2, 2))
    lower, upper = (np.asarray(corner, np.float64) for corner in arrays.corners("boxes", array, 2 if is_flat else 3))
    cells = arrays.whole("cells", cells, 1, 1 << 14)
    is_good = (np.isfinite(lower) & np.isfinite(upper) & (lower <= upper)).all(axis=1)
    lower, upper = lower[is_good], upper[is_good]
    if len(lower) == 0:
        return Heatmap(np.zeros((1, 1), np.int64), (0.0, 1.0, 0.0, 1.0), ("x", "y"))
    low, high = lower.min(axis=0), upper.max(axis=0)
    if is_flat and axis is not None:
        raise ValueError(f"axis is {axis}, and boxes in 2D have no axis to look along")
    seen = [0, 1]
    if not is_flat:
        along = int(np.argmin((high - low)[::-1])) if axis is None else axis
        along = 2 - along if axis is None else along
        if along not in (0, 1, 2):
            raise ValueError(f"axis is {axis}, not 0, 1 or 2")
        seen = [other for other in range(3) if other != along]
    low, high = low[seen], high[seen]
    side = float((high - low).max()) / cells or 1.0
    # Rounding up could add a column of almost no width.
    width, height = (min(max(1, int(np.ceil(length / side))), cells) for length in high - low)
    last = np.array([width, height]) - 1
    first = np.minimum(((lower[:, seen] - low) / side).astype(np.int64), last)
    past = np.minimum(((upper[:, seen] - low) / side).astype(np.int64), last) + 1
    # Marks the corners of each box's cell range. Sums along both axes then count boxes per cell.
    marks = np.zeros((height + 1) * (width + 1), np.int64)
    for across, up, sign in ((first, first, 1), (past, first, -1), (first, past, -1), (past, past, 1)):
        at = up[:, 1] * (width + 1) + across[:, 0]
        marks += sign * np.bincount(at, minlength=len(marks))
    counts = marks.reshape(height + 1, width + 1).cumsum(axis=0).cumsum(axis=1)[:-1, :-1]
    extent = (low[0], low[0] + width * side, low[1], low[1] + height * side)
    labels = ("xyz"[seen[0]], "xyz"[seen[1]])
    return Heatmap(counts, tuple(float(bound) for bound in extent), labels)  # type: ignore[arg-type]
