#!/usr/bin/env bash
# Installs what is missing: Debian packages of tools/packages.txt, and PyPI's packages of requirements.txt into .venv.
#
#   tools/setup.sh [GROUP...]     groups of tools/packages.txt; build and test when none is named
#
# Says first how much it will download. Packages are installed by apt-get, as root or by sudo; where that cannot be done
# it prints the exact list and command and exits with 4. Does nothing, in milliseconds, when the lists have not changed
# since they were last satisfied. PYTHON names the interpreter to use (tools/venv.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

groups=("$@")
[ ${#groups[@]} -gt 0 ] || groups=(build test)
stamp=".venv/setup-$(IFS=-; echo "${groups[*]}")"
lists_hash=$(cat tools/packages.txt tools/setup.sh tools/venv.sh requirements.txt | sha256sum | cut -d' ' -f1)
if [ -x .venv/bin/python ] && [ "$(cat "$stamp" 2>/dev/null)" = "$lists_hash" ]; then
  exit 0
fi

say() { echo "setup: $*"; }

packages_of() {  # the packages of one group
  awk -v wanted="[$1]" '/^\[/ { inside = ($1 == wanted); known = known || inside; next }
    { sub(/#.*/, "") } inside && NF { print $1 } END { exit !known }' tools/packages.txt ||
    { echo "setup: tools/packages.txt has no group $1" >&2; exit 2; }
}

needed=()
for group in "${groups[@]}"; do
  list=$(packages_of "$group")
  mapfile -t -O ${#needed[@]} needed <<<"$list"
done

# --- Debian packages -----------------------------------------------------------------------------------------------

missing_packages() {
  for package in "${needed[@]}"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
  done
}

cannot_install() {  # $1: why
  {
    echo "setup: these Debian packages are missing: ${missing[*]}"
    echo "setup: they cannot be installed from here: $1"
    echo "setup: run this as root, then the same command again:"
    echo "    apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  } >&2
  exit 4
}

# True when some list of packages is there and was fetched within the last week.
lists_are_fresh() {
  [ -n "$(find /var/lib/apt/lists -maxdepth 1 -name '*_Packages*' -mtime -7 -print -quit 2>/dev/null)" ]
}

# How much installing ${missing[@]} would download, as text.
apt_size() {
  apt-get install --print-uris -qq -y --no-install-recommends "${missing[@]}" 2>/dev/null |
    awk '{ bytes += $3; ++files } END { if (files) printf "%.1f MB in %d files", bytes / 1e6, files
                                        else printf "size unknown" }'
}

install_packages() {
  command -v apt-get >/dev/null || cannot_install "there is no apt-get"
  local root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || cannot_install "not root, and there is no sudo"
    root=(sudo)
    # Ask for a password only where somebody can give one.
    if [ ! -t 0 ] || [ "${CI:-}" = true ]; then root+=(-n); fi
    "${root[@]}" true 2>/dev/null || cannot_install "not root, and sudo refuses"
  fi
  local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q)
  local updated=no
  if ! lists_are_fresh; then
    say "fetching the lists of packages (about 10 MB)"
    "${apt[@]}" update >/dev/null || cannot_install "apt-get update failed (see above)"
    updated=yes
  fi
  local size
  size=$(apt_size) || true
  say "Debian packages to install: ${missing[*]}"
  say "to download: ${size:-size unknown}"
  local install=("${apt[@]}" install -y --no-install-recommends "${missing[@]}")
  if ! "${install[@]}" >/dev/null; then
    [ $updated = no ] || cannot_install "apt-get install failed (see above)"
    say "once more with fresh lists of packages"
    "${apt[@]}" update >/dev/null || cannot_install "apt-get update failed (see above)"
    "${install[@]}" >/dev/null || cannot_install "apt-get install failed (see above)"
  fi
}

if ! command -v dpkg-query >/dev/null; then
  missing=("${needed[@]}")
  cannot_install "this is no Debian (make SETUP=no takes what is there)"
fi
read -ra missing <<<"$(missing_packages | tr '\n' ' ')"
[ ${#missing[@]} = 0 ] || install_packages

# --- PyPI's packages -----------------------------------------------------------------------------------------------

tools/venv.sh .venv requirements.txt

echo "$lists_hash" >"$stamp"
say "all there (${groups[*]})"
