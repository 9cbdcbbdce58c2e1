"""What is in the wheel: the program, modules, shared libraries with their licences; nothing from outside."""

from __future__ import annotations

import io
import os
import re
import zipfile
from email.parser import Parser

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from tests.wheel.conftest import ROOT

# Provided by every distribution (manylinux), by torch, pyarrow and openvino, or by the driver.
OUTSIDE = re.compile(r"(ld-linux-\S+|lib(c|m|dl|rt|pthread|resolv|util|gcc_s|stdc\+\+|z|expat)|"
                     r"lib(torch|torch_cpu|torch_cuda|c10|c10_cuda|gomp|arrow|parquet|openvino|cuda))\.so")


@pytest.fixture(scope="module")
def files(wheel):
    """The contents of all files, by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def tags(files, tag):
    """Values of a tag of the dynamic section, by file."""
    found = {}
    for name, data in files.items():
        if data[:4] != b"\x7fELF":
            continue
        sections = [s for s in ELFFile(io.BytesIO(data)).iter_sections() if isinstance(s, DynamicSection)]
        found[name] = [getattr(entry, tag.removeprefix("DT_").lower(), None) for section in sections
                       for entry in section.iter_tags(tag)]
    return found


def test_it_is_for_this_glibc_and_small(wheel):
    glibc = os.confstr("CS_GNU_LIBC_VERSION").split()[1].replace(".", "_")
    assert f"manylinux_{glibc}_{os.uname().machine}" in wheel.name
    assert wheel.stat().st_size < 40_000_000


def test_it_contains_sources_program_and_modules(files):
    names = set(files)
    sources = {str(path.relative_to(ROOT / "python")) for path in (ROOT / "python").rglob("*.py*")
               if path.suffix in (".py", ".pyi")}
    assert sources | {"unstarve/py.typed", "unstarve/bin/unstarve", "unstarve/lib/libunstarve_torch.so",
                      "unstarve/lib/libunstarve_arrow.so", "unstarve/lib/libunstarve_openvino.so",
                      "unstarve/lib/libunstarve_cupti.so"} <= names
    assert any(re.fullmatch(r"unstarve/_core\.\S+\.so", name) for name in names)


def test_every_library_is_bundled_or_known(files):
    bundled = {name.rpartition("/")[2] for name in files if name.startswith("unstarve.libs/")}
    needed = tags(files, "DT_NEEDED")
    assert len(needed) > 10 and len(bundled) > 10
    unknown = {(file, name) for file, names in needed.items() for name in names
               if name not in bundled and not OUTSIDE.match(name)}
    assert not unknown
    # Names of bundled libraries have a hash, so that no other package's library takes their position.
    assert all(re.search(r"-[0-9a-f]{8}\.", name) for name in bundled)


def test_run_paths_stay_in_the_wheel(files):
    found = [(file, path) for tag in ("DT_RPATH", "DT_RUNPATH") for file, paths in tags(files, tag).items()
             for path in ":".join(paths).split(":") if path]
    assert ("unstarve/bin/unstarve", "$ORIGIN/../lib") in found
    assert [path for path in found if not path[1].startswith("$ORIGIN")] == []


def test_every_bundled_library_has_its_licence(files):
    metadata = next(name for name in files if name.endswith(".dist-info/METADATA"))
    folder = metadata.removesuffix("METADATA") + "licenses/"
    listed = Parser().parsestr(files[metadata].decode()).get_all("License-File")
    assert {folder + name for name in listed} == {name for name in files if name.startswith(folder)}
    assert {"LICENSE", "NOTICE", "bundled/nanobind.txt", "bundled/nlohmann-json3-dev.txt"} <= set(listed)
    texts = [files[folder + name].decode() for name in listed if name.startswith("bundled/")]
    assert all(re.search("licen[cs]e|copyright", text, re.IGNORECASE) for text in texts)
    for library, package in (("libjpeg-", "libjpeg62-turbo"), ("libcurl-", "libcurl4"), ("libhwy-", "libhwy1")):
        assert any(name.startswith(f"unstarve.libs/{library}") for name in files)
        assert f"bundled/{package}.txt" in listed
