"""Neighbour lists of atoms, as in ``ase.neighborlist``. ase itself is not needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .broad_phase import BroadPhase

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

# "X" is a site without an atom.
_SYMBOLS = (
    "X H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr "
    "Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt "
    "Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc "
    "Lv Ts Og"
)
_NUMBERS = {symbol: number for number, symbol in enumerate(_SYMBOLS.split())}


def neighbor_list(
    quantities: str,
    a: Any,
    cutoff: float | Mapping[tuple[Any, Any], float] | npt.ArrayLike,
    self_interaction: bool = False,
    max_nbins: float = 1e6,
    *,
    broad_phase: BroadPhase | None = None,
) -> Any:
    """Finds the neighbours of atoms. Arguments and results are those of ``ase.neighborlist.neighbor_list``.

    Cells may be triclinic and of any size. If the cutoff exceeds the cell, all images within it are found. Atoms may be
    outside the cell. Distances are exact in float64 for the given positions.

    Parameters
    ----------
    quantities : str
        Arrays to return, one letter each: "i" and "j" are the two atoms, "d" is their distance, "D" the vector from
        ``i`` to ``j``, and "S" the shift of the image of ``j`` in cells: ``D = positions[j] - positions[i] + S @
        cell``.
    a : ase.Atoms
        Or any object with ``positions``, ``pbc``, ``cell`` and, for a cutoff per pair of elements, ``numbers``. Cell
        vectors of axes that are not periodic may be zero.
    cutoff : float, dict or array_like
        Distance below which atoms are neighbours. A float applies to all pairs. A dict has one per pair of elements,
        such as ``{("C", "H"): 1.3, (6, 6): 1.85}``, and other pairs are no neighbours. An array has one radius per
        atom: atoms whose spheres overlap are neighbours.
    self_interaction : bool
        True to list each atom as its own neighbour, too. Its periodic images are listed in any case.
    max_nbins : float
        Ignored. In ase, it limits the number of grid cells.
    broad_phase : BroadPhase, optional
        Broad phase to use, with three dimensions. Pass the same one to every call to save the setup of the GPU. Its
        `rays` and `query` need a new step afterwards. Default: ``BroadPhase()``.

    Returns
    -------
    ndarray, or a tuple of ndarray
        An array per letter, or a single array for one letter. Rows ascend by ``i``.

    Raises
    ------
    ValueError
        For another letter, a wrong shape, a number that is not finite, an unknown element, or periodic axes with cell
        vectors that are zero or in one plane. ase replaces a zero vector by one of length 1.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> copper = SimpleNamespace(positions=[[0, 0, 0]], pbc=True, cell=[[0, 1.8, 1.8], [1.8, 0, 1.8], [1.8, 1.8, 0]])
    >>> len(neighbor_list("i", copper, 3.0))  # of its own images
    12
    """
    for letter in quantities:
        if letter not in "ijdDS":
            raise ValueError(f"quantities has {letter!r}, and letters of 'ijdDS' are needed")
    given = a.positions if hasattr(a, "positions") else a.get_positions()
    positions = _finite("positions", given)
    if positions.size == 0:
        positions = positions.reshape(0, 3)
    if positions.ndim != 2 or positions.shape[1] != 3:
        raise ValueError(f"positions has the shape {positions.shape}, and (n, 3) is needed")
    if broad_phase is not None and broad_phase.dimensions != 3:
        raise ValueError("broad_phase is in 2D, and one in 3D is needed")
    limit = _Limit.of(cutoff, len(positions), a)
    cell = np.zeros((3, 3)) if a.cell is None else _finite("cell", a.cell)
    if cell.shape == (3,):
        cell = np.diag(cell)
    is_periodic = np.broadcast_to(np.asarray(a.pbc, np.bool_), 3)
    cell = np.where(is_periodic[:, None], cell, 0.0)
    if np.linalg.matrix_rank(cell[is_periodic]) < is_periodic.sum():
        raise ValueError("cell: vectors of the periodic axes are zero, or lie in one plane")
    half = _Half.empty()
    if len(positions) > 0 and limit.largest > 0.0:
        half = _find(positions, cell, limit, BroadPhase() if broad_phase is None else broad_phase)
    own = np.flatnonzero(limit.of_pairs(*2 * [np.arange(len(positions))]) > 0.0) if self_interaction else half.i[:0]
    return _answer(quantities, half, own)


def _finite(name: str, given: npt.ArrayLike) -> Reals:
    array = np.asarray(given, np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name}[{np.argwhere(~np.isfinite(array))[0][0]}] is not finite")
    return array


@dataclass(frozen=True)
class _Limit:
    """Cutoff of each pair of atoms."""

    largest: float
    radii: Reals | None = None
    """Radius of each atom."""
    kinds: Ints | None = None
    """The kind of each atom."""
    table: Reals | None = None
    """Cutoff of each pair of kinds."""

    @classmethod
    def of(cls, cutoff: Any, count: int, atoms: Any) -> _Limit:
        if isinstance(cutoff, Mapping):
            elements, kinds = np.unique(np.asarray(atoms.numbers), return_inverse=True)
            table = np.zeros((len(elements), len(elements)))
            for pair, length in cutoff.items():
                a, b = (np.flatnonzero(elements == _number(element)) for element in pair)
                table[a, b] = table[b, a] = _finite("cutoff", [length])[0]
            return cls(float(table.max(initial=0.0)), kinds=kinds, table=table)
        lengths = _finite("cutoff", np.atleast_1d(cutoff))
        if np.ndim(cutoff) == 0:
            return cls(float(lengths[0]))
        if lengths.shape != (count,):
            raise ValueError(f"cutoff has the shape {lengths.shape}, and ({count},) is needed")
        return cls(2.0 * float(lengths.max(initial=0.0)), radii=lengths)

    def of_pairs(self, i: Ints, j: Ints) -> Reals:
        if self.radii is not None:
            return self.radii[i] + self.radii[j]
        if self.table is not None and self.kinds is not None:
            return self.table[self.kinds[i], self.kinds[j]]
        return np.broadcast_to(np.float64(self.largest), len(i))


def _number(element: Any) -> int:
    if not isinstance(element, str):
        return int(element)
    if element not in _NUMBERS:
        raise ValueError(f"cutoff: there is no element {element!r}")
    return _NUMBERS[element]


@dataclass(frozen=True)
class _Half:
    """Neighbours in one direction only: two atoms per row, the vector between them, its length, and the shift in
    cells.
    """

    i: Ints
    j: Ints
    vectors: Reals
    distances: Reals
    shifts: Ints

    @classmethod
    def empty(cls) -> _Half:
        none, rows = np.empty(0, np.int64), np.empty((0, 3), np.int64)
        return cls(none, none, rows.astype(np.float64), none.astype(np.float64), rows)


def _find(positions: Reals, cell: Reals, limit: _Limit, broad_phase: BroadPhase) -> _Half:
    """Finds pairs within the cell, and pairs with half of the images. An image shifted by S gives the same pairs as
    the other atom's image shifted by -S.
    """
    count = len(positions)
    owners, cells, home = _images(positions, cell, limit.largest)
    points = positions[owners] + (cells + home[owners]) @ cell
    # Image positions are rounded, so the radius grows.
    size = np.abs(positions).max() + np.abs(cell).sum() + limit.largest
    radius = limit.largest + 32.0 * float(np.finfo(np.float64).eps * size)
    if len(points) <= 2 * count:
        # Lists of atoms precede those of images, which are not needed.
        near = broad_phase.neighbors(points, radius, half=True)
        offsets, others = near.offsets[: count + 1], near.objects
    else:
        # Most points are images, which need no lists, so only atoms are queried.
        broad_phase.step(points, pairs=False)
        found = broad_phase.query(points=points[:count], radius=radius * (1.0 + 1e-6))
        offsets, others = found.offsets, found.objects
    i = np.repeat(np.arange(count), np.diff(offsets))
    others = others[: len(i)]
    if len(points) > 2 * count:
        is_wanted = others > i
        i, others = i[is_wanted], others[is_wanted]
    j = owners[others]
    shifts = cells[others]
    vectors = positions[j]
    vectors -= positions[i]
    if home.any():
        shifts += home[j] - home[i]
        vectors += shifts @ cell
    elif len(points) > count:
        # One product per image, because pairs outnumber images.
        vectors += (cells @ cell)[others]
    distances = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    is_near = distances < limit.of_pairs(i, j)
    if is_near.all():
        return _Half(i, j, vectors, distances, shifts)
    return _Half(i[is_near], j[is_near], vectors[is_near], distances[is_near], shifts[is_near])


def _images(positions: Reals, cell: Reals, reach: float) -> tuple[Ints, Ints, Ints]:
    """Moves the atoms into the cell, and adds the images near the cell. Of two images shifted by S and -S, only the one
    whose first nonzero shift is positive is added.

    Returns the atom of each point and the point's shift from that atom in the cell, in cells. Then returns the shift of
    each atom from its position into the cell.
    """
    # Reciprocal vectors in columns: 0 for axes without a period.
    is_periodic = cell.any(axis=1)
    reciprocal = np.zeros((3, 3))
    reciprocal[:, is_periodic] = np.linalg.pinv(cell[is_periodic])
    scaled = positions @ reciprocal
    if np.abs(scaled).max(initial=0.0) >= 1 << 31:
        row = np.argwhere(np.abs(scaled) >= 1 << 31)[0][0]
        raise ValueError(f"positions[{row}] is more than 2^31 cells away")
    home = -np.floor(scaled).astype(np.int64)
    scaled += home
    lowest, highest = scaled.min(axis=0), scaled.max(axis=0)
    # Scaled positions are rounded, so the reach grows.
    reaches = reach * np.linalg.norm(reciprocal, axis=0) * (1.0 + 1e-9) + 1e-9
    owners = np.arange(len(positions))
    cells = np.zeros((len(positions), 3), np.int64)
    for axis in np.flatnonzero(is_periodic):
        spread = int(np.floor(highest[axis] - lowest[axis] + reaches[axis]))
        coordinates = scaled[owners, axis]
        is_home = ~cells.any(axis=1)
        parts = [(owners, cells)]
        for shift in range(-spread, spread + 1):
            if shift == 0:
                continue
            moved = coordinates + shift
            is_near = (moved >= lowest[axis] - reaches[axis]) & (moved <= highest[axis] + reaches[axis])
            if shift < 0:
                is_near &= ~is_home
            of_shift = cells[is_near]
            of_shift[:, axis] = shift
            parts.append((owners[is_near], of_shift))
        owners = np.concatenate([part[0] for part in parts])
        cells = np.concatenate([part[1] for part in parts])
    return owners, cells, home


def _answer(quantities: str, half: _Half, own: Ints) -> Any:
    """Returns arrays of both directions, including atoms that are their own neighbours."""
    # Reversed pairs come first: their other atom has the smaller index.
    first = np.concatenate([half.j, own, half.i])
    order = np.argsort(first, kind="stable")

    def both(values: npt.NDArray[Any], sign: int) -> npt.NDArray[Any]:
        zeros = np.zeros((len(own), *values.shape[1:]), values.dtype)
        return np.concatenate([-values if sign < 0 else values, zeros, values])[order]

    arrays: dict[str, npt.NDArray[Any]] = {}
    for letter in set(quantities):
        if letter == "i":
            arrays["i"] = first[order]
        elif letter == "j":
            arrays["j"] = np.concatenate([half.i, own, half.j])[order]
        elif letter == "d":
            arrays["d"] = both(half.distances, 1)
        elif letter == "D":
            arrays["D"] = both(half.vectors, -1)
        else:
            arrays["S"] = both(half.shifts, -1)
    answer = tuple(arrays[letter] for letter in quantities)
    return answer[0] if len(answer) == 1 else answer
