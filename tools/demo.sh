#!/usr/bin/env bash
# The main job of `make demo`: two ladders and the report, from data that is made on the spot and kept for the next
# time.
#   THUMBNAILS=DATA PHOTOGRAPHS=DATA DEVICE=cuda MINUTES=3 make demo
set -euo pipefail
cd "$(dirname "$0")/.."
arguments=(--folder build/demo --minutes "${MINUTES:-3}")
[[ -z ${THUMBNAILS:-} ]] || arguments+=(--thumbnails "$THUMBNAILS")
[[ -z ${PHOTOGRAPHS:-} ]] || arguments+=(--photographs "$PHOTOGRAPHS")
[[ -z ${DEVICE:-} ]] || arguments+=(--device "$DEVICE")
exec build/unstarve demo "${arguments[@]}"
