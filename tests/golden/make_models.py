"""Writes models.json: torchvision's state_dict shapes and its logits for weights computed by a formula.

Run by hand with torchvision installed (`pip install --no-deps torchvision`); tests read the file. The formula is exact
in both C++ and NumPy (unstarve/models/zoo_test.cpp), so no weights need to be stored.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

MODELS = {"resnet18": 64, "resnet34": 64, "resnet50": 64, "mobilenet_v2": 64}
CLASSES = 10
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


def formula(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The value of the tensor `name`: He-like scale for matrices, near (1, 0) for batch norm, zeros for counts."""
    if name.endswith("num_batches_tracked"):
        return np.zeros(shape, np.int64)
    u = uniform(name, math.prod(shape))
    if len(shape) >= 2:
        value = u * math.sqrt(12.0) * math.sqrt(2.0 / math.prod(shape[1:]))
    elif name.endswith("running_var"):
        value = 1.0 + 0.5 * u
    elif name.endswith(".weight"):
        value = 1.0 + 0.2 * u
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


def make() -> dict[str, dict]:
    import torch

    torchvision = import_torchvision()
    golden = {}
    for name, size in MODELS.items():
        network = getattr(torchvision.models, name)(num_classes=CLASSES).eval()
        state = network.state_dict()
        network.load_state_dict({k: torch.from_numpy(formula(k, tuple(v.shape)).copy()) for k, v in state.items()})
        image = torch.from_numpy(uniform("input", 3 * size * size).astype(np.float32).reshape(1, 3, size, size))
        with torch.no_grad():
            logits = network(image)[0].double().tolist()
        golden[name] = {
            "torchvision": torchvision.__version__,
            "image_size": size,
            "shapes": {k: list(v.shape) for k, v in state.items()},
            "logits": logits,
        }
    return golden


if __name__ == "__main__":
    lines = [f'"{name}": {json.dumps(model)}' for name, model in make().items()]
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")
