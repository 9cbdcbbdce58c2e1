"""Writes models.json: torchvision's state_dict shapes, the deviations of its initial weights, and its logits for
weights computed by a formula.

Run by hand with torchvision installed (`pip install --no-deps torchvision`); tests read the file. The formula is exact
in both C++ and NumPy (unstarve/models/zoo_test.cpp), so no weights need to be stored. torchvision has no MobileNetV1;
it is built here from layers of torch.
"""

from __future__ import annotations

import json
import math
import re
from collections import OrderedDict
from itertools import pairwise
from pathlib import Path

import numpy as np

MODELS = ("resnet18", "resnet34", "resnet50", "mobilenet_v1", "mobilenet_v2", "mobilenet_v3_large",
          "mobilenet_v3_small", "efficientnet_b0")
# With a width multiplier. Shapes are not recorded: the logits depend on them.
SCALED = ("mobilenet_v1_0.25", "mobilenet_v2_0.35", "mobilenet_v2_1.4", "mobilenet_v3_large_0.75",
          "mobilenet_v3_small_0.35", "efficientnet_b0_0.5", "efficientnet_b0_1.1")
# Scale of the weights of batch norms, where the logits would otherwise hardly depend on the image.
GAINS = {"mobilenet_v3_small": 1.1, "efficientnet_b0": 1.25}
CLASSES = 10
IMAGE_SIZE = 64
GOLDEN = Path(__file__).with_name("models.json")


def uniform(name: str, count: int) -> np.ndarray:
    """`count` float64 values in [-0.5, 0.5): FNV-1a of the name, then MurmurHash3's finaliser of name + index."""
    start = 2166136261
    for byte in name.encode():
        start = ((start ^ byte) * 16777619) & 0xFFFFFFFF
    x = (np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B9)) + np.uint32(start)
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x85EBCA6B)
    x ^= x >> np.uint32(13)
    x *= np.uint32(0xC2B2AE35)
    x ^= x >> np.uint32(16)
    return x.astype(np.float64) / 4294967296.0 - 0.5


def formula(name: str, shape: tuple[int, ...], gain: float = 1.0) -> np.ndarray:
    """The value of the tensor `name`: He-like scale for matrices, near (gain, 0) for batch norm, zeros for counts."""
    if name.endswith("num_batches_tracked"):
        return np.zeros(shape, np.int64)
    u = uniform(name, math.prod(shape))
    if len(shape) >= 2:
        value = u * math.sqrt(12.0) * math.sqrt(2.0 / math.prod(shape[1:]))
    elif name.endswith("running_var"):
        value = 1.0 + 0.5 * u
    elif name.endswith(".weight"):
        value = gain * (1.0 + 0.2 * u)
    else:
        value = 0.2 * u
    return value.astype(np.float32).reshape(shape)


def import_torchvision():
    """torchvision, or ImportError. PyPI's wheel is built for CUDA: with a CPU torch its operators do not load, and its
    import stops at the first of them; the networks need none, so declaring their names is enough."""
    import sys

    import torch

    try:
        import torchvision
    except RuntimeError:
        import_torchvision.library = torch.library.Library("torchvision", "DEF")
        for operator in ("nms", "qnms"):
            import_torchvision.library.define(operator + "(Tensor dets, Tensor scores, float threshold) -> Tensor")
        for module in [m for m in sys.modules if m.split(".")[0] == "torchvision"]:
            del sys.modules[module]
        import torchvision
    return torchvision


def mobilenet_v1(width: float):
    """The layout of unstarve/models/mobilenet_v1.cpp."""
    from torch import nn
    from torchvision.models._utils import _make_divisible

    def convolution(channels: tuple[int, int], kernel: int, stride: int = 1, groups: int = 1) -> list[nn.Module]:
        layer = nn.Conv2d(*channels, kernel, stride, kernel // 2, groups=groups, bias=False)
        return [layer, nn.BatchNorm2d(channels[1]), nn.ReLU()]

    channels = [_make_divisible(c * width, 8) for c in (32, 64, 128, 128, 256, 256, *[512] * 6, 1024, 1024)]
    features = [nn.Sequential(*convolution((3, channels[0]), 3, stride=2))]
    for block, (before, after) in enumerate(pairwise(channels), start=1):
        stride = 2 if block in (2, 4, 6, 12) else 1
        features.append(nn.Sequential(*convolution((before, before), 3, stride, groups=before),
                                      *convolution((before, after), 1)))
    return nn.Sequential(OrderedDict(features=nn.Sequential(*features), pool=nn.AdaptiveAvgPool2d(1),
                                     flatten=nn.Flatten(), classifier=nn.Linear(channels[-1], CLASSES)))


def split_name(name: str) -> tuple[str, str | None]:
    """The name without its width multiplier, and the multiplier."""
    return re.fullmatch(r"(.+?)(?:_([\d.]+))?", name).groups()


def network_of(name: str):
    """torchvision's network of this name, which may end with a width multiplier."""
    models = import_torchvision().models
    base, suffix = split_name(name)
    width = float(suffix or 1)
    if base == "mobilenet_v1":
        return mobilenet_v1(width)
    if base == "cifar_mobilenet_v2":
        network = models.mobilenet_v2(width_mult=width, num_classes=CLASSES)
        network.features[0][0].stride = network.features[2].conv[1][0].stride = (1, 1)
        return network
    if suffix is None:
        return getattr(models, name)(num_classes=CLASSES)
    if base == "mobilenet_v2":
        return models.mobilenet_v2(width_mult=width, num_classes=CLASSES)
    if base == "efficientnet_b0":
        stages, last = models.efficientnet._efficientnet_conf(base, width_mult=width, depth_mult=1.0)
        return models.EfficientNet(stages, dropout=0.2, last_channel=last, num_classes=CLASSES)
    return models.MobileNetV3(*models.mobilenetv3._mobilenet_v3_conf(base, width_mult=width), num_classes=CLASSES)


def input_image() -> np.ndarray:
    values = uniform("input", 3 * IMAGE_SIZE * IMAGE_SIZE).astype(np.float32)
    return values.reshape(1, 3, IMAGE_SIZE, IMAGE_SIZE)


def describe(name: str) -> dict:
    """The entry of a network. "deviations" has only the parameters that do not begin with a constant value."""
    import torch

    network = network_of(name).eval()
    state = network.state_dict()
    shapes = {key: list(value.shape) for key, value in state.items()}
    deviations = {key: value.std().item() for key, value in network.named_parameters()}
    gain = GAINS.get(split_name(name)[0], 1.0)
    network.load_state_dict({key: torch.from_numpy(formula(key, tuple(shape), gain)) for key, shape in shapes.items()})
    with torch.no_grad():
        logits = network(torch.from_numpy(input_image()))[0].double().tolist()
    entry = {"image_size": IMAGE_SIZE, "gain": gain, "parameters": sum(value.numel() for value in network.parameters())}
    if name in MODELS:
        entry["shapes"] = shapes
    if name in MODELS and name != "mobilenet_v1":  # its weights are not initialised by torchvision
        entry["torchvision"] = import_torchvision().__version__
        entry["deviations"] = {key: float(f"{value:.3g}") for key, value in deviations.items() if value > 0}
    return entry | {"logits": logits}


def make() -> dict[str, dict]:
    import torch

    torch.manual_seed(0)
    return {name: describe(name) for name in (*MODELS, *SCALED)}


if __name__ == "__main__":
    lines = [f'"{name}": {json.dumps(model)}' for name, model in make().items()]
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")
