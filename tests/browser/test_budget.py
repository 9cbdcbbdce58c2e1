"""Pages of long runs stay small and open at once: below 5 MB, and less than a second longer than a blank page."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from chromium import Chromium, find_chromium

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="chromium is not installed: no page was opened")

MOST_BYTES = 5_000_000
MOST_SECONDS = 1.0
POINTS = 600  # of a timeline, at most
STEPS = 2048  # of watch, at most


def empty_profile() -> dict:
    """The JSON of a profile with all fields that are required, from a program that ends at once."""
    program = os.environ["UNSTARVE"]
    out = Path(os.environ.get("TMPDIR", "/tmp")) / f"unstarve-empty-{os.getpid()}.json"
    try:
        subprocess.run([program, "watch", "--out", out, "--", "true"], check=True, capture_output=True, timeout=60)
        return json.loads(out.read_text())["profile"]
    finally:
        out.unlink(missing_ok=True)


def hour_of_watching(profile: dict) -> dict:
    """One hour: full timelines, 2048 steps, 12 threads in some of them, 3000 stacks, 300 processes with 20 threads."""
    chance = random.Random(1)

    def series(most: float) -> list[float]:
        return [most * chance.random() for _ in range(POINTS)]

    profile["watching"]["seconds"] = 3600
    profile["timeline"] = {"interval_s": 6, "main": series(1), "loader": series(8), "other": series(1),
                           "storage_bytes_per_s": series(1e9), "resident_bytes": series(1e10),
                           "read_bytes_per_s": series(1e9), "received_bytes_per_s": series(1e9),
                           "sent_bytes_per_s": series(1e6), "major_faults_per_s": series(100)}
    profile["thread_window"] = {
        "begin_s": 3000, "seconds": 3.0, "resolution_s": 0.018, "step_source": "un.step()", "steps": [0, 1, 2],
        "lanes": [f"worker {4000 + i} pt_data_worker" for i in range(12)],
        "spans": [[i // 166, i % 9, 0.018 * (i % 166), 0.018] for i in range(1992)]}
    profile["steps"] = {"source": "un.step()", "rate": 8, "count": 30000,
                        "seconds": [0.1 + 0.05 * chance.random() for _ in range(STEPS)]}
    lines = [{"function": f"function_{i}", "file": f"package_{i % 40}/module_{i % 300}.py", "line": i}
             for i in range(4000)]
    stacks = [{"thread": ("main", "helper", "loader")[i % 3], "seconds": 600 * chance.random(), "interpreter_s": 0,
               "last_s": 3600, "lines": [(i % 7) * 500 + depth * chance.randrange(1, 12)
                                         for depth in range(chance.randrange(5, 40))]}
              for i in range(3000)]
    profile["stacks"] = {"missing": "", "seconds": 300, "interpreter_s": 100, "processes": 8, "lines": lines,
                         "stacks": stacks}
    process = profile["processes"][0]
    waits = process["main_thread"]["waits"]
    thread = {"name": "worker", "threads": 4, "cpu_s": 3, "run_delay_s": 1, "waits": waits}
    profile["processes"] = [process | {"pid": i + 1, "name": "python", "threads": [thread] * 20} for i in range(300)]
    return profile


def long_trace(profile: dict) -> dict:
    """A trace with 100 000 steps, and a timeline of 2000 events with long names."""
    chance = random.Random(2)
    step = [0.004, 0.001, 0, 0.001, 0.001, 0.002, 0.0005, 0.0005]
    use = {"count": 1, "seconds": 1}
    spans = [[i % 8, i % 500, i % 8, 1e-5 * (i // 8), 9e-6 * chance.random()] for i in range(2000)]
    names = [f"void namespace::kernel_{i}<{'float, ' * 120}int>()" for i in range(500)]
    profile["watching"]["seconds"] = 0  # it was not watched
    profile["trace"] = {
        "format": "Kineto", "framework": "PyTorch", "loader": "data_loading", "observed_s": 1000, "analysed_s": 1000,
        "overhead_s": 0, "events": 10**7, "left_out": 0, "image_bytes": 0,
        "steps": [{"seconds": 0.01, "parts": [part * (0.5 + chance.random()) for part in step]}
                  for _ in range(100_000)],
        "parts": [1e5 * part for part in step],
        "idle": {"loader_s": 200, "checkpoint_s": 10, "logging_s": 5, "allocation_s": 1, "synchronisation_s": 50,
                 "launch_s": 100},
        "runtime": {"launches": use, "copies": use, "synchronisations": use, "allocations": use, "other_s": 0,
                    "module_loading_s": 0,
                    "median_kernel_s": 1e-5, "kernels": 10**7},
        "devices": [], "copies": [], "operators": [],
        "kernels": [{"name": names[i], "count": 9, "seconds": 9} for i in range(20)],
        "gaps": {"count": [1000] * 16, "seconds": [1.0] * 16},
        "window": {"seconds": 0.0026, "steps": [0, 0.001, 0.002], "lanes": [f"device {i}, stream 7" for i in range(8)],
                   "names": names, "spans": spans, "left_out": 10**6}}
    return profile


def seconds_to_open(browser: Chromium, page: Path) -> float:
    """The least of five times until the page is drawn."""
    times = []
    for _ in range(5):
        begin = time.monotonic()
        browser.show(page, 1280, "light")
        times.append(time.monotonic() - begin)
    return min(times)


@pytest.mark.parametrize("make", [hour_of_watching, long_trace])
def test_the_page_of_a_long_run_is_small_and_opens_fast(tmp_path: Path, make: Callable[[dict], dict]) -> None:
    profile, page, blank = tmp_path / "profile.json", tmp_path / "page.html", tmp_path / "blank.html"
    profile.write_text(json.dumps({"profile": make(empty_profile())}))
    subprocess.run([os.environ["UNSTARVE"], "diagnose", profile, "--report", page], check=True, capture_output=True,
                   timeout=60)
    blank.write_text("<!DOCTYPE html><title>blank</title>")
    assert page.stat().st_size < MOST_BYTES
    program = find_chromium()
    assert program
    with Chromium(program) as browser:
        opened = -seconds_to_open(browser, blank) + seconds_to_open(browser, page)
        shapes = browser.evaluate("document.querySelectorAll('.plot rect, .plot path').length")
        assert browser.problems == []
    assert shapes > 50  # type: ignore[operator]
    print(f"{page.stat().st_size} bytes, {opened:.2f} s, {shapes} shapes")
    assert opened < MOST_SECONDS, f"{opened:.2f} s longer than a blank page"
