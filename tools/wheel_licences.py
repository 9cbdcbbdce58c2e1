#!/usr/bin/env python3
"""Adds the licences of bundled libraries to a wheel of auditwheel.

    tools/wheel_licences.py WHEEL FOLDER

Writes the wheel to FOLDER with the copyright file of the Debian package of each library in unstarve.libs, of the
header-only libraries that are compiled in, and nanobind's licence. They are in *.dist-info/licenses/bundled.
"""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
from pathlib import Path

from auditwheel.wheeltools import InWheelCtx

# Debian packages of libraries that consist of headers.
HEADER_ONLY = ("libcli11-dev", "nlohmann-json3-dev")


def original_name(library: str) -> str:
    """The name before auditwheel's: libz-0a1b2c3d.so.1 is libz.so.1."""
    return re.sub(r"-[0-9a-f]{8}(?=\.)", "", library, count=1)


def package_of(library: str) -> str:
    """The Debian package that contains a file of this name."""
    found = subprocess.run(["dpkg-query", "-S", f"*/{library}"], capture_output=True, text=True, check=False)
    packages = {line.split(":")[0] for line in found.stdout.splitlines()}
    if len(packages) != 1:
        sys.exit(f"make wheel: {library} is in {len(packages)} Debian packages; expected one, with its licence. "
                 "Build the wheel against the packages of tools/packages.txt")
    return packages.pop()


def copyright_of(package: str) -> Path:
    path = Path("/usr/share/doc", package, "copyright")
    if not path.is_file():
        sys.exit(f"make wheel: {path} does not exist; expected the licence of {package}. Run: apt-get install "
                 f"--reinstall {package}   (containers may exclude /usr/share/doc)")
    return path


def add_licences(root: Path) -> list[str]:
    """Copies the licences to the unpacked wheel and lists them in its metadata; returns their names."""
    metadata, = root.glob("unstarve-*.dist-info/METADATA")
    folder = metadata.parent / "licenses" / "bundled"
    folder.mkdir(parents=True)
    libraries = sorted(path.name for path in (root / "unstarve.libs").iterdir())
    for package in sorted({package_of(original_name(name)) for name in libraries} | set(HEADER_ONLY)):
        shutil.copyfile(copyright_of(package), folder / f"{package}.txt")
    nanobind = [file for file in importlib.metadata.files("nanobind") or [] if file.name == "LICENSE"]
    shutil.copyfile(nanobind[0].locate(), folder / "nanobind.txt")
    names = sorted(f"bundled/{path.name}" for path in folder.iterdir())
    head, _, body = metadata.read_text(encoding="utf-8").partition("\n\n")
    lines = "".join(f"\nLicense-File: {name}" for name in names)
    metadata.write_text(f"{head}{lines}\n\n{body}", encoding="utf-8")
    return names


def main(wheel: str, folder: str) -> None:
    target = Path(folder) / Path(wheel).name
    with InWheelCtx(Path(wheel), target) as context:  # writes RECORD at the end
        names = add_licences(Path(context.path))
    print(f"{len(names)} licences of bundled libraries")


if __name__ == "__main__":
    main(*sys.argv[1:])
