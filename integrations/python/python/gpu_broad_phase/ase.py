"""Neighbour lists of atoms, as in ``ase.neighborlist``. ase itself is not needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from .broad_phase import BroadPhase

Ints: TypeAlias = npt.NDArray[np.int64]
Reals: TypeAlias = npt.NDArray[np.float64]
Cutoff: TypeAlias = float | Mapping[tuple[Any, Any], float] | npt.ArrayLike

# "X" is a site without an atom.
_SYMBOLS = (
    "X H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr "
    "Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt "
    "Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc "
    "Lv Ts Og"
)
_NUMBERS = {symbol: number for number, symbol in enumerate(_SYMBOLS.split())}


class Atoms(Protocol):
    """Atoms, as ``ase.Atoms``. A cutoff per pair of elements also needs ``numbers``."""

    @property
    def positions(self) -> Any:
        """Shape (n, 3)."""

    @property
    def cell(self) -> Any:
        """As for `BroadPhase.neighbors`."""

    @property
    def pbc(self) -> Any:
        """As for `BroadPhase.neighbors`."""


@overload
def neighbor_list(  # type: ignore[overload-overlap]
    quantities: Literal["i", "j", "S"],
    a: Atoms,
    cutoff: Cutoff,
    self_interaction: bool = ...,
    max_nbins: float = ...,
    *,
    broad_phase: BroadPhase | None = ...,
) -> Ints: ...
@overload
def neighbor_list(  # type: ignore[overload-overlap]
    quantities: Literal["d", "D"],
    a: Atoms,
    cutoff: Cutoff,
    self_interaction: bool = ...,
    max_nbins: float = ...,
    *,
    broad_phase: BroadPhase | None = ...,
) -> Reals: ...
@overload
def neighbor_list(
    quantities: str,
    a: Atoms,
    cutoff: Cutoff,
    self_interaction: bool = ...,
    max_nbins: float = ...,
    *,
    broad_phase: BroadPhase | None = ...,
) -> tuple[npt.NDArray[Any], ...]: ...
def neighbor_list(
    quantities: str,
    a: Atoms,
    cutoff: Cutoff,
    self_interaction: bool = False,
    max_nbins: float = 1e6,
    *,
    broad_phase: BroadPhase | None = None,
) -> Any:
    """Finds the neighbours of atoms. Arguments and results are those of ``ase.neighborlist.neighbor_list``.

    `BroadPhase.neighbors` finds them. ase itself is not needed.

    Parameters
    ----------
    quantities : str
        Arrays to return, one letter each: "i" and "j" are the two atoms, "d" is their distance, "D" the vector from
        ``i`` to ``j``, and "S" the shift of the image of ``j`` in cells: ``D = positions[j] - positions[i] + S @
        cell``.
    a : ase.Atoms
        Or any object with ``positions``, ``pbc``, ``cell`` and, for a cutoff per pair of elements, ``numbers``.
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
        For another letter or an unknown element, or as for `BroadPhase.neighbors`. ase replaces a zero vector by one of
        length 1.

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
    positions = _finite("positions", a.positions)
    if positions.size == 0:
        positions = positions.reshape(0, 3)
    if positions.ndim != 2 or positions.shape[1] != 3:
        raise ValueError(f"positions has the shape {positions.shape}, and (n, 3) is needed")
    if broad_phase is None:
        broad_phase = BroadPhase()
    elif broad_phase.dimensions != 3:
        raise ValueError("broad_phase is in 2D, and one in 3D is needed")
    limit = _Limit.of(cutoff, len(positions), a)
    near = broad_phase.neighbors(positions, max(limit.largest, 0.0), cell=a.cell, pbc=a.pbc, vectors="D" in quantities)
    arrays: dict[str, npt.NDArray[Any]] = {"i": near.i, "j": near.j, "d": near.distances, "S": near.shifts}
    if near.vectors is not None:
        arrays["D"] = near.vectors
    is_near = near.distances < limit.of_pairs(arrays["i"], near.j)
    if not is_near.all():
        arrays = {letter: array[is_near] for letter, array in arrays.items()}
    if self_interaction:
        atoms = np.arange(len(positions))
        own = atoms[limit.of_pairs(atoms, atoms) > 0.0]
        at, none = np.searchsorted(arrays["i"], own), np.zeros((len(own), 3))
        of_own = {"i": own, "j": own, "d": none[:, 0], "D": none, "S": none}
        arrays = {letter: np.insert(array, at, of_own[letter], axis=0) for letter, array in arrays.items()}
    arrays["S"] = arrays["S"].astype(np.int64)
    answer = tuple(arrays[letter] for letter in quantities)
    return answer[0] if len(answer) == 1 else answer


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
