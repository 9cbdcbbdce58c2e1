#!/usr/bin/env bash
# Installs missing packages: the Debian packages of tools/packages.txt, and into .venv the PyPI packages of
# requirements.txt, with the group test also those of requirements-test.txt.
#
#   tools/setup.sh [GROUP...]     groups of tools/packages.txt (default: build test)
#
# Prints the download size first. Packages are installed with apt-get, as root or through sudo. If that is not possible,
# the script prints the list of packages and the command, and exits with 4. If the lists have not changed since the last
# successful run, it exits within milliseconds. PYTHON selects the interpreter (tools/venv.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

groups=("$@")
[ ${#groups[@]} -gt 0 ] || groups=(build test)
stamp=".venv/setup-$(IFS=-; echo "${groups[*]}")"
requirements=(requirements.txt)
[[ " ${groups[*]} " != *" test "* ]] || requirements+=(requirements-test.txt)
lists_hash=$(cat tools/packages.txt tools/setup.sh tools/venv.sh "${requirements[@]}" | sha256sum | cut -d' ' -f1)
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

cannot_install() {  # $1: the reason
  {
    echo "setup: these Debian packages are missing: ${missing[*]}"
    echo "setup: they cannot be installed: $1"
    echo "setup: run the following as root, then repeat this command:"
    echo "    apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  } >&2
  exit 4
}

# Whether a list of packages exists that was fetched within the last week.
lists_are_fresh() {
  [ -n "$(find /var/lib/apt/lists -maxdepth 1 -name '*_Packages*' -mtime -7 -print -quit 2>/dev/null)" ]
}

# The download size of ${missing[@]}, as text.
apt_size() {
  apt-get install --print-uris -qq -y --no-install-recommends "${missing[@]}" 2>/dev/null |
    awk '{ bytes += $3; ++files } END { if (files) printf "%.1f MB in %d files", bytes / 1e6, files
                                        else printf "size unknown" }'
}

install_packages() {
  command -v apt-get >/dev/null || cannot_install "apt-get is not available"
  local root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || cannot_install "not root, and sudo is not available"
    root=(sudo)
    # Request a password only in an interactive terminal.
    if [ ! -t 0 ] || [ "${CI:-}" = true ]; then root+=(-n); fi
    "${root[@]}" true 2>/dev/null || cannot_install "not root, and sudo is not permitted"
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
    say "retrying with new lists of packages"
    "${apt[@]}" update >/dev/null || cannot_install "apt-get update failed (see above)"
    "${install[@]}" >/dev/null || cannot_install "apt-get install failed (see above)"
  fi
}

if ! command -v dpkg-query >/dev/null; then
  missing=("${needed[@]}")
  cannot_install "this is not Debian (make SETUP=no uses the installed packages)"
fi
read -ra missing <<<"$(missing_packages | tr '\n' ' ')"
[ ${#missing[@]} = 0 ] || install_packages

# --- PyPI packages -------------------------------------------------------------------------------------------------

tools/venv.sh .venv "${requirements[@]}"

echo "$lists_hash" >"$stamp"
say "all packages are installed (${groups[*]})"
