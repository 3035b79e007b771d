"""Compares object sets with a dictionary as a model."""

from __future__ import annotations

import os
import signal
import warnings
from typing import Any

import brute_force
import numpy as np
import pytest
from conftest import GPU, broad_phase, missing_gpu
from gpu_broad_phase import BroadPhase, ObjectSet
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule


class Machine(RuleBasedStateMachine):
    """Applies each operation to a set and to its dictionary."""

    backend = "cpu"

    def __init__(self) -> None:
        super().__init__()
        # Expected objects by handle: lower corner, upper corner, layers, mask, group, static.
        self.model: dict[int, tuple[Any, Any, int, int, int, bool]] = {}
        self.gone: set[int] = set()
        self.pairs: set[tuple[int, int]] = set()

    @initialize(dimensions=st.sampled_from([2, 3]), sort=st.booleans())
    def begin(self, dimensions: Any, sort: bool) -> None:
        self.dimensions = dimensions
        self.mine = broad_phase(self.backend, dimensions=dimensions, sort=sort)
        self.sort = sort
        self.objects = ObjectSet(dimensions=dimensions)

    def boxes(self, rows: int, seed: int) -> tuple[Any, Any]:
        kind = ("lattice", "spread", "infinite")[seed % 3]
        lower, upper = brute_force.boxes(kind, rows, self.dimensions, seed)
        return brute_force.rounded_outward(lower, upper)

    def some(self, seed: int) -> list[int]:
        """Random handles of the model, in random order."""
        random = np.random.default_rng(seed)
        handles = np.array(sorted(self.model), np.uint64)
        count = random.integers(0, len(handles) + 1)
        return [int(handle) for handle in random.permutation(handles)[:count]]

    @rule(rows=st.integers(0, 20), seed=st.integers(0, 1 << 20), static=st.booleans(), has_filters=st.booleans())
    def insert(self, rows: int, seed: int, static: bool, has_filters: bool) -> None:
        lower, upper = self.boxes(rows, seed)
        random = np.random.default_rng(seed)
        layers, masks, groups = np.full(rows, 0xFFFF), np.full(rows, 0xFFFF), np.zeros(rows, int)
        filters: dict[str, Any] = {}
        if has_filters:
            layers, masks, groups = (random.integers(0, 8, rows) for _ in range(3))
            filters = {"layers": layers, "masks": masks, "groups": groups}
        handles = self.objects.insert(np.hstack([lower, upper]), static=static, **filters)
        assert (handles.dtype, handles.shape) == (np.uint64, (rows,))
        for row, handle in enumerate(handles.tolist()):
            assert handle not in self.model
            assert handle not in self.gone
            of_row = (int(layers[row]), int(masks[row]), int(groups[row]))
            self.model[handle] = (lower[row], upper[row], *of_row, static)

    @rule(seed=st.integers(0, 1 << 20))
    def move(self, seed: int) -> None:
        handles = self.some(seed)
        lower, upper = self.boxes(len(handles), seed)
        self.objects.move(handles, np.hstack([lower, upper]))
        for row, handle in enumerate(handles):
            self.model[handle] = (lower[row], upper[row], *self.model[handle][2:])

    @rule(seed=st.integers(0, 1 << 20))
    def remove(self, seed: int) -> None:
        handles = self.some(seed)
        self.objects.remove(handles)
        for handle in handles:
            del self.model[handle]
            self.gone.add(handle)

    @precondition(lambda self: self.model)
    @rule(seed=st.integers(0, 1 << 20), fault=st.sampled_from(["stale", "twice", "nan", "order", "unknown", "shape"]))
    def refuse(self, seed: int, fault: str) -> None:
        handles = self.some(seed) or [min(self.model)]
        lower, upper = self.boxes(len(handles), seed)
        error: type[Exception] = ValueError
        is_box = fault in ("nan", "order", "shape")
        if fault == "twice":
            handles = [*handles, handles[0]]
        elif fault == "stale":
            if not self.gone:
                return
            error, handles = KeyError, [*handles, min(self.gone)]
        elif fault == "unknown":
            error, handles = KeyError, [*handles, (1 << 64) - 1]
        elif fault == "nan":
            upper[-1, 0] = np.nan
        elif fault == "order":
            lower[-1], upper[-1] = 1, 0
        boxes = np.hstack([lower, upper])
        if not is_box:
            boxes = np.vstack([boxes, boxes[:1]])
        elif fault == "shape":
            boxes = boxes[:, 1:]
        with pytest.raises(error):
            self.objects.move(handles, boxes)
        if is_box:
            with pytest.raises(error):
                self.objects.insert(boxes)
        else:
            with pytest.raises(error):
                self.objects.remove(handles)

    @rule(excludes=st.booleans(), asks=st.booleans())
    def step(self, excludes: bool, asks: bool) -> None:
        handles = self.objects.handles()
        excluded = None
        rows = self.objects.objects_of(handles)
        if excludes and len(handles) > 1:
            excluded = np.stack([rows[:-1], rows[1:]], axis=1)
        result = self.mine.step(self.objects, excluded=excluded)
        assert result.counts["objects"] >= len(self.model)
        assert (result.pairs[:, 0] < result.pairs[:, 1]).all()
        if self.sort:
            assert np.array_equal(brute_force.ascending(result.pairs), result.pairs)
        named = self.objects.handles_of(result.pairs)
        assert np.array_equal(self.objects.objects_of(named), result.pairs)
        pairs = {tuple(pair) for pair in named.tolist()}
        assert len(pairs) == len(result.pairs)
        assert as_sets(pairs) == as_sets(self.expected(excludes))
        began, ended = result.began, result.ended
        assert began is not None
        assert ended is not None
        assert (began.dtype, ended.dtype, began.shape[1], ended.shape[1]) == (np.uint64, np.uint64, 2, 2)
        assert as_sets(began.tolist()) == as_sets(pairs) - as_sets(self.pairs)
        assert as_sets(ended.tolist()) == as_sets(self.pairs) - as_sets(pairs)
        assert np.array_equal(brute_force.ascending(began), began)
        assert np.array_equal(brute_force.ascending(ended), ended)
        self.pairs = pairs
        if asks:
            self.ask(handles, rows)

    def ask(self, handles: Any, rows: Any) -> None:
        """Compares a point query with the model."""
        found = self.mine.query(points=np.zeros((1, self.dimensions))).of(0)
        holds = [
            handle
            for handle, (lower, upper, layers, mask, *_) in self.model.items()
            if (lower <= 0).all() and (upper >= 0).all() and layers and mask
        ]
        assert sorted(self.objects.handles_of(found).tolist()) == sorted(holds)
        assert set(found.tolist()) <= set(rows.tolist())

    def expected(self, excludes: bool) -> list[tuple[int, int]]:
        """Pairs of handles by brute force."""
        handles = self.objects.handles().tolist()
        if len(handles) < 2:
            return []
        lower, upper, layers, masks, groups, static = zip(*(self.model[handle] for handle in handles), strict=True)
        places = np.arange(len(handles))
        excluded = np.stack([places[:-1], places[1:]], axis=1) if excludes else None
        filters = {"layers": layers, "masks": masks, "groups": groups, "static": static}
        pairs = brute_force.pairs(np.array(lower), np.array(upper), excluded=excluded, **filters)
        return [(handles[a], handles[b]) for a, b in pairs.tolist()]

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "objects"):
            return
        handles = self.objects.handles()
        assert len(self.objects) == len(handles) == len(self.model)
        assert set(handles.tolist()) == set(self.model)
        rows = self.objects.objects_of(handles)
        assert (np.diff(rows.astype(np.int64)) > 0).all(), "in the order of rows"
        expected = [np.concatenate(self.model[handle][:2]) for handle in handles.tolist()]
        assert np.array_equal(self.objects.boxes(), np.array(expected).reshape(-1, 2 * self.dimensions))
        asked = np.array([*handles.tolist(), *self.gone], np.uint64)
        assert self.objects.contains(asked).tolist() == [True] * len(handles) + [False] * len(self.gone)


def as_sets(pairs: Any) -> set[frozenset[int]]:
    """Pairs without an order, because rows may change theirs."""
    return {frozenset(pair) for pair in pairs}


class MachineOnGpu(Machine):
    backend = GPU


TestOnCpu = Machine.TestCase
TestOnCpu.settings = settings(max_examples=40, stateful_step_count=25)
TestOnGpu = pytest.mark.usefixtures("gpu")(MachineOnGpu.TestCase)
TestOnGpu.settings = settings(max_examples=25 if missing_gpu() is None else 1, stateful_step_count=25)


def test_a_set_without_events_tells_none(backend: str) -> None:
    objects = ObjectSet(events=False)
    objects.insert(np.zeros((3, 6)))
    result = broad_phase(backend).step(objects)
    assert (len(result), result.began, result.ended) == (3, None, None)


def test_a_step_without_pairs_keeps_the_events_for_the_next(backend: str) -> None:
    objects = ObjectSet()
    objects.insert(np.zeros((2, 6)))
    mine = broad_phase(backend)
    result = mine.step(objects, pairs=False)
    assert (len(result), result.began, result.ended) == (0, None, None)
    began = mine.step(objects).began
    assert began is not None
    assert len(began) == 1


def test_a_set_may_go_from_one_broad_phase_to_another(backend: str) -> None:
    objects, others = ObjectSet(), ObjectSet()
    a, b = objects.insert([[0, 0, 0, 1, 1, 1], [0.5, 0, 0, 2, 1, 1]])
    others.insert(np.zeros((3, 6)))
    one, another = broad_phase(backend), BroadPhase(backend="cpu")
    began = one.step(objects).began
    assert began is not None
    assert began.tolist() == [[a, b]]
    assert len(one.step(others)) == 3
    assert len(one.step(np.zeros((4, 6)))) == 6
    for mine in (another, one, another):
        result = mine.step(objects)
        assert len(result) == 1
        assert result.began is not None
        assert result.ended is not None
        assert len(result.began) == len(result.ended) == 0
    objects.move([a], [[5, 5, 5, 6, 6, 6]])
    ended = one.step(objects).ended
    assert ended is not None
    assert ended.tolist() == [[a, b]]


def test_steps_of_a_set_refuse_what_the_set_has(backend: str) -> None:
    objects = ObjectSet()
    objects.insert(np.zeros((2, 6)))
    mine = broad_phase(backend)
    for name in ("layers", "masks", "groups", "static", "worlds"):
        given: dict[str, Any] = {name: [0, 0]}
        with pytest.raises(ValueError, match=f"{name}: an ObjectSet takes them"):
            mine.step(objects, **given)
    with pytest.raises(ValueError, match="the set is in 2D, and this in 3D"):
        mine.step(ObjectSet(dimensions=2))
    with pytest.raises(ValueError, match="dimensions is 4"):
        ObjectSet(dimensions=4)  # type: ignore[arg-type]


def test_handles_of_other_shapes_and_types() -> None:
    objects = ObjectSet()
    handles = objects.insert(np.zeros((4, 6)))
    assert objects.objects_of(handles.reshape(2, 2)).tolist() == [[0, 1], [2, 3]]
    assert objects.handles_of([[0, 1], [2, 3]]).tolist() == handles.reshape(2, 2).tolist()
    assert objects.contains(handles.tolist()).all()
    assert objects.contains(handles.astype(np.int64)[::-1]).all()
    assert not objects.contains([-1]).any()
    # numpy alone would convert this list to floats.
    mixed = [handles[0], int(handles[1]), np.int64(handles[2])]
    assert objects.contains(mixed).all()
    assert objects.objects_of([mixed]).tolist() == [[0, 1, 2]]
    objects.remove([])
    objects.move([], np.empty((0, 6)))
    objects.move(handles[0], [[1, 1, 1, 2, 2, 2]])
    objects.remove(handles[0])
    assert len(objects) == 3
    with pytest.raises(TypeError, match="handles: whole numbers"):
        objects.remove([0.5])
    with pytest.raises(ValueError, match="handles has the shape"):
        objects.remove(handles.reshape(2, 2))
    with pytest.raises(KeyError, match=str(handles[0])):
        objects.objects_of(handles)
    with pytest.raises(KeyError, match="no object 4"):
        objects.handles_of([4])
    with pytest.raises(ValueError, match="boxes has 1 rows, and there are 2 handles"):
        objects.move(handles[1:3], np.zeros((1, 6)))
    assert repr(objects) == "<ObjectSet of 3 objects in 3D>"


def test_an_insertion_of_static_objects_moves_the_rows_of_others(backend: str) -> None:
    objects = ObjectSet()
    balls = objects.insert(np.zeros((2, 6)))
    before = objects.objects_of(balls)
    walls = objects.insert(np.zeros((5, 6)), static=True)
    assert (objects.objects_of(balls) > before).all()
    result = broad_phase(backend).step(objects)
    # Each ball pairs with each wall and the other ball. Walls do not pair.
    assert len(result) == 11
    named = objects.handles_of(result.pairs)
    assert not np.isin(named, walls).all(axis=1).any()
    assert result.began is not None
    assert as_sets(named.tolist()) == as_sets(result.began.tolist())


def test_a_set_goes_from_one_device_to_another() -> None:
    """Buffers of two instances may compare equal, even if one device was dropped."""
    first, second = broad_phase("gpu"), BroadPhase(backend="gpu")
    objects = ObjectSet()
    objects.insert([[0, 0, 0, 1, 1, 1]], static=True)
    handles = objects.insert([[0, 0, 0, 1, 1, 1], [5, 5, 5, 6, 6, 6]])
    for turn in range(3):
        for mine in (first, second):
            objects.move(handles[1:], [[turn % 2, 0, 0, 3, 1, 1]])
            assert mine.step(objects).pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    del second
    objects.insert(np.tile([0, 0, 0, 1, 1, 1], (500, 1)))
    assert len(first.step(objects)) == 503 * 502 // 2
    assert len(BroadPhase(backend="gpu").step(objects)) == 503 * 502 // 2


def test_static_is_one_bool_for_all() -> None:
    objects = ObjectSet()
    for static in ([False, False], np.zeros(2, bool), "no", 0):
        with pytest.raises(TypeError, match="static: one bool is needed"):
            objects.insert(np.zeros((2, 6)), static=static)  # type: ignore[arg-type]
    assert len(objects) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_takes_boxes_into_a_set() -> None:
    """A forked child lacks the threads that read boxes in its parent."""
    objects = ObjectSet()
    handles = objects.insert(np.zeros((100_000, 6)))
    with warnings.catch_warnings():
        # Python warns about forks with threads, which is tested here.
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        signal.alarm(20)
        objects.move(handles, np.ones((100_000, 6)))
        os._exit(0 if len(ObjectSet().insert(np.zeros((100_000, 6)))) == 100_000 else 1)
    assert os.waitpid(child, 0)[1] == 0
