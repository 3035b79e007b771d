#!/usr/bin/env bash
# Sets the machine up and runs tests. A failure does not end the run, and all failures are listed at the end.
#   tests/run.sh          quick: the library on one adapter, each pass on the interpreter of warps
#   tests/run.sh all      all tests of the workspace, on Mesa's software Vulkan and GL
#   tests/run.sh ARGS     some of all tests, by arguments of cargo test
# GPU_BROAD_PHASE_ADAPTERS names the adapters that must exist.
set -euo pipefail
cd "$(dirname "$0")/.."

.ci/setup
adapters=vulkan,gl
[ $# -gt 0 ] || adapters=vulkan
export GPU_BROAD_PHASE_ADAPTERS="${GPU_BROAD_PHASE_ADAPTERS:-$adapters}"
# Mesa's EGL needs this folder.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-$(mktemp -d)}"
# In debug builds, wgpu enables the Vulkan validation layer if it is installed, which slows some tests by a third.
if [ "${GPU_BROAD_PHASE_VALIDATION:-0}" = 0 ]; then
    export WGPU_VALIDATION="${WGPU_VALIDATION:-0}"
fi
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
status=0
run() {
    cargo test --locked --no-fail-fast "$@" 2>&1 | tee -a "$log" || status=$?
}
case "${1:-}" in
"")
    # Random scenes and the interpreter find most of the faults that the slow tests find. Unit tests would build the
    # library a second time.
    quick=(--package tests --package simt)
    cargo test --locked --no-run "${quick[@]}" --bins --test device --test host
    run "${quick[@]}" --bins --test host -- --skip by_chance --skip on_warps_of_1_ --skip on_warps_of_32_
    run "${quick[@]}" --test device -- --skip overflow:: --skip nearest:: --skip prepare:: --skip allowed::
    ;;
all) run --workspace "${@:2}" ;;
*) run --workspace "$@" ;;
esac
awk '
    /^test result:/ { passed += $4; failed += $6; ignored += $8; programs += 1 }
    / \.\.\. FAILED$/ { names = names "\n    " substr($0, 6, length($0) - 16) }
    /^error: .*(process didn|could not compile)/ { names = names "\n    " $0 }
    END {
        printf "\n%d programs: %d tests passed, %d failed, %d ignored%s\n", programs, passed, failed, ignored, names
    }' "$log"
exit $status
