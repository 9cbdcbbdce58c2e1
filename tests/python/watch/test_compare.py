"""`unstarve compare` on results of real runs: exit code, the part that regressed, JUnit."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

# Steps of 20 ms; the loader takes 2 ms of them, or more.
PROGRAM = """
import sys, time, queue
import unstarve as un
def get(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass
def main():
    for _ in range(330):
        get(float(sys.argv[1]))
        get(0.018)
        un.step()
main()
"""


def compare(*arguments):
    return subprocess.run([os.environ["UNSTARVE"], "compare", *map(str, arguments)], capture_output=True, text=True,
                          timeout=60, check=False)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    program = folder / "train.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "UNSTARVE_PY_SPY": str(Path(sys.executable).with_name("py-spy"))}
    for name, input_s in (("before", 0.002), ("after", 0.02)):
        command = [os.environ["UNSTARVE"], "watch", "--out", folder / f"{name}.json", "--", sys.executable, program]
        subprocess.run([*command, str(input_s)], check=True, capture_output=True, timeout=120, env=environment)
    return folder / "before.json", folder / "after.json"


def test_a_slower_run_fails(runs, tmp_path):
    before, after = runs
    run = compare(before, after, "--json", "--junit", tmp_path / "compare.xml", "--report", tmp_path / "page.html")
    result = json.loads(run.stdout)
    assert run.returncode == 1, run.stdout + run.stderr
    assert result["slower"]
    assert result["whole"]["ratio"] < 0.8
    assert result["regressed"] == "compute"
    suite = ElementTree.parse(tmp_path / "compare.xml").getroot()
    failed = {case.get("name") for case in suite if case.find("failure") is not None}
    assert failed == {"steps", "compute"}
    assert int(suite.get("failures")) == 2
    assert int(suite.get("tests")) == len(list(suite))
    page = (tmp_path / "page.html").read_text()
    island = json.loads(re.search(r'id="figures">(.*?)</script>', page).group(1))
    speeds, parts = island["bars"]
    assert (speeds["mark"], speeds["bars"][0]["name"]) == (1, "steps")
    assert speeds["bars"][0]["parts"][0][1] == pytest.approx(result["whole"]["ratio"])
    assert {f"compute, {run}" for run in ("before", "after")} <= {bar["name"] for bar in parts["bars"]}
    assert [len(curve["points"]) for curve in island["curves"][0]["curves"]] == [329, 329]
    assert "regressed most" in page


def test_a_faster_run_and_the_same_run_pass(runs):
    before, after = runs
    faster, same = compare(after, before), compare(before, before)
    assert (faster.returncode, same.returncode) == (0, 0)
    assert "is faster" in faster.stdout
    assert "no significant difference" in same.stdout


def test_two_results_of_bench_are_compared(tmp_path):
    out = tmp_path / "bench.json"
    out.write_text(subprocess.run([os.environ["UNSTARVE"], "bench", "synthetic:images=512", "--device",
                                   "emulated:h100-resnet50", "--batch", "16", "--seconds", "3", "--json"],
                                  check=True, capture_output=True, text=True, timeout=120).stdout)
    result = json.loads(out.read_text())
    assert len(result["rounds_of"]["together"]) == result["rounds"] >= 2
    run = compare(out, out)
    assert run.returncode == 0, run.stderr
    assert "no significant difference" in run.stdout


def test_files_that_cannot_be_compared(runs, tmp_path):
    other = tmp_path / "other.json"
    other.write_text("{}")
    for path, message in ((other, "found an empty object; expected the result of"), (tmp_path / "no.json", "no.json")):
        run = compare(runs[0], path)
        assert run.returncode == 3
        assert message in run.stderr
