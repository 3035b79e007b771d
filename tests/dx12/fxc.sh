#!/usr/bin/env bash
# Compiles every pass by Microsoft's FXC under Wine, each within a time limit, and prints a table of seconds.
#   tests/dx12/fxc.sh         with all switches among the pipeline constants off, and with all on, in one scheme
#   tests/dx12/fxc.sh all     each choice
#   tests/dx12/fxc.sh ray_    passes whose names begin with ray_
set -euo pipefail
cd "$(dirname "$0")/../.."

libraries="$(tests/dx12/setup)"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
printf '#!/usr/bin/env bash\nexec "%s" "%s/fxc.exe" "$@"\n' "$PWD/tests/dx12/wine" "$libraries" >"$folder/fxc"
chmod +x "$folder/fxc"
export PATH="$folder:$PATH" GPU_BROAD_PHASE_COMPILERS=fxc GPU_BROAD_PHASE_FXC="${1:-}"
cargo test --workspace --locked --test compilers fxc -- --nocapture
