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
        main = next(process for process in profile["processes"] if process["role"] == "main")
        if attempt == 2 and not steps["source"] and main["run_delay_s"] > 0.04 * (main["end_s"] - main["begin_s"]):
            pytest.skip(f"other programs use the cores: the main thread waited for one {main['run_delay_s']:.1f} s")
        assert attempt < 2, run.stderr
    assert steps["seconds"] == []
    rate = steps["rate"]
    assert f"steps, from {SOURCE}: about {rate:.2f} per second, typically {1 / rate:.3f} s" in run.stderr
    assert f"steps per second, from {SOURCE}" in (tmp_path / "report.html").read_text().replace("&#39;", "'")
    assert not [event for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
                if event.get("cat") == "step"]
    compared = subprocess.run([os.environ["UNSTARVE"], "compare", tmp_path / "out.json", tmp_path / "out.json"],
                              capture_output=True, text=True, check=False, timeout=60)
    assert compared.returncode != 0
    assert "found only the period of its steps" in compared.stderr


def test_one_window_is_not_enough_while_another_program_uses_the_core(trainer, tmp_path):
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        profile, _ = watch(tmp_path, [*trainer, 11, 20, 0.03])
    finally:
        other.kill()
        other.wait()
        os.sched_setaffinity(0, cores)
    assert profile["steps"]["source"] == ""


TRAINING = """
import ctypes, multiprocessing, os, sys, time, zlib
import unstarve as un
data = bytes(range(256)) * 4000
locked = ctypes.create_string_buffer(8192)
shared = "/dev/shm/unstarve-test-" + sys.argv[1]
def prepare(_):
    return zlib.compress(data, 1)
if __name__ == "__main__":
    assert ctypes.CDLL(None).mlock(locked, 8192) == 0
    open(shared, "wb").write(data)
    end = time.monotonic() + 8
    with multiprocessing.Pool(1) as pool:
        while time.monotonic() < end:
            open("/usr/bin/env", "rb").read()
            pool.map(prepare, range(2))
            zlib.compress(data, 3)
            un.step()
    os.remove(shared)
"""


def test_timeline_of_threads_and_figures_of_io(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(TRAINING)
    for _ in range(3):  # while other programs use the cores, the worker may begin after the window
        profile, run = watch(tmp_path, [sys.executable, script, str(os.getpid())], UNSTARVE_PY_SPY="/no/such/py-spy")
        window = profile["thread_window"]
        if any(lane.startswith("worker ") for lane in window["lanes"]):
            break
    assert window["step_source"] == "un.step()"
    assert len(window["steps"]) >= 3
    assert window["lanes"][0].startswith("main ")
    assert any(lane.startswith("worker ") for lane in window["lanes"])
    assert 0.002 < window["resolution_s"] < 0.1
    marked, near = profile["steps"]["seconds"], 2 * window["resolution_s"]
    for a, b in zip(window["steps"], window["steps"][1:]):
        assert min(abs(b - a - seconds) for seconds in marked) < near
    for lane in range(len(window["lanes"])):  # without gaps, from the begin on
        at = 0.0
        for _, state, begin, seconds in [span for span in window["spans"] if span[0] == lane]:
            assert begin == pytest.approx(at, abs=1e-9)
            assert 0 <= state < 9
            at = begin + seconds
        assert 0 < at <= window["seconds"] * 1.0001
    states = {span[1] for span in window["spans"] if span[0] == 0}
    assert states & {0, 1}, window  # on a CPU, or ready to run
    assert any(span[1] == 0 for span in window["spans"]), window
    assert states & {2, 4, 5, 6}, window  # it waits for the pool
    page = (tmp_path / "report.html").read_text()
    assert f"Threads in {len(window['steps'])} typical steps" in page
    assert "I/O and memory" in page
    slices = [event for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
              if event.get("cat") == "thread_state"]
    assert [[event["tid"] - 2, event["ts"] / 1e6, event["dur"] / 1e6] for event in slices] == [
        pytest.approx([lane, window["begin_s"] + begin, seconds], abs=2e-6)
        for lane, _, begin, seconds in window["spans"]]
    assert profile["io"]["read"]["p90"] >= profile["io"]["read"]["p50"] > 0
    assert 0 <= profile["io"]["cached_share"] <= 1
    assert profile["machine"]["shm_used_bytes"] >= 1_000_000
    assert max(process["locked_bytes"] for process in profile["processes"]) >= 8192
    for part in ("I/O and memory, per s", "read by the program", "network, received", "major page faults",
                 "of the bytes that were read came from the page cache", "/dev/shm: ", "locked memory: "):
        assert part in run.stderr, part
    print(profile["watching"], window["resolution_s"], window["lanes"])


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
