#!/usr/bin/env bash
# Installs the dependencies (Debian), then runs the browser tests and the demo page in Chromium.
set -euo pipefail
cd "$(dirname "$0")/../.."

.ci/setup browser
# Builds in half the time of the published page.
export CARGO_PROFILE_PAGE_LTO=false CARGO_PROFILE_PAGE_CODEGEN_UNITS=16 CARGO_PROFILE_PAGE_OPT_LEVEL=1
tests="$(examples/web/build.sh browser-tests tests/browser)"
demo="$(examples/web/build.sh)"
/usr/bin/python3 tests/browser/run.py "$tests" "$demo" "${CARGO_TARGET_DIR:-target}/pictures"
