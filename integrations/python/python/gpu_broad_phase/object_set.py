"""Boxes that live across steps."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _arrays as arrays
from . import _native


class ObjectSet:
    """Boxes that live across steps, each under a handle.

    A step with a set uploads only what changed, keeps the table of its static objects while none of them changes, and
    tells which pairs began and which ended. A handle is a number that names its object for good: once the object is
    removed it names nothing again. Pairs name objects by rows, as of `BroadPhase.step`; `handles_of` and `objects_of`
    translate. Static objects come first, so an insertion of static objects moves the rows of all others.

    Events belong to the set, whichever `BroadPhase` takes it. They tell what has changed since its last step with pairs.
    A pair whose object is removed ends with the next step. Of two handles that of the smaller row comes first.

    Parameters
    ----------
    dimensions : {3, 2}
        How many axes there are.
    events : bool
        Whether steps tell pairs that begin and end. It takes a sort of the pairs on the CPU.

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
        owners: npt.ArrayLike | None = None,
        static: bool = False,
    ) -> npt.NDArray[np.uint64]:
        """Adds objects.

        Parameters
        ----------
        boxes, layers, masks, owners
            As of `BroadPhase.step`.
        static : bool
            Whether they seldom change: all of them, or none. Two static objects never pair.

        Returns
        -------
        ndarray of uint64
            Shape (n,): their handles.

        Raises
        ------
        ValueError
            For a wrong shape, or a box with a NaN or a min above its max, with its row. Nothing is added then.
        """
        if not isinstance(static, (bool, np.bool_)):
            raise TypeError("static: one bool is needed. Insert static boxes in a call of their own")
        lower, upper = arrays.corners("boxes", boxes, self._dimensions)
        rows = len(lower)
        return self._table.insert(
            lower=lower,
            upper=upper,
            layers=arrays.layer_words(rows, layers, masks),
            owners=arrays.owner_words(rows, owners, None),
            is_static=bool(static),
        )

    def move(self, handles: npt.ArrayLike, boxes: npt.ArrayLike) -> None:
        """Gives objects other boxes. Their layers and owners stay.

        Raises
        ------
        KeyError
            For a handle of no object.
        ValueError
            For a handle that comes twice, or as of `insert`. Nothing is moved in any of these cases.
        """
        named = _handles(handles)
        lower, upper = arrays.corners("boxes", boxes, self._dimensions)
        if len(lower) != len(named):
            raise ValueError(f"boxes has {len(lower)} rows, and there are {len(named)} handles")
        self._table.move_to(named, lower=lower, upper=upper)

    def remove(self, handles: npt.ArrayLike) -> None:
        """Takes objects out.

        Raises
        ------
        KeyError
            For a handle of no object.
        ValueError
            For a handle that comes twice. Nothing is removed in either case.
        """
        self._table.remove(_handles(handles))

    def contains(self, handles: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether each handle names an object of the set. Shape (n,)."""
        return self._table.contains(_handles(handles))

    def objects_of(self, handles: npt.ArrayLike) -> npt.NDArray[np.uint32]:
        """How results of the next step name objects. Has the shape of `handles`.

        Raises
        ------
        KeyError
            For a handle of no object.
        """
        named = _words(handles)
        return self._table.objects_of(named.reshape(-1)).reshape(named.shape)

    def handles_of(self, objects: npt.ArrayLike) -> npt.NDArray[np.uint64]:
        """The handles of objects that results of the last step name. Has the shape of `objects`, such as of pairs.

        Ask before anything is inserted or removed. A result of -1, which stands for no object, has no handle.

        Raises
        ------
        KeyError
            Where the set has no such object.
        """
        named = np.asarray(objects)
        words = arrays.indices("objects", named.reshape(-1), 1 << 32)
        return self._table.handles_of(words).reshape(named.shape)

    def handles(self) -> npt.NDArray[np.uint64]:
        """The handles of all objects, in the order of their rows. Shape (n,)."""
        return self._table.all()[0]

    def boxes(self) -> npt.NDArray[np.float32]:
        """The boxes of all objects in the order of `handles`. Shape (n, 6), in 2D (n, 4)."""
        boxes = self._table.all()[1]
        return boxes if self._dimensions == 3 else np.ascontiguousarray(boxes[:, [0, 1, 3, 4]])


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
