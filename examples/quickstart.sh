#!/usr/bin/env bash
# Sets the machine up, makes a scene (a cloth that falls over a ball), finds the pairs of the frame's boxes and what rays
# hit, and draws where the boxes are. Results go to standard output, files to the folder of the first argument.
set -euo pipefail
cd "$(dirname "$0")/.."
out="${1:-target/quickstart}"

.ci/setup if-missing
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-$(mktemp -d)}"
mkdir -p "$out"
cargo build --release --locked --package broadphase
broadphase=target/release/broadphase
QUICKSTART_BODY
