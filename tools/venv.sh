#!/usr/bin/env bash
# Installs missing PyPI packages into a virtual environment.
#
#   tools/venv.sh FOLDER REQUIREMENTS...     for example .venv requirements.txt
#
# Prints the download size first; exits with 4 on failure. An environment whose Python does not run is created again.
# PYTHON selects the interpreter (3.11 or newer).
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
shift
requirements=("${@/#/--requirement=}")

say() { echo "setup: $*"; }
fail() { echo "setup: $*" >&2; exit 4; }

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 /usr/bin/python3 python3.11 python3.12 python3.13}; do
    if new_enough "$candidate"; then echo "$candidate"; return; fi
  done
  fail "Python 3.11 or newer is needed; found: $(${PYTHON:-python3} --version 2>&1 || echo none)." \
    "Set PYTHON to such an interpreter."
}

if ! new_enough "$folder/bin/python"; then
  python=$(find_python)
  [ ! -e "$folder" ] || say "creating $folder again: its Python does not run, or is older than 3.11"
  "$python" -m venv --clear "$folder" ||
    fail "'$python -m venv $folder' failed (see above); python3-venv may be missing"
fi

pip=("$folder/bin/python" -m pip --disable-pip-version-check)
by_hand="$folder/bin/python -m pip install ${requirements[*]}"
report=$(mktemp)
trap 'rm -f "$report"' EXIT
"${pip[@]}" install -q --dry-run --report "$report" "${requirements[@]}" ||
  fail "pip cannot find the packages of $* (see above); run it manually: $by_hand"
plan=$("$folder/bin/python" tools/download_size.py "$report")
if [ -n "$plan" ]; then
  while IFS= read -r line; do say "$line"; done <<<"$plan"
  "${pip[@]}" install -q "${requirements[@]}" || fail "pip failed (see above); run it manually: $by_hand"
fi
