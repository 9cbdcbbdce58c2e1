#!/usr/bin/env bash
# Runs the parts without libtorch under sanitizers: unit tests and fuzz corpora under AddressSanitizer and
# UndefinedBehaviorSanitizer, then the threaded parts (core, pipeline) under ThreadSanitizer.
#
#   tools/sanitize.sh [core]      core: only the tests of the core, for continuous integration
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
export CTEST_OUTPUT_ON_FAILURE=1
export UBSAN_OPTIONS=print_stacktrace=1

case "${1:-all}" in
  core) asan_targets=(unstarve_core_test) asan_tests='^unit/core$' tsan_folders=(core) ;;
  all) asan_targets=(all) asan_tests='^(unit|fuzz)/' tsan_folders=(core pipeline) ;;
  *) echo "usage: tools/sanitize.sh [core]" >&2; exit 2 ;;
esac

build() {  # preset, targets
  local preset=$1
  shift
  [ -f "build-$preset/build.ninja" ] || cmake --preset "$preset"
  cmake --build "build-$preset" -j "$jobs" --target "$@"
}

build asan "${asan_targets[@]}"
ctest --test-dir build-asan --no-tests=error -R "$asan_tests"

build tsan $(printf "unstarve_%s_test " "${tsan_folders[@]}")
ctest --test-dir build-tsan --no-tests=error -R "^unit/($(IFS='|'; echo "${tsan_folders[*]}"))\$"
