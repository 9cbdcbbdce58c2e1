"""The programs of examples/slow run in both variants, and run_all.py reports what `watch` finds."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[3]
SLOW = ROOT / "examples" / "slow"
BATCH = ROOT / "tests" / "python" / "support" / "program_batch.py"
NOT_PROGRAMS = {"common.py", "photo_server.py", "run_all.py"}
SECONDS = "0.3"  # every program runs twice


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Prepared photographs."""
    path = tmp_path_factory.mktemp("slow")
    subprocess.run([sys.executable, SLOW / "common.py", path], check=True, timeout=120)
    return path


def programs():
    return sorted(path for path in SLOW.glob("*.py") if path.name not in NOT_PROGRAMS)


def result_of(output):
    result = json.loads(output.splitlines()[-1])
    assert set(result) == {"samples", "seconds", "steps"}, output
    assert result["samples"] > 0 and result["steps"] > 0, output
    assert result["seconds"] >= 0.3, output
    return result


def test_every_program_runs_in_both_variants(folder, tmp_path):
    jobs = {f"{path.stem}{'-fixed' if fixed else ''}": [str(path), "--seconds", SECONDS, "--data", str(folder)]
            + ["--fixed"] * fixed + ["--device", "cpu"] * path.stem.startswith("gpu_")
            for path in programs() for fixed in (False, True)}
    done = subprocess.run([sys.executable, BATCH, tmp_path], input=json.dumps(jobs), stdout=subprocess.PIPE, text=True,
                          check=True, timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1"})
    codes = json.loads(done.stdout.splitlines()[-1])
    assert set(codes) == set(jobs)
    for name, code in codes.items():
        output = (tmp_path / f"{name}.out").read_text()
        required = re.search(r"requires the package (\w+)", output)
        if required and not importlib.util.find_spec(required[1]):
            assert code == 1
        else:
            assert code == 0, f"{name}: {output}"
            result_of(output)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
@pytest.mark.parametrize("source", sorted(path.stem for path in (SLOW / "cpp").glob("*.cpp")))
def test_every_cpp_program_runs_in_both_variants(folder, tmp_path, source):
    program = tmp_path / source
    subprocess.run(["g++", "-O1", "-std=c++20", "-pthread", "-Wall", "-Wextra", "-Werror",
                    SLOW / "cpp" / f"{source}.cpp", "-ljpeg", "-o", program], check=True, timeout=120)
    for variant in ([], ["--fixed"]):
        done = subprocess.run([program, "--seconds", SECONDS, "--data", folder, *variant], capture_output=True,
                              text=True, check=True, timeout=60)
        result_of(done.stdout)


def test_all_programs_are_run_by_run_all_and_described():
    text, guide = (SLOW / "run_all.py").read_text(), (SLOW / "README.md").read_text()
    names = [path.stem for path in programs()] + [f"cpp_{path.stem}" for path in (SLOW / "cpp").glob("*.cpp")]
    assert sorted(re.findall(r'Case\("(\w+)"', text)) == sorted(names)
    assert set(re.findall(r"^\| `(\w+)`", guide, re.MULTILINE)) == set(names)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
def test_run_all_measures_the_selected_examples(folder):
    if "UNSTARVE" not in os.environ:
        pytest.skip("UNSTARVE is not set")
    done = subprocess.run([sys.executable, SLOW / "run_all.py", "--only", "^cpp_small_reads$|^healthy_numpy$",
                           "--seconds", "1", "--pairs", "1", "--data", folder, "--json"],
                          capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    slow, healthy = report["programs"]
    assert slow["name"] == "cpp_small_reads"
    assert slow["gain"]["low"] <= slow["gain"]["mean"] <= slow["gain"]["high"]
    assert healthy["accepted"] == []
    assert "gain" not in healthy
    assert report["summary"]["planted"] == report["summary"]["healthy"] == 1


def test_programs_for_a_gpu_say_so(folder):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    done = subprocess.run([sys.executable, SLOW / "gpu_item.py", "--data", folder], capture_output=True, text=True,
                          check=False, timeout=60)
    assert (done.returncode, done.stderr.strip()) == (1, "gpu_item.py requires a GPU (CUDA)")
    done = subprocess.run([sys.executable, SLOW / "run_all.py", "--only", "^gpu_", "--unstarve", sys.executable,
                           "--data", folder], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("skipped: no GPU") == 3


def test_run_all_rejects_unknown_names():
    done = subprocess.run([sys.executable, SLOW / "run_all.py", "--only", "nothing", "--unstarve", sys.executable],
                          capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "no such program; expected part of few_workers" in done.stderr
