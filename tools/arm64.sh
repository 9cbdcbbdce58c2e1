#!/usr/bin/env bash
# Cross-compiles the folders with SIMD kernels (core, ops, codecs; device is used by ops) for 64-bit ARM and runs their
# tests under emulation, which checks that the NEON code compiles and is bit-equal. It does not measure speed.
# The libraries come from Debian's arm64 packages, which are unpacked to build-arm64/root and not installed.
set -euo pipefail
cd "$(dirname "$0")/.."
folders=(core device ops codecs)
out=$PWD/build-arm64
root=$out/root
libraries=$root/usr/lib/aarch64-linux-gnu
mkdir -p "$out/objects" "$out/apt/lists/partial" "$out/apt/archives/partial" "$out/include"

if [ ! -f "$out/unpacked" ]; then
  : > "$out/apt/status"  # a separate state of apt, next to that of the machine
  cat > "$out/apt/conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
Dir::State "$out/apt";
Dir::State::status "$out/apt/status";
Dir::Cache "$out/apt";
END
  export APT_CONFIG=$out/apt/conf
  apt-get -q update
  (cd "$out/apt/archives" && apt-get -q download libhwy-dev libhwy1 libfmt-dev libfmt9 libjpeg62-turbo-dev \
    libjpeg62-turbo libpng-dev libwebp-dev zlib1g-dev)
  unset APT_CONFIG
  for package in "$out"/apt/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
  # Headers only: the same on every machine.
  for name in catch2 nlohmann; do ln -sfn "/usr/include/$name" "$out/include/$name"; done
  touch "$out/unpacked"
fi

sources=()
for folder in "${folders[@]}"; do
  while IFS= read -r source; do
    case $source in
      *_alloc_test.cpp) ;;  # count allocations of the whole program
      *) sources+=("$source") ;;
    esac
  done < <(find "unstarve/$folder" -name '*.cpp' -not -path '*/cuda/*' | sort)
done

compile() {
  local object=$out/objects/${1//\//_}.o
  # Contraction is off as in cmake/Options.cmake; compilers for this architecture use it by default.
  $launcher aarch64-linux-gnu-g++ -std=c++20 -O2 -ffp-contract=off -Wno-psabi -I. \
    -isystem "$root/usr/include" \
    -isystem "$libraries/../../include/aarch64-linux-gnu" -isystem "$out/include" -c "$1" -o "$object"
}
export -f compile
launcher=$(command -v ccache || true)  # all files are compiled each time; ccache provides unchanged ones
export out root libraries launcher
printf '%s\0' "${sources[@]}" tests/catch_main.cpp | xargs -0 -P "${JOBS:-$(nproc)}" -I '{}' bash -c 'compile {}'

failed=()
common=()
for source in "${sources[@]}"; do [[ $source == *_test.cpp ]] || common+=("$out/objects/${source//\//_}.o"); done
for folder in "${folders[@]}"; do
  tests=()
  for source in "${sources[@]}"; do
    if [[ $source == unstarve/$folder/*_test.cpp ]]; then tests+=("$out/objects/${source//\//_}.o"); fi
  done
  aarch64-linux-gnu-g++ -o "$out/unstarve_${folder}_test" "${tests[@]}" "$out/objects/tests_catch_main.cpp.o" \
    "${common[@]}" -L "$libraries" -lhwy -lfmt -ljpeg "$libraries/libpng16.a" "$libraries/libwebp.a" \
    "$libraries/libz.a" -lpthread -lm
  echo "arm64: $folder"
  qemu-aarch64-static -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=$libraries" "$out/unstarve_${folder}_test" ||
    failed+=("$folder")
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "arm64: failed: ${failed[*]}" >&2
  exit 1
fi
