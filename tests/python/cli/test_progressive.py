"""`unstarve train` with progressive settings: phases, exact resume, ranks, faults and the report."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from train_support import finish, start_training, trained

THUMBNAILS = "synthetic:classes=4,images=64,size=32,seed=2"
FIXED = ["--precision", "float32", "--operator-threads", "1", "--seed", "3", "--threads", "1"]
SHORT = ["--model", "cifar_net", "--batch", "16", "--learning-rate", "0.01", *FIXED]
# Five epochs, of which the first three have 16 px, weak augmentation and half of the samples; 2 + 2 + 2 + 3 + 4 steps.
SCHEDULES = ["--progressive-size", "16", "--progressive-augmentation", "0.2", "--progressive-samples", "0.5",
             "--progressive-size-ramp", "0.5,0.8", "--progressive-augmentation-ramp", "0.5,0.8",
             "--progressive-samples-ramp", "0.5,1"]
STEPS = [2, 2, 2, 3, 4]
EPOCHS = ["--epochs", "5"]


def losses(result):
    return {point["step"]: point["loss"] for point in result["points"]}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run with a checkpoint after every step, and its folder."""
    folder = tmp_path_factory.mktemp("progressive")
    result = trained(THUMBNAILS, "--val", THUMBNAILS, *SHORT, *SCHEDULES, *EPOCHS, "--evaluate-every", "0.25",
                     "--checkpoint-dir", folder, "--keep-checkpoints", "100", "--report", folder / "report.html")
    return result, folder


def test_the_result_has_the_phases_and_their_effect(whole):
    result, _ = whole
    assert (result["steps"], result["epochs"]) == (sum(STEPS), 5)
    phases = result["progressive"]["phases"]
    assert [(p["first_epoch"], p["epochs"], p["image_size"], p["augmentation"], p["samples_share"], p["samples"])
            for p in phases] == [(1, 3, 16, 0.2, 0.5, 6 * 16), (4, 1, 28, 0.85, 0.75, 3 * 16), (5, 1, 32, 1, 1, 4 * 16)]
    assert [p["steps"] for p in phases] == [6, 3, 4]
    accuracies = {point["step"]: point["accuracy"] for point in result["evaluations"]}
    assert sorted(accuracies) == list(range(1, 14))
    assert [p["accuracy"] for p in phases] == [accuracies[6], accuracies[9], accuracies[13]]
    effect = result["progressive"]["effect"]
    assert effect["full_rate"] == "measured"
    assert effect["full_samples_per_s"] == pytest.approx(phases[-1]["samples_per_s"])
    assert effect["seconds"] == pytest.approx(sum(p["seconds"] for p in phases))
    assert effect["estimated_seconds_without"] == pytest.approx(5 * 4 * 16 / effect["full_samples_per_s"])
    saved = effect["estimated_saved"]
    assert sum(saved.values()) == pytest.approx(effect["estimated_seconds_without"] - effect["seconds"])
    assert saved["samples"] == pytest.approx((6 + 1) * 16 / effect["full_samples_per_s"])


def test_the_report_shows_the_phases_and_marks_estimates(whole):
    page = (whole[1] / "report.html").read_text()
    for text in ("Progressive training", "16 px", "28 px", "32 px", "Effect of the schedules on the training time",
                 "estimated: samples left out, at the full rate", "measured, without evaluations and checkpoints",
                 "estimated without the schedules, at the same epochs"):
        assert text in page


def test_a_run_resumes_bit_equal_in_every_phase_and_between_phases(whole):
    result, folder = whole
    for step in (1, 2, 5, 6, 7, 9, 11):  # the phases end after 6 and 9 steps, epochs after 2, 4, 6 and 9
        resumed = trained(THUMBNAILS, "--val", THUMBNAILS, *SHORT, *SCHEDULES, *EPOCHS, "--evaluate-every", "0",
                          "--resume", folder / f"step-{step:08}.safetensors")
        assert resumed["steps"] == result["steps"]
        assert resumed["loss_last"] == result["loss_last"], step
        last = result["evaluations"][-1]
        assert resumed["evaluations"][-1] == last | {"seconds": resumed["evaluations"][-1]["seconds"]}, step
        trained_steps = [p["steps"] for p in resumed["progressive"]["phases"]]
        assert sum(trained_steps) == result["steps"] - step
        assert (trained_steps[0] == 0) == (step >= 6)


def write_settings(file, operations, image_size=32):
    """Settings like those of SHORT with a constant learning rate, but with these operations."""
    explained = subprocess.run([os.environ["UNSTARVE"], "explain", THUMBNAILS, "--model", "cifar_net", "--json"],
                               capture_output=True, text=True, check=True)
    settings = json.loads(explained.stdout)["settings"]
    settings["pipeline"]["operations"] = operations
    settings["pipeline"]["batch"]["size"] = 16
    settings["pipeline"]["order"]["seed"] = settings["train"]["seed"] = 3
    settings["train"] |= {"learning_rate": 0.01, "image_size": image_size}
    settings["train"]["schedule"] |= {"name": "constant", "warmup": 0}
    file.write_text(json.dumps(settings))
    return file


def test_sizes_and_strength_change_the_images(tmp_path):
    """The first phase equals a run whose operations have its values; later ones differ."""
    constant = ["--schedule", "constant", "--warmup", "0"]
    phases = trained(THUMBNAILS, *SHORT, *constant, "--progressive-size", "16", "--progressive-augmentation", "0.25",
                     "--epochs", "3")
    assert [p["image_size"] for p in phases["progressive"]["phases"]] == [16, 20, 32]
    flip = {"horizontal_flip": {"probability": 0.5}}
    small = [{"pad_crop": {"size": 32, "padding": 1}}, flip, {"resize": {"size": [16, 16]}}]
    same = trained("--config", write_settings(tmp_path / "small.yaml", small, 16), *FIXED, "--epochs", "3")
    large = [{"pad_crop": {"size": 32, "padding": 4}}, flip]
    full = trained("--config", write_settings(tmp_path / "large.yaml", large), *FIXED, "--epochs", "3")
    mine, of_small, of_full = losses(phases), losses(same), losses(full)
    assert [mine[step] for step in range(1, 5)] == [of_small[step] for step in range(1, 5)]
    assert mine[5] != of_small[5]
    assert mine[1] != of_full[1]


def test_photographs_are_cropped_to_the_size_of_the_phase(photographs):
    """Real photographs; the first phase equals a run at its size."""
    common = [photographs, "--model", "cifar_net", "--batch", "32", "--learning-rate", "0.01", *FIXED, "--schedule",
              "constant", "--warmup", "0", "--epochs", "3"]
    growing = trained(*common, "--image-size", "64", "--progressive-size", "32", "--progressive-size-ramp", "0,0.9")
    phases = growing["progressive"]["phases"]
    assert [p["image_size"] for p in phases] == [32, 64]
    small = trained(*common, "--image-size", "32")
    until = phases[0]["steps"]
    mine, of_small = losses(growing), losses(small)
    compared = [step for step in mine if step <= until and step in of_small]
    assert compared
    assert [mine[step] for step in compared] == [of_small[step] for step in compared]
    assert growing["loss_last"] != small["loss_last"]


def mpirun(ranks, *arguments):
    program = Path(os.environ["UNSTARVE"])
    if shutil.which("mpirun") is None or not (program.parent / "libunstarve_mpi.so").exists():
        pytest.skip("mpirun and libunstarve_mpi.so are required")
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "btl_vader_single_copy_mechanism", "none",
               "-n", str(ranks), program, "train", *map(str, arguments), "--json"]
    code, out, errors = finish(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    assert code == 0, errors
    return json.loads(out)


RANKS = [THUMBNAILS, "--val", THUMBNAILS, "--model", "cifar_net", "--batch", "8", "--learning-rate", "0.01", *FIXED,
         "--sync-batch-norm", "true", *SCHEDULES, *EPOCHS]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A run of two ranks, each with half of the batch, and its folder."""
    folder = tmp_path_factory.mktemp("ranks")
    return mpirun(2, *RANKS, "--evaluate-every", "0.25", "--checkpoint-dir", folder, "--keep-checkpoints",
                  "100"), folder


def test_ranks_follow_the_same_phases(both, whole):
    """Two ranks with half of the batch see the samples of one process."""
    both, alone = both[0], whole[0]
    assert both["steps"] == alone["steps"]
    key = ("first_epoch", "epochs", "image_size", "augmentation", "samples_share", "steps", "samples")
    assert [[p[k] for k in key] for p in both["progressive"]["phases"]] == [[p[k] for k in key] for p in
                                                                           alone["progressive"]["phases"]]
    assert both["points"][0]["loss"] == pytest.approx(alone["points"][0]["loss"], rel=1e-5)
    assert both["loss_last"] == pytest.approx(alone["loss_last"], rel=2e-2)


@pytest.mark.parametrize("step", [5, pytest.param(6, marks=pytest.mark.long)])
def test_ranks_resume_within_a_phase_and_between_phases(both, step):
    both, folder = both
    resumed = mpirun(2, *RANKS, "--resume", folder / f"step-{step:08}.safetensors", "--evaluate-every", "0")
    assert resumed["loss_last"] == both["loss_last"]


def test_one_epoch_has_the_full_values_with_a_notice():
    code, out, errors = finish(start_training(THUMBNAILS, *SHORT, *SCHEDULES, "--epochs", "1", "--json"))
    assert code == 0, errors
    assert json.loads(out)["progressive"]["phases"][0]["image_size"] == 32
    assert "progressive settings have no effect: every epoch of this run has the full values" in errors


def test_the_start_of_a_run_announces_the_phases():
    code, out, errors = finish(start_training(THUMBNAILS, *SHORT, *SCHEDULES, *EPOCHS))
    assert code == 0, errors
    assert ("unstarve: progressive training: epochs 1 to 3: 16 px, augmentation 0.2, 50 % of the samples; epoch 4: "
            "28 px, augmentation 0.85, 75 % of the samples; epoch 5: 32 px") in errors.replace("\n", " ")
    assert "schedules" in out and "estimated" in out


def test_all_faults_are_listed_before_the_data_is_opened():
    """Faults of settings, of their combination with the pipeline, and of the length."""
    code, _, errors = finish(start_training(THUMBNAILS, *SHORT, "--minutes", "1", "--progressive-size", "64",
                                            "--progressive-augmentation", "2", "--progressive-samples-ramp", "0.9,0.1",
                                            "--evaluation-size", "3"))
    assert code == 2
    for fault in ("--evaluation-size: found 3; expected 0, or at least 8 and at most 65536",
                  "--progressive-size: found 64; expected 0, or at least 8 and at most 32",
                  "--progressive-augmentation: found 2; expected at least 0 and at most 1",
                  "--progressive-samples-ramp: found 0.9, 0.1; expected two shares of the run",
                  "train.progressive: found a run that is limited by minutes only"):
        assert fault in errors
    both = trained(THUMBNAILS, *SHORT, *SCHEDULES, "--minutes", "10", *EPOCHS)
    assert both["steps"] == sum(STEPS)


def test_a_settings_file_lists_its_faults_with_their_lines(tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text("unstarve: 1\npipeline: {source: {path: x}}\ntrain:\n  image_size: 32\n  progressive:\n"
                    "    image_size: 64\n    samples: 0\n    size: 3\n")
    code, _, errors = finish(start_training("--config", file))
    assert code == 3
    assert "s.yaml.train.progressive.size: line 8: unknown key" in errors
    file.write_text(file.read_text().replace("    size: 3\n", ""))
    code, _, errors = finish(start_training("--config", file))
    assert code == 3
    assert "s.yaml.train.progressive.image_size: line 6: " in errors
    assert "found 64; expected 0, or at least 8 and at most 32" in errors
    assert re.search(r"s\.yaml\.train\.progressive\.samples: line \d+: found 0", errors)


def test_operations_of_another_size_are_an_error(tmp_path):
    file = write_settings(tmp_path / "s.yaml", [{"random_resized_crop": {"size": [24, 32]}}])
    code, _, errors = finish(start_training("--config", file, *FIXED, "--progressive-size", "16", *EPOCHS))
    assert code == 2
    assert "the operations make images of 16x12 px in epoch 1; expected 16x16" in errors.replace("\n", " ")


def test_the_recipe_imagenet_trains_a_small_network():
    data = "synthetic:classes=3,images=4,size=200,seed=1"
    result = trained(data, "--val", data, "--recipe", "imagenet", "--model", "resnet18", "--batch", "4",
                     "--epochs", "2", *FIXED[:2], "--seed", "3")
    assert [p["image_size"] for p in result["progressive"]["phases"]] == [160, 192]
    assert result["points"][0]["learning_rate"] == pytest.approx(1.7 / 8 * 4 / 512)
    assert result["evaluations"][0]["step"] == 2
