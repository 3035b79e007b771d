"""Pairs against brute force, on both backends."""

from __future__ import annotations

from typing import Any

import brute_force
import numpy as np
import pytest
from conftest import broad_phase
from gpu_broad_phase import BroadPhase
from hypothesis import example, given
from hypothesis import strategies as st

CHOICES: list[dict[str, Any]] = [
    {"scheme": "hierarchical"},
    {"scheme": "hierarchical", "sort": False, "dimensions": 2},
    {"scheme": "hierarchical", "margin": 0.5, "dimensions": 2},
    {"scheme": "uniform", "cell_size": 1.0},
    {"scheme": "uniform", "cell_size": 0.75, "sort": False, "dimensions": 2, "margin": 0.3},
    {"scheme": "adaptive", "cell_size": 0.5, "dimensions": 2},
    {"scheme": "adaptive", "cell_size": 1.0, "sort": False, "margin": 0.5},
]
FILTERS = ("layers", "masks", "groups", "static", "worlds", "excluded")


def filters_of(names: frozenset[str], rows: int, seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    all_of_them = {
        "layers": random.integers(0, 1 << 16, rows) & random.integers(0, 1 << 16, rows),
        "masks": random.integers(0, 1 << 16, rows) & random.integers(0, 1 << 16, rows),
        "groups": random.choice([0, 1, 2, (1 << 30) - 1], rows),
        "static": random.random(rows) < 0.5,
        "worlds": np.where(random.random(rows) < 0.05, -1, random.integers(0, 3, rows)),
        "excluded": random.integers(0, max(rows, 1) + 2, (2 * rows, 2)),
    }
    return {name: all_of_them[name] for name in sorted(names)}


def measured(mine: BroadPhase, *corners: Any) -> list[Any]:
    """Coordinates from the origin of the last step, as float32 if they were so. Differences are exact here."""
    origin = np.array(mine.stats()["origin"])
    return [corner - origin if origin.any() else corner for corner in corners]


@pytest.mark.filterwarnings("ignore:coordinates are rounded:RuntimeWarning")
@given(
    choice=st.sampled_from(CHOICES),
    kind=st.sampled_from(brute_force.KINDS_OF_BOXES),
    rows=st.integers(0, 200),
    seed=st.integers(0, 1 << 32),
    is_double=st.booleans(),
    names=st.frozensets(st.sampled_from(FILTERS)),
)
@example(choice=CHOICES[0], kind="lattice", rows=200, seed=1, is_double=False, names=frozenset(FILTERS))
@example(choice=CHOICES[5], kind="infinite", rows=200, seed=2, is_double=True, names=frozenset({"worlds"}))
def test_pairs_are_those_of_brute_force(
    backend: str, choice: dict[str, Any], kind: str, rows: int, seed: int, is_double: bool, names: frozenset[str]
) -> None:
    dimensions = choice.get("dimensions", 3)
    lower, upper = brute_force.boxes(kind, rows, dimensions, seed)
    if not is_double:
        lower, upper = brute_force.rounded_outward(lower, upper)
    filters = filters_of(names, rows, seed)
    mine = broad_phase(backend, **choice)
    result = mine.step(np.hstack([lower, upper]), **filters)
    singles = brute_force.rounded_outward(*measured(mine, lower, upper))
    singles = brute_force.grown(*singles, choice.get("margin", 0.0))
    expected = brute_force.pairs(*singles, **filters)
    assert result.pairs.dtype == np.int64
    assert result.pairs.shape == (len(expected), 2)
    if choice.get("sort", True):
        assert result.pairs.tobytes() == expected.tobytes()
    else:
        assert np.array_equal(brute_force.ascending(result.pairs), brute_force.ascending(expected))
    assert len(result) == result.counts["pairs"] == len(expected)
    assert (result.counts["objects"], result.counts["invalid"]) == (rows, 0)
    if "worlds" in names:
        worlds = filters["worlds"]
        count = worlds.max(initial=0) + 1
        of_pairs = brute_force.world_of(expected, worlds)
        assert result.world_pairs is not None
        assert np.array_equal(result.world_pairs, np.bincount(of_pairs[of_pairs < count], minlength=count))
        ends = np.concatenate([[0], np.cumsum(result.world_pairs)])
        assert (result.world_offsets is not None) == choice.get("sort", True)
        assert result.world_offsets is None or np.array_equal(result.world_offsets, ends)
    else:
        assert result.world_pairs is None
        assert result.world_offsets is None
    assert (result.began, result.ended) == (None, None)


@pytest.mark.filterwarnings("ignore:coordinates are rounded:RuntimeWarning")
@given(
    kind=st.sampled_from(brute_force.KINDS_OF_BOXES),
    rows=st.integers(0, 200),
    seed=st.integers(0, 1 << 32),
    dimensions=st.sampled_from([2, 3]),
)
def test_no_pair_of_doubles_is_missed(backend: str, kind: str, rows: int, seed: int, dimensions: int) -> None:
    lower, upper = brute_force.boxes(kind, rows, dimensions, seed)
    exact = brute_force.pairs(lower, upper)
    mine = broad_phase(backend, dimensions=dimensions)
    found = mine.step(np.hstack([lower, upper])).pairs
    assert set(map(tuple, exact.tolist())) <= set(map(tuple, found.tolist()))
    singles = mine.step(np.hstack(brute_force.rounded_outward(*measured(mine, lower, upper))))
    assert found.tobytes() == singles.pairs.tobytes()


@pytest.mark.parametrize(
    "number", [1e-50, -1e-50, 1 + 1e-12, 1 - 1e-12, -1 - 1e-12, 1e-40, 3e-46, 0.1, 1e39, -1e39, 3.4028235e38, 1e300]
)
def test_doubles_between_two_floats_meet_both_and_no_more(backend: str, number: float) -> None:
    low, high = (float(bound[0]) for bound in brute_force.rounded_outward(*[np.array([number])] * 2))
    assert low < number < high
    before, after = np.nextafter(np.float32([low, high]), np.float32([-np.inf, np.inf])).tolist()
    places = [number, low, high, before, after]
    # The next float after infinity is infinity, which touches.
    partners = [1, 2] + [place for place in (3, 4) if places[place] in (low, high)]
    # On both sides of 0, which is then the origin.
    both = np.array(places + [-place for place in places])
    mine = broad_phase(backend)
    pairs = mine.step(np.repeat(both[:, None], 3, axis=1)).pairs
    assert mine.stats()["origin"] == (0.0, 0.0, 0.0)
    assert pairs[(pairs[:, 0] == 0) & (pairs[:, 1] < 5), 1].tolist() == partners


@pytest.mark.parametrize("scheme", ["hierarchical", "uniform", "adaptive"])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_schemes_tell_their_cells_from_the_first_boxes(backend: str, scheme: Any, dimensions: Any) -> None:
    lower, upper = brute_force.rounded_outward(*brute_force.boxes("sizes", 150, dimensions, 4))
    mine = BroadPhase(backend=backend, scheme=scheme, dimensions=dimensions)
    assert len(mine.step(np.empty((0, 2 * dimensions)))) == 0
    expected = brute_force.pairs(lower, upper)
    assert mine.step(np.hstack([lower, upper])).pairs.tobytes() == expected.tobytes()
    chosen = mine.stats()
    assert chosen["scheme"] == scheme
    if chosen["scheme"] == "hierarchical":
        assert chosen["cell_size"] is None
    else:
        assert chosen["cell_size"] > 0
    lower, upper = brute_force.rounded_outward(*brute_force.boxes("infinite", 90, dimensions, 5))
    assert mine.step(np.hstack([lower, upper])).pairs.tobytes() == brute_force.pairs(lower, upper).tobytes()
    assert [mine.stats()[name] for name in ("scheme", "cell_size")] == [chosen["scheme"], chosen["cell_size"]]


def test_both_backends_give_the_same_bytes(gpu: str) -> None:
    random = np.random.default_rng(3)
    center = random.random((30_000, 3)) * 30
    half = 10.0 ** random.uniform(-2, 0, (30_000, 1))
    boxes = np.hstack([center - half, center + half])
    of_cpu, of_gpu = (broad_phase(name).step(boxes) for name in ("cpu", gpu))
    assert len(of_cpu) > 30_000
    assert of_cpu.pairs.tobytes() == of_gpu.pairs.tobytes()
    without_table = {"levels": 0, "cells": 0}
    assert of_cpu.counts == of_gpu.counts | without_table


def test_pairs_without_an_order_are_the_same_set(backend: str) -> None:
    lower, upper = brute_force.boxes("spread", 5000, 3, 8)
    boxes = np.hstack([lower, upper])
    ordered = broad_phase(backend).step(boxes).pairs
    free = broad_phase(backend, sort=False).step(boxes).pairs
    assert brute_force.ascending(free).tobytes() == ordered.tobytes()
    assert (free[:, 0] < free[:, 1]).all()


def test_the_last_world_there_is(backend: str) -> None:
    boxes = np.zeros((4, 6))
    result = broad_phase(backend).step(boxes, worlds=[0, (1 << 20) - 1, 0, (1 << 20) - 1])
    assert result.pairs.tolist() == [[0, 2], [1, 3]]
    assert result.world_pairs is not None
    assert result.world_pairs.shape == (1 << 20,)
    assert result.world_pairs[[0, 1, -1]].tolist() == [1, 0, 1]
    assert result.world_offsets is not None
    assert result.world_offsets.shape == ((1 << 20) + 1,)
    assert result.world_offsets[[0, 1, -2, -1]].tolist() == [0, 1, 1, 2]


def test_filters_may_be_one_number_for_all(backend: str) -> None:
    boxes = np.zeros((3, 6))
    mine = broad_phase(backend)
    assert len(mine.step(boxes, layers=1, masks=1)) == 3
    assert len(mine.step(boxes, layers=1, masks=2)) == 0
    assert len(mine.step(boxes, groups=7)) == 0
    assert len(mine.step(boxes, groups=0)) == 3
    assert len(mine.step(boxes, static=True)) == 0
    assert len(mine.step(boxes, static=False)) == 3
    assert len(mine.step(boxes, layers=0)) == 0


def test_a_step_without_pairs_only_gets_ready(backend: str) -> None:
    mine = broad_phase(backend)
    result = mine.step(np.zeros((3, 6)), pairs=False)
    assert (len(result), result.pairs.shape) == (0, (0, 2))
    assert mine.query(points=[[0, 0, 0]]).of(0).tolist() == [0, 1, 2]
    assert len(mine.step(np.zeros((3, 6)))) == 3


def test_steps_above_max_bytes_are_refused(gpu: str) -> None:
    random = np.random.default_rng(1)
    lower = random.random((3000, 3)).astype(np.float32)
    boxes = np.hstack([lower, lower + np.float32(0.5)])
    small = BroadPhase(backend=gpu, max_bytes=4 << 20)
    with pytest.raises(ValueError, match=r"the limit is 4194304: raise max_bytes$"):
        small.step(boxes)
    result = small.step(boxes[:500])
    assert result.pairs.tobytes() == broad_phase("cpu").step(boxes[:500]).pairs.tobytes()
    assert small.stats()["device_bytes"] <= 4 << 20


def test_why_says_what_the_pairs_say(backend: str) -> None:
    mine = broad_phase(backend)
    mine.step([[0, 0, 0, 1, 1, 1], [1, 1, 1, 2, 2, 2], [5, 0, 0, 6, 1, 1]], groups=[1, 2, 1])
    assert "are a pair" in mine.why(0, 1)
    assert "are not a pair" in mine.why(0, 2)
    assert mine.stats()["objects"] == 3
    for a, b in [(0, 3), (-1, 0), (3, 0)]:
        with pytest.raises(ValueError, match=r"object 3 does not exist: the scene has 3|a is -1"):
            mine.why(a, b)
    mine.rays([[0, 0, 0]], [[1, 0, 0]], mode="any")
    mine.rays([[0, 0, 0]], [[1, 0, 0]], mode="all")
    assert "are a pair" in mine.why(0, 1), "another mode of rays is no other step"
    mine.neighbors([[0, 0, 0]], 1.0)
    with pytest.raises(RuntimeError, match="there is nothing to ask"):
        mine.why(0, 0)
    for a in (0.5, None, "0"):
        with pytest.raises(TypeError, match="a: a whole number"):
            mine.why(a, 1)  # type: ignore[arg-type]
