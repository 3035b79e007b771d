#!/usr/bin/env bash
# Runs the tests of the browser in Chromium, then the demo page, and sets up all that this needs (Debian).
set -euo pipefail
cd "$(dirname "$0")/../.."

.ci/setup browser
# Builds in two thirds of the time of what is published.
export CARGO_PROFILE_PAGE_LTO=false CARGO_PROFILE_PAGE_CODEGEN_UNITS=16
tests="$(examples/web/build.sh browser-tests tests/browser)"
demo="$(examples/web/build.sh)"
/usr/bin/python3 tests/browser/run.py "$tests" "$demo" "${CARGO_TARGET_DIR:-target}/pictures"
