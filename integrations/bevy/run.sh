#!/usr/bin/env bash
# Formatting, lints (also for browsers), documents and tests of the plugin, on Mesa's software Vulkan. Installs what is
# missing (Debian or Ubuntu): the driver, and the toolchain by rustup. It takes what `cargo test` takes:
# ./run.sh --test it events
set -euo pipefail
cd "$(dirname "$0")"

../../.ci/setup
if command -v rustup >/dev/null; then
    rustup toolchain install >&2 # that of rust-toolchain.toml
fi
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-$(mktemp -d)}"
features=gizmos,avian2d,avian3d
if [ $# -eq 0 ]; then
    cargo fmt --check
    cargo clippy --locked --all-targets --features "$features" -- -D warnings
    cargo clippy --locked --no-default-features -- -D warnings
    # Browsers, in which Bevy renders by WebGPU.
    cargo clippy --locked --target wasm32-unknown-unknown --features gizmos,bevy/webgpu -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --features "$features"
fi
# GL takes one thread per device at a time: renderers have two.
WGPU_BACKEND="${WGPU_BACKEND:-vulkan}" cargo test --locked --features "$features" "$@"
if [ $# -eq 0 ]; then
    # The examples draw a picture, and complain of nothing. Debian 12's Vulkan validation layer, where it is installed,
    # rejects shaders of Bevy's own.
    pictures="$(mktemp -d)"
    trap 'rm -rf "$pictures"' EXIT
    for example in overlaps picking swarm avian; do
        WGPU_VALIDATION=0 WGPU_BACKEND="${WGPU_BACKEND:-vulkan}" cargo run --quiet --locked --features "$features" \
            --example "$example" -- --screenshot "$pictures/$example.png" --frames 3 --count 500 2>&1 | tee "$pictures/log"
        [ -s "$pictures/$example.png" ]
        ! grep ERROR "$pictures/log" || exit 1
    done
fi
