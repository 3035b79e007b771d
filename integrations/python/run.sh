#!/usr/bin/env bash
# Formatting, lints, types and tests of the Python package, against the wheel that is built first, on Mesa's software
# Vulkan and on the CPU. Installs what is missing (Debian or Ubuntu). It takes what `pytest` takes: ./run.sh -k rays
set -euo pipefail
cd "$(dirname "$0")"

../../.ci/setup
../../.ci/setup python
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-$(mktemp -d)}"
# Adapters and peers have to be there.
export GPU_BROAD_PHASE_ADAPTERS="${GPU_BROAD_PHASE_ADAPTERS:-vulkan}"
[ -x .venv/bin/python ] || python3 -m venv .venv
.venv/bin/pip install --quiet --disable-pip-version-check --requirement tests/requirements.txt
if [ $# -eq 0 ]; then
    cargo fmt --all --check
    cargo clippy --locked --release -- -D warnings
    .venv/bin/ruff format --check .
    .venv/bin/ruff check .
fi
rm -rf dist
.venv/bin/maturin build --release --locked --out dist
.venv/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps dist/*.whl
.venv/bin/pip check
if [ $# -eq 0 ]; then
    .venv/bin/mypy
    # As whoever has installed it sees it.
    .venv/bin/mypy --strict tests/typed.py
fi
.venv/bin/python -X dev -X faulthandler -m pytest "$@"
