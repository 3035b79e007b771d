#!/usr/bin/env bash
# Sets the machine up and runs all tests. GPU_BROAD_PHASE_ADAPTERS names the adapters that must exist. The run continues
# after a failure, and lists all failures at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

.ci/setup
export GPU_BROAD_PHASE_ADAPTERS="${GPU_BROAD_PHASE_ADAPTERS:-vulkan,gl}"
# Mesa's EGL needs this folder.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-$(mktemp -d)}"
# In debug builds, wgpu enables the Vulkan validation layer if it is installed, which slows some tests by a third.
if [ "${GPU_BROAD_PHASE_VALIDATION:-0}" = 0 ]; then
    export WGPU_VALIDATION="${WGPU_VALIDATION:-0}"
fi
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
status=0
cargo test --workspace --locked --no-fail-fast "$@" 2>&1 | tee "$log" || status=$?
awk '
    /^test result:/ { passed += $4; failed += $6; ignored += $8; programs += 1 }
    / \.\.\. FAILED$/ { names = names "\n    " substr($0, 6, length($0) - 16) }
    /^error: .*(process didn|could not compile)/ { names = names "\n    " $0 }
    END {
        printf "\n%d programs: %d tests passed, %d failed, %d ignored%s\n", programs, passed, failed, ignored, names
    }' "$log"
exit $status
