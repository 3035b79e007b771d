#!/usr/bin/env bash
# Runs the tests of every integration, or of those that are named: `integrations/run.sh bevy`. Each sets the machine up
# for itself. `.ci/run` does without them: they take long to build, and whoever wants the crate alone needs none.
set -euo pipefail
cd "$(dirname "$0")"

[ $# -gt 0 ] || set -- */
for integration in "$@"; do
    echo "== ${integration%/}" >&2
    "./${integration%/}/run.sh"
done
