"""The normalisation of the training is part of checkpoints and ONNX files, and `infer` and `compress` use it."""

import json
import os
import subprocess

import pytest
from export_support import checked, exported, require_openvino
from train_support import trained

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

DATA = "synthetic:classes=4,images=192,size=32,seed=2"
OF_TRAINING = {"mean": [0.1, 0.2, 0.3], "std": [0.9, 0.05, 0.6]}
TEXT = "0.1 0.2 0.3 0.9 0.05 0.6"


def spec(path, output):
    path.write_text(json.dumps({"source": {"path": DATA}, "output": output}))
    return path


def run(*arguments):
    done = subprocess.run([os.environ["UNSTARVE"], *map(str, arguments), "--json"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """The result of the training, its checkpoint, and the model that is exported from it."""
    folder = tmp_path_factory.mktemp("normalisation")
    data = spec(folder / "train.yaml", OF_TRAINING)
    result = trained(data, "--val", data, "--model", "cifar_net", "--epochs", "3", "--batch", "32", "--evaluate-every",
                     "0", "--learning-rate", "0.02", "--seed", "3", "--out", folder / "w.safetensors")
    exported(folder / "w.safetensors", folder / "model.onnx")
    return result, folder / "w.safetensors", folder / "model.onnx"


def test_the_exported_model_has_the_normalisation(checkpoint):
    assert {entry.key: entry.value for entry in checked(checkpoint[2]).metadata_props} == {
        "unstarve.normalisation": TEXT}


@pytest.mark.parametrize("output", [None, {}, OF_TRAINING])
def test_infer_uses_the_normalisation_of_the_model(checkpoint, tmp_path, output):
    data = DATA if output is None else spec(tmp_path / "data.yaml", output)
    result, errors = run("infer", checkpoint[2], data, "--engine", "onnxruntime")
    assert (result["mean"], result["std"]) == (pytest.approx(OF_TRAINING["mean"]), pytest.approx(OF_TRAINING["std"]))
    assert result["accuracy"] == pytest.approx(checkpoint[0]["accuracy"], abs=0.011)
    assert "normalisation" not in errors


def test_another_normalisation_of_a_spec_is_used_after_a_notice(checkpoint, tmp_path):
    data = spec(tmp_path / "data.yaml", {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]})
    result, errors = run("infer", checkpoint[2], data, "--engine", "onnxruntime")
    assert result["mean"] == [0.5, 0.5, 0.5]
    assert ("the spec normalises images with 0.5 0.5 0.5 0.5 0.5 0.5; the model was trained with "
            f"{TEXT}") in errors


def test_export_has_the_same_notice(checkpoint, tmp_path):
    data = spec(tmp_path / "data.yaml", {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]})
    _, errors = run("export", checkpoint[1], "--int8", data, "--int8-images", "8", "--out", tmp_path / "int8.onnx")
    assert "the spec normalises images with 0.5" in errors


def test_compress_uses_it_and_keeps_it(checkpoint, tmp_path):
    require_openvino()
    result, _ = run("compress", checkpoint[1], "--data", DATA, "--val", DATA, "--pairs", "6", "--images", "64",
                    "--engine", "openvino", "--out", tmp_path / "small")
    assert result["before"]["accuracy"]["share"] == pytest.approx(checkpoint[0]["accuracy"], abs=0.011)
    settings = json.loads((tmp_path / "small" / "settings.json").read_text())
    assert settings["mean"] == pytest.approx(OF_TRAINING["mean"])
    assert [entry.value for entry in checked(tmp_path / "small" / "model.onnx").metadata_props] == [TEXT]
