#!/usr/bin/env bash
# Builds dist/: the module for browsers, the JavaScript around it, and the package's own JavaScript with its types.
set -euo pipefail
cd "$(dirname "$0")"

target=wasm32-unknown-unknown
targets="${CARGO_TARGET_DIR:-$PWD/../../target}"
build() {
    cargo build --quiet --release --locked --manifest-path wasm/Cargo.toml --target "$target" --target-dir "$targets" "$@"
}
if [ -d "$(rustc --print target-libdir --target $target)" ]; then
    build
else
    # Debian's toolchain has no compiled library for this target but its sources, which only unstable cargo builds.
    PATH="/usr/bin:$PATH" RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Clinker=wasm-ld-19" build -Zbuild-std=std,panic_abort
fi
rm -rf dist src/wasm
cargo run --quiet --locked --manifest-path ../../examples/web/bindgen/Cargo.toml --target-dir "$targets/bindgen" -- \
    "$targets/$target/release/gpu_broad_phase.wasm" src/wasm --typescript
node_modules/.bin/tsc -p .
mkdir -p dist/wasm
cp src/wasm/gpu_broad_phase.js src/wasm/gpu_broad_phase_bg.wasm dist/wasm/
cp ../../LICENSE-APACHE ../../LICENSE-MIT .
