#!/usr/bin/env bash
# Sets up what is missing (Debian), builds the package, checks its types, and runs all tests. Words go to the test
# runner: `integrations/npm/run.sh tests/life.test.js`.
set -euo pipefail
cd "$(dirname "$0")"

../../.ci/setup wasm
../../.ci/setup browser
../../.ci/setup if-missing
command -v npm >/dev/null || ../../.ci/setup node
npm ci --silent --no-audit --no-fund
npm ci --silent --no-audit --no-fund --prefix examples/three
npm ci --silent --no-audit --no-fund --prefix tests/runtimes
(cd wasm && cargo fmt --check)
cargo clippy --quiet --release --locked --manifest-path wasm/Cargo.toml --target wasm32-unknown-unknown \
    --target-dir "${CARGO_TARGET_DIR:-$PWD/../../target}" -- -D warnings
./build.sh
npm run --silent typecheck
npm run --silent check
# The native answers to compare with.
cargo build --quiet --locked --manifest-path ../../Cargo.toml --package broadphase
if [ $# -eq 0 ]; then
    set -- tests/*.test.js
fi
node --test --test-concurrency=1 --test-reporter=spec "$@"
