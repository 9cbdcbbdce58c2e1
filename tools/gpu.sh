#!/usr/bin/env bash
# Builds, tests and measures on a machine with a GPU and without network: Linux, g++ 12 or later, cmake, ninja, xz, CUDA
# 13 with nvcc, and a Python with its headers (python3-dev), torch, numpy, Pillow and pytest.
#
#   tools/gpu.sh archive [FILE]    on Debian 12 with network: writes the other libraries to FILE
#                                  (dist/unstarve-gpu-libraries.tar.xz, below 60 MB)
#   tools/gpu.sh [run] [OPTIONS]   on the GPU machine
#     --archive FILE    as above
#     --data DATA       photographs for the measurements (default: 2,000 synthetic ones)
#     --out FILE        the result (default: build-gpu/gpu.json)
#     --minutes M       duration of everything (default: 9); what did not fit is listed in the result, which is written
#                       after every test and measurement
#     --no-gpu          also without a GPU: build and test what runs then
#
# Compiler: g++ on PATH, not $CXX. One that links libstdc++ statically makes a Python module that crashes, because the
# libraries have another copy.
# Python: that of $PYTHON, else python3. Nothing is installed; the libraries are unpacked into build-gpu/libraries. The
# exit code is 1 if the build or a test failed.
set -euo pipefail
cd "$(dirname "$0")/.."
started=$SECONDS
default_archive=dist/unstarve-gpu-libraries.tar.xz
say() { echo "gpu: $*" >&2; }
fail() { say "$*"; exit 2; }

# The packages of group [build] that a build without network, remote reading and Parquet needs.
libraries=(libjpeg62-turbo-dev libpng-dev libwebp-dev zlib1g-dev libzstd-dev libarchive-dev libssl-dev libsqlite3-dev
  liburing-dev libhwy-dev libcli11-dev libfmt-dev nlohmann-json3-dev libyaml-cpp-dev catch2)

write_archive() {
  local file=${1:-$default_archive} work
  work=$(mktemp -d)
  trap "rm -rf '$work'" EXIT
  mkdir -p "$work/packages" "$work/libraries" "$(dirname "$file")"
  # All packages they depend on, except the C and C++ runtimes, which belong to the machine, and programs.
  local packages
  mapfile -t packages < <(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
    --no-replaces --no-enhances "${libraries[@]}" | grep -E '^[a-z0-9]' |
    grep -E '^(lib|zlib|catch2|nlohmann)' | grep -vE '^(libc6|libc-|libgcc|libstdc\+\+|libcrypt|libdebconf|libperl)' |
    sort -u)
  (cd "$work/packages" && apt-get -q download "${packages[@]}" >/dev/null)
  for package in "$work"/packages/*.deb; do dpkg-deb -x "$package" "$work/libraries"; done
  # nanobind: headers and CMake files of the extension module.
  .venv/bin/python -m pip --disable-pip-version-check -q download --no-deps -d "$work/packages" \
    "$(grep -oE '^nanobind==[0-9.]+' requirements.txt)"
  .venv/bin/python -m zipfile -e "$work"/packages/nanobind-*.whl "$work/libraries/python"
  cd "$work/libraries"
  # One folder of libraries, as the links of -dev packages expect, and relative links: Debian's libz.so is absolute.
  if [ -d lib ]; then cp -a lib/. usr/lib/; fi
  rm -rf lib
  local name target
  while read -r name; do
    target=$(readlink "$name")
    [[ $target != /lib/* ]] || target=/usr$target
    ln -snfr ".$target" "$name"
  done < <(find usr/lib -type l -lname '/*')
  # Only headers, libraries, CMake packages and licences. A static library is needed only if there is no shared one.
  for name in usr/lib/*/*.a; do if [ -e "${name%.a}.so" ]; then rm "$name"; fi; done
  find usr/share -mindepth 1 -maxdepth 1 ! -name cmake ! -name doc -exec rm -rf {} +
  find usr/share/doc -type f ! -name copyright -delete
  find usr/share/doc -xtype l -delete
  cp -a usr/include/x86_64-linux-gnu/. usr/include/  # Debian's compiler searches both
  rm -rf usr/include/x86_64-linux-gnu etc usr/bin usr/sbin bin sbin var usr/lib/python3* usr/lib/*/gconv
  name=$(find . -xtype l)
  [ -z "$name" ] || fail "pack libraries: found links to files that are not packed: $name; expected none"
  cd - >/dev/null
  tar -C "$work" -cJf "$file" libraries
  say "$file: $(($(stat -c %s "$file") / 1000000)) MB, ${#packages[@]} packages"
}

archive=$default_archive data= out=build-gpu/gpu.json minutes=9 need_gpu=yes
case ${1:-run} in
  archive) write_archive "${2:-}"; exit ;;
  run) [ $# -eq 0 ] || shift ;;
  -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit ;;
esac
while [ $# -gt 0 ]; do
  case $1 in
    --archive) archive=$2; shift ;;
    --data) data=$2; shift ;;
    --out) out=$2; shift ;;
    --minutes) minutes=$2; shift ;;
    --no-gpu) need_gpu=no ;;
    *) fail "unknown option $1; see tools/gpu.sh --help" ;;
  esac
  shift
done

python=${PYTHON:-python3}
for program in g++ cmake ninja xz "$python"; do
  command -v "$program" >/dev/null || fail "find $program: not on PATH; expected g++, cmake, ninja, xz and $python"
done
if [ $need_gpu = yes ]; then
  command -v nvcc >/dev/null || fail "find nvcc: not on PATH; expected CUDA 13's compiler. Add its folder to PATH."
  nvidia-smi >/dev/null 2>&1 || fail "run nvidia-smi: failed; expected a GPU with a driver. --no-gpu does without."
fi
header=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h
[ -f "$header" ] || fail "open $header: no such file; expected the headers of $python. Install python3-dev."
"$python" -c 'import torch, numpy, PIL, pytest' || fail "import torch, numpy, PIL and pytest in $python: failed"
[ -f "$archive" ] || fail "open $archive: no such file; expected the archive that 'tools/gpu.sh archive' writes"

folder=$PWD/build-gpu
mkdir -p "$folder" "$(dirname "$out")"
if [ ! "$folder/libraries" -nt "$archive" ]; then
  rm -rf "$folder/libraries"
  tar -C "$folder" -xf "$archive"
  touch "$folder/libraries"
fi
libraries=$folder/libraries/usr
export PYTHONPATH=$folder/libraries/python${PYTHONPATH:+:$PYTHONPATH}
torch=$("$python" -c 'import torch; print(torch.utils.cmake_prefix_path)')/Torch
nvcc=$(command -v nvcc || true)

# RPATH, unlike RUNPATH, also finds the libraries of libraries; LD_LIBRARY_PATH would give them to Python itself.
link="-Wl,--disable-new-dtags -Wl,-rpath-link,$libraries/lib/x86_64-linux-gnu"
say "building in build-gpu"
cmake -S . -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$(command -v g++)" \
  -DCMAKE_CUDA_HOST_COMPILER="$(command -v g++)" -DCMAKE_PREFIX_PATH="$libraries" \
  -DCMAKE_LIBRARY_ARCHITECTURE=x86_64-linux-gnu -DUNSTARVE_REMOTE=OFF -DUNSTARVE_PARQUET=OFF -DTorch_DIR="$torch" \
  -DUNSTARVE_TORCH=ON -DUNSTARVE_PYTHON=ON -DUNSTARVE_CUDA="$([ -n "$nvcc" ] && echo ON || echo OFF)" \
  -DPython_EXECUTABLE="$(command -v "$python")" -DCMAKE_EXE_LINKER_FLAGS="$link" \
  -DCMAKE_SHARED_LINKER_FLAGS="$link" -DCMAKE_MODULE_LINKER_FLAGS="$link" >"$folder/configure.log" 2>&1 ||
  { tail -30 "$folder/configure.log" >&2; fail "configure: failed; see build-gpu/configure.log"; }
targets=(unstarve _core unstarve_device_test unstarve_ops_test unstarve_codecs_test unstarve_pipeline_test
  unstarve_models_test unstarve_diagnose_test unstarve_torch_test unstarve_train_test unstarve_jobs_test)
cmake --build "$folder/build" -j "${JOBS:-$(nproc)}" --target "${targets[@]}" >"$folder/build.log" 2>&1 ||
  { grep -E 'error|FAILED' -A5 "$folder/build.log" | head -40 >&2; fail "build: failed; see build-gpu/build.log"; }
built=$((SECONDS - started))
say "built in $built s"

options=(--build "$folder/build" --out "$out" --build-seconds "$built" --minutes "$minutes")
[ -z "$data" ] || options+=(--data "$data")
exec "$python" tools/gpu_run.py "${options[@]}"
