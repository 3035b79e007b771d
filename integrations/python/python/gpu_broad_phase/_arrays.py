"""Converts arguments to arrays for the native module: float32 or float64, with any strides."""

from __future__ import annotations

import operator
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Words: TypeAlias = npt.NDArray[np.uint32]


def as_array(name: str, given: Any) -> npt.NDArray[Any]:
    """Converts the argument to a NumPy array."""
    try:
        array = np.asarray(given)
        if array.dtype != np.object_:
            return array
        if array.ndim == 0 and hasattr(given, "__dlpack__"):
            return np.from_dlpack(given)
        return _of_pandas(given) if hasattr(given, "to_numpy") else array
    except ValueError as error:
        # For example, rows of different lengths.
        raise ValueError(f"{name}: {error}") from None
    except (TypeError, RuntimeError, BufferError) as error:
        # For example, an array on a GPU.
        raise TypeError(f"{name}: {error}") from None


def _of_pandas(given: Any) -> npt.NDArray[Any]:
    """Converts a pandas object whose columns are nullable. Missing numbers become NaN."""
    types: Any = getattr(given, "dtypes", None)
    kinds = {getattr(kind, "kind", "O") for kind in (types if hasattr(types, "__iter__") else [types])}
    if kinds == {"b"} and not np.any(given.isna()):
        return np.asarray(given.to_numpy(dtype=np.bool_))
    if kinds <= {"i", "u"} and not np.any(given.isna()):
        return np.asarray(given.to_numpy(dtype=np.int64))
    if kinds <= {"f", "i", "u"}:
        return np.asarray(given.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(given)


def _hint(array: npt.NDArray[Any]) -> str:
    return ": is there None, text, or a number past 64 bits?" if array.dtype == np.object_ else ""


def floats(name: str, given: npt.ArrayLike) -> Floats:
    """Returns an array of floats, without a copy if the argument is one in native byte order."""
    if isinstance(given, np.ma.MaskedArray):
        raise TypeError(f"{name}: a mask is not looked at; give compressed() or filled() of the array")
    array = as_array(name, given)
    if array.dtype in (np.float32, np.float64) and array.dtype.isnative and array.flags.aligned:
        return cast(Floats, array)
    if array.dtype.kind not in "fiu" and array.size > 0:
        raise TypeError(f"{name}: numbers are needed, not {array.dtype}{_hint(array)}")
    return array.astype(np.float32) if array.dtype == np.float16 else array.astype(np.float64)


def table(name: str, given: npt.ArrayLike, columns: int, rows: int | None = None) -> Floats:
    """Returns a float array with `columns` columns, and `rows` rows unless that is None."""
    array = floats(name, given)
    if array.size == 0 and array.ndim < 2:
        array = array.reshape(0, columns)
    if array.ndim != 2 or array.shape[1] != columns:
        raise ValueError(f"{name} has the shape {array.shape}, and (n, {columns}) is needed")
    if rows is not None and len(array) != rows:
        raise ValueError(f"{name} has {len(array)} rows, and {rows} are needed")
    return array


def vectors(
    origins: npt.ArrayLike, directions: npt.ArrayLike, columns: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Returns one origin and one direction per ray. Either argument may be a single vector for all rays."""
    starts, ways = floats("origins", origins), floats("directions", directions)
    is_one = [array.shape == (columns,) for array in (starts, ways)]
    if is_one[0]:
        ways = table("directions", ways, columns) if not is_one[1] else ways.reshape(1, columns)
        return np.broadcast_to(starts, ways.shape), ways
    starts = table("origins", starts, columns)
    if is_one[1]:
        return starts, np.broadcast_to(ways, starts.shape)
    return starts, table("directions", ways, columns, len(starts))


def corners(name: str, given: npt.ArrayLike, dimensions: int) -> tuple[Floats, Floats]:
    """Returns the lower and the upper corners of boxes, as views of the array."""
    array = floats(name, given)
    if array.size == 0 and array.ndim < 2:
        array = array.reshape(0, 2 * dimensions)
    if array.ndim == 2 and array.shape[1] == 2 * dimensions:
        return array[:, :dimensions], array[:, dimensions:]
    if array.ndim == 3 and array.shape[1:] == (2, dimensions):
        return array[:, 0], array[:, 1]
    if array.ndim == 2 and array.shape[1] == dimensions:
        return array, array
    needed = f"(n, {2 * dimensions}) or (n, 2, {dimensions}) for boxes, or (n, {dimensions}) for points"
    raise ValueError(f"{name} has the shape {array.shape}, and {needed} is needed")


def indices(name: str, given: npt.ArrayLike, below: int, rows: int | None = None, least: int = 0) -> Words:
    """Returns an integer per row, or one for all rows, within limits, modulo 2^32."""
    array = as_array(name, given)
    if array.dtype.kind not in "iu" and array.size > 0:
        raise TypeError(f"{name}: whole numbers are needed, not {array.dtype}{_hint(array)}")
    if rows is not None and array.shape not in ((), (rows,)):
        raise ValueError(f"{name} has the shape {array.shape}, and ({rows},) is needed")
    if array.size > 0:
        smallest, largest = int(array.min()), int(array.max())
        if smallest < least or largest >= below:
            at = tuple(np.argwhere((array < least) | (array >= below))[0].tolist())
            raise ValueError(f"{_place(name, at)} is {array[at]}, and a number from {least} to {below - 1} is needed")
    return array.astype(np.int64).astype(np.uint32)


def worlds(given: npt.ArrayLike | None, rows: int, least: int = 0) -> tuple[Words | None, int]:
    """Returns a world per row, and the number of worlds. Returns None for one world."""
    if given is None:
        return None, 1
    words = indices("worlds", given, 1 << 20, rows, least)
    if words.shape == ():
        raise ValueError(f"worlds has the shape (), and ({rows},) is needed")
    signed = words.astype(np.int32)
    count = int(signed.max(initial=0)) + 1
    return (words if count > 1 or signed.min(initial=0) < 0 else None), count


def whole(name: str, given: Any, smallest: int, largest: int) -> int:
    """Returns an integer within limits."""
    try:
        number = operator.index(given)
    except TypeError:
        raise TypeError(f"{name}: a whole number is needed, not {given!r}") from None
    if not smallest <= number <= largest:
        raise ValueError(f"{name} is {number}, and a number from {smallest} to {largest} is needed")
    return number


def length(name: str, given: Any) -> float:
    """Returns a finite number that is not negative."""
    array = floats(name, given)
    if array.ndim != 0:
        raise ValueError(f"{name} has the shape {array.shape}, and one number is needed")
    if not 0.0 <= array < np.inf:
        raise ValueError(f"{name} is {given}, which is no finite length")
    return float(array)


def cells(
    cell: npt.ArrayLike | None, pbc: npt.ArrayLike | None, axes: int, worlds: int | None
) -> npt.NDArray[np.float64]:
    """Returns one cell per world, or one for all: shape (w, 3, 3), with zero vectors on axes without a period."""
    given = np.zeros(()) if cell is None else floats("cell", cell)
    given = _of_worlds("cell", given, [(), (axes,), (axes, axes)], worlds)
    if not np.isfinite(given).all():
        raise ValueError(f"{_place('cell', np.argwhere(~np.isfinite(given))[0])} is not finite")
    vectors = np.diag(np.broadcast_to(given, axes)) if given.ndim < 2 else given
    vectors = vectors.reshape(-1, axes, axes)
    if pbc is not None:
        flags = as_array("pbc", pbc)
        if flags.dtype.kind not in "biu":
            raise TypeError(f"pbc: booleans are needed, not {flags.dtype}{_hint(flags)}")
        flags = _of_worlds("pbc", flags, [(), (axes,)], worlds).astype(np.bool_)
        lacks = flags & ~vectors.any(axis=2)
        if lacks.any():
            at = np.argwhere(lacks)[0]
            raise ValueError(f"{_place('cell', at if len(lacks) > 1 else at[1:])} is zero, and pbc needs a vector")
        vectors = np.where(flags[..., None], vectors, 0.0)
    padded = np.zeros((len(vectors), 3, 3))
    padded[:, :axes, :axes] = vectors
    return padded


def _of_worlds(
    name: str, array: npt.NDArray[Any], shapes: list[tuple[int, ...]], worlds: int | None
) -> npt.NDArray[Any]:
    """Checks that the array has one of the shapes, or the last of them per world."""
    if array.shape in shapes:
        return array
    if worlds is not None and array.shape[1:] == shapes[-1] and len(array) >= worlds:
        return array[:worlds]
    needed = " or ".join(map(str, shapes if worlds is None else [*shapes, (worlds, *shapes[-1])]))
    raise ValueError(f"{name} has the shape {array.shape}, and {needed} is needed")


def _place(name: str, at: Any) -> str:
    return f"{name}[{', '.join(map(str, at))}]" if len(at) > 0 else name


def index_table(name: str, given: npt.ArrayLike, columns: int, below: int) -> Words:
    """Returns rows of integers below a limit."""
    array = as_array(name, given)
    if array.size == 0 and (array.ndim < 2 or array.shape[-1] == 0):
        return np.empty((0, columns), np.uint32)
    if array.ndim != 2 or array.shape[1] != columns:
        raise ValueError(f"{name} has the shape {array.shape}, and (n, {columns}) is needed")
    return indices(name, array, below)


def each(word: Words | int) -> Any:
    """Returns a word per row, or one for all rows, in the form that the native module expects."""
    return int(word) if np.ndim(word) == 0 else word


def layer_words(rows: int, layers: npt.ArrayLike | None, masks: npt.ArrayLike | None) -> Any:
    """Returns words with the membership in the low half and the mask in the high half. Default: all bits."""
    word: Words | int = 0xFFFF if layers is None else indices("layers", layers, 1 << 16, rows)
    mask: Words | int = 0xFFFF if masks is None else indices("masks", masks, 1 << 16, rows)
    if isinstance(word, int) and isinstance(mask, int):
        return 0xFFFF_FFFF
    return each(np.asarray(word, np.uint32) | np.asarray(mask, np.uint32) << np.uint32(16))


def group_words(rows: int, groups: npt.ArrayLike | None, static: npt.ArrayLike | None) -> Any:
    """Returns words with the group and the flag of static boxes."""
    word: Words | int = 0 if groups is None else indices("groups", groups, 1 << 30, rows)
    if static is None:
        return each(word)
    flags = as_array("static", static)
    if flags.dtype != np.bool_ and flags.size > 0:
        raise TypeError(f"static: booleans are needed, not {flags.dtype}")
    if flags.shape not in ((), (rows,)):
        raise ValueError(f"static has the shape {flags.shape}, and ({rows},) is needed")
    return each(np.asarray(word, np.uint32) | flags.astype(np.uint32) << np.uint32(30))


def per_row(name: str, given: npt.ArrayLike, rows: int) -> Any:
    """Returns a number per row, or one for all rows."""
    array = floats(name, given)
    if array.shape not in ((), (rows,)):
        raise ValueError(f"{name} has the shape {array.shape}, and ({rows},) is needed")
    return float(array) if array.ndim == 0 else array
