#!/usr/bin/env bash
# Formatting, lints, documents and tests of the ranks, by Open MPI and on Mesa's software Vulkan. Installs what is missing
# (Debian or Ubuntu). It takes what `cargo test` takes: ./run.sh --test known
set -euo pipefail
cd "$(dirname "$0")"

../../.ci/setup
../../.ci/setup mpi
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-$(mktemp -d)}"
if [ $# -eq 0 ]; then
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
fi
cargo test --workspace --locked "$@"
