"""`unstarve train --qat`: the exported int8 model computes what the training evaluated, in two engines; start from
weights and from nothing, pruned weights, ranks, errors."""

import json
import os
import subprocess

import numpy as np
import pytest
import unstarve as un
from export_support import exported, kinds, outputs, require_openvino, run_export, sums_may_overflow
from train_support import finish, start_training, trained
from unstarve import weights

pytest.importorskip("onnx")

DATA = "synthetic:classes=4,images=192,size=32,seed=2"
IMAGES = 192
RUN = ["--batch", "32", "--operator-threads", "1", "--seed", "3", "--evaluate-every", "0"]
FLOAT = [*RUN, "--learning-rate", "0.02"]
INT8 = [*RUN, "--qat", "--learning-rate", "0.002", "--epochs", "2"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("qat")


@pytest.fixture(scope="session")
def float_weights(folder):
    out = folder / "float.safetensors"
    trained(DATA, "--model", "cifar_net", *FLOAT, "--epochs", "3", "--out", out)
    return out


@pytest.fixture(scope="session")
def checkpoint(folder, float_weights):
    """The checkpoint, the result of the training and that of the export to model.onnx."""
    out = folder / "int8.safetensors"
    result = trained(DATA, "--val", DATA, "--model", "cifar_net", *INT8, "--weights", float_weights, "--out", out)
    return out, result, exported(out, folder / "model.onnx")


def predictions(model, out, engine):
    """The accuracy and the outputs for all images."""
    done = subprocess.run([os.environ["UNSTARVE"], "infer", model, DATA, "--out", out, "--engine", engine, "--batch",
                           "8", "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["accuracy"], np.load(out)


def test_the_exported_model_computes_what_the_training_evaluates(checkpoint, folder):
    """Without fused kernels, whose sums overflow on CPUs without VNNI."""
    pytest.importorskip("onnxruntime")
    images, labels = next(iter(un.open(DATA).sequential().batch(IMAGES)))
    mean, std = (np.array(values, np.float32).reshape(3, 1, 1) for values in un.CIFAR10)
    found = outputs(folder / "model.onnx", (np.asarray(images) - mean) / std)
    _, result, _ = checkpoint
    assert result["accuracy"] > 0.6, "the network has learnt too little"
    assert (found.argmax(1) == labels).mean() == pytest.approx(result["accuracy"], abs=1.1 / IMAGES)
    loss = np.log(np.exp(found).sum(1)) - found[np.arange(IMAGES), labels]
    assert loss.mean() == pytest.approx(result["val_loss"], rel=2e-3)


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
def test_engines_have_the_accuracy_of_the_training(checkpoint, folder, tmp_path, engine):
    pytest.importorskip(engine)
    if engine == "openvino":
        require_openvino()
    _, result, _ = checkpoint
    accuracy, _ = predictions(folder / "model.onnx", tmp_path / "out.npy", engine)
    assert accuracy == pytest.approx(result["accuracy"], abs=0.03)


def test_engines_agree(checkpoint, folder, tmp_path):
    pytest.importorskip("onnxruntime")
    require_openvino()
    _, a = predictions(folder / "model.onnx", tmp_path / "a.npy", "onnxruntime")
    _, b = predictions(folder / "model.onnx", tmp_path / "b.npy", "openvino")
    assert (a.argmax(1) == b.argmax(1)).mean() >= 0.95
    assert np.abs(a - b).mean() < 0.02 * np.abs(a - a.mean(0)).max()


def test_every_layer_is_int8_with_the_limits_of_the_checkpoint(checkpoint, folder):
    import onnx

    path, _, result = checkpoint
    assert result["int8"] == {"method": "training", "weight_bits": 8, "signed_activations": False, "layers": 7,
                              "may_overflow": sums_may_overflow()}
    model = onnx.load(folder / "model.onnx")
    assert "BatchNormalization" not in kinds(folder / "model.onnx")
    scales = [float(onnx.numpy_helper.to_array(tensor)) for tensor in model.graph.initializer
              if tensor.name.endswith(".scale") and not tensor.dims]
    limits = weights.load(path, optimiser=True)["quantisation.limits"]
    levels = [round(limit / scale) for limit, scale in zip(sorted(limits), sorted(scales), strict=True)]
    assert len(limits) == 8 and (limits > 0).all()
    assert sum(level in (127, 255) for level in levels) >= 5  # sorted by limit and by scale, so not all pairs match
    assert "quantisation.limits" not in weights.load(path)


@pytest.mark.parametrize("model", ["mobilenet_v3_small_0.35", "cifar_speed"])
def test_networks_of_other_forms_are_trained_from_random_weights(model, tmp_path):
    pytest.importorskip("onnxruntime")
    out = tmp_path / "int8.safetensors"
    result = trained(DATA, "--val", DATA, "--model", model, "--image-size", "32", *FLOAT, "--epochs", "1", "--qat",
                     "--out", out)
    assert exported(out, tmp_path / "model.onnx")["int8"]["layers"] > 6
    accuracy, _ = predictions(tmp_path / "model.onnx", tmp_path / "out.npy", "onnxruntime")
    assert accuracy == pytest.approx(result["accuracy"], abs=0.03)


def test_pruned_weights_stay_zero(folder, float_weights, tmp_path):
    import onnx

    pruned, out = tmp_path / "pruned.safetensors", tmp_path / "int8.safetensors"
    result = trained(DATA, "--model", "cifar_net", *FLOAT, "--epochs", "2", "--prune", "0.5", "--out", pruned)
    trained(DATA, "--model", "cifar_net", *INT8, "--weights", pruned, "--out", out)
    before, after = weights.load(pruned), weights.load(out)
    exported(out, tmp_path / "model.onnx")
    stored = {tensor.name: onnx.numpy_helper.to_array(tensor)
              for tensor in onnx.load(tmp_path / "model.onnx").graph.initializer}
    for layer in result["pruning"]["layers"]:
        name = layer["name"]
        zero = before[name] == 0
        assert zero.sum() == layer["zeros"] > 0
        assert (after[name][zero] == 0).all() and not np.array_equal(before[name], after[name])
        assert (stored[name + ".int8"][zero] == 0).all()


def test_a_run_resumes_from_weights_of_float32(float_weights, tmp_path):
    out = tmp_path / "int8.safetensors"
    run = [*RUN, "--model", "cifar_net", "--learning-rate", "0.02", "--epochs", "4", "--precision", "float32"]
    result = trained(DATA, *run, "--qat", "--resume", float_weights, "--out", out)
    assert result["epochs"] == 4
    assert (weights.load(out, optimiser=True)["quantisation.limits"] > 0).all()


def test_calibration_of_a_checkpoint_with_limits_is_rejected(checkpoint, tmp_path):
    done = run_export(checkpoint[0], tmp_path / "model.onnx", "--int8", DATA)
    assert done.returncode == 2, done.stderr
    assert "found --int8 for a model that was trained for int8; expected no such option" in done.stderr


def test_a_checkpoint_resumes_only_with_the_option(checkpoint):
    code, _, errors = finish(start_training(DATA, *RUN, "--model", "cifar_net", "--resume", checkpoint[0], "--epochs",
                                            "4"))
    assert code != 0
    assert "found a checkpoint of quantisation-aware training" in errors and "Continue with --qat" in errors


@pytest.mark.parametrize(("options", "message"), [
    (["--qat-begin", "1"], "--qat-begin: found 1; expected at least 0 and less than 1"),
    (["--qat-freeze", "2"], "--qat-freeze: found 2; expected at least 0 and at most 1"),
])
def test_errors_have_the_reason(options, message):
    code, _, errors = finish(start_training(DATA, "--model", "cifar_net", *INT8, *options))
    assert code == 2 and message in errors, errors


def test_seven_bits_lose_little(checkpoint, tmp_path):
    """Of weights that were trained with eight: for CPUs without VNNI."""
    _, result, _ = checkpoint
    exported(checkpoint[0], tmp_path / "model.onnx", "--weight-bits", "7")
    accuracy, _ = predictions(tmp_path / "model.onnx", tmp_path / "out.npy", "onnxruntime")
    assert accuracy == pytest.approx(result["accuracy"], abs=0.05)


def test_compress_takes_the_limits_of_the_training(checkpoint, tmp_path):
    require_openvino()
    model, result, _ = checkpoint
    done = subprocess.run([os.environ["UNSTARVE"], "compress", model, "--data", DATA, "--val", DATA, "--pairs", "6",
                           "--max-accuracy-loss", "1", "--engine", "openvino", "--out", tmp_path / "small", "--json"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    steps = [step for step in json.loads(done.stdout)["steps"] if step["name"] == "int8"]
    assert steps[0]["change"].startswith("limits of the training")
    assert steps[0]["accuracy"]["share"] == pytest.approx(result["accuracy"], abs=0.03)
    assert steps[0]["bytes"] < 0.3 * json.loads(done.stdout)["before"]["bytes"]
    assert len(steps) == (1 if steps[0]["state"] == "kept" else 2)
