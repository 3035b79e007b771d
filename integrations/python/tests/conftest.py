"""Fixtures of all tests: backends, libraries to compare with, and broad phases shared by the session."""

from __future__ import annotations

import functools
import importlib
import os
import warnings
from collections.abc import Hashable
from types import ModuleType

import pytest
from gpu_broad_phase import BroadPhase, NoAdapterError
from hypothesis import HealthCheck, settings

# Tests fail if an adapter or peer named here is missing.
REQUIRED = [name for name in os.environ.get("GPU_BROAD_PHASE_ADAPTERS", "").split(",") if name]
GPU = REQUIRED[0] if REQUIRED else "gpu"

settings.register_profile(
    "suite",
    # The first step on a device compiles shaders.
    deadline=None,
    max_examples=40,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("suite")


@functools.cache
def broad_phase(backend: str, **options: Hashable) -> BroadPhase:
    """Broad phase shared by tests, because the first step on a device compiles shaders for seconds."""
    return BroadPhase(backend=backend, **options)  # type: ignore[arg-type]


@functools.cache
def missing_gpu() -> str | None:
    """Error message if there is no GPU."""
    try:
        broad_phase(GPU)
    except NoAdapterError as error:
        return str(error)
    return None


@pytest.fixture(scope="session")
def gpu() -> str:
    """Backend of the GPU. Without one, skips the test, or fails if `REQUIRED`."""
    reason = missing_gpu()
    if reason is not None:
        if REQUIRED:
            pytest.fail(f"GPU_BROAD_PHASE_ADAPTERS asks for {GPU}: {reason}")
        pytest.skip(f"there is no GPU, nor a software driver: {reason}")
    return GPU


@pytest.fixture(scope="session", params=["cpu", "gpu"])
def backend(request: pytest.FixtureRequest) -> str:
    """The CPU, and a GPU."""
    return str(request.getfixturevalue("gpu")) if request.param == "gpu" else "cpu"


def peer(name: str) -> ModuleType:
    """Imports a library to compare with. Without it, skips the test, or fails if `REQUIRED`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name) if REQUIRED else pytest.importorskip(name)
