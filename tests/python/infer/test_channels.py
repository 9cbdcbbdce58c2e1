"""Channels that are removed: networks with fewer channels compute in ONNX Runtime what they compute with zeros in these
channels, and have as many multiply-adds as requested."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from export_support import assert_close, checked, exported, outputs, run_export

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from train_support import trained  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "golden"))

import make_models  # noqa: E402
from unstarve import weights  # noqa: E402

GOLDEN = json.loads(make_models.GOLDEN.read_text())
PROGRAM = Path(os.environ["UNSTARVE"]).parent / "tests" / "tools" / "prune_channels"
NETWORKS = ["resnet18", "resnet50", "mobilenet_v1", "mobilenet_v2", "mobilenet_v3_large", "mobilenet_v3_small",
            "efficientnet_b0", "cifar_net", "cifar_speed", "cifar_resnet18"]


def pruned(model, share, folder):
    """The share of the multiply-adds that was removed, and the files with zeros and with fewer channels."""
    zeroed, smaller = folder / "zeroed.onnx", folder / "pruned.onnx"
    done = subprocess.run([PROGRAM, model, str(share), zeroed, smaller], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return float(done.stdout), zeroed, smaller


def images(count, size, seed=0):
    return np.random.default_rng(seed).standard_normal((count, 3, size, size), np.float32)


def weights_file(name, folder):
    """Weights by which the logits depend on the image: by a formula, or of two steps of training."""
    if name in GOLDEN:
        model = GOLDEN[name]
        path = folder / "weights.safetensors"
        weights.convert({key: make_models.formula(key, tuple(shape), model["gain"])
                         for key, shape in model["shapes"].items()}, path)
        return path
    trained("synthetic:classes=10,images=16,size=32,seed=2", "--model", name, "--batch", "8", "--epochs", "1",
            "--evaluate-every", "0", "--precision", "float32", "--out", folder / "weights.safetensors")
    return folder / "weights.safetensors"


@pytest.fixture(scope="session")
def network(tmp_path_factory):
    """Files of networks, by name and whether batch norms are folded."""
    folders = {}

    def file(name, folded):
        if name not in folders:
            folder = folders[name] = tmp_path_factory.mktemp(name)
            how = [weights_file(name, folder), folder / "folded.onnx", "--image-size", side(name), "--model", name]
            exported(*how)
            how[1] = folder / "plain.onnx"
            exported(*how, "--passes", "fold_batch_norm=off")
        return folders[name] / ("folded.onnx" if folded else "plain.onnx")
    return file


def side(name):
    return 32 if name.startswith("cifar") else 64


def assert_same(smaller, zeroed, size):
    batch = images(2, size)
    expected = outputs(zeroed, batch)
    assert np.abs(expected[0] - expected[1]).max() > 1e-4 * np.abs(expected).max()
    assert_close(outputs(smaller, batch), expected, rtol=1e-4)


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_removed_channels_are_those_of_zeros(name, folded, network, tmp_path):
    share, zeroed, smaller = pruned(network(name, folded), 0.5, tmp_path)
    assert share == pytest.approx(0.5, abs=0.02)
    checked(smaller)
    assert smaller.stat().st_size < 0.85 * zeroed.stat().st_size
    assert_same(smaller, zeroed, side(name))


@pytest.mark.parametrize("share", [0.1, 0.3, 0.7, 0.8])
def test_networks_shrink_by_the_requested_share(share, network, tmp_path):
    for name in ("resnet18", "mobilenet_v2"):
        found, zeroed, smaller = pruned(network(name, False), share, tmp_path)
        assert found == pytest.approx(share, abs=0.02), name
        assert_same(smaller, zeroed, 64)


class RandomModel:
    """A network of random blocks on images of 8 pixels."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights = [], []

    def add(self, kind, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array, np.float32), name))
        return name

    def conv(self, x, inputs, channels, kernel=1, groups=1):
        shape = (channels, inputs // groups, kernel, kernel)
        scale = np.exp(self.random.normal(0, 0.5, (channels, 1, 1, 1))) / np.sqrt(np.prod(shape[1:]))
        operands = [self.constant(self.random.standard_normal(shape) * scale)]
        if self.random.random() < 0.5:
            operands.append(self.constant(self.random.standard_normal(channels)))
        y = self.add("Conv", x, *operands, group=groups, pads=[kernel // 2] * 4)
        if self.random.random() < 0.5:
            vectors = [self.random.standard_normal(channels) for _ in range(3)] + [self.random.random(channels) + 0.5]
            y = self.add("BatchNormalization", y, *map(self.constant, vectors))
        return y

    def block(self, x, channels):
        """The value and its number of channels after one more block."""
        kind = self.random.choice(["plain", "residual", "depthwise", "grouped", "excitation", "concat", "scale",
                                   "pool"])
        wide = int(self.random.integers(4, 40))
        if kind == "plain":
            return self.add("Relu", self.conv(x, channels, wide, 3)), wide
        if kind == "residual":
            y = self.add("Relu", self.conv(x, channels, wide))
            return self.add("Add", x, self.conv(y, wide, channels, 3)), channels
        if kind == "depthwise":
            y = self.add("HardSwish", self.conv(x, channels, wide))
            return self.conv(y, wide, 2 * wide, 3, groups=wide), 2 * wide
        if kind == "grouped":
            return self.conv(self.conv(x, channels, 8), 8, 16, 3, groups=2), 16
        if kind == "excitation":
            y = self.add("Relu", self.conv(self.add("GlobalAveragePool", x), channels, wide))
            return self.add("Mul", self.add("Sigmoid", self.conv(y, wide, channels)), x), channels
        if kind == "concat":
            y = self.add("Relu", self.conv(x, channels, wide))
            return self.add("Concat", y, x, y, axis=1), channels + 2 * wide
        if kind == "scale":
            factors = self.constant(self.random.standard_normal((channels, 1, 1)))
            return self.add("Mul", factors, x), channels
        return self.add("AveragePool", x, kernel_shape=[3, 3], pads=[1] * 4), channels

    def save(self, path):
        x, channels = self.add("Relu", self.conv("x", 3, 16, 3)), 16
        for _ in range(6):
            x, channels = self.block(x, channels)
        hidden = int(self.random.integers(4, 40))
        if self.random.random() < 0.5:
            x, channels = self.add("Flatten", x), channels * 64
        else:
            x = self.add("ReduceMean", x, axes=[2, 3], keepdims=0)
        x = self.add("Gemm", x, self.constant(self.random.standard_normal((hidden, channels)) / channels ** 0.5),
                     self.constant(self.random.standard_normal(hidden)), transB=1)
        y = self.add("MatMul", self.add("Relu", x), self.constant(self.random.standard_normal((hidden, 5))))
        graph = helper.make_graph(self.nodes, "random",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 8, 8])],
                                  [helper.make_tensor_value_info(y, TensorProto.FLOAT, ["n", 5])], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


@pytest.mark.parametrize("seed", range(30))
def test_random_networks(seed, tmp_path):
    RandomModel(seed).save(tmp_path / "model.onnx")
    _, zeroed, smaller = pruned(tmp_path / "model.onnx", 0.15, tmp_path)
    checked(smaller)
    assert_same(smaller, zeroed, 8)


def test_export_reports_the_channels_of_every_layer(network, tmp_path):
    out = tmp_path / "half.onnx"
    pruning = exported(network("resnet18", True), out, "--prune-channels", 0.5)["pruning"]
    assert pruning["multiply_adds_after"] / pruning["multiply_adds"] == pytest.approx(0.5, abs=0.02)
    assert pruning["parameters_after"] < 0.75 * pruning["parameters"]
    shapes = {tensor.name: tensor.dims for tensor in checked(out).graph.initializer}
    for layer in pruning["layers"]:
        assert shapes[layer["name"]][0] == layer["channels_after"] <= layer["channels"]
        assert layer["channels_after"] % 8 == 0 or layer["fixed"] == "output of the model"
    assert [layer["fixed"] for layer in pruning["layers"]] == [None] * 20 + ["output of the model"]
    text = run_export(network("resnet18", True), tmp_path / "text.onnx", "--prune-channels", 0.5).stdout
    assert "pruned channels: " in text and "train the model again" in text
    assert exported(network("resnet18", True), tmp_path / "all.onnx")["pruning"] is None


def test_shares_that_cannot_be_removed_are_rejected(network, tmp_path):
    def message(model, share, code):
        process = run_export(model, tmp_path / "o.onnx", "--prune-channels", share)
        assert process.returncode == code and not (tmp_path / "o.onnx").exists()
        return process.stderr

    assert "--prune-channels" in message(network("cifar_net", True), "half", 2)
    assert "found the share 1 of the multiply-adds; expected more than 0 and less than 1" in message(
        network("cifar_net", True), 1, 2)
    assert "% of the multiply-adds can be removed; expected at least 99.9 %" in message(
        network("cifar_net", True), 0.999, 2)
    model = RandomModel(0)
    x = model.add("Conv", "x", model.constant(np.ones((6, 1, 1, 1))), group=3)
    y = model.add("Conv", x, model.constant(np.ones((6, 2, 1, 1))), group=3)
    graph = helper.make_graph(model.nodes, "groups",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 8, 8])],
                              [helper.make_tensor_value_info(y, TensorProto.FLOAT, ["n", 6, 8, 8])], model.weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              tmp_path / "groups.onnx")
    errors = message(tmp_path / "groups.onnx", 0.5, 3)
    assert "found none that can be removed in 2 layers" in errors and "w0: input of the model" in errors
    assert json.dumps(errors).count("\\n  w") == 2
