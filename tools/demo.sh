#!/usr/bin/env bash
# Runs `unstarve demo` for `make demo`: two tuning runs and the report. Missing data is generated and kept for later
# runs.
#   THUMBNAILS=DATA PHOTOGRAPHS=DATA DEVICE=cuda MINUTES=3 make demo
set -euo pipefail
cd "$(dirname "$0")/.."
arguments=(--folder build/demo --minutes "${MINUTES:-3}")
[[ -z ${THUMBNAILS:-} ]] || arguments+=(--thumbnails "$THUMBNAILS")
[[ -z ${PHOTOGRAPHS:-} ]] || arguments+=(--photographs "$PHOTOGRAPHS")
[[ -z ${DEVICE:-} ]] || arguments+=(--device "$DEVICE")
exec build/unstarve demo "${arguments[@]}"
