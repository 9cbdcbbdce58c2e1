#!/usr/bin/env bash
# Installs what is missing of PyPI's packages into an environment.
#
#   tools/venv.sh FOLDER REQUIREMENTS     for example .venv requirements.txt
#
# Says first how much it will download; exits with 4 where it cannot be done. An environment whose Python does not run
# is made anew. PYTHON names the interpreter to use (3.11 or newer).
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1 requirements=$2

say() { echo "setup: $*"; }
fail() { echo "setup: $*" >&2; exit 4; }

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 /usr/bin/python3 python3.11 python3.12 python3.13}; do
    if new_enough "$candidate"; then echo "$candidate"; return; fi
  done
  fail "Python 3.11 or newer is needed; found: $(${PYTHON:-python3} --version 2>&1 || echo none)." \
    "Set PYTHON to one."
}

if ! new_enough "$folder/bin/python"; then
  python=$(find_python)
  [ ! -e "$folder" ] || say "making $folder anew: its Python does not run, or is older than 3.11"
  "$python" -m venv --clear "$folder" ||
    fail "'$python -m venv $folder' failed (see above); python3-venv may be missing"
fi

pip=("$folder/bin/python" -m pip --disable-pip-version-check)
by_hand="$folder/bin/python -m pip install -r $requirements"
report=$(mktemp)
trap 'rm -f "$report"' EXIT
"${pip[@]}" install -q --dry-run --report "$report" -r "$requirements" ||
  fail "pip cannot find what $requirements names (see above); run by hand: $by_hand"
plan=$("$folder/bin/python" tools/download_size.py "$report")
if [ -n "$plan" ]; then
  while IFS= read -r line; do say "$line"; done <<<"$plan"
  "${pip[@]}" install -q -r "$requirements" || fail "pip failed (see above); run by hand: $by_hand"
fi
