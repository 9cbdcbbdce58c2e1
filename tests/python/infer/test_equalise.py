"""Equalisation before depthwise layers: channels of very different ranges lose no accuracy in int8."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from export_support import assert_close, checked, exported, outputs

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from onnx import numpy_helper  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "golden"))

import make_models  # noqa: E402
from unstarve import weights  # noqa: E402

DATA = "synthetic:classes=4,images=64,size=64,seed=2"
DRAWS = np.random.default_rng(5)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("equalise")
    golden = json.loads(make_models.GOLDEN.read_text())["mobilenet_v1"]
    weights.convert({key: make_models.formula(key, tuple(shape), golden["gain"])
                     for key, shape in golden["shapes"].items()}, folder / "w.safetensors")
    exported(folder / "w.safetensors", folder / "m.onnx", "--model", "mobilenet_v1", "--image-size", "64")
    return folder / "m.onnx"


def with_other_ranges(source, path):
    """The same function in float32. Channels before depthwise layers are 1 to 64 times smaller, at random."""
    file = checked(source)
    constants = {tensor.name: tensor for tensor in file.graph.initializer}
    producers = {node.output[0]: node for node in file.graph.node}

    def scale(name, factors):
        array = numpy_helper.to_array(constants[name])
        scaled = array * factors.reshape(-1, *[1] * (array.ndim - 1)).astype(np.float32)
        constants[name].CopyFrom(numpy_helper.from_array(scaled, name))

    count = 0
    for node in file.graph.node:
        groups = {attribute.name: attribute.i for attribute in node.attribute}.get("group", 1)
        if node.op_type != "Conv" or groups == 1:
            continue
        first = producers[producers[node.input[0]].input[0]]
        factors = 2.0 ** DRAWS.integers(-6, 1, groups)
        for name in first.input[1:]:
            scale(name, factors)
        scale(node.input[1], 1 / factors)
        count += 1
    onnx.save(file, path)
    return count


def all_outputs(path, tmp_path):
    out = tmp_path / "outputs.npy"
    done = subprocess.run([os.environ["UNSTARVE"], "infer", path, DATA, "--engine", "onnxruntime", "--out", out],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return np.load(out)


def test_int8_is_as_exact_as_with_equal_ranges(model, tmp_path):
    changed = tmp_path / "changed.onnx"
    count = with_other_ranges(model, changed)
    assert count == 13
    images = DRAWS.standard_normal((4, 3, 64, 64)).astype(np.float32)
    assert_close(outputs(changed, images), outputs(model, images), rtol=1e-4)

    expected = all_outputs(model, tmp_path)
    deviation = np.square(expected - expected.mean(0)).sum()
    errors = []
    for source in (model, changed):
        int8 = exported(source, tmp_path / "int8.onnx", "--int8", DATA, "--weight-bits", "7")["int8"]
        assert int8["equalised"] == count
        errors.append(np.square(all_outputs(tmp_path / "int8.onnx", tmp_path) - expected).sum() / deviation)
    assert errors[1] < 1.5 * errors[0]
    assert errors[0] < 0.1
