#!/usr/bin/env bash
# Appends rows to results/ratios.csv: least times over that of a plain CPU grid, which finds all pairs of the same number
# of uniform boxes on all threads. Columns ending in `_cpu` are of the CPU engine. Unlike times, these ratios can be
# compared between commits and, roughly, between machines. Arguments go to `broadphase bench`.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --release --locked --workspace --bin broadphase
table=benches/results/ratios.csv
if [ ! -f "$table" ]; then
    echo "date,commit,processor,adapter,scene,boxes,pairs,pairs_cpu,closest,closest_cpu,all,all_cpu" > "$table"
fi
commit="$(git rev-parse --short HEAD)$(git diff --quiet HEAD -- src shaders benches/src || echo +)"
processor="$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1 | tr -d ,)"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
for scene in uniform power-law; do
    engines=gpu-broad-phase,reference
    # The plain grid has one cell size, so boxes of many sizes would take hours.
    [ $scene = power-law ] || engines=$engines,grid
    target/release/broadphase bench $scene --count 10000,100000,1000000 --rays 100000 --runs 5 \
        --engines $engines --backend vulkan "$@" 2>&1 | tee -a "$log"
done
adapter="$(sed -n 's/^adapter: //p' "$log" | head -1 | tr -d ,)"
awk -F, -v OFS=, -v head="$(date +%F),$commit,$processor,$adapter" '
    NF == 9 && $7 + 0 > 0 {
        if ($1 == "uniform" && $3 == "grid" && (!($2 in unit) || $7 < unit[$2])) unit[$2] = $7
        if (!(($1, $2) in seen)) { seen[$1, $2] = 1; scenes[++count] = $1 OFS $2 }
        key = $1 OFS $2 OFS $3 OFS $5
        if (!(key in least) || $7 < least[key]) least[key] = $7
    }
    END {
        for (i = 1; i <= count; i++) {
            split(scenes[i], scene, FS)
            row = head OFS scenes[i]
            for (stage = 1; stage <= split("total rays_closest rays_all", stages, " "); stage++)
                for (engine = 1; engine <= split("gpu-broad-phase reference", engines, " "); engine++)
                    row = row OFS sprintf("%.2f", least[scenes[i] OFS engines[engine] OFS stages[stage]] / unit[scene[2]])
            print row
        }
    }' "$log" >> "$table"
