"""`unstarve watch` of a real program with GPUs; a library replaces NVML (tests/tools/nvml_stand_in.cpp)."""

import json
import os
import re
import subprocess
import sys
import time

import pytest

LIBRARY = os.environ.get("UNSTARVE_NVML_STAND_IN")
pytestmark = pytest.mark.skipif(not LIBRARY, reason="UNSTARVE_NVML_STAND_IN is not set")
# Adds itself to the processes on the GPU.
PROGRAM = """
import os, sys, time
with open(os.environ["NVML_STAND_IN_SCRIPT"], "a") as script:
    print("process", os.getpid(), 5 << 30, 40, file=script)
until = time.monotonic() + float(sys.argv[1])
while time.monotonic() < until:
    time.sleep(0.01)
print("trained")
sys.exit(3)
"""


def watch(folder, script, *arguments, seconds=6, selection="good", program=PROGRAM):
    """The finished process, and the JSON that it wrote."""
    begin = time.monotonic()
    (folder / "nvml").write_text(script)
    environment = {**os.environ, "UNSTARVE_NVML": LIBRARY, "NVML_STAND_IN": selection,
                   "NVML_STAND_IN_SCRIPT": str(folder / "nvml")}
    run = subprocess.run([os.environ["UNSTARVE"], "watch", "--out", folder / "out.json", *arguments, "--",
                          sys.executable, "-c", program, str(seconds)], capture_output=True, text=True, timeout=120,
                         check=False, env=environment)
    assert (run.returncode, run.stdout) == (3, "trained\n"), run.stderr
    assert time.monotonic() - begin < 30
    return run, json.loads((folder / "out.json").read_text())


@pytest.mark.begin(run=lambda folder: watch(folder, "utilisation 90 0 0 0\n", "--report", folder / "report.html"))
def test_an_idle_gpu(begun, folder):
    run, result = begun
    (gpu,) = result["profile"]["gpus"]
    assert gpu["name"] == "NVIDIA H100 80GB HBM3"
    assert gpu["used"]
    assert gpu["samples"] >= 20
    assert gpu["utilisation_p50"] == 0
    assert gpu["idle_share"] == pytest.approx(0.75, abs=0.05)
    assert sum(gpu["utilisation_shares"]) == pytest.approx(1)
    assert gpu["clock_mhz"] == 1980
    assert gpu["power_w"] == 350
    assert gpu["others"] == []
    assert len(result["profile"]["timeline"]["gpu"]) == len(result["profile"]["timeline"]["main"])
    # Without what other programs on this machine did meanwhile, nothing else explains it.
    result["profile"]["machine"].update(busy_cores=0, stolen_share=0, throttled_share=0)
    for process in result["profile"]["processes"]:
        process["run_delay_s"] = 0
    (folder / "quiet.json").write_text(json.dumps(result))
    quiet = subprocess.run([os.environ["UNSTARVE"], "diagnose", folder / "quiet.json", "--json"], capture_output=True,
                           text=True, timeout=60, check=True)
    rules = {finding["rule"]: finding for finding in json.loads(quiet.stdout)["findings"]}
    assert "no cause outside of it was found" in rules["gpu-idle"]["title"]
    assert rules["gpu-idle"]["lost"] == pytest.approx(0.775, abs=0.06)
    assert re.search(r"0 NVIDIA H100 80GB HBM3 +0 % \(0 to 90 %\) +7\d\.\d %", run.stderr), run.stderr
    page = (folder / "report.html").read_text()
    assert "median utilisation of GPU 0" in page
    assert "GPU utilisation, %" in page
    assert "Share of the samples by utilisation of the GPU" in page


SLOW = "utilisation 95\nclock 1200\nreasons 32\nprocess 1 1000000000 30\n"


@pytest.mark.begin(run=lambda folder: watch(folder, SLOW))
def test_a_slow_gpu_with_another_program(begun):
    run, result = begun
    (gpu,) = result["profile"]["gpus"]
    assert [other["pid"] for other in gpu["others"]] == [1]
    rules = {finding["rule"] for finding in result["findings"]}
    assert {"gpu-throttled", "gpu-shared"} <= rules
    assert "gpu-idle" not in rules
    assert "GPU 0: too hot for 100 % of its busy time; its clock is 1200 of 1980 MHz" in run.stderr
    assert "GPU 0 is used by process 1" in run.stderr


LOST = PROGRAM.replace("print(\"trained", "open(os.environ['NVML_STAND_IN_SCRIPT'], 'a').write('failure 15\\n')\n"
                       "time.sleep(1.5)\nprint(\"trained")


@pytest.mark.begin(run=lambda folder: watch(folder, "utilisation 95\n", seconds=4, program=LOST))
def test_a_gpu_that_is_lost_during_the_run(begun):
    run, result = begun
    assert result["profile"]["gpus"][0]["samples"] > 5
    assert "the utilisation of GPU 0 is unknown:" in run.stderr


@pytest.mark.begin(run=lambda folder: watch(folder, "", seconds=1, selection="18"))
def test_a_problem_of_the_driver_is_named(begun):
    run, result = begun
    assert "gpus" not in result["profile"]
    assert result["profile"]["watching"]["gpus_missing"] == "Driver/library version mismatch"
    assert "GPUs were not watched: Driver/library version mismatch" in run.stderr


@pytest.mark.begin(run=lambda folder: watch(folder, "", seconds=1, selection="hang"))
def test_a_driver_that_hangs_delays_nothing_but_the_end_of_watching(begun):
    run, result = begun  # after 30 s at most
    assert result["profile"]["processes"]
    assert "GPUs were not watched: the driver did not answer" in run.stderr


def test_a_machine_without_gpus_is_not_mentioned(tmp_path):
    out = tmp_path / "out.json"
    environment = {name: value for name, value in os.environ.items() if name != "UNSTARVE_NVML"}
    run = subprocess.run([os.environ["UNSTARVE"], "watch", "--out", out, "--", "sleep", "0.5"], capture_output=True,
                         text=True, timeout=60, check=True, env=environment)
    profile = json.loads(out.read_text())["profile"]
    if "gpus" not in profile:
        assert "GPU" not in run.stderr
        assert "gpus_missing" not in profile["watching"]
