"""`unstarve train --prune-pattern channels`: shapes, result, resuming, export, accuracy, errors."""

import json
import os
import subprocess

import numpy as np
import pytest
from export_support import checked, exported, outputs
from train_support import finish, start_training, trained
from unstarve import weights

DATA = "synthetic:classes=4,images=192,size=32,seed=2"
RUN = [DATA, "--model", "cifar_net", "--batch", "32", "--precision", "float32", "--operator-threads", "1", "--seed",
       "3", "--learning-rate", "0.01"]
HALF = ["--prune", "0.5", "--prune-pattern", "channels"]


@pytest.fixture(scope="session")
def dense(tmp_path_factory):
    path = tmp_path_factory.mktemp("dense") / "dense.safetensors"
    trained(*RUN, "--epochs", "4", "--evaluate-every", "0", "--out", path)
    return path


@pytest.fixture(scope="session")
def half(dense, tmp_path_factory):
    """The result of a run that removes half of the multiply-adds, and its file."""
    path = tmp_path_factory.mktemp("half") / "half.safetensors"
    return trained(*RUN, *HALF, "--val", DATA, "--weights", dense, "--epochs", "3", "--out", path), path


def images(size):
    return np.random.default_rng(0).standard_normal((2, 3, size, size), np.float32)


def test_the_result_has_the_channels_of_every_layer(half, dense):
    result, path = half
    pruning = result["pruning"]
    assert (pruning["target"], pruning["pattern"]) == (0.5, "channels")
    assert pruning["multiply_adds_after"] / pruning["multiply_adds"] == pytest.approx(0.5, abs=0.02)
    assert result["macs"] == pruning["multiply_adds_after"]
    assert result["parameters"] == pruning["parameters_after"] < pruning["parameters"]
    before, after = weights.load(dense), weights.load(path)
    assert before.keys() == after.keys()
    for layer in pruning["layers"]:
        assert before[layer["name"]].shape[0] == layer["channels"]
        assert after[layer["name"]].shape[0] == layer["channels_after"]
    assert pruning["layers"][-1]["fixed"] == "output of the model"
    assert pruning["sizes"]["zip_bytes"] < pruning["sizes"]["float32_bytes"] < 0.8 * os.path.getsize(dense)


def test_fewer_channels_learn(half):
    assert half[0]["accuracy"] > 0.5  # of 4 classes


def test_the_checkpoint_is_exported_with_fewer_channels(half, tmp_path):
    result, path = half
    exported(path, tmp_path / "half.onnx", "--image-size", 32)
    shapes = sorted(list(tensor.dims) for tensor in checked(tmp_path / "half.onnx").graph.initializer
                    if len(tensor.dims) == 4)
    expected = [layer["channels_after"] for layer in result["pruning"]["layers"][:-1]]
    assert sorted(shape[0] for shape in shapes) == sorted(expected)
    run = subprocess.run([os.environ["UNSTARVE"], "infer", tmp_path / "half.onnx", DATA, "--out", tmp_path / "o.csv",
                          "--engine", "onnxruntime", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout)["accuracy"] == pytest.approx(result["accuracy"], abs=0.02)


def test_the_text_has_what_remains(dense):
    code, text, errors = finish(start_training(*RUN, *HALF, "--weights", dense, "--epochs", "1"))
    assert code == 0, errors
    line = next(line for line in text.splitlines() if line.startswith("pruned "))
    assert line.startswith("pruned    channels: ") and " multiply-adds to " in line and " parameters to " in line


@pytest.mark.parametrize("options", [[], ["--average", "0.9", "--optimiser", "adamw"]])
def test_a_run_resumes_bit_equal(dense, tmp_path, options):
    run = [*RUN, *options, "--epochs", "2"]
    trained(*run, *HALF, "--weights", dense, "--checkpoint-dir", tmp_path, "--keep-checkpoints", "9")
    first, last = sorted(tmp_path.glob("step-*.safetensors"))
    expected = weights.load(last, optimiser=True)
    for pruned in (HALF, []):  # a checkpoint has its structure, so that the options are not required
        result = trained(*run, *pruned, "--resume", first, "--out", tmp_path / "out")
        assert result["pruning"] is None
        found = weights.load(tmp_path / "out", optimiser=True)
        assert found.keys() == expected.keys()
        for name, values in expected.items():
            assert np.array_equal(found[name], values), name


def test_pruned_weights_are_trained_and_pruned_again(half, tmp_path):
    again = trained(*RUN, *HALF, "--weights", half[1], "--epochs", "1", "--out", tmp_path / "quarter")["pruning"]
    assert again["multiply_adds"] == half[0]["pruning"]["multiply_adds_after"]
    assert again["multiply_adds_after"] / again["multiply_adds"] == pytest.approx(0.5, abs=0.02)
    same = trained(*RUN, "--weights", half[1], "--epochs", "1", "--out", tmp_path / "same")
    assert same["pruning"] is None and same["macs"] == half[0]["macs"]


def test_fewer_channels_are_trained_for_int8(half, tmp_path):
    run = [*RUN[:-1], "0.002", "--qat", "--val", DATA, "--epochs", "2"]
    result = trained(*run, "--weights", half[1], "--checkpoint-dir", tmp_path, "--keep-checkpoints", "9")
    assert result["macs"] == half[0]["macs"]
    first, last = sorted(tmp_path.glob("step-*.safetensors"))
    trained(*run, "--resume", first, "--out", tmp_path / "resumed")
    expected, found = weights.load(last), weights.load(tmp_path / "resumed")
    assert found.keys() == expected.keys()
    assert all(np.array_equal(found[name], values) for name, values in expected.items())
    # With 8 bits, sums overflow in ONNX Runtime on CPUs without VNNI.
    for engine, bits, tolerance in (("libtorch", 8, 0.006), ("onnxruntime", 7, 0.03)):
        exported(last, tmp_path / "int8.onnx", "--weight-bits", bits)
        infer = subprocess.run([os.environ["UNSTARVE"], "infer", tmp_path / "int8.onnx", DATA, "--engine", engine,
                                "--json"], capture_output=True, text=True, check=True)
        assert json.loads(infer.stdout)["accuracy"] == pytest.approx(result["accuracy"], abs=tolerance)


def test_channels_are_removed_at_the_begin_of_training_for_int8(dense, tmp_path):
    result = trained(*RUN, *HALF, "--qat", "--weights", dense, "--epochs", "1", "--out", tmp_path / "both.safetensors")
    assert result["pruning"]["multiply_adds_after"] / result["pruning"]["multiply_adds"] == pytest.approx(0.5, abs=0.02)
    exported(tmp_path / "both.safetensors", tmp_path / "both.onnx")
    kinds = [node.op_type for node in checked(tmp_path / "both.onnx").graph.node]
    assert kinds.count("QuantizeLinear") >= 5


def test_the_first_weights_are_those_of_the_kept_channels(dense, tmp_path):
    """A learning rate of almost 0 leaves the weights as they were loaded."""
    trained(*RUN[:-1], "1e-12", *HALF, "--weights", dense, "--weight-decay", "0", "--epochs", "0.2", "--out",
            tmp_path / "start")
    before, after = weights.load(dense)["features.0.0.weight"], weights.load(tmp_path / "start")["features.0.0.weight"]
    rows = {row.tobytes() for row in before.round(4)}
    assert len(after) < len(before) and all(row.tobytes() in rows for row in after.round(4))


@pytest.mark.parametrize(("options", "code", "message"), [
    (HALF, 2, "--prune-pattern: found channels without weights; expected trained weights"),
    (["--prune-pattern", "channels", "--weights", "DENSE"], 2,
     "--prune-pattern: found channels without a share; expected the share of the multiply-adds to remove"),
    (["--prune", "0.999", "--prune-pattern", "channels", "--weights", "DENSE"], 2,
     "of the multiply-adds can be removed; expected at least 99.9 %. Request a smaller share"),
    ([*HALF, "--resume", "DENSE"], 3, "found a checkpoint with all channels; expected one of a run with"),
])
def test_errors_have_the_reason(dense, options, code, message):
    found, _, errors = finish(start_training(*RUN, "--epochs", "1",
                                             *[str(dense) if option == "DENSE" else option for option in options]))
    assert found == code and message in errors, errors


def test_weights_of_another_network_are_an_error(dense):
    run = ["cifar_speed" if option == "cifar_net" else option for option in RUN]
    code, _, errors = finish(start_training(*run, *HALF, "--weights", dense, "--epochs", "1"))
    assert code == 2 and "--model: found cifar_speed; expected cifar_net, the network of" in errors, errors


def test_weights_of_another_number_of_classes_are_an_error(dense):
    other = ["synthetic:classes=5,images=64,size=32,seed=2", *RUN[1:]]
    code, _, errors = finish(start_training(*other, *HALF, "--weights", dense, "--epochs", "1"))
    assert code == 3 and "is [batch, 4]; expected [batch, 5], the classes of the data" in errors, errors
