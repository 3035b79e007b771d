"""Progress bars, if tqdm is installed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Call = Callable[[int, int], None]


class _Bar:
    """Bar that appears at the first progress call, which short work never makes."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._bar: Any = None

    def __call__(self, done: int, total: int) -> None:
        if self._bar is None:
            with warnings.catch_warnings():
                # In notebooks without widgets, tqdm warns and draws text.
                warnings.simplefilter("ignore")
                from tqdm.auto import tqdm

                self._bar = tqdm(desc=self._name, unit=" rows", leave=False)
        # Each pass restarts the bar. GPUs report progress only for calls in several parts; otherwise only the time
        # advances.
        self._bar.total = total or None
        self._bar.n = done
        self._bar.refresh()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


@contextmanager
def bar(name: str, wanted: bool) -> Iterator[Call | None]:
    """Yields a function of (rows done, rows in total), or None if no bar is wanted or tqdm is missing."""
    if wanted:
        try:
            import tqdm  # noqa: F401
        except ImportError:
            wanted = False
    if not wanted:
        yield None
        return
    shown = _Bar(name)
    try:
        yield shown
    finally:
        shown.close()
