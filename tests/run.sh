#!/usr/bin/env bash
# Sets the machine up and runs all tests; an adapter is required. GPU_BROAD_PHASE_ADAPTERS names those that must be there.
set -euo pipefail
cd "$(dirname "$0")/.."

.ci/setup
export GPU_BROAD_PHASE_ADAPTERS="${GPU_BROAD_PHASE_ADAPTERS:-vulkan,gl}"
# Mesa's EGL asks for this folder.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-$(mktemp -d)}"
cargo test --workspace --locked "$@"
