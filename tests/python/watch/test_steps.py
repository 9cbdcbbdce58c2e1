"""Steps of programs without markers and stacks, by the period of what their main thread does."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOURCE = "the period of the main thread's work"
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")


@pytest.fixture(scope="module")
def trainer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trainer")
    subprocess.run(["g++", "-O1", "-std=c++20", "-pthread", "-Wall", "-Wextra", "-Werror", HERE / "trainer.cpp", "-o",
                    folder / "trainer"], check=True, timeout=120)
    (folder / "records").write_bytes(os.urandom(1 << 24))
    return [folder / "trainer", folder / "records"]


def watch(folder, command, *arguments, **environment):
    out = folder / "out.json"
    run = subprocess.run([os.environ["UNSTARVE"], "watch", "--out", out, "--report", folder / "report.html",
                          "--trace", folder / "trace.json", "--tensorboard", folder / "events", *arguments, "--",
                          *map(str, command)],
                         capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **environment})
    assert run.returncode == 0, run.stderr
    return json.loads(out.read_text())["profile"], run


def test_steps_of_a_cpp_program(trainer, tmp_path):
    for attempt in range(3):  # while other programs use the cores, there may be no result
        profile, run = watch(tmp_path, [*trainer, 11, 20, 0.03])
        steps, median = profile["steps"], float(run.stdout.split()[1])
        assert steps["source"] in ("", SOURCE)
        if steps["source"]:
            assert 1 / steps["rate"] == pytest.approx(median, rel=0.25)
            if 1 / steps["rate"] == pytest.approx(median, rel=0.05):
                break
        assert attempt < 2, run.stderr
    assert steps["seconds"] == []
    assert f"steps: about {steps['rate']:.2f} per second, typically {1 / steps['rate']:.3f} s" in run.stderr
    assert f"steps per second, by {SOURCE}" in (tmp_path / "report.html").read_text().replace("&#39;", "'")
    assert not [event for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
                if event.get("cat") == "step"]
    assert profile["watching"]["cpu_s"] < 0.02 * profile["watching"]["seconds"]
    compared = subprocess.run([os.environ["UNSTARVE"], "compare", tmp_path / "out.json", tmp_path / "out.json"],
                              capture_output=True, text=True, check=False, timeout=60)
    assert compared.returncode != 0
    assert "found only the period of its steps" in compared.stderr


def test_marked_steps_have_precedence(tmp_path):
    script = ("import time, zlib\nimport unstarve as un\nend = time.monotonic() + 8\ndata = bytes(5_000_000)\n"
              "while time.monotonic() < end:\n    zlib.crc32(open('/proc/self/stat').read().encode())\n"
              "    zlib.compress(data)\n    un.step()\n")
    profile, _ = watch(tmp_path, [sys.executable, "-c", script], UNSTARVE_PY_SPY="/no/such/py-spy")
    assert profile["steps"]["source"] == "un.step()"


@pytest.mark.begin(run=lambda folder, script: watch(folder, [sys.executable, "-c", script],
                                                UNSTARVE_PY_SPY="/no/such/py-spy"))
@pytest.mark.parametrize("script", [
    "import time\ntime.sleep(11)",
    # a timer
    "import time\nend = time.monotonic() + 11\nwhile time.monotonic() < end:\n    time.sleep(0.05)\n"
    "    sum(range(200000))",
    # work of random durations
    "import random, time\nend = time.monotonic() + 11\nwhile time.monotonic() < end:\n"
    "    until = time.monotonic() + random.expovariate(20)\n    open('/proc/self/stat').read()\n"
    "    while time.monotonic() < until: pass",
], ids=["sleep", "timer", "random"])
def test_programs_without_steps(begun, script):
    profile, run = begun
    assert profile["steps"]["source"] == ""
    assert "steps:" not in run.stderr
