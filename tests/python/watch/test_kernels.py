"""`unstarve watch` records the kernels of a program that uses CUDA; a library replaces CUPTI, and a small program the
framework (tests/tools/cupti_stand_in.cpp, cuda_program.cpp). NVTX is the real one.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM, STAND_IN = os.environ.get("UNSTARVE_CUDA_PROGRAM"), os.environ.get("UNSTARVE_CUPTI_STAND_IN")
pytestmark = pytest.mark.skipif(not PROGRAM or not STAND_IN, reason="UNSTARVE_CUDA_PROGRAM is not set")
# Kernels in random order, so that steps are known by un.step() only.
MARKED = """
import ctypes, os, random, sys, time
import unstarve as un
ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
cupti = ctypes.CDLL(os.environ["UNSTARVE_CUPTI_LIBRARY"])
names = [f"kernel_{i}".encode() for i in range(20)]
cupti.stand_in_kernel.argtypes = [ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64]
slow = float(sys.argv[1])  # seconds by which steps are longer while kernels are recorded
kinds = ctypes.c_int.in_dll(cupti, "stand_in_kinds")
until = time.monotonic() + 8
while time.monotonic() < until:
    now = time.time_ns()
    for i in range(random.randrange(1, 8)):
        cupti.stand_in_kernel(random.choice(names), 7, now + 1_000_000 * i, now + 1_000_000 * (i + 1))
    time.sleep(0.03 + (slow if kinds.value else 0))
    un.step()
"""
# Steps of 20 ms, half of which load. In turn: `cuda` initialises CUDA, whose kernels have a random order, a number
# trains for these seconds, `fork` continues in a child, `step` calls un.step() after every second step from then on.
RANGES = """
import ctypes, os, random, sys, time
import nvtx
import unstarve as un
names = [f"kernel_{i}".encode() for i in range(20)]
cupti = marks = None
number = 0
for word in sys.argv[1:]:
    if word == "cuda":
        assert ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection() == 1
        cupti = ctypes.CDLL(os.environ["UNSTARVE_CUPTI_LIBRARY"])
        cupti.stand_in_kernel.argtypes = [ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64]
    elif word == "fork":
        child = os.fork()
        if child:
            os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    elif word == "step":
        marks = True
    else:
        until = time.monotonic() + float(word)
        while time.monotonic() < until:
            number += 1
            with nvtx.annotate(f"step {number}"):
                with nvtx.annotate("load_batch", domain="data"):
                    time.sleep(0.01)
                now = time.time_ns()
                if cupti is not None:
                    for i in range(random.randrange(1, 8)):
                        cupti.stand_in_kernel(random.choice(names), 7, now + 1_000_000 * i, now + 1_000_000 * (i + 1))
                time.sleep(0.01)
            if marks and number % 2 == 0:
                un.step()
print(os.environ.get("NVTX_INJECTION64_PATH"))
"""
REAL = [path for path in (Path("/usr/local/cuda/lib64/libcupti.so"), Path("/usr/local/cuda-13.0/lib64/libcupti.so"))
        if path.exists()]


def watch(folder, *arguments, mode=(), seconds=5, library=STAND_IN, command=None, **variables):
    """The finished process, and its profile and findings."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_INJECTION64_PATH")}
    environment |= {"UNSTARVE_CUPTI_LIBRARY": str(library), "UNSTARVE_CUPTI_TIMES": "0.5,0.6,0.8", **variables}
    out = folder / "out.json"
    run = subprocess.run([os.environ["UNSTARVE"], "watch", "--out", out, *arguments, "--",
                          *(command or [PROGRAM, str(seconds), *mode])], capture_output=True, text=True, timeout=120,
                         check=False, env=environment)
    result = json.loads(out.read_text())
    return run, result["profile"], {finding["rule"]: finding for finding in result["findings"]}


@pytest.mark.begin(run=lambda folder: watch(folder, "--report", folder / "report.html"))
def test_pageable_copies_are_found(begun, folder):
    run, profile, rules = begun
    assert (run.returncode, run.stdout) == (3, "trained\n"), run.stderr
    trace = profile["trace"]
    assert trace["format"] == "CUPTI"
    assert 1.1 < trace["observed_s"] < 3  # windows only
    assert len(trace["steps"]) > 20  # by the sequence of kernels
    assert profile["steps"]["source"] == "the sequence of kernels"
    assert profile["steps"]["rate"] == pytest.approx(len(trace["steps"]) / trace["analysed_s"])
    assert "steps, from the sequence of kernels: " in run.stderr
    assert {kernel["name"] for kernel in trace["kernels"]} == {"gemm(float const*, float const*, float*)", "relu",
                                                               "at::native::sgd(float*)"}
    assert trace["framework"] == "PyTorch"
    assert trace["copies"][0]["host_memory"] == "pageable"
    assert trace["runtime"]["other_s"] == 0  # cudaGetDevice() is not recorded
    assert rules["pageable-copies"]["lost"] > 0.2
    assert "kernels_missing" not in profile["watching"]
    assert "CUPTI trace:" in run.stderr
    page = (folder / "report.html").read_text()
    for part in ("Timeline of 3 typical steps", "Time per step by part", "Copies", "Kernels"):
        assert part in page
    # The same from the file.
    again = subprocess.run([os.environ["UNSTARVE"], "diagnose", folder / "out.json"], capture_output=True, text=True,
                           timeout=60, check=True)
    assert "pageable" in again.stdout
    assert "cuda_program" in again.stdout  # the processes, too


@pytest.mark.begin(run=lambda folder: watch(folder, mode=["fallback"]))
def test_work_on_the_cpu_between_two_copies(begun, folder):
    run, profile, rules = begun
    fallback = profile["trace"]["fallback"]
    steps = len(profile["trace"]["steps"])
    assert fallback["count"] == pytest.approx(steps, abs=3)
    assert fallback["seconds"] == pytest.approx(0.004 * steps, rel=0.1)
    assert fallback["operators"] == []  # no ranges
    assert 0.2 < rules["cpu-fallback"]["lost"] < 0.45
    assert "operators run on the CPU within steps" in run.stderr


# The same by the ranges that torch.autograd.profiler.emit_nvtx() makes.
OPERATORS = """
import ctypes, os, time
import nvtx
assert ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection() == 1
cupti = ctypes.CDLL(os.environ["UNSTARVE_CUPTI_LIBRARY"])
U64 = ctypes.c_uint64
cupti.stand_in_kernel.argtypes = [ctypes.c_char_p, ctypes.c_uint32, U64, U64]
cupti.stand_in_copy.argtypes = [ctypes.c_uint8, U64, U64, U64]
cupti.stand_in_copy_back.argtypes = [U64, U64, U64]
def now():
    time_ns = U64()
    cupti.cuptiGetTimestamp(ctypes.byref(time_ns))
    return time_ns.value
until = time.monotonic() + 5
number = 0
while time.monotonic() < until:
    number += 1
    with nvtx.annotate(f"step {number}"):
        begin = now()
        cupti.stand_in_kernel(b"gemm", 7, begin, begin + 500_000)
        cupti.stand_in_copy_back(200_000, begin + 500_000, begin + 1_000_000)
        time.sleep(0.0015)
        with nvtx.annotate(f"aten::linalg_svd, op_id = {number}"):
            time.sleep(0.005)
        begin = now() + 200_000
        cupti.stand_in_copy(1, 4_000, begin, begin + 500_000)
        cupti.stand_in_kernel(b"relu", 7, begin + 500_000, begin + 1_000_000)
        time.sleep(0.002)
"""


@pytest.mark.begin(run=lambda folder: watch(folder, command=[sys.executable, "-c", OPERATORS],
                                            UNSTARVE_PY_SPY="/no/such/py-spy"))
def test_operators_on_the_cpu_by_their_ranges(begun, folder):
    run, profile, rules = begun
    fallback = profile["trace"]["fallback"]
    assert fallback["count"] > 20, run.stderr
    assert [one["name"] for one in fallback["operators"]] == ["aten::linalg_svd"]
    assert fallback["operators"][0]["seconds"] == pytest.approx(fallback["seconds"], rel=0.5)
    assert "aten::linalg_svd" in rules["cpu-fallback"]["evidence"]


def test_allocations_of_device_memory_are_recorded(tmp_path):
    run, profile, _ = watch(tmp_path, "--report", tmp_path / "report.html", mode=["memory"])
    trace = profile["trace"]
    memory, steps = trace["memory"], len(trace["steps"])
    assert steps > 20
    # Steps begin with their first kernel, so that the first allocations of a step belong to the one before.
    assert memory["allocations"] == pytest.approx(2 * steps, abs=8)
    assert memory["releases"] == pytest.approx(steps, abs=4)
    assert memory["allocated_bytes"] == pytest.approx(25e6 * steps, rel=0.1)
    assert memory["growth_bytes"] == pytest.approx(1e6, rel=0.5)
    assert len(memory["levels"]) == steps
    assert memory["peak_bytes"] == max(memory["levels"]) > 20e6
    assert trace["pinned"]["allocations"] == pytest.approx(steps, abs=4)
    assert trace["pinned"]["peak_bytes"] == 4_000_000
    assert "pinned memory from CUDA in the recorded steps: " in run.stderr
    assert "device memory from CUDA: " in run.stderr
    assert "grows by" in run.stderr
    assert "Device memory from CUDA" in (tmp_path / "report.html").read_text()
    again = subprocess.run([os.environ["UNSTARVE"], "diagnose", tmp_path / "out.json"], capture_output=True, text=True,
                           timeout=60, check=True)
    assert "device memory from CUDA: " in again.stdout


@pytest.mark.begin(run=lambda folder: watch(folder, mode=["unified"]))
def test_page_faults_of_unified_memory(begun, folder):
    run, profile, rules = begun
    trace = profile["trace"]
    unified, steps = trace["unified"], len(trace["steps"])
    assert steps > 20, run.stderr
    assert unified["gpu_faults"] == pytest.approx(3 * steps, abs=9)
    assert unified["cpu_faults"] == pytest.approx(2 * steps, abs=6)
    assert unified["thrashing"] == pytest.approx(steps, abs=3)
    assert unified["gpu_fault_s"] == pytest.approx(0.001 * steps, rel=0.1)
    assert unified["throttled_s"] == pytest.approx(0.001 * steps, rel=0.1)
    assert unified["stalled_s"] == pytest.approx(0.002 * steps, rel=0.1)
    managed = {copy["direction"]: copy for copy in trace["copies"] if copy["host_memory"] == "managed"}
    for direction in ("to device", "to host"):
        assert managed[direction]["bytes"] == pytest.approx(1e6 * steps, rel=0.1)
    assert 0.2 < rules["unified-memory"]["lost"] < 0.35  # 3 of about 10.5 ms
    assert "page faults of devices" in run.stderr
    again = subprocess.run([os.environ["UNSTARVE"], "diagnose", folder / "out.json"], capture_output=True, text=True,
                           timeout=60, check=True)
    assert "page faults of devices" in again.stdout


@pytest.mark.begin(run=lambda folder: watch(folder, mode=["unified"], seconds=3,
                                            CUPTI_STAND_IN_ERROR="cuptiActivityConfigureUnifiedMemoryCounter=1"))
def test_a_device_without_counters_of_unified_memory(begun):
    run, profile, rules = begun
    assert (run.returncode, run.stdout) == (3, "trained\n")
    assert "unified" not in profile["trace"]
    assert "pageable-copies" in rules
    assert "kernels_missing" not in profile["watching"]


def test_every_rank_with_kernels_is_listed(tmp_path):
    ranks = f"for rank in 0 1; do RANK=$rank {PROGRAM} 5 & done; {PROGRAM} 2; wait"
    run, profile, _ = watch(tmp_path, "--report", tmp_path / "report.html", command=["sh", "-c", ranks])
    assert run.returncode == 0, run.stderr
    trace = profile["trace"]
    processes = trace["processes"]
    assert len(processes) == 3
    kernels = [process["kernels"] for process in processes]
    assert kernels == sorted(kernels, reverse=True)
    assert kernels[2] < 0.8 * kernels[1]
    assert kernels[0] == pytest.approx(trace["runtime"]["kernels"], rel=0.3)  # figures of the first, of its steps
    assert len({process["pid"] for process in processes}) == 3
    for process in processes:
        assert process["steps"] > 10
        assert process["step_s"] == pytest.approx(0.0105, rel=0.2)
        assert 0.2 < process["busy_share"] < 0.4
    assert f"the values above are for process {processes[0]['pid']}" in run.stderr
    page = (tmp_path / "report.html").read_text()
    assert f"charts and all other values of kernels are for process {processes[0]['pid']}" in page


@pytest.mark.begin(run=lambda folder: watch(folder, mode=["killed"], seconds=3.2, UNSTARVE_CUPTI_TIMES="0.5,1.2,0.1"))
def test_a_program_that_is_killed_in_its_second_window(begun):
    run, profile, _ = begun
    assert run.returncode == 128 + signal.SIGKILL
    assert profile["trace"]["runtime"]["kernels"] > 100
    assert 1.1 < profile["trace"]["observed_s"] < 1.5  # the first one


@pytest.mark.begin(run=lambda folder: watch(folder, mode=["killed"], seconds=2, UNSTARVE_CUPTI_TIMES="0.5,60,1"))
def test_a_program_that_is_killed_in_its_only_window(begun):
    run, profile, _ = begun
    assert run.returncode == 128 + signal.SIGKILL
    assert "trace" not in profile
    assert "the first window of kernels has no end" in profile["watching"]["kernels_missing"]


@pytest.mark.begin(run=lambda folder: watch(folder, mode=["matrix"], UNSTARVE_NVML=os.environ["UNSTARVE_NVML_STAND_IN"],
                                            NVML_STAND_IN="good"))
@pytest.mark.skipif("UNSTARVE_NVML_STAND_IN" not in os.environ, reason="UNSTARVE_NVML_STAND_IN is not set")
def test_the_device_is_known(begun):
    _, profile, rules = begun
    device = profile["trace"]["devices"][0]
    assert device["name"] == "NVIDIA H100 80GB HBM3"
    assert device["compute_capability"] == pytest.approx(9.0)
    assert device["memory_bytes"] == 80 << 30
    assert device["peak_memory_bytes"] == profile["gpus"][0]["peak_memory_bytes"] > 0
    assert "tensor-cores-unused" in rules
    assert "memory-headroom" in rules


@pytest.mark.begin(run=lambda folder: watch(folder, mode=["profiler"]))
def test_another_profiler_has_precedence(begun):
    run, profile, _ = begun
    assert (run.returncode, run.stdout) == (3, "trained\n")
    assert profile["trace"]["observed_s"] < 2.6  # until it appeared
    assert "another profiler uses CUPTI" in profile["watching"]["kernels_missing"]
    assert "kernels were not recorded: another profiler" in run.stderr


@pytest.mark.begin(run=lambda folder: watch(folder, mode=["busy"]))
def test_conclusions_are_withheld_if_recording_is_expensive(begun):
    run, profile, rules = begun
    assert profile["trace"]["overhead_s"] > 0.05 * profile["trace"]["analysed_s"]
    assert "pageable-copies" not in rules
    assert "the profiler itself took" in rules["few-steps"]["evidence"]
    assert "--no-cupti" in rules["few-steps"]["change"]
    assert run.returncode == 3


@pytest.mark.begin(run=lambda folder, slow: watch(folder, command=[sys.executable, "-c", MARKED, str(slow)],
                                              UNSTARVE_CUPTI_TIMES="1,1.2,1.2"))
@pytest.mark.parametrize("slow", [0, 0.02])
def test_steps_that_the_program_marks(begun, slow):
    _, profile, rules = begun
    trace = profile["trace"]
    assert len(trace["steps"]) > 30
    lengths = sorted(step["seconds"] for step in trace["steps"])
    assert 0.03 + slow <= lengths[len(lengths) // 2] < 0.042 + slow
    if slow:  # other programs may lengthen some steps of the other case
        assert 0.25 < trace["overhead_s"] / trace["analysed_s"] < 0.5
        assert "the profiler itself took" in rules["few-steps"]["evidence"]


@pytest.mark.begin(run=lambda folder, variables: watch(folder, seconds=1, **variables))
@pytest.mark.parametrize(("variables", "message"), [
    ({"CUPTI_STAND_IN_ERROR": "cuptiActivityEnable=7"}, "cuptiActivityEnable: CUPTI_ERROR_INVALID_KIND (7)"),
    ({"CUPTI_STAND_IN_ERROR": "cuptiSubscribe=999"}, "cuptiSubscribe: CUPTI_ERROR_UNKNOWN (999)"),
    ({"CUPTI_STAND_IN_ERROR": "cuptiGetVersion=1"}, "of CUPTI is not supported"),
    ({"CUDA_INJECTION64_PATH": "/no/such/profiler.so"}, "CUDA_INJECTION64_PATH already names /no/such/profiler.so"),
])
def test_problems_are_named_and_change_nothing(begun, variables, message):
    run, profile, _ = begun
    assert (run.returncode, run.stdout) == (3, "trained\n")
    assert "trace" not in profile
    assert message in profile["watching"]["kernels_missing"]


@pytest.mark.skipif(not REAL or Path("/dev/nvidia0").exists(), reason="CUPTI is not installed, or there is a GPU")
@pytest.mark.begin(run=lambda folder: watch(folder, seconds=1.5, library=REAL[0]) if REAL else None)
def test_the_real_cupti_without_a_gpu(begun):
    run, profile, _ = begun
    assert (run.returncode, run.stdout) == (3, "trained\n")
    assert "trace" not in profile
    assert "cupti" in profile["watching"]["kernels_missing"]


@pytest.mark.begin(run=lambda folder: watch(folder, "--no-cupti", seconds=1))
def test_no_kernels_are_recorded_with_no_cupti(begun):
    run, profile, _ = begun
    assert (run.returncode, run.stdout) == (3, "trained\n")
    assert "trace" not in profile
    assert "kernels_missing" not in profile["watching"]


@pytest.mark.begin(run=lambda folder: watch(folder, seconds=1, UNSTARVE_CUPTI_TIMES="0.3,60,1"))
def test_a_program_that_ends_within_a_window_does_not_wait(begun):
    run, profile, _ = begun
    assert (run.returncode, run.stdout) == (3, "trained\n")
    assert profile["watching"]["seconds"] < 1.9  # the library waits for two seconds at most


def watch_ranges(folder, *words, options=(), **variables):
    """The output of the program, and its profile."""
    run, profile, _ = watch(folder, *options, command=[sys.executable, "-c", RANGES, *words], **variables)
    assert run.returncode == 0, run.stderr
    return run.stdout, profile


def check_steps(steps):
    assert steps["source"] == "NVTX ranges"
    assert len(steps["seconds"]) > 25
    lengths = sorted(steps["seconds"])
    assert 0.02 <= lengths[len(lengths) // 2] < 0.027
    assert steps["rate"] == pytest.approx(len(lengths) / sum(lengths))


@pytest.mark.begin(run=lambda folder: watch_ranges(folder, "cuda", "5"))
def test_steps_and_the_loader_by_nvtx_ranges(begun):
    _, profile = begun
    check_steps(profile["steps"])
    trace = profile["trace"]
    assert len(trace["steps"]) == len(profile["steps"]["seconds"])
    assert 0.4 < trace["parts"][5] / trace["analysed_s"] < 0.6


def test_rates_of_ranks_by_nvtx_ranges(tmp_path):
    (tmp_path / "program.py").write_text(RANGES)
    one = f"{sys.executable} {tmp_path / 'program.py'} 5"
    _, profile, _ = watch(tmp_path, command=["sh", "-c", f"RANK=0 {one} & RANK=1 {one} & wait"])
    ranks = profile["ranks"]
    assert [rank["numbers"]["global"] for rank in ranks] == [0, 1]
    for rank in ranks:
        assert 37 < rank["steps"]["rate"] <= 50
        assert rank["steps"]["ends_s"] == []


@pytest.mark.begin(run=lambda folder: watch_ranges(folder, "step", "cuda", "5"))
def test_un_step_has_precedence_over_nvtx_ranges(begun):
    _, profile = begun
    assert profile["steps"]["source"] == "un.step()"
    lengths = sorted(step["seconds"] for step in profile["trace"]["steps"])
    assert 0.04 <= lengths[len(lengths) // 2] < 0.054


@pytest.mark.begin(run=lambda folder: watch_ranges(folder, "5"))
def test_nvtx_ranges_without_cuda(begun):
    _, profile = begun
    check_steps(profile["steps"])
    assert "trace" not in profile
    window = profile["thread_window"]
    assert window["step_source"] == "NVTX ranges"
    lengths = sorted(b - a for a, b in zip(window["steps"], window["steps"][1:]))
    assert lengths[len(lengths) // 2] == pytest.approx(0.02, rel=0.3)
    assert "kernels_missing" not in profile["watching"]


@pytest.mark.begin(run=lambda folder: watch_ranges(folder, "1", "cuda", "3"))  # within the first window of ranges
def test_cuda_that_begins_after_nvtx(begun):
    _, profile = begun
    check_steps(profile["steps"])
    assert 25 < len(profile["trace"]["steps"]) < len(profile["steps"]["seconds"])


@pytest.mark.begin(run=lambda folder: watch_ranges(folder, "1", "fork", "cuda", "4"))
def test_a_child_of_a_program_with_nvtx(begun):
    _, profile = begun
    check_steps(profile["steps"])
    assert len(profile["trace"]["steps"]) > 25


@pytest.mark.begin(run=lambda folder: watch_ranges(folder, "cuda", "5", CUPTI_STAND_IN_ERROR="cuptiSubscribe=999"))
def test_ranges_are_recorded_without_cupti(begun):
    _, profile = begun
    check_steps(profile["steps"])
    assert "trace" not in profile
    assert "CUPTI_ERROR_UNKNOWN" in profile["watching"]["kernels_missing"]


@pytest.mark.begin(run=lambda folder: watch_ranges(folder, "cuda", "2", NVTX_INJECTION64_PATH="/no/such/tool.so"))
def test_another_tool_has_the_ranges(begun):
    out, profile = begun
    assert out == "/no/such/tool.so\n"
    assert profile["steps"].get("source") != "NVTX ranges"
    assert "trace" in profile


@pytest.mark.begin(run=lambda folder: watch_ranges(folder, "2", options=["--no-cupti"]))
def test_no_cupti_records_no_ranges(begun):
    out, profile = begun
    assert out == "None\n"
    assert profile["steps"].get("source") != "NVTX ranges"
