#!/usr/bin/env bash
# Compiles and links the training module with PyPI's torch 2.11.0, a CUDA 13 build, and runs the tests of models and
# torch, whose GPU parts are skipped without a GPU. Requires nvcc 13 and 6 GB of disk: not part of CI.
#
#   tools/check_cuda_torch.sh [FOLDER]    FOLDER: build folder, with the Python environment in venv/ (default:
#                                         build-cuda-torch)
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build-cuda-torch}
torch=2.11.0
command -v nvcc >/dev/null || { echo "find nvcc: not on PATH; expected CUDA 13's compiler" >&2; exit 2; }

python=$folder/venv/bin/python
if ! "$python" -c "import torch; assert torch.__version__.startswith('$torch') and torch.version.cuda" 2>/dev/null; then
  echo "installing torch $torch and CUDA's libraries into $folder/venv: 3 GB" >&2
  python3 -m venv "$folder/venv"
  "$python" -m pip --disable-pip-version-check -q install "torch==$torch" numpy
fi
package=$("$python" -c 'import torch; print(torch.utils.cmake_prefix_path)')/Torch
targets=(unstarve_torch_module unstarve_models_test unstarve_torch_test)
cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DUNSTARVE_TORCH=ON -DUNSTARVE_CUDA=ON \
  -DUNSTARVE_PYTHON=OFF -DUNSTARVE_PARQUET=OFF -DUNSTARVE_REMOTE=OFF -DTorch_DIR="$package"
cmake --build "$folder" -j "${JOBS:-$(nproc)}" --target "${targets[@]}"
ctest --test-dir "$folder" --output-on-failure -R '^unit/(models|torch)/'
