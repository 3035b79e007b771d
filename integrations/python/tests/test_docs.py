"""Runs the examples of docstrings and of the README."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import gpu_broad_phase
import numpy as np
import pytest
from conftest import peer

README = Path(__file__).parents[1] / "README.md"
MODULES = [f"gpu_broad_phase.{module.name}" for module in pkgutil.iter_modules(gpu_broad_phase.__path__)]
PEERS = ("ase", "ipctk", "scipy", "trimesh", "matplotlib", "tqdm", "matscipy", "freud", "warp")


def load_peers(text: str) -> None:
    for name in PEERS:
        if re.search(rf"^\s*(>>> )?(import|from) {name}\b", text, re.MULTILINE):
            peer(name)


@pytest.mark.parametrize("name", ["gpu_broad_phase", *(name for name in MODULES if not name.endswith("_native"))])
def test_examples_of_docstrings(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    load_peers(Path(spec.origin).read_text())
    module = importlib.import_module(name)
    with np.printoptions(legacy=False):
        failed, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    modules = [gpu_broad_phase, *(importlib.import_module(f"gpu_broad_phase.{name}") for name in ("broad_phase",))]
    modules += [importlib.import_module(f"gpu_broad_phase.{name}") for name in ("candidates", "object_set")]
    for module in modules:
        assert sum(len(test.examples) for test in finder.find(module)) > 0, module.__name__


def test_the_readme(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = README.read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert blocks
    load_peers("\n".join(blocks))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks:
        at = text[: text.index(block)].count("\n")
        # Keeps the README's line numbers in error messages.
        exec(compile("\n" * at + block, str(README), "exec"), names)


def test_the_first_example_needs_nothing_but_what_the_install_brings(tmp_path: Path) -> None:
    first = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)[0]
    # Only numpy comes with the package, so other libraries are hidden.
    hidden = f"import sys\nsys.modules |= dict.fromkeys({PEERS!r})\n"
    run = subprocess.run(
        [sys.executable, "-c", hidden + first], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
    )
    assert run.returncode == 0, run.stderr
    assert re.match(r"\d+ pairs, such as \[ *\d+ +\d+\]\nup to \d+ of them lie over one cell\n$", run.stdout), (
        run.stdout
    )


@pytest.mark.parametrize("name", gpu_broad_phase.__all__)
def test_what_is_public_has_a_docstring(name: str) -> None:
    thing = getattr(gpu_broad_phase, name)
    assert thing.__doc__
    assert not thing.__doc__.startswith(f"{name}("), "only the one that dataclass makes"
    for member, value in vars(thing).items() if isinstance(thing, type) else ():
        if callable(value) and not member.startswith("_"):
            assert value.__doc__, f"{name}.{member}"
