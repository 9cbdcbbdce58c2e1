#!/usr/bin/env bash
# Builds the fuzz targets with clang's libFuzzer and runs each for SECONDS (60); ONLY is a regular expression of names.
# What it finds new goes to build-fuzz/corpus/NAME, an input that crashes to build-fuzz/crashes/NAME-*: add that to
# fuzz/corpus/NAME together with the repair, and every test run replays it.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
[ -f build-fuzz/build.ninja ] || cmake --preset fuzz

targets=()
for source in fuzz/*_fuzz.cpp; do
  name=$(basename "$source" _fuzz.cpp)
  if [[ $name =~ ${ONLY:-.} ]]; then targets+=("$name"); fi
done
[ ${#targets[@]} -gt 0 ] || { echo "fuzz: no target matches ${ONLY:-}" >&2; exit 2; }
cmake --build build-fuzz -j "${JOBS:-$(nproc)}" --target "${targets[@]/%/_fuzz}"

mkdir -p build-fuzz/crashes
failed=()
for name in "${targets[@]}"; do
  mkdir -p "build-fuzz/corpus/$name"
  echo "fuzz: $name, $seconds s"
  dictionary=()
  [ ! -f "fuzz/$name.dict" ] || dictionary=(-dict="fuzz/$name.dict")
  "build-fuzz/fuzz/${name}_fuzz" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
    -verbosity=0 -artifact_prefix="build-fuzz/crashes/$name-" "${dictionary[@]}" \
    "build-fuzz/corpus/$name" "fuzz/corpus/$name" || failed+=("$name")
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "fuzz: failed: ${failed[*]}; inputs in build-fuzz/crashes" >&2
  exit 1
fi
echo "fuzz: ${#targets[@]} targets, no failure"
