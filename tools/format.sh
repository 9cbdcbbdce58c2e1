#!/usr/bin/env bash
# clang-format over every C++ file that git knows or would add.
#
#   tools/format.sh            rewrites them
#   tools/format.sh --check    changes nothing; prints what is not formatted and exits with 1
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(-i)
if [ "${1:-}" = --check ]; then mode=(--dry-run --Werror); fi
git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cpp' '*.cu' '*.cuh' |
  xargs -0 -n 20 clang-format-14 --style=file "${mode[@]}"
