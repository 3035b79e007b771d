"""Runs the notebook of the documentation."""

from __future__ import annotations

import base64
import importlib
import os
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tour.ipynb"
PICTURE = b"\x89PNG\r\n"


def _module(name: str) -> Any:
    """Imports a module. Without it, skips the test, or fails if adapters are required."""
    if "GPU_BROAD_PHASE_ADAPTERS" in os.environ:
        return importlib.import_module(name)
    return pytest.importorskip(name)


@pytest.mark.filterwarnings("ignore")
def test_the_notebook_runs(tmp_path: Path) -> None:
    for name in ("ipykernel", "matplotlib"):
        _module(name)
    nbformat, nbclient = _module("nbformat"), _module("nbclient")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    kept = [_kinds(cell) for cell in notebook.cells]
    nbformat.validate(notebook)
    # Raises if a cell fails. Pictures go to the temporary folder.
    nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    assert [_kinds(cell) for cell in notebook.cells] == kept, "outputs are of other kinds than those that are kept"
    assert any("image/png" in kinds for kinds in kept)
    assert (tmp_path / "cloth.png").read_bytes().startswith(PICTURE)
    assert (NOTEBOOK.parent / "cloth.png").read_bytes().startswith(PICTURE)


def test_the_notebook_is_small_and_has_its_pictures() -> None:
    nbformat = _module("nbformat")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        assert all(output.output_type != "error" for output in cell.outputs)
        for output in cell.outputs:
            if "image/png" in output.get("data", {}):
                assert base64.b64decode(output.data["image/png"]).startswith(PICTURE)
    assert NOTEBOOK.stat().st_size < 400_000
    assert (NOTEBOOK.parent / "cloth.png").stat().st_size < 120_000


def _kinds(cell: Any) -> list[str]:
    """Kinds of a cell's outputs: media types, or names of streams."""
    kinds: list[str] = []
    for output in cell.get("outputs", []):
        # Text may be split.
        found = sorted(output.get("data", {})) or [output.get("name", output.output_type)]
        kinds += [kind for kind in found if kind not in kinds]
    return kinds
