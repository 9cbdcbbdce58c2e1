#!/usr/bin/env bash
# Runs the parts without libtorch under sanitizers: unit tests and fuzz corpora under AddressSanitizer and
# UndefinedBehaviorSanitizer, then the threaded parts (core, pipeline) under ThreadSanitizer.
#
#   tools/sanitize.sh [core]      core: the tests of the core and the corpora of whatever decodes images, for continuous
#                                 integration
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
export CTEST_OUTPUT_ON_FAILURE=1
export UBSAN_OPTIONS=print_stacktrace=1

# Their names: what includes a header of codecs.
decoders=($(grep -l '"unstarve/codecs/' fuzz/*_fuzz.cpp | xargs -n 1 basename -s _fuzz.cpp))
case "${1:-all}" in
  core)
    asan_targets=(unstarve_core_test "${decoders[@]/%/_fuzz}")
    asan_tests="^(unit/core|fuzz/($(IFS='|'; echo "${decoders[*]}")))\$"
    tsan_folders=(core)
    ;;
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
