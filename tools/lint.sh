#!/usr/bin/env bash
# Layers, words, columns, format, and clang-tidy (.clang-tidy) over the library and the program without libtorch. The
# first failure of each is printed; all run. ONLY is a regular expression of paths for clang-tidy, of the files that are
# compiled: a subfolder's unit or a file (cmake/Folder.cmake).
set -euo pipefail
cd "$(dirname "$0")/.."
status=0
for check in layers words columns; do
  python3 "tools/check_$check.py" || status=1
done
tools/format.sh --check || status=1
cmake --preset light -B build-lint -DCMAKE_CXX_COMPILER_LAUNCHER= >/dev/null
run-clang-tidy-14 -quiet -p build-lint -j "${JOBS:-$(nproc)}" \
  "${ONLY:-^(?!.*_test).*(unstarve_[a-z]+\.dir|/cli/|/unstarve/[a-z]+/).*}" >build-lint/tidy.log 2>/dev/null || {
  grep -E '(warning|error):' build-lint/tidy.log | sort -u
  status=1
}
exit $status
