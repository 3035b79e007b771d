#!/usr/bin/env bash
# Builds the sdist, and from it a wheel for Linux with glibc 2.28 or later, in dist. The wheel has the licences of all
# linked crates. Checks both, and runs the README's first example in an environment that has only the wheel.
set -euo pipefail
cd "$(dirname "$0")"

../../.ci/setup python
[ -x .venv/bin/python ] || python3 -m venv .venv
export PATH="$PWD/.venv/bin:$PATH"
pip install --quiet --disable-pip-version-check "$(grep maturin tests/requirements.txt)" auditwheel==6.8.2 twine==7.0.0 \
    ziglang==0.17.1
../../.ci/licences Cargo.toml LICENSE-LINKED
# zig has an unwinder of its own, which crashes when Python ends a thread.
export RUSTFLAGS="-C link-arg=$(gcc -print-file-name=libgcc_s.so.1)"
rm -rf dist
maturin build --release --locked --sdist --zig --compatibility manylinux_2_28 --out dist
twine check --strict dist/*
auditwheel show dist/*.whl | tee /dev/stderr | grep libgcc_s >/dev/null
bare="$(mktemp -d)"
trap 'rm -rf "$bare"' EXIT
python3 -m venv "$bare"
"$bare/bin/pip" install --quiet --disable-pip-version-check dist/*.whl
sed -n '/^```python/,/^```/p;/^## API/q' README.md | sed '/^```/d' >"$bare/first.py"
cd "$bare"
bin/python first.py
