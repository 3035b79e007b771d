#!/usr/bin/env bash
# Runs the command line on DX12 under Wine (vkd3d-proton on Mesa's software Vulkan) and compares its answers, byte for
# byte, with those of the CPU engine on Linux. The golden scenes keep their hashes. Prints a table; status 1 if anything
# differs or fails.
#   VKD3D=FOLDER tests/dx12/run.sh [COUNT]   scenes of COUNT boxes, by default 600
# FXC=1 compiles by FXC, not DXC, and takes minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."

count="${1:-600}"
libraries="$(tests/dx12/setup d3d12)"
cache="$(dirname "$libraries")"
target="${CARGO_TARGET_DIR:-target}"
rustup target add x86_64-pc-windows-gnu >&2
cargo build --quiet --release -p broadphase -p browser-tests --target x86_64-pc-windows-gnu --locked
cargo build --quiet -p broadphase --locked
native="$(realpath "$target/debug/broadphase")"

# Windows searches the program's folder for libraries first.
program="$cache/program"
rm -rf "$program"
mkdir -p "$program"
cp "$target/x86_64-pc-windows-gnu/release/"{broadphase,browser-tests}.exe "$libraries"/d3d12*.dll "$program"
if [ -n "${FXC:-}" ]; then cp "$libraries/d3dcompiler_47.dll" "$program"; else cp "$libraries"/dx*.dll "$program"; fi

scenes="$(mktemp -d /tmp/dx12.XXXXXX)"
debian="$(.ci/debian-13)"
display=":$((70 + RANDOM % 900))"
# DXGI's factory fails without a display. Its socket is in /tmp, which Wine and Xvfb share.
unshare --mount --propagation private bash -c 'mount --bind /tmp "$0/tmp"; exec chroot "$0" Xvfb "$1" -screen 0 640x480x24' \
    "$debian" "$display" >/dev/null 2>&1 &
screen=$!
trap 'kill "$screen" 2>/dev/null || true; rm -rf "$scenes"' EXIT
export DISPLAY="$display"
here="$PWD"
cd "$scenes"
sleep 1

# Seeds are fixed.
for kind in uniform power-law lattice; do
    "$native" --quiet generate "$kind" --count "$count" --seed 7 -o "$kind.npy"
done
"$native" --quiet generate uniform --count "$count" --seed 8 --dimensions 2 -o flat.npy
"$native" --quiet generate points --count "$count" --seed 9 -o points.npy
"$native" --quiet generate rays --count 200 --seed 10 -o rays.npy
"$native" --quiet generate uniform --count 100 --seed 11 -o asked.npy

failures=0
printf '| command | seconds | bytes | answer |\n|---|---|---|---|\n'
compare() {
    local name="$1" verdict=same start=$SECONDS
    shift
    "$native" --quiet "$@" --backend cpu -o expected.npy
    rm -f found.npy
    if ! timeout "${LIMIT:-300}" nice "$here/tests/dx12/wine" "$program/broadphase.exe" --quiet "$@" --backend dx12 \
        -o found.npy 2>errors.txt; then
        verdict="failed: $(grep -v XDG_RUNTIME_DIR errors.txt | tail -n 1)"
    elif ! cmp -s expected.npy found.npy; then
        verdict=differs
    fi
    [ "$verdict" = same ] || failures=$((failures + 1))
    printf '| `%s` | %d | %d | %s |\n' "$name" $((SECONDS - start)) "$(stat -c %s expected.npy)" "$verdict"
}

timeout 300 "$here/tests/dx12/wine" "$program/broadphase.exe" info --backend dx12 2>/dev/null | sed 's/^/    /' >info.txt
for scheme in hierarchical adaptive; do
    compare "pairs power-law, $scheme" pairs power-law.npy --scheme "$scheme"
done
compare "pairs uniform, uniform" pairs uniform.npy --scheme uniform
for scheme in hierarchical uniform adaptive; do
    compare "pairs lattice, $scheme" pairs lattice.npy --scheme "$scheme"
done
compare "pairs flat, hierarchical" pairs flat.npy
compare "pairs uniform, sorted" pairs uniform.npy --order sorted
for mode in closest any all; do
    compare "rays $mode, hierarchical" rays power-law.npy rays.npy --mode "$mode"
    compare "rays $mode, uniform" rays uniform.npy rays.npy --mode "$mode" --scheme uniform
done
compare "query, hierarchical" query power-law.npy asked.npy
compare "query, uniform" query uniform.npy asked.npy --scheme uniform
compare "neighbors, hierarchical" neighbors points.npy --radius 1.5
compare "neighbors, adaptive" neighbors points.npy --radius 1.5 --scheme adaptive
# Golden scenes of every scheme and ray mode. The program compares their hashes itself.
verdict=same start=$SECONDS
WGPU_BACKEND=dx12 timeout "${LIMIT:-300}" nice "$here/tests/dx12/wine" "$program/browser-tests.exe" golden \
    >golden.txt 2>errors.txt || { verdict=failed && failures=$((failures + 1)); }
printf '| `golden scenes and events` | %d | – | %s |\n' $((SECONDS - start)) "$verdict"
echo
cat info.txt
[ "$failures" -eq 0 ]
