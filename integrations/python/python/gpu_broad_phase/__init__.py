"""Overlapping boxes, rays, neighbours and collision candidates: arrays in, arrays out.

Work runs on any GPU through Vulkan, Metal, Direct3D 12 or OpenGL, or on the CPU if there is none. Results are the same.

>>> import numpy as np
>>> import gpu_broad_phase as gbp
>>> boxes = np.array([[0, 0, 0, 1, 1, 1], [1, 0.5, 0.5, 2, 2, 2], [5, 5, 5, 6, 6, 6]])
>>> gbp.BroadPhase().step(boxes).pairs  # touching counts
array([[0, 1]])
"""

import os
from importlib.metadata import version

from ._native import DeviceError, NoAdapterError, forked
from .broad_phase import BroadPhase, adapters
from .candidates import Candidates, collision_candidates
from .heatmap import Heatmap, heatmap
from .object_set import ObjectSet
from .results import Nearest, Neighbors, QueryResult, RayHits, RayLists, StepResult

__all__ = [
    "BroadPhase",
    "Candidates",
    "DeviceError",
    "Heatmap",
    "Nearest",
    "Neighbors",
    "NoAdapterError",
    "ObjectSet",
    "QueryResult",
    "RayHits",
    "RayLists",
    "StepResult",
    "adapters",
    "collision_candidates",
    "heatmap",
]

__version__ = version("gpu-broad-phase")

if hasattr(os, "register_at_fork"):
    # A forked process has lost its threads and drivers.
    os.register_at_fork(after_in_child=forked)
