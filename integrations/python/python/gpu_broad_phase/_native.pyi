from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

class NoAdapterError(RuntimeError):
    """There is no GPU, or none of the requested backend or name."""

class DeviceError(RuntimeError):
    """The GPU refused the work, was lost, or did not answer within the timeout."""

class Engine:
    def __init__(
        self,
        *,
        dimensions: int,
        scheme: str,
        cell_size: float | None,
        margin: float,
        sort: bool,
        backend: str,
        adapter: str | None,
        max_bytes: int | None,
        timeout: float,
    ) -> None: ...
    @property
    def adapter(self) -> dict[str, str] | None: ...
    def stats(self) -> dict[str, Any]: ...

class ObjectTable:
    def __init__(self, events: bool) -> None: ...
    def __len__(self) -> int: ...
    def insert(
        self, *, lower: Any, upper: Any, layers: Any, groups: Any, is_static: bool
    ) -> npt.NDArray[np.uint64]: ...
    def move_to(self, handles: npt.NDArray[np.uint64], *, lower: Any, upper: Any) -> None: ...
    def remove(self, handles: npt.NDArray[np.uint64]) -> None: ...
    def contains(self, handles: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]: ...
    def objects_of(self, handles: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]: ...
    def handles_of(self, objects: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint64]: ...
    def all(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.float32] | npt.NDArray[np.float64]]: ...

_Found: TypeAlias = tuple[
    npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64], dict[str, int], list[float] | None
]
_Rows: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32], npt.NDArray[np.int64]]

def adapters() -> list[dict[str, str]]: ...
def forked() -> None: ...
def step(
    engine: Engine,
    *,
    lower: Any,
    upper: Any,
    layers: Any,
    groups: Any,
    worlds: npt.NDArray[np.uint32] | None,
    world_count: int,
    excluded: npt.NDArray[np.uint32] | None,
    finds_pairs: bool,
    checked: bool,
    progress: Any,
) -> _Found: ...
def step_objects(
    engine: Engine,
    objects: ObjectTable,
    *,
    excluded: npt.NDArray[np.uint32] | None,
    finds_pairs: bool,
    progress: Any,
) -> tuple[_Found, tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]] | None]: ...
def why(engine: Engine, a: int, b: int) -> str: ...
def rays(
    engine: Engine,
    *,
    origins: Any,
    directions: Any,
    t_min: Any,
    t_max: Any,
    half_extents: Any,
    layers: Any,
    worlds: Any,
    mode: str,
    checked: bool,
    progress: Any,
) -> _Rows: ...
def query(
    engine: Engine,
    *,
    name: str,
    lower: Any,
    upper: Any,
    radius: Any,
    layers: Any,
    groups: Any,
    worlds: Any,
    nearest: int | None,
    checked: bool,
    progress: Any,
) -> _Rows: ...
def neighbors(
    engine: Engine,
    points: Any,
    *,
    radius: float,
    cells: npt.NDArray[np.float64],
    worlds: npt.NDArray[np.uint32] | None,
    half: bool,
    vectors: bool,
    progress: Any,
) -> tuple[
    npt.NDArray[np.int64],
    npt.NDArray[np.int64],
    npt.NDArray[np.float64],
    npt.NDArray[np.int32],
    npt.NDArray[np.float64] | None,
]: ...
def candidates(
    engine: Engine,
    start: Any,
    end: Any,
    edges: npt.NDArray[np.uint32],
    faces: npt.NDArray[np.uint32],
    *,
    inflation: float,
    groups: npt.NDArray[np.uint32] | None,
    wanted: list[bool],
    progress: Any,
) -> list[npt.NDArray[np.int64]]: ...
