"""Checkpoints contain the size of the images in the training, and `export` uses it."""

import pytest
from export_support import checked, exported, run_export
from safetensors_file import SafetensorsFile
from train_support import trained

pytest.importorskip("onnx")

DATA = "synthetic:classes=4,images=64,size=40,seed=2"
MODEL = "mobilenet_v1_0.25"  # made for 224 px


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    out = tmp_path_factory.mktemp("image_size") / "w.safetensors"
    trained(DATA, "--val", DATA, "--model", MODEL, "--image-size", "40", "--epochs", "1", "--batch", "16", "--out", out)
    return out


def side(path):
    return [length.dim_value for length in checked(path).graph.input[0].type.tensor_type.shape.dim][2:]


def with_size(source, path, text):
    """Without the size if `text` is None."""
    file = SafetensorsFile(source)
    del file.metadata["unstarve.image_size"]
    if text is not None:
        file.metadata["unstarve.image_size"] = text
    return file.write(path)


def test_the_size_of_the_training_is_the_default(checkpoint, tmp_path):
    exported(checkpoint, tmp_path / "m.onnx")
    assert side(tmp_path / "m.onnx") == [40, 40]
    exported(checkpoint, tmp_path / "m.onnx", "--image-size", "64")
    assert side(tmp_path / "m.onnx") == [64, 64]


def test_without_it_the_size_is_that_of_the_network(checkpoint, tmp_path):
    other = with_size(checkpoint, tmp_path / "w.safetensors", None)
    exported(other, tmp_path / "m.onnx")
    assert side(tmp_path / "m.onnx") == [224, 224]


@pytest.mark.parametrize("text", ["0", "-3", "40 px", "1e9", ""])
def test_other_text_is_an_error(checkpoint, tmp_path, text):
    other = with_size(checkpoint, tmp_path / "w.safetensors", text)
    failed = run_export(other, tmp_path / "m.onnx")
    assert failed.returncode == 3
    assert f'found "{text}" as unstarve.image_size; expected a side length of 1 to 65536 px' in failed.stderr
