#!/usr/bin/env bash
# Builds the fuzz targets with clang's libFuzzer and runs each for SECONDS (60); ONLY is a regular expression of names.
# MODE: fuzz (AddressSanitizer, the default), or fuzz-guard: the assembly that releases run, which AddressSanitizer does
# not see and is left out with it, and buffers that end at a page that must not be touched.
# What it finds new goes to build-MODE/corpus/NAME, an input that crashes to build-MODE/crashes/NAME-*: add that to
# fuzz/corpus/NAME together with the repair, and every test run replays it.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
mode=${MODE:-fuzz}
case $mode in fuzz | fuzz-guard) ;; *) echo "fuzz: MODE=$mode, expected fuzz or fuzz-guard" >&2; exit 2 ;; esac
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
  # Photographs have long scans, which are read in other steps than short ones.
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
