"""The files of --trace of watch, bench, tune, capacity and compare against the rules of the Trace Event Format.

By a reader of its own: a JSON schema for each phase, and the tracks as Perfetto draws them. Perfetto's own reader is a
binary that is downloaded at run time.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

import json
import os
import subprocess
import sys
from collections import defaultdict

import pytest

jsonschema = pytest.importorskip("jsonschema")
PROGRAM, STAND_IN = os.environ.get("UNSTARVE_CUDA_PROGRAM"), os.environ.get("UNSTARVE_CUPTI_STAND_IN")
TIME = {"type": "number", "minimum": 0}
NUMBER = {"type": "integer"}
TEXT = {"type": "string", "minLength": 1}


def event(phase, required, **properties):
    properties = {"ph": {"const": phase}, "name": TEXT, "pid": NUMBER, "tid": NUMBER, "cat": TEXT, "ts": TIME,
                  "args": {"type": "object"}} | properties
    return {"type": "object", "properties": properties, "required": ["ph", "name", "pid", *required],
            "additionalProperties": False}


def metadata(name, argument, value, *required):
    return event("M", ["args", *required], name={"const": name}, args={
        "type": "object", "properties": {argument: value}, "required": [argument], "additionalProperties": False})


COUNTERS = {"type": "object", "minProperties": 1, "additionalProperties": {"type": "number"}}
SCHEMA = {
    "type": "object",
    "required": ["traceEvents"],
    "properties": {
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "otherData": {"type": "object"},
        "traceEvents": {"type": "array", "minItems": 1, "items": {"oneOf": [
            event("X", ["tid", "ts", "dur", "cat"], dur=TIME),
            event("C", ["ts", "args"], args=COUNTERS),
            event("i", ["tid", "ts", "s"], s={"enum": ["g", "p", "t"]}),
            metadata("process_name", "name", TEXT),
            metadata("process_sort_index", "sort_index", NUMBER),
            metadata("thread_name", "name", TEXT, "tid"),
            metadata("thread_sort_index", "sort_index", NUMBER, "tid"),
        ]}},
    },
}  # fmt: skip


def check(trace):
    """The events by phase."""
    jsonschema.Draft202012Validator(SCHEMA).validate(trace)
    phases = defaultdict(list)
    for each in trace["traceEvents"]:
        phases[each["ph"]].append(each)
    named = {(each["name"], each["pid"], each.get("tid")) for each in phases["M"]}
    assert len(named) == len(phases["M"])
    tracks = defaultdict(list)
    for slice_ in phases["X"]:
        tracks[slice_["pid"], slice_["tid"]].append(slice_)
    for pid, tid in [*tracks, *((each["pid"], each["tid"]) for each in phases["i"])]:
        assert ("process_name", pid, None) in named
        assert ("thread_name", pid, tid) in named
    for slices in tracks.values():  # slices of a track are disjoint or nested: others are dropped
        ends = []
        for each in sorted(slices, key=lambda slice_: (slice_["ts"], -slice_["dur"])):
            begin, end = each["ts"], each["ts"] + each["dur"]
            while ends and ends[-1] <= begin + 1e-3:
                ends.pop()
            assert not ends or end <= ends[-1] + 1e-3, each
            ends.append(end)
    times = defaultdict(list)
    for counter in phases["C"]:
        times[counter["pid"], counter["name"]].append(counter["ts"])
    for each in times.values():
        assert each == sorted(set(each))
    return phases


def watch(tmp_path, *command, **environment):
    trace = tmp_path / "trace.json"
    run = subprocess.run([os.environ["UNSTARVE"], "watch", "--trace", trace, "--", *map(str, command)],
                         capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **environment})
    assert run.returncode in (0, 3), run.stderr
    return check(json.loads(trace.read_text()))


def test_steps_and_counters(tmp_path):
    program = ("import subprocess, sys, time, unstarve as un\nsubprocess.Popen(['sleep', '2'])\n"
               "for _ in range(60):\n    time.sleep(0.05)\n    un.step()")
    phases = watch(tmp_path, sys.executable, "-c", program)
    steps = [each for each in phases["X"] if each["cat"] == "step"]
    assert len(steps) == 59
    assert all(each["dur"] >= 50_000 for each in steps)  # microseconds
    assert {"busy cores", "memory of the main process, MB"} <= {each["name"] for each in phases["C"]}
    names = {each["args"]["name"] for each in phases["M"] if each["name"] == "thread_name"}
    assert any(name.endswith(" sleep") for name in names)


@pytest.mark.skipif(not PROGRAM or not STAND_IN, reason="UNSTARVE_CUDA_PROGRAM is not set")
def test_the_trace_of_watch_has_kernels_and_findings(tmp_path):
    phases = watch(tmp_path, PROGRAM, 5, UNSTARVE_CUPTI_LIBRARY=STAND_IN, UNSTARVE_CUPTI_TIMES="0.5,0.6,0.8")
    kinds = {each["cat"] for each in phases["X"]}
    assert {"kernel", "gpu_memcpy", "cuda_runtime", "user_annotation", "process"} <= kinds
    assert any(each["cat"] == "finding" and "pageable" in each["name"] for each in phases["i"])


def measured(tmp_path, *command):
    """The result and the events by phase. Exit code 1: the second run of a comparison is slower."""
    trace = tmp_path / "trace.json"
    run = subprocess.run([os.environ["UNSTARVE"], *map(str, command), "--json", "--trace", trace],
                         capture_output=True, text=True, check=False, timeout=200)
    assert run.returncode in (0, 1), run.stderr
    return json.loads(run.stdout), check(json.loads(trace.read_text()))


def tracks(phases):
    """The names of the slices of each track, by process and track."""
    process = {each["pid"]: each["args"]["name"] for each in phases["M"] if each["name"] == "process_name"}
    name = {(each["pid"], each["tid"]): each["args"]["name"] for each in phases["M"] if each["name"] == "thread_name"}
    found = defaultdict(list)
    for each in phases["X"]:
        found[process[each["pid"]], name[each["pid"], each["tid"]]].append(each["name"])
    return found


FEED = ["synthetic:classes=4,images=256,size=32,seed=2", "--device", "emulated:h100-resnet50"]


def test_bench_and_compare(tmp_path):
    for name in ("before", "after"):
        result, phases = measured(tmp_path, "bench", *FEED, "--batch", 32, "--seconds", 4)
        (tmp_path / f"{name}.json").write_text(json.dumps(result))
        found = tracks(phases)
        spans = [each["name"] for each in result["spans"]]
        assert sorted(found["bench", "measurements"]) == sorted(spans)
        assert spans[:3] == ["warming up", "storage alone", "loader alone"] and spans[-1] == "all together"
        steps = found["bench", "steps, all together"]
        assert sum(name.startswith("step ") for name in steps) == len(result["steps"]["begin_s"])
        assert "compute" in steps
        end = max(each["begin_s"] + each["seconds"] for each in result["spans"])
        assert all(each["ts"] + each["dur"] <= 1e6 * end + 1 for each in phases["X"])
        assert any("decode" in each["args"] for each in phases["C"]), phases["C"]
    result, phases = measured(tmp_path, "compare", tmp_path / "before.json", tmp_path / "after.json")
    assert sorted(tracks(phases)) == [(f"{name}: {tmp_path / name}.json", "steps") for name in ("after", "before")]


def test_the_trace_of_tune_has_every_step_that_was_tried(tmp_path):
    result, phases = measured(tmp_path, "tune", *FEED, "--minutes", 0.4)
    ladder = tracks(phases)["tune", "ladder"]
    tried = {rung["name"] for rung in result["rungs"] if rung["pairs"] and rung["status"] != "final"}
    assert {"plain settings", "best compared with plain settings", "best settings", *tried} <= set(ladder)
    blocks = [each for each in phases["X"] if each["name"] in ("best settings", "with the step")]
    assert all(each["args"]["samples_per_s"] > 0 for each in blocks)


def test_the_trace_of_capacity_has_its_measurements(tmp_path):
    result, phases = measured(tmp_path, "capacity", FEED[0], "--batch", 40, "--seconds", 2)
    found = tracks(phases)
    assert {"loader alone", "storage alone"} <= set(found["capacity", "measurements"])
    for run in result["emulations"]:
        of_run = f": {run['accelerators']} accelerator"
        mine = {track for process, track in found
                if of_run in process and process.endswith("other") == run["independent"]}
        assert mine == {f"accelerator {i + 1}" for i in range(min(run["accelerators"], 16))}
    assert {"compute"} <= set().union(*found.values())


@pytest.mark.parametrize("change", [
    lambda events: events[0].pop("ph"),
    lambda events: events.append({"ph": "X", "cat": "a", "name": "a", "pid": 1, "tid": 1, "ts": 0}),
    lambda events: events.append({"ph": "X", "cat": "a", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": -1}),
    lambda events: events.append({"ph": "X", "cat": "a", "name": "a", "pid": 1, "tid": 1, "ts": 5, "dur": 20}),
    lambda events: events.append({"ph": "X", "cat": "a", "name": "a", "pid": 1, "tid": 9, "ts": 5, "dur": 1}),
    lambda events: events.append({"ph": "C", "name": "a", "pid": 1, "ts": 0, "args": {"a": "1"}}),
    lambda events: events.append({"ph": "i", "name": "a", "pid": 1, "tid": 1, "ts": 0, "s": "x"}),
])
def test_the_reader_finds_errors(change):
    events = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "run"}},
              {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "steps"}},
              {"ph": "X", "cat": "a", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 10}]
    check({"traceEvents": events})
    change(events)
    with pytest.raises((jsonschema.ValidationError, AssertionError)):
        check({"traceEvents": events})
