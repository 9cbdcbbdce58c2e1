#!/usr/bin/env bash
# Runs `unstarve demo` for `make demo`: the comparison with other loaders, two tuning runs and the report. Missing data
# is generated and kept for later runs. The comparison uses the Python package of the build and the packages of .venv.
#   THUMBNAILS=DATA PHOTOGRAPHS=DATA DEVICE=cuda MINUTES=2 make demo
set -euo pipefail
cd "$(dirname "$0")/.."
arguments=(--folder build/demo --minutes "${MINUTES:-2}")
[[ -z ${THUMBNAILS:-} ]] || arguments+=(--thumbnails "$THUMBNAILS")
[[ -z ${PHOTOGRAPHS:-} ]] || arguments+=("$PHOTOGRAPHS")
[[ -z ${DEVICE:-} ]] || arguments+=(--device "$DEVICE")
export UNSTARVE_PYTHON=${UNSTARVE_PYTHON:-$PWD/.venv/bin/python} PYTHONPATH=$PWD/build/python${PYTHONPATH:+:$PYTHONPATH}
exec build/unstarve demo "${arguments[@]}"
