"""Boxes that live across steps."""

from __future__ import annotations

from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from . import _arrays as arrays
from . import _native


class ObjectSet:
    """Boxes that exist across steps, each under a handle.

    A step with a set uploads only changes, caches the table of static objects, and returns the pairs that began and
    ended. A handle is a number that is never reused: after its object is removed, it is invalid. Pairs contain row
    numbers, as in `BroadPhase.step`. `handles_of` and `objects_of` convert between rows and handles. Static objects
    have the lowest rows, so inserting static objects changes the rows of all others.

    Once it has boxes that float32 does not hold, a set keeps all boxes in float64 and has an origin of its own (see
    `BroadPhase`), until it is empty. A new origin changes neither handles nor rows.

    Events are the changes since the set's last step with pairs, in any `BroadPhase`. If an object of a pair is removed,
    the pair ends in the next step. Within a pair of handles, the one of the smaller row comes first.

    Parameters
    ----------
    dimensions : {3, 2}
        Number of axes.
    events : bool
        True to return pairs that begin and end. Costs a sort of the pairs on the CPU.

    Examples
    --------
    >>> from gpu_broad_phase import BroadPhase
    >>> objects = ObjectSet()
    >>> ball, wall = objects.insert([[0, 0, 0, 1, 1, 1], [5, 0, 0, 6, 9, 9]])
    >>> broad_phase = BroadPhase(backend="cpu")
    >>> len(broad_phase.step(objects))
    0
    >>> objects.move([ball], [[4.5, 0, 0, 5.5, 1, 1]])
    >>> broad_phase.step(objects).began.tolist() == [[ball, wall]]
    True
    """

    def __init__(self, *, dimensions: Literal[2, 3] = 3, events: bool = True) -> None:
        if dimensions not in (2, 3):
            raise ValueError(f"dimensions is {dimensions}, not 2 or 3")
        self._dimensions = dimensions
        self._table = _native.ObjectTable(events)

    @property
    def dimensions(self) -> int:
        """2 or 3."""
        return self._dimensions

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return f"<ObjectSet of {len(self)} objects in {self._dimensions}D>"

    def __reduce__(self) -> Any:
        raise TypeError("an ObjectSet cannot be pickled: its boxes can, which boxes() gives")

    def insert(
        self,
        boxes: npt.ArrayLike,
        *,
        layers: npt.ArrayLike | None = None,
        masks: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
        static: bool = False,
    ) -> npt.NDArray[np.uint64]:
        """Adds objects.

        Parameters
        ----------
        boxes, layers, masks, groups
            As for `BroadPhase.step`.
        static : bool
            True if all of these objects seldom change. Two static objects never pair.

        Returns
        -------
        ndarray of uint64
            Shape (n,): handles of the objects.

        Raises
        ------
        ValueError
            For a wrong shape, or a box with a NaN or a min above its max. The message names the row. No object is
            added.
        """
        if not isinstance(static, (bool, np.bool_)):
            raise TypeError("static: one bool is needed. Insert static boxes in a call of their own")
        lower, upper = arrays.corners("boxes", boxes, self._dimensions)
        rows = len(lower)
        return self._table.insert(
            lower=lower,
            upper=upper,
            layers=arrays.layer_words(rows, layers, masks),
            groups=arrays.group_words(rows, groups, None),
            is_static=bool(static),
        )

    def move(self, handles: npt.ArrayLike, boxes: npt.ArrayLike) -> None:
        """Replaces the boxes of objects. Layers and groups stay.

        Raises
        ------
        KeyError
            For an invalid handle.
        ValueError
            For a duplicate handle, or as for `insert`. No object is moved in any of these cases.
        """
        named = _handles(handles)
        lower, upper = arrays.corners("boxes", boxes, self._dimensions)
        if len(lower) != len(named):
            raise ValueError(f"boxes has {len(lower)} rows, and there are {len(named)} handles")
        self._table.move_to(named, lower=lower, upper=upper)

    def remove(self, handles: npt.ArrayLike) -> None:
        """Removes objects.

        Raises
        ------
        KeyError
            For an invalid handle.
        ValueError
            For a duplicate handle. No object is removed in either case.
        """
        self._table.remove(_handles(handles))

    def contains(self, handles: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Returns True for each handle of an object in the set. Shape (n,)."""
        return self._table.contains(_handles(handles))

    def objects_of(self, handles: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Returns the rows of objects in the results of the next step. Has the shape of `handles`.

        Raises
        ------
        KeyError
            For an invalid handle.
        """
        named = _words(handles)
        return self._table.objects_of(named.reshape(-1)).reshape(named.shape)

    def handles_of(self, objects: npt.ArrayLike) -> npt.NDArray[np.uint64]:
        """Returns the handles of rows in the results of the last step, such as pairs. Has the shape of `objects`.

        Call this before you insert or remove objects. The row -1, which stands for no object, has no handle.

        Raises
        ------
        KeyError
            For a row without an object.
        """
        named = np.asarray(objects)
        words = arrays.indices("objects", named.reshape(-1), 1 << 32)
        return self._table.handles_of(words).reshape(named.shape)

    def handles(self) -> npt.NDArray[np.uint64]:
        """Returns the handles of all objects, in row order. Shape (n,)."""
        return self._table.all()[0]

    def boxes(self) -> npt.NDArray[np.float32] | npt.NDArray[np.float64]:
        """Returns the boxes of all objects, in the order of `handles`. Shape (n, 6), in 2D (n, 4).

        They are float64, as given, in a set that is measured from an origin (see `BroadPhase`), else float32, rounded
        outward.
        """
        boxes = self._table.all()[1]
        return boxes if self._dimensions == 3 else cast(arrays.Floats, np.ascontiguousarray(boxes[:, [0, 1, 3, 4]]))


def _handles(given: npt.ArrayLike) -> npt.NDArray[np.uint64]:
    array = _words(given)
    if array.ndim > 1:
        raise ValueError(f"handles has the shape {array.shape}, and (n,) is needed")
    return array.reshape(-1)


def _words(given: npt.ArrayLike) -> npt.NDArray[np.uint64]:
    array = arrays.as_array("handles", given)
    if array.dtype.kind == "f" and not isinstance(given, np.ndarray):
        # numpy converts lists of mixed signed and unsigned integers to floats.
        numbers = np.asarray(given, object)
        if all(isinstance(number, int | np.integer) for number in numbers.flat):
            words = [int(number) % (1 << 64) for number in numbers.flat]
            return np.array(words, np.uint64).reshape(numbers.shape)
    if array.dtype.kind not in "iu" and array.size > 0:
        raise TypeError(f"handles: whole numbers are needed, not {array.dtype}")
    return array.astype(np.uint64)
