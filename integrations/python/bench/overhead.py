"""Splits the time of `BroadPhase.step` into Python, the native call, and the crate.

The crate alone is measured elsewhere, with the boxes that --save writes: n rows of six float32, little-endian.

python bench/overhead.py --count 1000000 --crate cpu/sorted/float32=0.315
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import compare
import numpy as np
import scenes
from gpu_broad_phase import BroadPhase, NoAdapterError, _native


@contextmanager
def clocked() -> Iterator[list[float]]:
    """Yields a list that receives the seconds of each native step."""
    times: list[float] = []
    plain = _native.step

    def step(*given: Any, **named: Any) -> Any:
        began = time.perf_counter()
        found = plain(*given, **named)
        times.append(time.perf_counter() - began)
        return found

    _native.step = step
    try:
        yield times
    finally:
        _native.step = plain


def crate_seconds(given: list[str], backend: str, sort: bool, boxes: str) -> float | None:
    """Returns the seconds of the Rust crate alone for the same boxes, if --crate has them.

    Measure from boxes in memory to a vector of pairs in memory: by `BroadPhase::step` on the GPU and on the CPU, with
    the same boxes, in the same order of pairs, after a warm-up.
    """
    wanted = f"{backend}/{'sorted' if sort else 'unsorted'}/{boxes}"
    return {name: float(value) for name, _, value in (one.partition("=") for one in given)}.get(wanted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--calls", type=int, default=5)
    parser.add_argument("--backend", nargs="+", default=["cpu", "gpu"])
    parser.add_argument("--save", type=Path, help="write the boxes here, for the crate alone")
    parser.add_argument(
        "--crate", nargs="*", default=[], help="seconds of the crate alone, as BACKEND/(sorted|unsorted)/BOXES=SECONDS"
    )
    given = parser.parse_args()
    single = scenes.uniform_boxes(given.count)
    if given.save is not None:
        single.astype("<f4").tofile(given.save)
    kinds: dict[str, Any] = {
        "float32": single,
        "float32 by columns": np.asfortranarray(single),
        "float64": single.astype(np.float64),
    }
    print(f"{given.count:,} boxes, {compare.processor()}. Medians of {given.calls} calls after a warm-up.\n")
    print("| | pairs | step | native call | Python adds | answer within the native call | crate alone |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for backend in given.backend:
        for sort in (True, False):
            try:
                broad_phase = BroadPhase(backend=backend, sort=sort)
            except NoAdapterError:
                print(f"| {backend}: there is none | – | – | – | – | – | – |")
                break
            for name, boxes in kinds.items():
                pairs = len(broad_phase.step(boxes))
                whole, answers = [], []
                with clocked() as native:
                    for _ in range(given.calls):
                        began = time.perf_counter()
                        result = broad_phase.step(boxes)
                        whole.append(time.perf_counter() - began)
                        answers.append(float(broad_phase.stats()["seconds"]))
                        # Frees results outside the measured time, as between frames.
                        del result
                added = statistics.median(all_of - part for all_of, part in zip(whole, native, strict=True))
                crate = crate_seconds(given.crate, backend, sort, name)
                cells = [
                    f"{backend}, {'sorted' if sort else 'unsorted'}, {name}",
                    f"{pairs:,}",
                    compare.shown(statistics.median(whole)),
                    compare.shown(statistics.median(native)),
                    compare.shown(added),
                    compare.shown(statistics.median(answers)),
                    "–" if crate is None else compare.shown(crate),
                ]
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
