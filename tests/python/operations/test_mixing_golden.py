"""mixup and cutmix compared with the formulae of torchvision's v2.MixUp and v2.CutMix, computed by torch.

The random numbers are ours: the weight is taken from the targets, and the box from the pixels.
"""

import numpy as np
import pytest
import torch
from loader_support import SMALL, copies

import unstarve as un

CLASSES, SIDE = 10, 32


def batches(make, count=20, dtype="float32", layout="NCHW"):
    """Yields pairs of a plain batch and its mixed form: float32 NCHW images, one-hot labels, targets."""
    pipeline = un.open(SMALL).shuffle(2).output(dtype, layout)
    for (images, labels, ids), (mixed, targets, again) in zip(
            copies(pipeline.batch(count)), copies(make(pipeline).batch(count)), strict=True):
        assert np.array_equal(ids, again)
        planes = [torch.from_numpy(array.astype(np.float32).copy()) for array in (images, mixed)]
        if layout == "NHWC":
            planes = [array.permute(0, 3, 1, 2) for array in planes]
        hot = torch.nn.functional.one_hot(torch.from_numpy(labels.copy()), CLASSES).float()
        yield *planes, hot, torch.from_numpy(targets)


def weight_of(hot, targets):
    """The weight of a sample's own class, for samples whose predecessor has another class."""
    two = next(i for i in range(len(hot)) if not torch.equal(hot[i], hot[i - 1]))
    return float(targets[two][hot[two] > 0])


# One unit in the last place of the dtype for values up to 1 (uint8: half a unit, ties to even).
@pytest.mark.parametrize("dtype,layout,off", [("float32", "NCHW", 3e-7), ("float32", "NHWC", 3e-7),
                                              ("float16", "NCHW", 2**-11), ("uint8", "NHWC", 0.5001)])
@pytest.mark.parametrize("alpha", [0.2, 1.0])
def test_mixup_is_torchvisions(dtype, layout, off, alpha):
    weights = set()
    for images, mixed, hot, targets in batches(lambda pipeline: pipeline.mixup(alpha), dtype=dtype, layout=layout):
        weight = weight_of(hot, targets)
        weights.add(weight)
        # v2.MixUp: output = inpt.roll(1, 0).mul_(1.0 - lam).add_(inpt.mul(lam)), the labels likewise
        expected = images.roll(1, 0).mul_(1.0 - weight).add_(images.mul(weight))
        assert (mixed - expected).abs().max() <= off
        theirs = hot.roll(1, 0).mul_(1.0 - weight).add_(hot.mul(weight))
        assert (targets - theirs).abs().max() <= 1e-6
    assert len(weights) == 10


@pytest.mark.parametrize("dtype,layout", [("float32", "NCHW"), ("uint8", "NHWC")])
def test_cutmix_is_torchvisions(dtype, layout):
    whole = 0
    for seed_of_batches in range(4):
        for images, mixed, hot, targets in batches(lambda pipeline: pipeline.cutmix(), 5 + seed_of_batches, dtype,
                                                   layout):
            rolled = images.roll(1, 0)
            changed = (mixed != images).any(dim=1).any(dim=0)  # by any of the samples
            rows, columns = changed.any(dim=1).nonzero(), changed.any(dim=0).nonzero()
            if len(rows) == 0:
                continue
            y1, y2, x1, x2 = int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1
            # v2.CutMix: output[..., y1:y2, x1:x2] = rolled[..., y1:y2, x1:x2]
            expected = images.clone()
            expected[..., y1:y2, x1:x2] = rolled[..., y1:y2, x1:x2]
            assert torch.equal(mixed, expected)
            # lam_adjusted = 1 - (x2 - x1) * (y2 - y1) / (W * H)
            weight = 1 - (x2 - x1) * (y2 - y1) / (SIDE * SIDE)
            theirs = hot.roll(1, 0).mul_(1.0 - weight).add_(hot.mul(weight))
            assert (targets - theirs).abs().max() <= 1e-6
            # Twice int(r * W) wide and twice int(r * H) high, unless clipped at an edge.
            if x1 > 0 and y1 > 0 and x2 < SIDE and y2 < SIDE:
                assert x2 - x1 == y2 - y1 and (x2 - x1) % 2 == 0
                whole += 1
    assert whole >= 5
