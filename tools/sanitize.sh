#!/usr/bin/env bash
# Runs the folders without libtorch under sanitizers: unit tests and fuzz corpora under AddressSanitizer and
# UndefinedBehaviorSanitizer, then the threaded folders (core, pipeline) under ThreadSanitizer.
#
#   tools/sanitize.sh [core]      core, for continuous integration: the tests of core and the corpora of the decoders
#                                 under ASan and UBSan, the tests of core and of the executor's threads under TSan
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
export CTEST_OUTPUT_ON_FAILURE=1
export UBSAN_OPTIONS=print_stacktrace=1

# The fuzz targets that include a header of codecs.
decoders=($(grep -l '"unstarve/codecs/' fuzz/*/*_fuzz.cpp | xargs -n 1 basename -s _fuzz.cpp))
case "${1:-all}" in
  core)
    asan_targets=(unstarve_core_test "${decoders[@]/%/_fuzz}")
    asan_tests="^(unit/core/.*|fuzz/($(IFS='|'; echo "${decoders[*]}")))\$"
    tsan_tests='^unit/(core|pipeline/(read_ahead|delivery|executor))/'
    ;;
  all) asan_targets=(all) asan_tests='^(unit|fuzz)/' tsan_tests='^unit/(core|pipeline)/' ;;
  *) echo "usage: tools/sanitize.sh [core]" >&2; exit 2 ;;
esac

build() {  # preset, targets
  local preset=$1
  shift
  [ -f "build-$preset/build.ninja" ] || cmake --preset "$preset"
  cmake --build "build-$preset" -j "$jobs" --target "$@"
}

build asan "${asan_targets[@]}"
ctest --test-dir build-asan --no-tests=error -j "$jobs" -R "$asan_tests"

build tsan unstarve_core_test unstarve_pipeline_test
ctest --test-dir build-tsan --no-tests=error -j "$jobs" -R "$tsan_tests"
