"""Progress bars: with tqdm, with a replacement, and without."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable
from typing import Any

import brute_force
import numpy as np
import pytest
from conftest import peer
from gpu_broad_phase import BroadPhase, collision_candidates
from gpu_broad_phase._progress import bar

# Boxes of one group never pair: much work, no result.
LONG = np.zeros((15_000, 6), np.float32)


class FakeBar:
    made: list[FakeBar] = []

    def __init__(self, **options: Any) -> None:
        self.options, self.n, self.total = options, 0, None
        self.shown: list[tuple[int, int | None]] = []
        self.is_closed = False
        FakeBar.made.append(self)

    def refresh(self) -> None:
        self.shown.append((self.n, self.total))

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[FakeBar]:
    """Bars of a replacement of tqdm that draws nothing."""
    for name in ("tqdm", "tqdm.auto"):
        module = types.ModuleType(name)
        module.tqdm = FakeBar  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, module)
    FakeBar.made = []
    return FakeBar.made


def step_until(mine: BroadPhase, is_enough: Callable[[], bool]) -> None:
    """Runs longer and longer steps, because their time depends on the machine."""
    rows = 4000
    while not is_enough():
        assert rows < 1 << 20, "no step has shown a bar"
        FakeBar.made.clear()
        mine.step(np.zeros((rows, 6), np.float32), groups=1)
        rows *= 2


def test_a_long_call_shows_a_bar(bars: list[FakeBar]) -> None:
    mine = BroadPhase(backend="cpu", progress=True)
    step_until(mine, lambda: any(done > 0 for bar in bars for done, _ in bar.shown))
    assert len(bars) == 1
    bar = bars[0]
    assert bar.options["desc"] == "pairs"
    assert bar.is_closed
    for done, total in bar.shown:
        assert done >= 0
        assert total is None or done <= total


def test_a_long_call_on_a_gpu_shows_a_bar(gpu: str, bars: list[FakeBar]) -> None:
    step_until(BroadPhase(backend=gpu, progress=True), lambda: bool(bars))
    assert [bar.is_closed for bar in bars] == [True]


def test_a_bar_appears_with_the_first_look_alone(bars: list[FakeBar]) -> None:
    with bar("pairs", True) as look:
        assert bars == []
        assert look is not None
        look(1, 3)
        look(2, 3)
    assert [(made.options["desc"], made.shown, made.is_closed) for made in bars] == [("pairs", [(1, 3), (2, 3)], True)]


def test_each_call_takes_a_bar() -> None:
    mine = BroadPhase(backend="cpu", progress=True)
    points = np.zeros((3, 3))
    mine.step(np.zeros((3, 6)))
    mine.rays(points, points)
    mine.query(points=points)
    mine.neighbors(points, 1.0)
    collision_candidates(points, None, None, [[0, 1, 2]], broad_phase=mine)


def test_none_is_shown_unasked(bars: list[FakeBar]) -> None:
    BroadPhase(backend="cpu").step(LONG, groups=1)
    assert bars == []


def test_answers_are_the_same_with_bars() -> None:
    lower, upper = brute_force.rounded_outward(*brute_force.boxes("spread", 300, 3, 1))
    found = BroadPhase(backend="cpu", progress=True).step(np.hstack([lower, upper])).pairs
    assert found.tobytes() == brute_force.pairs(lower, upper).tobytes()


def test_a_call_that_fails_closes_its_bar(bars: list[FakeBar], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: FakeBar) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(FakeBar, "refresh", fails)
    mine = BroadPhase(backend="cpu", progress=True)
    with pytest.raises(ZeroDivisionError):
        step_until(mine, lambda: False)
    assert [bar.is_closed for bar in bars] == [True]
    monkeypatch.undo()
    assert len(mine.step(np.zeros((3, 6)))) == 3


def test_tqdm_draws_it(capsys: pytest.CaptureFixture[str]) -> None:
    peer("tqdm")
    mine = BroadPhase(backend="cpu", progress=True)
    step_until(mine, lambda: "pairs" in capsys.readouterr().err)


def test_nothing_breaks_without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "tqdm"]:
        monkeypatch.delitem(sys.modules, name)
    # `None` makes the import fail.
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError):
        importlib.import_module("tqdm")
    mine = BroadPhase(backend="cpu", progress=True)
    assert len(mine.step(LONG, groups=1)) == 0
    assert len(mine.step(np.zeros((3, 6)))) == 3
