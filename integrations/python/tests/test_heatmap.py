"""Compares heatmaps with brute force."""

from __future__ import annotations

from typing import Any

import brute_force
import numpy as np
import pytest
from conftest import peer
from gpu_broad_phase import Heatmap, heatmap
from hypothesis import given
from hypothesis import strategies as st


def counted(drawn: Heatmap, lower: Any, upper: Any) -> tuple[Any, Any]:
    """Numbers of boxes over each cell, without and with its border."""
    height, width = drawn.counts.shape
    left, right, bottom, top = drawn.extent
    x, y = np.linspace(left, right, width + 1), np.linspace(bottom, top, height + 1)
    slack = 1e-9 * max(right - left, top - bottom)
    answers = []
    for by in (-slack, slack):
        over_x = (lower[:, 0, None] <= x[None, 1:] + by) & (upper[:, 0, None] >= x[None, :-1] - by)
        over_y = (lower[:, 1, None] <= y[None, 1:] + by) & (upper[:, 1, None] >= y[None, :-1] - by)
        answers.append((over_y[:, :, None] & over_x[:, None, :]).sum(axis=0))
    return answers[0], answers[1]


@given(
    kind=st.sampled_from(["lattice", "spread", "sizes", "points", "same", "far"]),
    dimensions=st.sampled_from([2, 3]),
    rows=st.integers(1, 100),
    seed=st.integers(0, 1 << 32),
    cells=st.sampled_from([1, 2, 7, 33]),
    axis=st.sampled_from([None, 0, 1, 2]),
)
def test_counts_are_those_of_brute_force(
    kind: str, dimensions: int, rows: int, seed: int, cells: int, axis: Any
) -> None:
    lower, upper = brute_force.boxes(kind, rows, dimensions, seed)
    drawn = heatmap(np.hstack([lower, upper]), cells=cells, axis=None if dimensions == 2 else axis)
    seen = [0, 1]
    if dimensions == 3:
        extents = upper.max(axis=0) - lower.min(axis=0)
        names = [name for name in "xyz" if name in drawn.labels]
        seen = ["xyz".index(name) for name in names]
        left_out = ({0, 1, 2} - set(seen)).pop()
        assert left_out == axis if axis is not None else extents[left_out] == extents.min()
    assert drawn.labels == tuple("xyz"[place] for place in seen)
    low, high = lower[:, seen], upper[:, seen]
    height, width = drawn.counts.shape
    assert drawn.counts.dtype == np.int64
    assert max(height, width) <= max(cells, 1)
    inside, touched = counted(drawn, low, high)
    assert (inside <= drawn.counts).all()
    assert (drawn.counts <= touched).all()
    assert drawn.extent[0] == low[:, 0].min()
    assert drawn.extent[2] == low[:, 1].min()
    scale = np.abs(high).max() * 1e-12 + 1e-12
    assert drawn.extent[1] >= high[:, 0].max() - scale
    assert drawn.extent[3] >= high[:, 1].max() - scale
    assert drawn.counts.max() >= 1


def test_each_box_counts_once_per_cell() -> None:
    drawn = heatmap([[0, 0, 4, 4], [0, 0, 0.5, 0.5], [3.5, 0, 3.75, 4]], cells=4)
    expected = np.ones((4, 4), int)
    expected[0, 0] += 1
    expected[:, 3] += 1
    assert drawn.counts.tolist() == expected.tolist()
    assert drawn.extent == (0.0, 4.0, 0.0, 4.0)


def test_boxes_that_are_not_finite_are_left_out() -> None:
    boxes = [[0, 0, 1, 1], [0, 0, np.inf, 1], [np.nan, 0, 1, 1]]
    drawn = heatmap(boxes, cells=3)
    assert drawn.counts.tolist() == np.ones((3, 3), int).tolist()
    for nothing in (np.empty((0, 6)), [[np.inf] * 4], []):
        assert heatmap(nothing).counts.tolist() == [[0]]


def test_corners_and_layouts() -> None:
    lower, upper = brute_force.boxes("spread", 50, 3, 1)
    rows = np.hstack([lower, upper])
    expected = heatmap(rows, cells=9).counts.tolist()
    for boxes in (rows.reshape(-1, 2, 3), np.asfortranarray(rows), rows.tolist(), rows[::-1]):
        assert heatmap(boxes, cells=9).counts.tolist() == expected


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"boxes": np.zeros((2, 5))}, ValueError, "boxes has the shape"),
        ({"cells": 0}, ValueError, "cells is 0"),
        ({"cells": -3}, ValueError, "cells is -3"),
        ({"cells": 1.5}, TypeError, "cells: a whole number"),
        ({"axis": 3}, ValueError, "axis is 3"),
        ({"axis": -1}, ValueError, "axis is -1"),
    ],
)
def test_bad_arguments_are_refused(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        heatmap(**({"boxes": [[0, 0, 0, 1, 1, 1]]} | given))


def test_a_box_with_a_min_above_its_max() -> None:
    # The second box is ignored, as in a step.
    drawn = heatmap([[0, 0, 4, 4], [3, 3, 1, 1]], cells=4)
    assert (drawn.counts == 1).all()


def test_plot_returns_an_image(tmp_path: Any) -> None:
    matplotlib = peer("matplotlib")
    matplotlib.use("Agg")
    pyplot = peer("matplotlib.pyplot")
    lower, upper = brute_force.boxes("spread", 200, 3, 1)
    drawn = heatmap(np.hstack([lower, upper]), cells=20, axis=2)
    figure, ax = pyplot.subplots()
    image = drawn.plot(ax, cmap="viridis")
    assert isinstance(image, peer("matplotlib.image").AxesImage)
    assert np.array_equal(image.get_array(), drawn.counts)
    assert tuple(image.get_extent()) == drawn.extent
    assert (image.origin, image.get_cmap().name) == ("lower", "viridis")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "y")
    figure.savefig(tmp_path / "heatmap.png")
    assert (tmp_path / "heatmap.png").stat().st_size > 1000
    pyplot.close(figure)
    assert drawn.plot().axes is pyplot.gca()
    pyplot.close("all")
