"""Stacks of Python programs and steps of their loops, as `unstarve watch` records them."""

import html
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PY_SPY = Path(sys.executable).with_name("py-spy")

# Two functions that compute for 80 ms each; "{mark}" ends a step.
LOOP = """
    import time
    import unstarve as un
    def busy(seconds):
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            pass
    def forward():
        busy(0.08)
    def backward():
        busy(0.08)
    def main():
        until = time.monotonic() + 8.5
        while time.monotonic() < until:
            forward()
            backward()
            {mark}
    main()
"""


def watched(tmp_path, script, **environment):
    program, out = tmp_path / "train.py", tmp_path / "out.json"
    program.write_text(textwrap.dedent(script))
    run = subprocess.run([os.environ["UNSTARVE"], "watch", "--report", tmp_path / "report.html", "--out", out,
                          "--trace", tmp_path / "trace.json", "--", sys.executable, program],
                         capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **environment})
    assert run.returncode == 0, run.stderr
    return json.loads(out.read_text()), run.stderr


@pytest.fixture(scope="module")
def marked_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("marked")


@pytest.fixture(scope="module")
def marked(marked_folder):
    return watched(marked_folder, LOOP.format(mark="un.step()"), UNSTARVE_PY_SPY=str(PY_SPY))


def test_stacks_have_functions_and_lines(marked):
    profile = marked[0]["profile"]
    stacks = profile["stacks"]
    assert not stacks["missing"]
    assert stacks["seconds"] == pytest.approx(4, abs=0.7)
    lines = stacks["lines"]
    share = {name: sum(stack["seconds"] for stack in stacks["stacks"] if stack["thread"] == "main"
                       and any(lines[line]["function"] == name for line in stack["lines"])) / stacks["seconds"]
             for name in ("main", "forward", "backward", "busy")}
    assert share["main"] > 0.8
    assert share["busy"] == pytest.approx(share["forward"] + share["backward"], abs=0.05)
    assert share["forward"] == pytest.approx(share["backward"], abs=0.25)
    assert any((line["function"], line["line"]) == ("forward", 9) for line in lines)
    own = [stack for stack in stacks["stacks"] if stack["interpreter_s"] > 0]
    assert own, "the second window records who holds the interpreter's lock"


def test_python_code_in_the_main_thread_is_found(marked):
    result, text = marked
    finding = next(one for one in result["findings"] if one["rule"] == "python-bound")
    assert "train.py:" in finding["title"]
    assert "(busy)" in finding["title"]
    assert finding["title"] in text


def test_steps_marked_by_un_step_are_measured(marked):
    result, text = marked
    steps = result["profile"]["steps"]
    assert steps["source"] == "un.step()"
    assert len(steps["seconds"]) >= 20
    assert min(steps["seconds"]) >= 0.16
    assert steps["rate"] <= 1 / 0.16
    assert "steps, from " in text
    assert f"longest {max(steps['seconds']):.3f} s" in text


def test_confidence_cores_and_the_sufficient_machine(marked, marked_folder):
    result, text = marked
    assert {finding["confidence"] for finding in result["findings"]} <= {"low", "medium", "high"}
    assert "<dt>Confidence</dt>" in (marked_folder / "report.html").read_text()
    enough = result["sufficient_machine"]
    assert f"at this speed, {enough['cores']} core" in text
    assert enough["memory_bytes"] > 5_000_000
    cores = result["profile"]["machine"]["cores"]
    assert [core["cpu"] for core in cores] == sorted(os.sched_getaffinity(0))
    assert all(0 <= core["busy_share"] <= 1 for core in cores)
    assert max(core["busy_share"] for core in cores) > 0.2
    assert all(process["has_openmp"] in (True, False) for process in result["profile"]["processes"])


def test_the_report_is_small_and_has_findings_charts_and_stacks(marked, marked_folder):
    result, _ = marked
    page = (marked_folder / "report.html").read_text()
    assert len(page) < 1_000_000
    assert html.escape(result["findings"][0]["title"], quote=False).replace("'", "&#39;") in page
    island = json.loads(re.search(r'id="figures">(.*?)</script>', page)[1])
    assert {chart["title"] for chart in island["curves"]} >= {"Busy cores", "Memory of the main process",
                                                              "Time per step, ms"}
    assert 'href="./trace.json"' in page
    functions = json.dumps(island["flames"])
    assert "forward" in functions
    assert "backward" in functions


def test_the_trace_has_steps_within_the_life_of_the_process(marked, marked_folder):
    events = json.loads((marked_folder / "trace.json").read_text())["traceEvents"]
    watched_us = 1e6 * marked[0]["profile"]["watching"]["seconds"]
    steps = [event for event in events if event.get("cat") == "step"]
    assert [event["dur"] for event in steps] == pytest.approx(
        [1e6 * seconds for seconds in marked[0]["profile"]["steps"]["seconds"]], abs=0.01)
    assert steps[-1]["ts"] + steps[-1]["dur"] == pytest.approx(watched_us, abs=1)
    assert all(one["ts"] + one["dur"] == pytest.approx(next_one["ts"], abs=0.01)
               for one, next_one in zip(steps, steps[1:], strict=False))
    lives = [event for event in events if event.get("cat") == "process"]
    assert any(event["args"]["role"] == "main" and event["dur"] <= watched_us + 1 for event in lives)
    counters = {event["name"] for event in events if event["ph"] == "C"}
    assert counters == {"busy cores", "memory of the main process, MB", "read from storage, MB/s", "network, MB/s",
                        "read by the program, MB/s"}


def test_steps_without_marks(tmp_path):
    steps = watched(tmp_path, LOOP.format(mark="pass"), UNSTARVE_PY_SPY=str(PY_SPY))[0]["profile"]["steps"]
    assert steps["source"].startswith("the loop at train.py:")
    assert "(main)" in steps["source"]
    assert 1 / 0.5 < steps["rate"] < 1 / 0.14


BUSY = "import time\nuntil = time.monotonic() + 4\nwhile time.monotonic() < until: pass\n"


@pytest.mark.begin(run=lambda folder, program: watched(folder, BUSY, UNSTARVE_PY_SPY=program))
@pytest.mark.parametrize(("program", "message"), [
    ("", "py-spy was not found; install it with `pip install py-spy`"),
    ("/bin/false", "py-spy failed with exit code 1"),
    ("/no/such/py-spy", "/no/such/py-spy"),
])
def test_the_reason_for_missing_stacks_is_reported(begun, program, message):
    result, text = begun
    assert message in result["profile"]["stacks"]["missing"]
    assert message in text
    assert result["profile"]["processes"][0]["role"] == "main"


def test_programs_without_python(tmp_path):
    out = tmp_path / "out.json"
    subprocess.run([os.environ["UNSTARVE"], "watch", "--out", out, "--", "timeout", "3", "md5sum", "/dev/zero"],
                   check=False, capture_output=True, timeout=60)
    assert json.loads(out.read_text())["profile"]["stacks"]["missing"] == "no Python program was found"


@pytest.mark.parametrize("seconds", [0.5, 2.2])  # before the first window, and within it
def test_a_program_that_ends_before_stacks_are_recorded(tmp_path, seconds):
    script = f"import time\nuntil = time.monotonic() + {seconds}\nwhile time.monotonic() < until: pass\n"
    result, text = watched(tmp_path, script, UNSTARVE_PY_SPY=str(PY_SPY))
    assert result["profile"]["stacks"]["missing"] in ("", "the program ended before stacks were recorded")
    assert "py-spy failed" not in text


def test_marks_do_nothing_in_other_programs(tmp_path):
    script = "import unstarve as un\nfor _ in range(1000): un.step()\n"
    environment = {key: value for key, value in os.environ.items() if key != "UNSTARVE_STEPS"}
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60, env=environment)
    gone = {**environment, "UNSTARVE_STEPS": str(tmp_path / "gone")}
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60, env=gone)
