"""Types of results, checked by mypy --strict."""

from types import SimpleNamespace
from typing import Any, assert_type

import gpu_broad_phase as gbp
import numpy as np
import numpy.typing as npt
from gpu_broad_phase.ase import neighbor_list

broad_phase = gbp.BroadPhase(dimensions=3, scheme="uniform", cell_size=1.0, backend="cpu")
result = broad_phase.step(np.zeros((1, 6)), static=[True], excluded=[(0, 1)])
assert_type(result, gbp.StepResult)
assert_type(result.pairs, npt.NDArray[np.int64])
assert_type(broad_phase.rays([[0, 0, 0]], [[1, 0, 0]]), gbp.RayHits)
assert_type(broad_phase.rays([[0, 0, 0]], [[1, 0, 0]], mode="all"), gbp.RayLists)
assert_type(broad_phase.rays([[0, 0, 0]], [[1, 0, 0]], mode="any"), npt.NDArray[np.bool_])
assert_type(broad_phase.query(points=[[0, 0, 0]]), gbp.QueryResult)
assert_type(broad_phase.query(points=[[0, 0, 0]], k=1), gbp.Nearest)
assert_type(broad_phase.neighbors([[0, 0, 0]], 1.0, cell=[1, 1, 0]).distances, npt.NDArray[np.float64])
distances, rows = broad_phase.query(points=[[0, 0, 0]], k=1)
assert_type(rows, npt.NDArray[np.int64])
copper = SimpleNamespace(positions=[[0, 0, 0]], cell=1.0, pbc=True)
assert_type(neighbor_list("S", copper, 1.0), npt.NDArray[np.int64])
assert_type(neighbor_list("d", copper, 1.0, False), npt.NDArray[np.float64])
assert_type(neighbor_list("ij", a=copper, cutoff={("C", 1): 2}), tuple[npt.NDArray[Any], ...])
assert_type(broad_phase.why(0, 0), str)
objects = gbp.ObjectSet()
assert_type(objects.insert([[0, 0, 0, 1, 1, 1]]), npt.NDArray[np.uint64])
assert_type(objects.boxes(), npt.NDArray[np.float32] | npt.NDArray[np.float64])
assert_type(broad_phase.step(objects).began, npt.NDArray[np.uint64] | None)
assert_type(gbp.collision_candidates([[0, 0]], None, None, None).edges_vertices, npt.NDArray[np.int64])
assert_type(gbp.heatmap([[0, 0, 1, 1]]).counts, npt.NDArray[np.int64])

# mypy must reject these calls. It reports an `ignore` comment without an error.
gbp.BroadPhase(backend="cuda")  # type: ignore[arg-type]
broad_phase.rays([[0, 0, 0]], [[1, 0, 0]], mode="first")  # type: ignore[call-overload]
neighbor_list("i", object(), 1.0)  # type: ignore[call-overload]
broad_phase.query(points=[[0, 0, 0]], k="1")  # type: ignore[call-overload]
