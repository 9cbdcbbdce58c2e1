#!/usr/bin/env bash
# Builds the fuzz targets with clang's libFuzzer and runs each for SECONDS (60). ONLY is a regular expression of names.
#
#   MODE=fuzz          with AddressSanitizer (default); without the assembly, which AddressSanitizer cannot check
#   MODE=fuzz-guard    the assembly of release builds, with buffers that end at an inaccessible page
#
# New inputs are written to build-MODE/corpus/NAME, inputs that crash to build-MODE/crashes/NAME-*. Add a crashing input
# to fuzz/corpus/NAME together with the fix; every test run replays it.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
mode=${MODE:-fuzz}
case $mode in fuzz | fuzz-guard) ;; *) echo "fuzz: MODE=$mode; expected fuzz or fuzz-guard" >&2; exit 2 ;; esac
build=build-$mode
[ -f "$build/build.ninja" ] || cmake --preset "$mode"

targets=()
for source in fuzz/*/*_fuzz.cpp; do
  name=$(basename "$source" _fuzz.cpp)
  if [[ $name =~ ${ONLY:-.} ]]; then targets+=("$name"); fi
done
[ ${#targets[@]} -gt 0 ] || { echo "fuzz: no target matches ${ONLY:-}" >&2; exit 2; }
cmake --build "$build" -j "${JOBS:-$(nproc)}" --target "${targets[@]/%/_fuzz}"

mkdir -p "$build/crashes"
failed=()
for name in "${targets[@]}"; do
  mkdir -p "$build/corpus/$name"
  echo "fuzz: $name, $mode, $seconds s"
  options=()
  # Photographs have long scans, which the decoder reads in different steps.
  case $name in jpeg*) options+=(-max_len=65536) ;; esac
  "$build/fuzz/${name}_fuzz" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
    -verbosity=0 -artifact_prefix="$build/crashes/$name-" "${options[@]}" \
    "$build/corpus/$name" "fuzz/corpus/$name" || failed+=("$name")
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "fuzz: failed: ${failed[*]}; inputs in $build/crashes" >&2
  exit 1
fi
echo "fuzz: ${#targets[@]} targets, no failure"
