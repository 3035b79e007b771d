#!/usr/bin/env bash
# Builds a page, sets up what that needs, and prints the page's folder, which any static file server can serve.
#   examples/web/build.sh                  the demo
#   examples/web/build.sh PACKAGE FOLDER   a package of this workspace with a page in the folder
set -euo pipefail
cd "$(dirname "$0")/../.."
package="${1:-web}"
folder="${2:-examples/web}"

target=wasm32-unknown-unknown
.ci/setup wasm
targets="${CARGO_TARGET_DIR:-target}"
build() {
    cargo build --quiet --profile page --locked --package "$package" --target "$target" "$@" >&2
}
if [ -d "$(rustc --print target-libdir --target $target)" ]; then
    build
else
    # Debian's toolchain has no compiled library for this target but its sources, which only unstable cargo builds.
    PATH="/usr/bin:$PATH" RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Clinker=wasm-ld-19" build -Zbuild-std=std,panic_abort
fi
module="${package//-/_}"
page="$targets/$package"
rm -rf "$page"
cargo run --quiet --locked --manifest-path examples/web/bindgen/Cargo.toml --target-dir "$targets/bindgen" -- \
    "$targets/$target/page/$module.wasm" "$page"
cp "$folder/index.html" "$page"
realpath "$page"
