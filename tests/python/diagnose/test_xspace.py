"""`unstarve diagnose` on XSpaces that the profilers of JAX and TensorFlow have written (fixtures/traces/make.py)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TRACES = Path(__file__).resolve().parents[2] / "fixtures" / "traces"
# With the name of the loader, the least time in it per step, and an operator.
FRAMEWORKS = [("jax", "JAX", "load_batch", 0.005, "fusion"),
              ("tensorflow", "TensorFlow", "IteratorGetNext", 0.008, "update")]


def diagnose(path):
    return subprocess.run([os.environ["UNSTARVE"], "diagnose", str(path), "--json"], capture_output=True, text=True,
                          timeout=60, check=False)


def check_slow_loader(path, framework, loader, loader_s, operator):
    run = diagnose(path)
    assert run.returncode == 0, run.stderr
    diagnosis = json.loads(run.stdout)
    trace = diagnosis["profile"]["trace"]
    assert diagnosis["findings"][0]["rule"] == "input-wait"
    assert loader in diagnosis["findings"][0]["evidence"]
    assert (trace["format"], trace["framework"], len(trace["steps"])) == ("XSpace", framework, 7)
    assert sum(trace["parts"]) == pytest.approx(trace["analysed_s"])
    assert all(step["seconds"] > loader_s for step in trace["steps"])
    assert trace["idle"]["loader_s"] > 7 * loader_s
    assert any(operator in entry["name"] for entry in trace["operators"])


@pytest.mark.parametrize(("name", "framework", "loader", "loader_s", "operator"), FRAMEWORKS)
def test_a_slow_loader_is_found(name, framework, loader, loader_s, operator):
    check_slow_loader(TRACES / f"cpu_{name}.xplane.pb", framework, loader, loader_s, operator)


@pytest.mark.frameworks
@pytest.mark.parametrize(("name", "framework", "loader", "loader_s", "operator"), FRAMEWORKS)
def test_a_slow_loader_is_found_in_a_new_trace(name, framework, loader, loader_s, operator, tmp_path):
    pytest.importorskip(name, reason="the framework is not installed: make test-frameworks")
    path = tmp_path / "trace.pb"
    subprocess.run([sys.executable, TRACES / "make.py", name, path], check=True, timeout=300, capture_output=True)
    check_slow_loader(path, framework, loader, loader_s, operator)


def check_fit_of_keras(path):
    run = diagnose(path)
    assert run.returncode == 0, run.stderr
    diagnosis = json.loads(run.stdout)
    finding = diagnosis["findings"][0]
    assert finding["rule"] == "input-wait"
    assert finding["lost"] >= 0.6
    assert 18 <= len(diagnosis["profile"]["trace"]["steps"]) <= 20
    assert diagnosis["profile"]["trace"]["loader"].startswith("IteratorGetNext")


def test_fit_of_keras_waits_for_input_in_another_thread():
    check_fit_of_keras(TRACES / "cpu_keras.xplane.pb")


@pytest.mark.frameworks
def test_fit_of_keras_in_a_new_trace(tmp_path):
    pytest.importorskip("keras", reason="the framework is not installed: make test-frameworks")
    path = tmp_path / "trace.pb"
    subprocess.run([sys.executable, TRACES / "make.py", "keras", path], check=True, timeout=300, capture_output=True)
    check_fit_of_keras(path)


def test_a_truncated_trace_is_an_error(tmp_path):
    data = (TRACES / "cpu_jax.xplane.pb").read_bytes()
    for length in (len(data) - 1, len(data) // 2):
        cut = tmp_path / "cut.pb"
        cut.write_bytes(data[:length])
        run = diagnose(cut)
        assert run.returncode == 3
        assert "cut.pb" in run.stderr
        assert "offset" in run.stderr
