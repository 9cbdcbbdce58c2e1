"""`unstarve train --resident`: batches from images on the device are those of a loader, in whole runs."""

import pytest
from train_support import finish, start_training, trained

DATA = "synthetic:classes=4,images=192,size=32,seed=2"
RUN = ["--recipe", "cifar-speed", "--model", "cifar_net", "--batch", "48", "--precision", "float32",
       "--operator-threads", "1", "--seed", "3", "--epochs", 3]
# Nothing depends on the length of the run.
CONSTANT = ["--schedule", "constant", "--warmup", "0", "--lookahead", "0"]


@pytest.fixture(scope="module")
def loaded():
    return trained(DATA, "--val", DATA, *RUN, "--resident", "off")


def results_of(result):
    return ([point["loss"] for point in result["points"]],
            [(point["step"], point["accuracy"], point["loss"]) for point in result["evaluations"]])


def test_losses_and_accuracy_are_those_with_a_loader(loaded):
    assert loaded["resident"] is None
    result = trained(DATA, "--val", DATA, *RUN)  # auto, by the recipe
    assert results_of(result) == results_of(loaded) and len(result["points"]) > 3
    # 33 x 33 pixels for each image: one row and one column of the border.
    assert (result["resident"]["images"], result["resident"]["bytes"]) == (192, 192 * 33 * 33 * 3)
    assert result["data_wait"] * result["seconds"] >= result["resident"]["seconds"] > 0


@pytest.fixture(scope="module")
def whole():
    return trained(DATA, "--val", DATA, *RUN, *CONSTANT, "--resident", "off")


@pytest.mark.parametrize(("before", "after"), [
    pytest.param("on", "on", marks=pytest.mark.long), ("on", "off"), pytest.param("off", "on", marks=pytest.mark.long)])
def test_a_run_resumes_bit_equal_with_and_without(tmp_path, whole, before, after):
    """In the middle of the second epoch."""
    half = trained(DATA, *RUN[:-1], "1.5", *CONSTANT, "--resident", before, "--out", tmp_path / "half")
    assert half["steps"] == 6
    rest = trained(DATA, "--val", DATA, *RUN, *CONSTANT, "--resident", after, "--resume", tmp_path / "half")
    assert rest["steps"] == 12 and rest["loss_last"] == whole["loss_last"]
    assert results_of(rest)[1] == results_of(whole)[1]


def test_on_is_an_error_with_the_reason_before_the_data_is_opened():
    for options, reason in ((["--on-error", "skip"], "pipeline.errors.policy: found a policy"),
                            (["--progressive-size", "16"], "train.progressive: found an image size"),
                            (["--image-size", "64"], "pipeline.operations[0]: found random_resized_crop")):
        code, _, errors = finish(start_training(DATA, *RUN, "--resident", "on", *options))
        expected = f"--resident: found on, but images cannot stay on the device: {reason}"
        assert code == 2 and expected in errors, errors
        assert "resident: off" in errors


def test_auto_uses_a_loader_with_a_notice(loaded):
    code, out, errors = finish(start_training(DATA, "--val", DATA, *RUN, "--on-error", "replace", "--json"))
    assert code == 0 and '"resident":null' in out
    assert "train.resident: auto: a loader makes the batches: pipeline.errors.policy" in errors


def test_a_limit_of_memory_is_not_exceeded():
    # Only the number of images and the first one are read.
    code, _, errors = finish(start_training("sleep:ms=1,images=100000000,size=32", *RUN, "--resident", "on"))
    assert code == 3 and "100000000 images of 32 x 32 on the device: they need 326700.0 MB; expected" in errors, errors
    assert "Use resident: off" in errors
