"""The program loads libtorch only for training, and explains how to fix a missing or broken module."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

MODULE = "libunstarve_torch.so"
DATA = "synthetic:classes=4,images=600,size=32,seed=1"
TRAIN = ["train", DATA, "--model", "cifar_net", "--epochs", "0.02", "--batch", "64"]


@pytest.fixture(scope="module")
def program():
    path = Path(os.environ["UNSTARVE"]).resolve()
    report = json.loads(subprocess.run([path, "doctor", "--json"], capture_output=True, check=True).stdout)
    if any(finding["found"] == "this build has no libtorch" for finding in report["findings"]):
        pytest.skip("this build has no libtorch")
    return path


def run(*command, cwd, **environment):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("LD_")}
    return subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False,
                          env={**kept, **environment})


def libraries_of_a_run(folder, *command):
    """The files that the dynamic loader opens for this command, which must succeed."""
    done = run(*command, cwd=folder, LD_DEBUG="files", LD_DEBUG_OUTPUT=folder / "loaded")
    assert done.returncode == 0, done.stderr
    reports = list(folder.glob("loaded.*"))
    text = "".join(report.read_text() for report in reports)
    for report in reports:
        report.unlink()
    assert "libc.so" in text
    return text


def test_the_program_is_linked_without_libtorch(program, tmp_path):
    needed = run(program, cwd=tmp_path, LD_TRACE_LOADED_OBJECTS="1").stdout
    assert "libc.so" in needed and "libtorch" not in needed and "libc10" not in needed
    assert "libtorch" in run("ldd", program.parent / MODULE, cwd=tmp_path).stdout


def test_only_training_loads_libtorch(program, tmp_path):
    for command in (
        ["--version"], ["--help"], ["train", "--help"], ["completion"], ["man"], ["datasets"],
        ["synth", "shapes", "--classes", "2", "--images", "40", "--size", "64"],
        ["inspect", "shapes"], ["explain", "shapes"], ["explain", "shapes", "--model", "resnet18"],
        ["pack", "shapes", "packed", "--format", "webdataset"], ["verify", "packed"],
        ["bench", "shapes", "--device", "emulated:h100-resnet50", "--batch", "4", "--seconds", "0.3"],
    ):
        assert "libtorch" not in libraries_of_a_run(tmp_path, program, *command), command
    loaded = libraries_of_a_run(tmp_path, program, *TRAIN)
    assert MODULE in loaded and "libtorch" in loaded


def test_the_module_exports_only_its_entry_points(program, tmp_path):
    if not shutil.which("nm"):
        pytest.skip("no nm")
    shown = run("nm", "-D", "--defined-only", program.parent / MODULE, cwd=tmp_path).stdout.split("\n")
    assert {line.split()[-1] for line in shown if line} == {"unstarve_trainer_module", "unstarve_importer_module",
                                                            "unstarve_libtorch_module"}


def test_an_installed_program_finds_module_and_libtorch(program, tmp_path):
    if not shutil.which("cmake"):
        pytest.skip("no cmake")
    done = run("cmake", "--install", program.parent, "--component", "program", "--prefix", tmp_path / "there",
               cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    installed = tmp_path / "there" / "bin" / "unstarve"
    module, = (tmp_path / "there").rglob(MODULE)
    assert module.parent.name == "unstarve"
    loaded = libraries_of_a_run(tmp_path, installed, *TRAIN)
    # The loader names the files that it finds by the run path: bin/../lib/unstarve/...
    assert {Path(path).resolve() for path in re.findall(rf"/\S+/{MODULE}", loaded)} == {module}


def test_without_libtorch_everything_but_training_works(program, tmp_path):
    alone = tmp_path / "bin" / "unstarve"
    alone.parent.mkdir()
    shutil.copy(program, alone)
    done = run(alone, *TRAIN, cwd=tmp_path)
    assert done.returncode == 4
    assert f"unstarve: train: {MODULE}: cannot open shared object file" in done.stderr
    assert "Build or install both together" in done.stderr
    report = json.loads(run(alone, "doctor", "--json", cwd=tmp_path).stdout)
    finding, = (finding for finding in report["findings"] if finding["topic"] == "libtorch")
    assert MODULE in finding["advice"] and report["build"]["libtorch"] is None
    done = run(alone, "explain", DATA, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_missing_libtorch_is_named_with_the_remedy(program, tmp_path):
    module = (program.parent / MODULE).read_bytes()
    assert b"/torch/lib" in module
    (tmp_path / MODULE).write_bytes(module.replace(b"/torch/lib", b"/none!/lib"))
    done = run(program, *TRAIN, cwd=tmp_path, LD_LIBRARY_PATH=str(tmp_path))  # comes before the run path
    assert done.returncode == 4, done.stdout + done.stderr
    assert "unstarve: train: package torch not found: lib" in done.stderr
    assert "pip install 'unstarve[torch]'" in done.stderr and "make setup" in done.stderr
