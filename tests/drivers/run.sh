#!/usr/bin/env bash
# Runs tests on drivers that tests/run.sh does not cover, and prints results. Needs root, and Debian or Ubuntu.
#   tests/drivers/run.sh mesa-25 [TEST...]      Mesa of Debian 13, in a folder: its software Vulkan and GL
#   tests/drivers/run.sh swiftshader [TEST...]  the software Vulkan that Chromium brings
#   tests/drivers/run.sh registers              tables of Debian 13's compilers for AMD and NVIDIA
# A TEST is passes or a module of tests/device. Without names it runs passes, wild, steps and golden.
# GPU_BROAD_PHASE_ADAPTERS is as in tests/run.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."

driver="${1:-}"
shift || true
tests=("$@")
[ ${#tests[@]} -ne 0 ] || tests=(passes wild steps golden)
# Environment of the test binaries.
environment=(RUST_BACKTRACE=1 WGPU_VALIDATION="${WGPU_VALIDATION:-0}")
arguments=()
folder=

case "$driver" in
mesa-25)
    folder="$(.ci/debian-13 libvulkan1 mesa-vulkan-drivers libegl1 libegl-mesa0 libgl1-mesa-dri)"
    environment+=(GPU_BROAD_PHASE_ADAPTERS="${GPU_BROAD_PHASE_ADAPTERS:-vulkan,gl}")
    environment+=(VK_ICD_FILENAMES=/usr/share/vulkan/icd.d/lvp_icd.json)
    ;;
swiftshader)
    manifest=/usr/lib/chromium/vk_swiftshader_icd.json
    if [ ! -e "$manifest" ]; then
        apt-get update -qq >&2
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium libvulkan1 >&2
    fi
    environment+=(GPU_BROAD_PHASE_ADAPTERS="${GPU_BROAD_PHASE_ADAPTERS:-vulkan}" VK_ICD_FILENAMES="$manifest")
    ;;
registers)
    folder="$(.ci/debian-13 libvulkan1 mesa-vulkan-drivers mesa-drm-shim)"
    tests=(registers)
    environment+=(GPU_BROAD_PHASE_COMPILERS=radv,nvk)
    arguments=(--nocapture)
    ;;
*)
    sed -n '2,7s/^# *//p' "$0" >&2
    exit 2
    ;;
esac

work="$(mktemp -d)"
inside=
trap 'rm -rf "$work" ${inside:+"$inside"}' EXIT
cargo test --workspace --locked --no-run --message-format=json --test device --test passes --test registers \
    >"$work/built.json"
mkdir "$work/runtime"
if [ -n "$folder" ]; then
    inside="$(mktemp -d "$folder/tmp/tests.XXXXXX")"
    mkdir "$inside/runtime"
fi

# Runs a program of this machine with the driver.
run() {
    if [ -z "$folder" ]; then
        env "${environment[@]}" XDG_RUNTIME_DIR="$work/runtime" "$@"
        return
    fi
    local program="$1" seen="${inside#"$folder"}"
    shift
    cp "$program" "$inside/"
    # Mounts end with the process.
    local enter='mount --bind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'
    unshare --mount bash -c "$enter" "$folder" \
        env "${environment[@]}" XDG_RUNTIME_DIR="$seen/runtime" "$seen/$(basename "$program")" "$@"
}

failed=()
summary=()
for test in "${tests[@]}"; do
    case "$test" in
    passes | registers) built="$test" ;;
    *) built=device ;;
    esac
    program="$(grep -o '"executable":"[^"]*/'"$built"'-[^"/]*"' "$work/built.json" | tail -n 1 | cut -d '"' -f 4)"
    filter=()
    if [ "$built" = device ]; then
        # A plain filter `queries` would match `seed_queries`, too.
        mapfile -t filter < <("$program" --list | sed -n "s/^\($test::.*\): test$/\1/p")
        filter+=(--exact)
    fi
    echo "== $driver: $test"
    begun=$SECONDS
    result=passed
    run "$program" "${filter[@]}" "${arguments[@]}" || { result=FAILED && failed+=("$test"); }
    summary+=("$driver $test: $result, $((SECONDS - begun)) s")
done
printf '%s\n' "${summary[@]}"
[ ${#failed[@]} -eq 0 ]
