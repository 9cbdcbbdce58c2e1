"""Event files of `unstarve train --tensorboard` and `unstarve watch --tensorboard`, read by TensorBoard.

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
