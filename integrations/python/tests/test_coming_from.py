"""Runs the code of docs/coming_from.md, part by part. Its assertions compare with the other libraries."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from conftest import peer

GUIDE = Path(__file__).parents[1] / "docs" / "coming_from.md"

PARTS = {
    "scipy": ["scipy.spatial"],
    "freud": ["freud"],
    "ase and matscipy": ["ase.neighborlist", "matscipy.neighbours"],
    "warp": ["warp"],
    "ipctk": ["ipctk"],
    "rtree": ["rtree"],
    "trimesh and embree": ["trimesh", "embreex"],
}


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def parts() -> tuple[str, dict[str, str]]:
    """Code before all parts, and the text of each part by name."""
    first, *others = GUIDE.read_text(encoding="utf-8").split("\n## ")
    (beginning,) = blocks(first)
    return beginning, dict(part.split("\n", 1) for part in others)


def test_each_part_is_run() -> None:
    _, of_names = parts()
    assert list(of_names) == list(PARTS)
    assert all("assert " in text for text in of_names.values())
    assert len(GUIDE.read_text(encoding="utf-8").splitlines()) < 200


@pytest.mark.parametrize("name", PARTS)
def test_code_of_the_guide(name: str, tmp_path: Path) -> None:
    for library in PARTS[name]:
        peer(library)
    beginning, of_names = parts()
    # Warp reads the source of its kernels from this file.
    script = tmp_path / "part.py"
    script.write_text("\n".join([beginning, *blocks(of_names[name])]), encoding="utf-8")
    runpy.run_path(str(script))
