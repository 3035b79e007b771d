"""Processes, threads, signals and memory."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import brute_force
import numpy as np
import pytest
from conftest import broad_phase
from gpu_broad_phase import BroadPhase, ObjectSet, collision_candidates, heatmap

HAS_FORK = hasattr(os, "fork")
needs_fork = pytest.mark.skipif(not HAS_FORK, reason="this system has no fork")

LOWER, UPPER = brute_force.boxes("spread", 500, 3, 1)
BOXES = np.hstack([LOWER, UPPER])

# Timeout in seconds, long enough for a busy machine.
GUARD = 600.0

BEGINNING = """
import os, sys, time
import numpy as np
import gpu_broad_phase as gbp
"""


def script(text: str, *values: object, env: dict[str, str] | None = None, options: tuple[str, ...] = ()) -> str:
    """Runs a program in its own process. Returns its output."""
    run = subprocess.run(
        [sys.executable, "-X", "faulthandler", *options, "-c", BEGINNING + textwrap.dedent(text), *map(str, values)],
        capture_output=True,
        text=True,
        timeout=GUARD,
        env=os.environ | (env or {}),
        check=False,
    )
    assert run.returncode == 0, f"status {run.returncode}\n{run.stdout}\n{run.stderr}"
    return run.stdout


def same(one: Any, other: Any) -> bool:
    """Returns True if results have the same types and bytes."""
    if isinstance(one, np.ndarray):
        return bool(one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes())
    if isinstance(one, tuple):
        return type(one) is type(other) and all(map(same, one, other))
    if hasattr(one, "__dataclass_fields__"):
        fields = one.__dataclass_fields__
        return type(one) is type(other) and all(same(getattr(one, name), getattr(other, name)) for name in fields)
    return bool(one == other)


def test_results_can_be_pickled() -> None:
    mine = BroadPhase(backend="cpu")
    objects = ObjectSet()
    objects.insert(BOXES)
    results: list[Any] = [mine.neighbors(LOWER, 0.5, cell=9.0, vectors=True), mine.neighbors(LOWER, 0.5)]
    results += [
        mine.step(objects),
        mine.step(BOXES, worlds=np.arange(500) % 3),
        mine.rays(LOWER, LOWER),
        mine.rays(LOWER, LOWER, mode="all"),
        mine.query(points=LOWER),
        mine.query(points=LOWER, k=3),
        heatmap(BOXES, cells=7),
        collision_candidates(LOWER, UPPER, [[0, 1], [2, 3]], None, edges_edges=True, broad_phase=mine),
    ]
    for result in results:
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            assert same(pickle.loads(pickle.dumps(result, protocol)), result)
        assert same(copy.deepcopy(result), result)


@pytest.mark.parametrize("made", [lambda: BroadPhase(backend="cpu"), ObjectSet])
def test_what_lives_cannot_be_pickled(made: Any) -> None:
    thing = made()
    name = type(thing).__name__
    for use in (pickle.dumps, copy.copy, copy.deepcopy, lambda given: pickle.dumps(given, 2)):
        with pytest.raises(TypeError, match=f"{name} cannot be pickled"):
            use(thing)


def test_threads_share_one_and_have_one_each(backend: str) -> None:
    scenes = [brute_force.boxes("spread", 200 + 20 * index, 3, index) for index in range(8)]
    expected = [brute_force.pairs(*brute_force.rounded_outward(*scene)).tobytes() for scene in scenes]
    shared = broad_phase(backend)
    # Devices are slow to create, so half of the threads share one.
    own = [shared if index % 2 else BroadPhase(backend=backend) for index in range(8)]

    def work(index: int) -> None:
        for turn in range(4):
            mine = (shared, own[index])[turn % 2]
            boxes = np.hstack(scenes[index])
            assert mine.step(boxes).pairs.tobytes() == expected[index]
            found = collision_candidates(boxes[:, :3], None, None, [[0, 1, 2]], broad_phase=mine, faces_faces=True)
            assert len(found.faces_faces) == 0

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, index) for index in range(8)]:
            done.result(timeout=GUARD)


def test_threads_share_a_set() -> None:
    objects = ObjectSet()

    def work(index: int) -> None:
        for _ in range(10):
            handles = objects.insert(BOXES[:20] + 100 * index)
            objects.move(handles, BOXES[20:40] + 100 * index)
            assert objects.contains(handles).all()
            objects.remove(handles)

    mine = BroadPhase(backend="cpu")
    with ThreadPoolExecutor(8) as pool:
        running = [pool.submit(work, index) for index in range(8)]
        while not all(done.done() for done in running):
            mine.step(objects)
            time.sleep(0.005)
        for done in running:
            done.result()
    assert len(objects) == len(mine.step(objects)) == 0


def test_a_busy_thread_leaves_others_their_turn() -> None:
    mine, objects = BroadPhase(backend="cpu"), ObjectSet()
    objects.insert(BOXES)
    over, end = False, time.perf_counter() + GUARD

    def work() -> None:
        while not over and time.perf_counter() < end:
            mine.step(objects)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(20):
            len(objects)
            mine.rays(LOWER[:1], LOWER[:1])
        assert thread.is_alive(), "others had to wait until the thread was done"
    finally:
        over = True
        thread.join()


def test_other_threads_of_python_run_meanwhile(backend: str) -> None:
    mine = broad_phase(backend)
    boxes = np.zeros((20_000 if backend == "cpu" else 6_000, 6))
    # Boxes of one group never pair: much work, no result.
    mine.step(boxes[:100], groups=1)
    counted, over = 0, False

    def count() -> None:
        nonlocal counted
        while not over:
            time.sleep(0.001)
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    began, most = time.perf_counter(), 0
    # Other work may keep both cores busy.
    while most < 10 and time.perf_counter() - began < GUARD:
        before = counted
        mine.step(boxes, groups=1)
        most = max(most, counted - before)
    over = True
    thread.join()
    assert most >= 10, "the thread stood still during steps"


LONG = """
from contextlib import contextmanager
backend = sys.argv[1]
mine = gbp.BroadPhase(backend=backend)
boxes = np.zeros((200_000, 6), np.float32)

@contextmanager
def bar(*_):
    yield lambda done, total: print("running", flush=True)

module = sys.modules["gpu_broad_phase.broad_phase"]
original, module.bar = module.bar, bar
try:
    mine.step(boxes, groups=1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
module.bar = original
# A call that went on to its end leaves boxes for rays.
try:
    mine.rays(boxes[:1, :3], boxes[:1, :3])
except RuntimeError:
    print("ended", flush=True)
print(len(mine.step(boxes[:3])), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
def test_ctrl_c_ends_a_long_step() -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", BEGINNING + LONG, "cpu"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "running\n"
        program.send_signal(signal.SIGINT)
        said = [line for line in program.stdout if line != "running\n"]
        assert said == ["interrupted\n", "ended\n", "3\n"]
        assert program.wait(timeout=GUARD) == 0
    finally:
        program.kill()
        program.communicate()


def crowd(rows: int) -> Any:
    """Boxes that all overlap. Filters reject most pairs, so a call does much work for a small result."""
    return np.zeros((rows, 6), np.float32)


CALLS: dict[str, Callable[[BroadPhase, int], object]] = {
    "step": lambda mine, rows: mine.step(crowd(rows), groups=1),
    "rays": lambda mine, rows: mine.rays(np.zeros((rows, 3)), [0, 0, 1], mode="all", layers=1, masks=1),
    "query": lambda mine, rows: mine.query(boxes=crowd(rows), layers=1, masks=1),
    "neighbors": lambda mine, rows: mine.neighbors(np.random.default_rng(1).random((max(rows // 6, 5000), 3)), 10.0),
    "candidates": lambda mine, rows: collision_candidates(
        np.zeros((rows, 3)), None, None, None, vertices_vertices=True, groups=np.ones(rows, int), broad_phase=mine
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_ends_a_call_between_two_parts(backend: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = broad_phase(backend)
    # Boxes that rays and queries miss because of their layers.
    mine.step(crowd(6_000), layers=2, masks=2, pairs=False)
    mine.rays([[0, 0, 0]], [[0, 0, 1]], mode="all")
    looks = 0

    @contextmanager
    def interrupting(*_: object) -> Iterator[Any]:
        def look(_done: int, _total: int) -> None:
            nonlocal looks
            looks += 1
            if looks == 1:
                signal.raise_signal(signal.SIGINT)

        yield look

    for module in ("broad_phase", "candidates"):
        monkeypatch.setattr(sys.modules[f"gpu_broad_phase.{module}"], "bar", interrupting)
    last = mine.stats()["seconds"]
    with pytest.raises(KeyboardInterrupt):
        # Work on a software GPU cannot be cancelled.
        CALLS[name](mine, 60_000 if backend == "cpu" else 12_000)
    monkeypatch.undo()
    assert looks == 1
    # A completed call would have updated its time.
    assert mine.stats()["seconds"] == last
    assert mine.step(BOXES).pairs.tobytes() == broad_phase("cpu").step(BOXES).pairs.tobytes()


def test_what_a_handler_raises_ends_a_call() -> None:
    if not hasattr(signal, "setitimer"):
        pytest.skip("this system has no timers")
    mine = BroadPhase(backend="cpu")

    class Late(Exception):
        pass

    def raises(*_: object) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, raises)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(Late):
            mine.step(np.zeros((200_000, 6), np.float32), groups=1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(mine.step(np.zeros((3, 6)))) == 3


FORKS = """
import warnings
# It warns of threads: whether what follows works all the same is asked here.
warnings.simplefilter("ignore", DeprecationWarning)
backend, way = sys.argv[1:]
boxes = np.zeros((3, 6))
mine = gbp.BroadPhase(backend=backend)
on_cpu = gbp.BroadPhase(backend="cpu")
objects = gbp.ObjectSet()
objects.insert(boxes)
assert len(mine.step(boxes)) == len(on_cpu.step(objects)) == 3

def raises(error, call):
    try:
        call()
    except error:
        return True
    return False

def child(_=None):
    assert on_cpu.rays([[0, 0, 0]], [[1, 0, 0]]).objects.tolist() == [0]
    assert len(on_cpu.step(objects)) == 3
    assert len(on_cpu.step(np.zeros((2000, 6)))) == 1999000
    assert len(on_cpu.neighbors(boxes[:, :3], 1.0).objects) == 6
    # The table that rays query when this runs again.
    assert len(on_cpu.step(objects)) == 3
    if backend != "cpu":
        assert raises(gbp.DeviceError, lambda: mine.step(boxes))
        assert raises(gbp.DeviceError, lambda: mine.rays([[0, 0, 0]], [[1, 0, 0]]))
        assert raises(gbp.NoAdapterError, lambda: gbp.BroadPhase(backend=backend))
        assert raises(gbp.NoAdapterError, gbp.adapters)
    automatic = gbp.BroadPhase()
    assert automatic.adapter is None
    assert len(automatic.step(boxes)) == 3
    return 7

def chained(depth):
    if depth == 0:
        return child()
    pid = os.fork()
    if pid == 0:
        os._exit(chained(depth - 1))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

if way == "os":
    pid = os.fork()
    if pid == 0:
        try:
            code = child()
        except BaseException as error:
            print("child", repr(error), file=sys.stderr, flush=True)
            code = 1
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
elif way == "exit":
    # The child ends as programs do: what was made before is dropped in it.
    pid = os.fork()
    if pid == 0:
        assert child() == 7
        sys.exit(7)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code == 7, code
elif way == "chain":
    assert chained(3) == 7
else:
    import multiprocessing
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(child, range(4)) == [7] * 4
# The parent goes on as before.
assert len(mine.step(boxes)) == len(on_cpu.step(objects)) == 3
print("done")
"""


@needs_fork
@pytest.mark.parametrize("way", ["os", "exit", "chain", "pool"])
def test_forks(backend: str, way: str) -> None:
    assert script(FORKS, backend, way) == "done\n"


@needs_fork
def test_a_fork_while_another_thread_is_at_work() -> None:
    # The child process must not wait for threads of its parent.
    text = """
        import threading, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        busy, idle = gbp.BroadPhase(backend="cpu"), gbp.BroadPhase(backend="cpu")
        boxes = np.zeros((30_000, 6), np.float32)
        from contextlib import contextmanager
        running, forked = threading.Event(), threading.Event()
        @contextmanager
        def bar(*_):
            # The call goes on once the fork is there.
            yield lambda done, total: (running.set(), forked.wait())
        module = sys.modules["gpu_broad_phase.broad_phase"]
        original, module.bar = module.bar, bar
        thread = threading.Thread(target=lambda: busy.step(boxes, groups=1))
        thread.start()
        running.wait()
        module.bar = original
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                busy.step(boxes[:3])
            except RuntimeError as error:
                code = 2 + len(idle.step(boxes[:3])) if "forked" in str(error) else 1
            os._exit(code)
        forked.set()
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
        thread.join()
        print(len(busy.step(boxes[:3])))
    """
    assert script(text) == "3\n"


SPAWNED = """
import numpy as np
import gpu_broad_phase as gbp
def work(backend):
    return gbp.BroadPhase(backend=backend).step(np.zeros((3, 6)))
if __name__ == "__main__":
    import multiprocessing, sys
    gbp.BroadPhase(backend=sys.argv[1]).step(np.zeros((3, 6)))
    with multiprocessing.get_context(sys.argv[2]).Pool(2) as pool:
        print([len(result) for result in pool.map(work, [sys.argv[1]] * 3)])
"""


@pytest.mark.parametrize("way", ["spawn", "forkserver"])
def test_processes_that_are_no_forks(backend: str, way: str, tmp_path: Path) -> None:
    if way == "forkserver" and not HAS_FORK:
        pytest.skip("this system has no fork")
    path = tmp_path / "spawned.py"
    path.write_text(SPAWNED)
    run = subprocess.run(
        [sys.executable, str(path), backend, way], capture_output=True, text=True, timeout=GUARD, check=False
    )
    assert (run.returncode, run.stdout) == (0, "[3, 3, 3]\n"), run.stderr


@pytest.mark.parametrize("way", ["alive", "in a cycle", "in a thread", "in a call"])
def test_processes_end_in_peace(backend: str, way: str) -> None:
    text = """
        import threading
        backend, way = sys.argv[1:]
        mine = gbp.BroadPhase(backend=backend)
        objects = gbp.ObjectSet()
        objects.insert(np.zeros((3, 6)))
        assert len(mine.step(objects)) == 3
        if way == "in a cycle":
            class Cycle: pass
            cycle = Cycle()
            cycle.held, cycle.cycle = mine, cycle
            del mine, cycle
        elif way == "in a thread":
            thread = threading.Thread(target=lambda mine=mine: mine.step(objects))
            thread.start()
            del mine
        elif way == "in a call":
            boxes = np.zeros((100_000 if backend == "cpu" else 8_000, 6), np.float32)
            threading.Thread(target=lambda: mine.step(boxes, groups=1), daemon=True).start()
            time.sleep(0.1)
        print("end")
    """
    assert script(text, backend, way, options=("-X", "dev", "-W", "error")) == "end\n"


MEMORY = """
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

backend, turns = sys.argv[1], int(sys.argv[2])
random = np.random.default_rng(1)
lower = random.random((200, 3)) * 6
boxes, ways = np.hstack([lower, lower + 0.5]), random.normal(size=(50, 3))
edges = np.stack([np.arange(199), np.arange(1, 200)], axis=1)
mine, near, mesh = (gbp.BroadPhase(backend=backend) for _ in range(3))
objects = gbp.ObjectSet()

def turn(index):
    count = 100 + index % 100
    mine.step(boxes[:count], layers=1)
    mine.rays(lower[:50], ways)
    mine.query(points=lower[:count], radius=1.0)
    mine.query(points=lower[:50], k=3)
    near.neighbors(lower[:count], 0.7, cell=6.0)
    if index % 5 == 0:
        handles = objects.insert(boxes[:20])
        mine.step(objects)
        objects.move(handles, boxes[20:40])
        mine.step(objects)
        objects.remove(handles)
        gbp.collision_candidates(lower, None, edges, None, broad_phase=mesh)
    if index % 10 == 0:
        for call in (lambda: mine.step(boxes, layers=[1]), lambda: mine.step(boxes * np.nan)):
            try:
                call()
            except ValueError:
                pass

for index in range(turns // 5):
    turn(index)
before = resident()
for index in range(turns):
    turn(index)
print((resident() - before) / 2**20)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the size of a process is read from /proc")
def test_memory_does_not_grow(backend: str) -> None:
    # A leak of 24 bytes per iteration on the CPU would exceed this.
    grown = float(script(MEMORY, backend, 10_000 if backend == "cpu" else 1000))
    assert grown < 4.0


def test_without_an_adapter() -> None:
    nowhere = os.path.join(os.sep, "nonexistent", "driver.json")
    hidden = dict.fromkeys(("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "__EGL_VENDOR_LIBRARY_FILENAMES"), nowhere)
    if not sys.platform.startswith("linux"):
        pytest.skip("drivers cannot be hidden here")
    text = """
        assert gbp.adapters() == [], gbp.adapters()
        mine = gbp.BroadPhase()
        assert mine.adapter is None
        assert len(mine.step(np.zeros((3, 6)))) == 3
        for options in ({"backend": "gpu"}, {"backend": "vulkan"}, {"backend": "gl"}, {"adapter": "0"}):
            try:
                gbp.BroadPhase(**options)
            except gbp.NoAdapterError as error:
                assert isinstance(error, RuntimeError)
                print(type(error).__name__)
    """
    assert script(text, env=hidden).split() == ["NoAdapterError"] * 4


def test_the_answer_of_a_call_outlives_what_gave_it(backend: str) -> None:
    mine = BroadPhase(backend=backend)
    pairs = mine.step(BOXES).pairs
    kept = pairs.copy()
    mine.step(BOXES[::-1])
    del mine
    assert np.array_equal(pairs, kept)
    pairs[:] = 0


def test_boxes_may_change_after_a_step(backend: str) -> None:
    mine = broad_phase(backend)
    boxes = np.zeros((2, 6))
    mine.step(boxes)
    boxes[:] = 99
    assert mine.query(points=[[0, 0, 0]]).of(0).tolist() == [0, 1]
    assert mine.rays([[0, 0, 0]], [[1, 0, 0]], mode="all").of(0).tolist() == [0, 1]
    assert "are a pair" in mine.why(0, 1)
