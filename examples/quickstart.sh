#!/usr/bin/env bash
# Sets the machine up, makes a scene (a cloth that falls over a ball), finds the pairs of the frame's boxes and what rays
# hit, and draws where the boxes are. Results go to standard output, files to the folder of the first argument.
set -euo pipefail
cd "$(dirname "$0")/.."
out="${1:-target/quickstart}"

.ci/setup if-missing
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-$(mktemp -d)}"
mkdir -p "$out"
cargo build --release --locked --package broadphase
broadphase="${CARGO_TARGET_DIR:-target}/release/broadphase"
# Left to itself the command line takes a hardware GPU or the CPU engine. This shows the shaders at work, on a software
# adapter too.
backend=vulkan
[ "$(uname)" != Darwin ] || backend=metal
mesh=("$out/cloth0.ply" --next "$out/cloth1.ply" --elements vertices,edges,faces)

"$broadphase" generate cloth --count 3000 --seed 1 -o "$out/cloth.ply"
"$broadphase" pairs "${mesh[@]}" --backend $backend --timings -o "$out/pairs.csv"
# From above onto the ball, and level through the whole cloth: origin, direction, largest parameter.
printf '%s\n' '0,0,3,0,0,-1,inf' '-2,0.1,0.2,1,0,0,inf' >"$out/rays.csv"
"$broadphase" rays "${mesh[@]}" "$out/rays.csv" --mode closest --backend $backend -o "$out/hits.csv"
"$broadphase" heatmap "${mesh[@]}" -o "$out/cloth.png"

echo "first of $(wc -l <"$out/pairs.csv") pairs (a,b):"
head -n 5 "$out/pairs.csv"
echo "closest hits (ray,object,t):"
cat "$out/hits.csv"
echo "picture: $out/cloth.png"
