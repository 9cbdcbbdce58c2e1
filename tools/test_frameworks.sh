#!/usr/bin/env bash
# Runs the tests that require Lightning, transformers, JAX, TensorFlow, webdataset or datasets. These packages are too
# large for .venv: requirements-frameworks.txt is installed into .venv-frameworks (770 MB to download, 3.5 GB on disk).
# The pages docs/guide/coming-from also need torchvision, timm, DALI and FFCV, in environments of their own under
# BUILD/peers (3.4 GB to download, 6 GB on disk). What cannot be installed is reported, and its tests are skipped.
#
#   tools/test_frameworks.sh [BUILD]     build folder of the program and the module (default: build)
#
# The module was built for .venv's Python, so .venv-frameworks uses the same interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$(realpath "${1:-build}")
folder=.venv-frameworks
stamp=$folder/setup
packages="accelerate datasets jax lightning tensorflow transformers webdataset"

version() { "$1" -c 'import sys; print(*sys.version_info[:2])' 2>/dev/null; }

wanted=$(version .venv/bin/python)
hash=$(cat requirements-frameworks.txt tools/venv.sh | sha256sum | cut -d' ' -f1)
if [ "$(version $folder/bin/python)" != "$wanted" ]; then rm -rf $folder; fi
if [ "$(cat $stamp 2>/dev/null)" != "$hash" ]; then
  PYTHON=.venv/bin/python tools/venv.sh $folder requirements-frameworks.txt
  echo "$hash" >$stamp
fi

# A package that cannot be imported would have its tests skipped.
export TF_CPP_MIN_LOG_LEVEL=3 PYTHONDONTWRITEBYTECODE=1
for package in $packages; do
  $folder/bin/python -c "import $package" || { echo "test-frameworks: $package cannot be imported" >&2; exit 1; }
done

.venv/bin/python - "$tree/peers" <<'END'
import sys
from pathlib import Path

sys.path.insert(0, "")
from bench import setup

for name in ("timm", "dali", "ffcv"):
    try:
        setup.interpreter(name, Path(sys.argv[1]))
    except setup.Unavailable as reason:
        print(f"test-frameworks: {name} is not available: {reason}")
END

files=$(grep -rl --include='test_*.py' 'mark\.frameworks' tests/python)
UNSTARVE=$tree/unstarve UNSTARVE_PEERS=$tree/peers PYTHONPATH=$tree/python \
  $folder/bin/python -m pytest -q -rs -p no:cacheprovider -m frameworks $files
