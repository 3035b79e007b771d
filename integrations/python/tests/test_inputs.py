"""Valid arguments, and errors that name invalid ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import brute_force
import numpy as np
import pytest
from conftest import broad_phase, peer
from gpu_broad_phase import BroadPhase, NoAdapterError, ObjectSet, collision_candidates, heatmap

LOWER, UPPER = brute_force.boxes("lattice", 40, 3, 1)
LOWER, UPPER = LOWER + 8, UPPER + 8
BOXES = np.hstack([LOWER, UPPER])
EXPECTED = brute_force.pairs(LOWER, UPPER)


def misaligned(array: Any) -> Any:
    raw = np.zeros(array.nbytes + 1, np.uint8)
    view = raw[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert view.dtype.itemsize == 1 or not view.flags.aligned
    return view


def read_only(array: Any) -> Any:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def spread_out(array: Any) -> Any:
    wide = np.full((array.shape[0] * 2, array.shape[1] * 3), 99, array.dtype)
    wide[::2, ::3] = array
    return wide[::2, ::3]


def broadcast(array: Any) -> Any:
    return np.broadcast_to(array[:1], array.shape)


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda array: array,
    "Fortran": np.asfortranarray,
    "not contiguous": spread_out,
    "negative strides": lambda array: array[::-1].copy()[::-1],
    "columns backwards": lambda array: array[:, ::-1].copy()[:, ::-1],
    "read-only": read_only,
    "misaligned": misaligned,
    "byte-swapped": lambda array: array.astype(array.dtype.newbyteorder()),
    "corners": lambda array: array.reshape(-1, 2, 3),
    "corners, Fortran": lambda array: np.asfortranarray(array.reshape(-1, 2, 3)),
    "lists": lambda array: array.tolist(),
    "tuples": lambda array: tuple(map(tuple, array.tolist())),
    "list of arrays": list,
    "subclass": lambda array: array.view(type("Mine", (np.ndarray,), {})),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["f4", "f8", "f2", "i1", "u1", "i4", "u8", "g"])
def test_boxes_of_any_layout_and_type(layout: str, kind: str) -> None:
    boxes = LAYOUTS[layout](BOXES.astype(kind))
    before = np.array(boxes)
    assert broad_phase("cpu").step(boxes).pairs.tobytes() == EXPECTED.tobytes()
    assert np.array_equal(np.array(boxes), before)
    handles = ObjectSet().insert(boxes)
    assert len(handles) == 40


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if "corners" not in name])
@pytest.mark.parametrize("kind", ["f4", "f8", "f2", "i4"])
def test_other_arguments_of_any_layout_and_type(layout: str, kind: str) -> None:
    mine = broad_phase("cpu")
    mine.step(BOXES)
    points = (UPPER - LOWER + LOWER[::-1]).astype(kind)
    ways = np.ones_like(points)
    given = LAYOUTS[layout](points)
    rays = mine.rays(given, LAYOUTS[layout](ways), mode="all")
    expected = mine.rays(points * 1.0, ways * 1.0, mode="all")
    assert rays.objects.tobytes() == expected.objects.tobytes()
    assert rays.t.tobytes() == expected.t.tobytes()
    swept = [mine.rays(one, ways, half_extents=one, mode="all").objects.tobytes() for one in (given, points * 1.0)]
    assert swept[0] == swept[1]
    assert mine.query(points=given).objects.tobytes() == mine.query(points=points * 1.0).objects.tobytes()
    near = [BroadPhase(backend="cpu").neighbors(one, 2.0).objects.tobytes() for one in (given, points * 1.0)]
    assert near[0] == near[1]


@pytest.mark.parametrize("kind", ["i1", "u1", "i8", "u8", ">i4"])
def test_words_of_any_type(kind: str) -> None:
    mine = broad_phase("cpu")
    words = (np.arange(40) % 4).astype(kind)
    filters: dict[str, Any] = {"layers": words, "masks": words, "groups": words, "worlds": words}
    expected = brute_force.pairs(LOWER, UPPER, **filters)
    for given in (filters, {name: word.tolist() for name, word in filters.items()}):
        assert mine.step(BOXES, **given).pairs.tobytes() == expected.tobytes()
    backward = {name: np.repeat(word[::-1], 2)[::-2] for name, word in filters.items()}
    assert mine.step(BOXES, **backward).pairs.tobytes() == expected.tobytes()
    excluded = EXPECTED[:3].astype(kind) if kind != "i1" else EXPECTED[:3].astype(np.int64)
    found = mine.step(BOXES, excluded=excluded[:, ::-1]).pairs
    assert found.tobytes() == EXPECTED[3:].tobytes()


def test_numbers_per_row_of_any_layout() -> None:
    mine = broad_phase("cpu")
    mine.step(BOXES)
    radius = np.linspace(0, 3, 40)
    expected = mine.query(points=LOWER, radius=radius)
    for given in (radius.tolist(), np.repeat(radius, 2)[::2], misaligned(radius), radius.astype(">f8")):
        assert mine.query(points=LOWER, radius=given).objects.tobytes() == expected.objects.tobytes()
    t_max = np.linspace(0, 3, 40)
    hits = mine.rays(LOWER - 1, np.ones((40, 3)), t_max=t_max)
    assert (hits.objects == -1).any()
    for given in (t_max.tolist(), np.repeat(t_max, 2)[::2], t_max.astype(">f4"), misaligned(t_max)):
        assert mine.rays(LOWER - 1, np.ones((40, 3)), t_max=given).objects.tolist() == hits.objects.tolist()
    for given in (1, 1.0, np.float32(1), np.array(1), np.float64(1)):
        assert len(mine.query(points=LOWER, radius=given).objects) > 0


def test_rows_that_are_all_one_row() -> None:
    mine = broad_phase("cpu")
    assert len(mine.step(broadcast(BOXES))) == 40 * 39 // 2
    assert len(mine.step(BOXES[:0])) == 0


@pytest.mark.parametrize(
    "nothing", [[], np.empty((0, 6)), np.empty((0, 2, 3)), np.empty((0, 3)), np.empty(0), np.empty((0, 6), int), ()]
)
def test_no_boxes(backend: str, nothing: Any) -> None:
    mine = broad_phase(backend)
    result = mine.step(nothing, layers=[], groups=[], static=[], excluded=[], worlds=[])
    assert (result.pairs.shape, result.counts["objects"]) == ((0, 2), 0)
    assert result.world_pairs is not None
    assert result.world_pairs.tolist() == [0]
    assert result.world_offsets is not None
    assert result.world_offsets.tolist() == [0, 0]
    assert mine.rays([[0, 0, 0]], [[1, 0, 0]]).objects.tolist() == [-1]
    assert mine.rays([[0, 0, 0]], [[1, 0, 0]], mode="any").tolist() == [False]
    assert mine.rays([[0, 0, 0]], [[1, 0, 0]], mode="all").offsets.tolist() == [0, 0]
    assert mine.query(points=[[0, 0, 0]]).offsets.tolist() == [0, 0]
    assert mine.query(points=[[0, 0, 0]], k=2).objects.tolist() == [[0, 0]]
    assert len(mine.step(BOXES)) == len(EXPECTED)


@pytest.mark.parametrize("nothing", [[], np.empty((0, 3)), np.empty((0, 3), np.float32)])
def test_no_rays_and_no_queries(backend: str, nothing: Any) -> None:
    mine = broad_phase(backend)
    mine.step(BOXES)
    closest = mine.rays(nothing, nothing)
    assert closest.objects.shape == closest.t.shape == (0,)
    assert mine.rays(nothing, nothing, mode="any", t_min=[], layers=[]).shape == (0,)
    lists = mine.rays(nothing, nothing, mode="all", half_extents=nothing, worlds=[])
    assert (lists.offsets.tolist(), len(lists), len(lists.objects)) == ([0], 0, 0)
    found = mine.query(points=nothing, radius=[])
    assert (found.offsets.tolist(), len(found), len(found.objects)) == ([0], 0, 0)
    assert mine.query(boxes=[]).offsets.tolist() == [0]
    assert mine.query(points=nothing, k=3).objects.shape == (0, 3)
    assert mine.query(points=nothing, k=3).distances.shape == (0, 3)


WRONG_TYPES: dict[str, Any] = {
    "structured": np.zeros(3, [("x", "f4"), ("y", "f4")]),
    "complex": np.zeros((3, 6), complex),
    "object": np.array([[None] * 6] * 3),
    "str": np.array([["1"] * 6] * 3),
    "bytes": b"boxes",
    "datetime": np.zeros((3, 6), "M8[s]"),
    "bool": np.zeros((3, 6), bool),
    "dict": {"a": 1},
    "None": None,
    "text": "text",
}


@pytest.mark.parametrize("wrong", WRONG_TYPES)
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("boxes", lambda mine, given: mine.step(given)),
        ("boxes", lambda _, given: ObjectSet().insert(given)),
        ("boxes", lambda _, given: heatmap(given)),
        ("layers", lambda mine, given: mine.step(BOXES, layers=given)),
        ("groups", lambda mine, given: mine.step(BOXES, groups=given)),
        ("worlds", lambda mine, given: mine.step(BOXES, worlds=given)),
        ("excluded", lambda mine, given: mine.step(BOXES, excluded=given)),
        ("origins", lambda mine, given: mine.rays(given, LOWER)),
        ("directions", lambda mine, given: mine.rays(LOWER, given)),
        ("half_extents", lambda mine, given: mine.rays(LOWER, LOWER, half_extents=given)),
        ("t_max", lambda mine, given: mine.rays(LOWER, LOWER, t_max=given)),
        ("points", lambda mine, given: mine.query(points=given)),
        ("radius", lambda mine, given: mine.query(points=LOWER, radius=given)),
        ("points", lambda mine, given: mine.neighbors(given, 1.0)),
        ("cell", lambda mine, given: mine.neighbors(LOWER, 1.0, cell=given)),
        ("handles", lambda _, given: ObjectSet().contains(given)),
        ("objects", lambda _, given: ObjectSet().handles_of(given)),
    ],
)
def test_wrong_types_are_refused_by_name(wrong: str, name: str, call: Callable[[BroadPhase, Any], Any]) -> None:
    mine = BroadPhase(backend="cpu")
    mine.step(BOXES)
    given = WRONG_TYPES[wrong]
    optional = ("layers", "groups", "worlds", "excluded", "half_extents", "radius", "cell")
    if given is None and name in optional:
        pytest.skip("None stands for nothing here")
    with pytest.raises((TypeError, ValueError), match=name):
        call(mine, given)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"boxes": np.zeros((3, 5))}, ValueError, r"boxes has the shape \(3, 5\)"),
        ({"boxes": np.zeros(6)}, ValueError, r"boxes has the shape \(6,\)"),
        ({"boxes": np.zeros((2, 3, 2))}, ValueError, r"boxes has the shape \(2, 3, 2\)"),
        ({"boxes": np.zeros((2, 2, 2, 3))}, ValueError, "boxes has the shape"),
        ({"boxes": 1.0}, ValueError, r"boxes has the shape \(\)"),
        ({"boxes": np.zeros((3, 0))}, ValueError, r"boxes has the shape \(3, 0\)"),
        ({"boxes": [[0, 0, 0], [0, 0]]}, ValueError, "boxes"),
        ({"layers": [1, 2]}, ValueError, r"layers has the shape \(2,\), and \(3,\) is needed"),
        ({"layers": [[1, 2, 3]]}, ValueError, "layers has the shape"),
        ({"masks": [1, 1, 1 << 16]}, ValueError, r"masks\[2\] is 65536"),
        ({"masks": -1}, ValueError, r"masks is -1"),
        ({"groups": [0, 1 << 30, 0]}, ValueError, r"groups\[1\] is 1073741824"),
        ({"groups": np.array([0, (1 << 64) - 1, 0], np.uint64)}, ValueError, r"groups\[.*\] is 18446744073709551615"),
        ({"groups": [0.0, 1.0, 2.0]}, TypeError, "groups: whole numbers are needed, not float64"),
        ({"static": [1, 0, 1]}, TypeError, "static: booleans are needed"),
        ({"static": [True, False]}, ValueError, "static has the shape"),
        ({"worlds": 0}, ValueError, "worlds has the shape"),
        ({"worlds": [0, 1, 1 << 20]}, ValueError, r"worlds\[2\] is 1048576"),
        ({"worlds": [0, 1, -2]}, ValueError, r"worlds\[2\] is -2"),
        ({"excluded": [0, 1]}, ValueError, "excluded has the shape"),
        ({"excluded": [[0, 1, 2]]}, ValueError, "excluded has the shape"),
        ({"excluded": [[0, -1]]}, ValueError, r"excluded\[.*\] is -1"),
        ({"excluded": [[0, 1 << 32]]}, ValueError, r"excluded\[.*\] is 4294967296"),
    ],
)
def test_wrong_shapes_and_numbers_are_refused_by_name(given: dict[str, Any], error: Any, message: str) -> None:
    mine = broad_phase("cpu")
    with pytest.raises(error, match=message):
        mine.step(**({"boxes": np.zeros((3, 6))} | given))
    assert len(mine.step(np.zeros((3, 6)))) == 3


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("row", "axis", "value", "message"),
    [
        (0, 0, np.nan, r"boxes\[0\] has a NaN in its min x"),
        (4321, 2, np.nan, r"boxes\[4321\] has a NaN in its min z"),
        (9999, 4, np.nan, r"boxes\[9999\] has a NaN in its max y"),
        (5000, 5, -1.0, r"boxes\[5000\] has a min z of 0 above its max of -1"),
        (1, 0, 2.5, r"boxes\[1\] has a min x of 2.5 above its max of 1"),
        (1, 1, np.inf, r"boxes\[1\] has a min y of inf above its max of 1"),
    ],
)
def test_bad_boxes_are_refused_with_row_and_axis(
    backend: str, kind: Any, row: int, axis: int, value: float, message: str
) -> None:
    boxes = np.tile(np.array([0, 0, 0, 1, 1, 1], kind), (10_000, 1))
    boxes[:, [0, 3]] += 2 * np.arange(10_000, dtype=kind)[:, None] * (np.arange(10_000) > 1)[:, None]
    boxes[row, axis] = value
    boxes[-1, 3] = np.nan if row < 9999 else boxes[-1, 3]
    mine = broad_phase(backend)
    with pytest.raises(ValueError, match=message):
        mine.step(boxes)
    with pytest.raises(ValueError, match=message):
        ObjectSet().insert(boxes)
    # A refused step does not mix old and new boxes.
    assert len(mine.step(np.zeros((2, 6)))) == 1


def test_bad_points_name_no_corner(backend: str) -> None:
    with pytest.raises(ValueError, match=r"boxes\[1\] has a NaN in y"):
        broad_phase(backend).step([[0, 0, 0], [0, np.nan, 0]])
    with pytest.raises(ValueError, match=r"boxes\[1\] has a min y of 1 above its max of 0"):
        broad_phase(backend, dimensions=2).step([[0, 0, 1, 1], [0, 1, 1, 0]])


def test_a_double_above_another_in_the_same_float_is_refused(backend: str) -> None:
    # Rounded outward, this box would be valid.
    with pytest.raises(ValueError, match=r"boxes\[0\] has a min x"):
        broad_phase(backend).step([[1 + 1e-12, 0, 0, 1, 1, 1]])


def test_a_refused_step_does_not_change_what_is_asked(backend: str) -> None:
    mine = broad_phase(backend)
    mine.step([[0, 0, 0, 1, 1, 1], [5, 5, 5, 6, 6, 6]])
    with pytest.raises(ValueError, match="NaN"):
        mine.step([[0, 0, 0, np.nan, 1, 1]])
    with pytest.raises(ValueError, match="layers"):
        mine.step(np.zeros((9, 6)), layers=[1])
    answers: list[Any] = []
    for mode in ("any", "closest", "all"):
        try:
            found: Any = mine.rays([[5.5, 5.5, 0]], [[0, 0, 1]], mode=mode)
        except RuntimeError as error:
            assert "call step" in str(error)
            answers.append(None)
        else:
            answers.append(found.tolist() if mode == "any" else found.objects.tolist())
    assert answers in ([[True], [1], [1]], [None] * 3)


@pytest.mark.parametrize("mode", ["closest", "any", "all"])
def test_candidates_leave_no_boxes_to_ask(backend: str, mode: Any) -> None:
    mine = BroadPhase(backend=backend)
    mine.step([[0, 0, 0, 1, 1, 1]])
    # The table of mesh elements cannot be queried.
    collision_candidates([[5, 5, 5], [6, 5, 5], [5, 6, 5], [5.2, 5.2, 5]], None, None, [[0, 1, 2]], broad_phase=mine)
    with pytest.raises(RuntimeError, match="call step"):
        mine.rays([[5.1, 5.1, 0]], [[0, 0, 1]], mode=mode)
    with pytest.raises(RuntimeError, match="call step"):
        mine.query(points=[[5, 5, 5]])


def test_ignored_boxes_are_counted(backend: str) -> None:
    mine = broad_phase(backend, invalid="ignore")
    boxes = np.zeros((6, 6))
    boxes[1, 0] = np.nan
    boxes[3, 4] = -1
    boxes[4] = np.nan
    result = mine.step(boxes)
    assert result.pairs.tolist() == [[0, 2], [0, 5], [2, 5]]
    assert (result.counts["objects"], result.counts["invalid"]) == (6, 3)
    assert mine.stats()["invalid"] == 3
    assert mine.query(points=[[0, 0, 0]]).of(0).tolist() == [0, 2, 5]
    assert mine.rays([[0, 0, 0]], [[1, 0, 0]], mode="all").of(0).tolist() == [0, 2, 5]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dimensions": 4}, ValueError, "dimensions is 4"),
        ({"scheme": "octree"}, ValueError, "there is no scheme"),
        ({"scheme": "hierarchical", "cell_size": 1.0}, ValueError, "takes no cell_size"),
        ({"scheme": "uniform", "cell_size": 0.0}, ValueError, "cell"),
        ({"scheme": "uniform", "cell_size": np.nan}, ValueError, "cell"),
        ({"scheme": "adaptive", "cell_size": -1.0}, ValueError, "scale|cell"),
        ({"margin": -1.0}, ValueError, "margin"),
        ({"margin": np.nan}, ValueError, "margin"),
        ({"margin": np.inf}, ValueError, "margin"),
        ({"invalid": "warn"}, ValueError, "invalid is 'warn'"),
        ({"backend": "cuda"}, ValueError, "there is no backend"),
        ({"timeout": -1.0}, ValueError, "timeout"),
        ({"timeout": np.nan}, ValueError, "timeout"),
        ({"max_bytes": -1}, (ValueError, OverflowError), "max_bytes"),
        ({"sort": "yes"}, TypeError, "sort"),
    ],
)
def test_options_that_cannot_work(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        BroadPhase(**({"backend": "cpu"} | options))


def test_adapters_that_there_are_not() -> None:
    advice = r'with the name or index no such adapter: use backend="cpu" or "auto"; adapters\(\) lists GPUs$'
    with pytest.raises(NoAdapterError, match=advice):
        BroadPhase(backend="gpu", adapter="no such adapter")
    with pytest.raises(NoAdapterError, match=advice):
        BroadPhase(adapter="no such adapter")


def test_errors_of_the_device_give_advice_for_python(gpu: str) -> None:
    # Rows of 32 bytes exceed the binding of a software adapter, 128 MiB.
    boxes = np.zeros((4_200_000, 6), np.float32)
    boxes[:, :3] = boxes[:, 3:] = 3 * np.arange(len(boxes))[:, None]
    mine = BroadPhase(backend=gpu)
    try:
        mine.step(boxes)
    except ValueError as error:
        text = r'^objects: \d+ bytes needed, the device binds at most \d+: use backend="cpu" or "auto"$'
        assert re.search(text, str(error))
    assert len(BroadPhase(backend="auto").step(boxes)) == 0
    with pytest.raises(ValueError, match=r"bytes of buffers, the limit is 4096: raise max_bytes$"):
        BroadPhase(backend=gpu, max_bytes=4096).step(boxes[:1000])


def test_what_a_broad_phase_says_of_itself(backend: str) -> None:
    mine = BroadPhase(backend=backend)
    assert repr(mine).startswith("<BroadPhase in 3D on ")
    assert mine.stats()["objects"] == 0
    assert (mine.adapter is None) == (backend == "cpu")
    mine.step(BOXES)
    stats = mine.stats()
    assert stats["backend"] == ("cpu" if mine.adapter is None else mine.adapter["backend"])
    assert stats["objects"] == 40
    assert stats["pairs"] == len(EXPECTED)
    assert stats["seconds"] > 0
    assert (stats["device_bytes"] > 0) == (backend != "cpu")


class Shared:
    """Array that supports only DLPack."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


class Locked:
    """Like a tensor that refuses conversion to NumPy, such as one on a GPU."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("take detach() of it")


class Convertible:
    """Array that supports only `__array__`."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __array__(self, *given: Any, **options: Any) -> Any:
        return self._array.__array__(*given, **options)


def test_arrays_of_other_libraries() -> None:
    mine = broad_phase("cpu")
    for given in (Shared(BOXES.astype(np.float32)), Convertible(BOXES), Shared(BOXES.astype(np.int64))):
        assert mine.step(given).pairs.tobytes() == EXPECTED.tobytes()  # type: ignore[arg-type]
    layers = np.arange(40) % 4
    expected = mine.step(BOXES, layers=layers, worlds=layers, excluded=EXPECTED[:9]).pairs
    assert len(expected) > 0
    for kind in (Shared, Convertible):
        found = mine.step(BOXES, layers=kind(layers), worlds=kind(layers), excluded=kind(EXPECTED[:9]))
        assert found.pairs.tobytes() == expected.tobytes()
    with pytest.raises(TypeError, match=r"^boxes: take detach\(\) of it$"):
        mine.step(Locked())


@pytest.mark.parametrize("kind", ["Float64", "Float32", "Int64", "UInt16"])
def test_nullable_types_of_pandas(kind: str) -> None:
    pandas = peer("pandas")
    mine = broad_phase("cpu")
    boxes = pandas.DataFrame(BOXES).astype(kind)
    assert mine.step(boxes).pairs.tobytes() == EXPECTED.tobytes()
    words = np.arange(40) % 4
    filters = {"layers": words, "masks": words + 1, "groups": words, "worlds": words, "static": words > 2}
    expected = mine.step(BOXES, excluded=EXPECTED[:9], **filters).pairs
    as_series = {name: pandas.Series(word).convert_dtypes() for name, word in filters.items()}
    assert str(as_series["static"].dtype) == "boolean"
    as_table = pandas.DataFrame(EXPECTED[:9]).convert_dtypes()
    assert mine.step(boxes, excluded=as_table, **as_series).pairs.tobytes() == expected.tobytes()
    boxes.iloc[7, 2] = None
    with pytest.raises(ValueError, match=r"boxes\[7\] has a NaN in its min z"):
        mine.step(boxes)
    for name, series in as_series.items():
        lacking = series.copy()
        lacking[5] = None
        with pytest.raises(TypeError, match=f"{name}: (whole numbers|booleans) are needed"):
            mine.step(BOXES, **{name: lacking})
    boxes[2] = "one"
    with pytest.raises(TypeError, match="boxes: numbers are needed, not object"):
        mine.step(boxes)


def test_results_are_taken_by_other_libraries_without_a_copy(backend: str) -> None:
    mine = broad_phase(backend)
    pairs = mine.step(BOXES).pairs
    lists = mine.rays(LOWER, [1, 0, 0], mode="all")
    distances, rows = mine.query(points=LOWER, k=2)
    near = mine.neighbors(LOWER, 2.0, cell=9.0, vectors=True)
    for array in (pairs, lists.offsets, lists.objects, lists.t, distances, rows, *vars(near).values()):
        assert array.flags.writeable
        assert np.shares_memory(np.from_dlpack(array), array)
    for indices in (pairs, lists.objects, rows, near.i, near.j):
        assert indices.dtype == np.int64
