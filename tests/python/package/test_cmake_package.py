"""The installed C++ library: examples/cpp is built against it and runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ["UNSTARVE"]).resolve().parent


def run(*command, **options) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """An installation that has been moved: no path of it is fixed."""
    if not shutil.which("cmake"):
        pytest.skip("no cmake")
    folder = tmp_path_factory.mktemp("installed")
    for component in ("library", "program"):
        run("cmake", "--install", BUILD, "--component", component, "--prefix", folder / "there")
    (folder / "there").rename(folder / "moved")
    return folder / "moved"


@pytest.fixture(scope="module")
def example(prefix, tmp_path_factory):
    """The example's program, compiled as this build is."""
    cache = (BUILD / "CMakeCache.txt").read_text()
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.+)$", cache, re.MULTILINE)[1]
    folder = tmp_path_factory.mktemp("example")
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    run("cmake", "-S", ROOT / "examples/cpp", "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=Debug", *launcher)
    run("cmake", "--build", folder)
    return folder / "own_parts"


def test_headers_and_package_are_complete(prefix):
    headers = {str(path.relative_to(prefix / "include")) for path in (prefix / "include").rglob("*.h")}
    assert {"unstarve/storage/dataset/dataset.h", "unstarve/ops/base/operation.h"} <= headers
    assert not [name for name in headers if "testing" in name]
    text = "".join(path.read_text() for path in prefix.rglob("*.cmake"))
    assert str(ROOT) not in text and "unstarve::unstarve" in text


def test_an_operation_and_a_source_of_the_example_make_batches(example):
    """Values from 0 to 255 in a crop of 24 of 32 pixels: those of 100 and more are white, in all images alike."""
    lines = run(example).splitlines()
    assert [line.split(",")[0] for line in lines] == ["batch 0: 4 samples", "batch 1: 4 samples", "batch 2: 2 samples"]
    white = {float(re.search(r"([\d.]+) % white", line)[1]) for line in lines}
    brightness = [255 * column // 31 for column in range(4, 28)]
    assert white == {round(100 * sum(value >= 100 for value in brightness) / 24, 1)}


def test_the_example_reads_parquet_by_the_installed_module(example):
    """The run path of the program names lib/unstarve of the installation."""
    file = ROOT / "tests/fixtures/formats/parquet/plain.parquet"
    done = subprocess.run([example, file], capture_output=True, text=True, check=False)
    if "this build cannot read Parquet" in done.stderr:
        pytest.skip("this build has no Arrow")
    assert done.returncode == 0 and "samples" in done.stdout, done.stderr
