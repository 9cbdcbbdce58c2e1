#!/usr/bin/env bash
# Checks layers, words, columns, format and clang-tidy (.clang-tidy) of the library and the program without libtorch.
# All checks run; the first failure of each is printed. ONLY is a regular expression of paths for clang-tidy. The paths
# are those of compiled files: the unit of a subfolder, or a file that is compiled alone (cmake/Folder.cmake).
set -euo pipefail
cd "$(dirname "$0")/.."
status=0
for check in layers words columns; do
  python3 "tools/check_$check.py" || status=1
done
tools/format.sh --check || status=1
cmake --preset light -B build-lint -DCMAKE_CXX_COMPILER_LAUNCHER= >/dev/null
if ! run-clang-tidy-14 -quiet -p build-lint -j "${JOBS:-$(nproc)}" \
  "${ONLY:-^(?!.*_test).*(unstarve_[a-z]+\.dir|/cli/|/unstarve/[a-z]+/).*}" >build-lint/tidy.log 2>&1; then
  status=1
  # No finding: clang-tidy is missing or crashed.
  grep -E '(warning|error):' build-lint/tidy.log | sort -u || tail -n 20 build-lint/tidy.log
fi
exit $status
