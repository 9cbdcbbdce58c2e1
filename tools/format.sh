#!/usr/bin/env bash
# Runs clang-format on every C++ file that git tracks or would add.
#
#   tools/format.sh            formats the files
#   tools/format.sh --check    changes nothing; prints the differences and exits with 1
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(-i)
if [ "${1:-}" = --check ]; then mode=(--dry-run --Werror); fi
git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cpp' '*.cu' '*.cuh' |
  xargs -0 -n 20 clang-format-14 --style=file "${mode[@]}"
