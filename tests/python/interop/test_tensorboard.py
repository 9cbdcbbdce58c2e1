"""Event files of `--tensorboard` of train, watch, diagnose, bench, tune, capacity and compare, read by TensorBoard.

Skipped if the package is missing; make test-frameworks installs it.
"""

import json
import os
import struct
import subprocess
import sys

import pytest

pytestmark = pytest.mark.frameworks
accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator",
                                  reason="TensorBoard is not installed: make test-frameworks")

RUN = ["train", "synthetic:classes=4,images=96,size=32,seed=2", "--val", "synthetic:classes=4,images=32,size=32,seed=3",
       "--model", "cifar_net", "--batch", "16", "--precision", "float32"]


def test_tensorboard_reads_scalars_and_findings_of_a_watched_run(tmp_path):
    program = "import time, unstarve as un\nfor _ in range(80):\n    time.sleep(0.05)\n    un.step()"
    subprocess.run([os.environ["UNSTARVE"], "watch", "--tensorboard", tmp_path, "--", sys.executable, "-c", program],
                   check=True, timeout=120)
    events = accumulator.EventAccumulator(str(tmp_path), size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    steps = events.Scalars("watch/step_seconds")
    assert [event.step for event in steps] == list(range(1, 80))
    assert all(0.05 <= event.value < 2 for event in steps)
    assert {"watch/cores_main", "watch/memory_bytes", "watch/steps_per_s"} <= set(events.Tags()["scalars"])
    assert events.Tags()["tensors"] == ["watch/findings"]
    assert events.SummaryMetadata("watch/findings").plugin_data.plugin_name == "text"
    assert events.Tensors("watch/findings")[0].tensor_proto.string_val[0].decode()


def events_of(folder):
    events = accumulator.EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    return events


def values(events, tag):
    return [(event.step, pytest.approx(event.value, rel=1e-5)) for event in events.Scalars(tag)]


def text(events, tag):
    return events.Tensors(tag)[0].tensor_proto.string_val[0].decode()


def measured(folder, *arguments):
    """The result and the events. Exit code 1: the second run of a comparison is slower."""
    run = subprocess.run([os.environ["UNSTARVE"], *map(str, arguments), "--json", "--tensorboard", folder],
                         capture_output=True, text=True, timeout=300)
    assert run.returncode in (0, 1), run.stderr
    return json.loads(run.stdout), events_of(folder)


def test_tensorboard_reads_diagnose(tmp_path):
    def event(category, name, begin, duration):
        return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": begin, "dur": duration}

    steps = [1000 + 10 * i for i in range(6)]  # microseconds
    events, begin = [], 0
    for i, duration in enumerate(steps):
        events += [event("user_annotation", f"ProfilerStep#{i}", begin, duration),
                   event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin, 400),
                   event("cpu_op", "aten::mm", begin + 400, duration - 500)]
        begin += duration
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    result, read = measured(tmp_path / "events", "diagnose", trace)
    recorded = result["profile"]["trace"]["steps"]
    assert [round(1e6 * step["seconds"]) for step in recorded] == steps[1:]  # without the first one
    for tag, seconds in {"step": [1e-6 * step for step in steps[1:]], "loader": [400e-6] * 5,
                         "operator": [1e-6 * (step - 500) for step in steps[1:]], "other": [100e-6] * 5}.items():
        assert list(enumerate(map(pytest.approx, seconds), 1)) == [
            (point.step, point.value) for point in read.Scalars(f"trace/{tag}_seconds")]
    assert len(read.Tags()["scalars"]) == 4
    assert "(input-wait, " in text(read, "trace/findings")
    # The output of watch has the scalars of the run.
    watched = tmp_path / "watched.json"
    subprocess.run([os.environ["UNSTARVE"], "watch", "--out", watched, "--tensorboard", tmp_path / "watch", "--",
                    sys.executable, "-c", "import time, unstarve as un\nfor _ in range(40):\n    time.sleep(0.05)\n"
                    "    un.step()"], check=True, timeout=120)
    again, before = measured(tmp_path / "again", "diagnose", watched)[1], events_of(tmp_path / "watch")
    assert again.Tags()["scalars"] == before.Tags()["scalars"]
    assert text(again, "watch/findings") == text(before, "watch/findings")
    for tag in before.Tags()["scalars"]:
        assert values(again, tag) == [(event.step, event.value) for event in before.Scalars(tag)]


FEED = ["synthetic:classes=4,images=256,size=32,seed=2", "--device", "emulated:h100-resnet50"]


def test_tensorboard_reads_bench_and_compare(tmp_path):
    for name in ("before", "after"):
        result, events = measured(tmp_path / name, "bench", *FEED, "--batch", 32, "--seconds", 4)
        (tmp_path / f"{name}.json").write_text(json.dumps(result))
        assert list(enumerate(result["rounds_of"]["loader"], 1)) == values(events, "bench/loader_samples_per_s")
        assert list(enumerate(result["steps"]["wait_ms"], 1)) == values(events, "bench/wait_ms")
        assert [(1, result["utilisation"])] == values(events, "bench/utilisation")
        assert any(tag.startswith("bench/stage_us/") for tag in events.Tags()["scalars"])
        assert text(events, "bench/verdict") == result["verdict"]
    result, events = measured(tmp_path / "compare", "compare", tmp_path / "before.json", tmp_path / "after.json")
    assert [(0, result["whole"]["ratio"])] == values(events, "compare/together_speed")
    assert text(events, "compare/verdict") == result["verdict"]
    for run in ("before", "after"):
        events = events_of(tmp_path / "compare" / run)
        assert [(0, result["whole"][run])] == values(events, "compare/together")
        steps = json.loads((tmp_path / f"{run}.json").read_text())["steps"]
        assert len(events.Scalars("compare/step_ms")) == len(steps["begin_s"])


def test_tensorboard_reads_tune(tmp_path):
    result, events = measured(tmp_path, "tune", *FEED, "--minutes", 0.4)
    rungs = [(i, rung) for i, rung in enumerate(result["rungs"]) if rung["pairs"] and rung["status"] != "final"]
    for tag, key in (("ratio", "ratio"), ("low", "low"), ("high", "high")):
        assert [(i, rung[key]) for i, rung in rungs] == values(events, f"tune_over_step_before/{tag}")
    assert values(events, "tune/samples_per_s")[0][0] == 0
    ladder = text(events, "tune/ladder")
    assert all(f"| {i} | {rung['name']} | {rung['status']} |" in ladder for i, rung in enumerate(result["rungs"]))
    assert events_of(tmp_path / "best").Scalars("tune/utilisation")


def test_tensorboard_reads_capacity(tmp_path):
    result, events = measured(tmp_path, "capacity", FEED[0], "--batch", 40, "--seconds", 2)
    utilisation = sorted((int(number), value) for number, value in result["utilisation"].items())
    assert utilisation == values(events, "capacity/utilisation")
    assert [(0, result["fed"])] == values(events, "capacity/fed")
    assert text(events, "capacity/verdict")


def trained(*arguments):
    run = subprocess.run([os.environ["UNSTARVE"], *RUN, *map(str, arguments), "--json"], capture_output=True, text=True,
                         timeout=300)
    if run.returncode == 4 and "no libtorch" in run.stderr:
        pytest.skip("this build has no libtorch")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_tensorboard_reads_scalars_and_charts_also_of_a_resumed_run(tmp_path):
    first = trained("--epochs", 2, "--tensorboard", tmp_path / "events", "--checkpoint-dir", tmp_path / "run")
    events = accumulator.EventAccumulator(str(tmp_path / "events"))
    events.Reload()
    assert sorted(events.Tags()["scalars"]) == ["train/data_wait", "train/learning_rate", "train/loss",
                                                "train/samples_per_s", "val/accuracy", "val/loss"]
    losses = [(event.step, event.value) for event in events.Scalars("train/loss")]
    assert losses == [(point["step"], pytest.approx(point["loss"], rel=1e-6)) for point in first["points"]]
    accuracies = [event.value for event in events.Scalars("val/accuracy")]
    assert accuracies == [pytest.approx(point["accuracy"], rel=1e-6) for point in first["evaluations"]]

    assert sorted(events.Tags()["images"]) == ["charts/data_wait", "charts/learning_rate", "charts/train_loss",
                                                "charts/val_accuracy"]
    for tag in events.Tags()["images"]:
        image = events.Images(tag)[0]
        assert (image.width, image.height) == (640, 360)
        assert image.encoded_image_string.startswith(b"\x89PNG")
        assert struct.unpack(">II", image.encoded_image_string[16:24]) == (640, 360)

    second = trained("--epochs", 3, "--tensorboard", tmp_path / "events", "--resume", tmp_path / "run")
    events.Reload()
    steps = [event.step for event in events.Scalars("train/loss")]
    assert steps == sorted(set(steps))
    assert steps[-1] == second["steps"]
