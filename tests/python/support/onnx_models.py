"""Small real networks as ONNX files, with random weights."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    """The nodes and weights of a model; every method adds nodes and returns the name of their result."""

    def __init__(self, seed):
        self.random, self.nodes, self.weights = np.random.default_rng(seed), [], []

    def node(self, kind, inputs, **attributes):
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def weight(self, *shape, scale):
        name = f"weight_{len(self.weights)}"
        values = self.random.normal(0, scale, shape).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def conv(self, image, channels, outputs, kernel=3, stride=1, relu=True):
        weight = self.weight(outputs, channels, kernel, kernel, scale=(2 / (channels * kernel**2)) ** 0.5)
        result = self.node("Conv", [image, weight, self.weight(outputs, scale=0.1)], strides=[stride, stride],
                           pads=[kernel // 2] * 4)
        return self.node("Relu", [result]) if relu else result

    def block(self, image, channels, outputs, stride):
        inner = self.conv(self.conv(image, channels, outputs, stride=stride), outputs, outputs, relu=False)
        shortcut = self.conv(image, channels, outputs, kernel=1, stride=stride, relu=False)
        return self.node("Relu", [self.node("Add", [inner, shortcut])])


def resnet(path, classes=10, size=64, batch="batch", seed=1, softmax=False, weights=None):
    """Writes a residual network for images of `size` px (None: any). `weights` replaces the last ones by this value."""
    network = Network(seed)
    image = network.conv("images", 3, 16, kernel=3, stride=2)
    for channels, outputs in ((16, 16), (16, 32), (32, 64)):
        image = network.block(image, channels, outputs, stride=1 if channels == outputs else 2)
    features = network.node("Flatten", [network.node("GlobalAveragePool", [image])])
    last = network.weight(64, classes, scale=0.5)
    if weights is not None:
        network.weights[-1] = numpy_helper.from_array(np.full((64, classes), weights, np.float32), last)
    outputs = network.node("Gemm", [features, last, network.weight(classes, scale=0.1)])
    if softmax:
        outputs = network.node("Softmax", [outputs])
    network.nodes[-1].output[0] = "classes"
    side = "side" if size is None else size
    graph = helper.make_graph(
        network.nodes, "resnet",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, [batch, 3, side, side])],
        [helper.make_tensor_value_info("classes", TensorProto.FLOAT, [batch, classes])], network.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path
