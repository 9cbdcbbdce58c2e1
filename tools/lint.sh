#!/usr/bin/env bash
# clang-tidy over the parts without libtorch, the format, the length of lines, and the layers. ONLY is a regular
# expression of paths.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset light -DCMAKE_CXX_COMPILER_LAUNCHER= >/dev/null
status=0
tools/check_layers.py || status=1
tools/check_columns.py || status=1
tools/format.sh --check || status=1
run-clang-tidy-14 -quiet -p build-light -j "${JOBS:-$(nproc)}" "${ONLY:-/(unstarve|cli|fuzz)/.*\.cpp$}" || status=1
exit $status
