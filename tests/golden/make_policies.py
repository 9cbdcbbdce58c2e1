"""Writes policies.json: torchvision's tables of AutoAugment, its magnitudes for all four kinds of policy, what its
changes make of Pillow's images, its affine matrices, and its resizing, as digests of pixels.

Run by hand with torchvision installed, `build/peers/torchvision/bin/python tests/golden/make_policies.py`; tests read
the file: unstarve/ops/policy/policies_golden_test.cpp the tables and magnitudes, tests/python the rest.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

WIDTH, HEIGHT = 64, 48
GOLDEN = Path(__file__).with_name("policies.json")
# Bins of each policy's magnitudes: AutoAugment's and AugMix's are fixed, the others' are torchvision's defaults.
BINS = {"AutoAugment": 10, "RandAugment": 31, "TrivialAugmentWide": 31, "AugMix": 10}
OTHER_BINS = (2, 10, 21)  # num_magnitude_bins, of policies with this parameter
FILL = [9, 130, 250]
AFFINE = [dict(angle=angle, translate=[x, y], scale=scale, shear=[shear_x, shear_y])
          for angle, x, y, scale, shear_x, shear_y in (
              (0, 3, -2, 1, 0, 0), (20, 0, 0, 1.2, 11, -4), (-75, 7, 5, 0.8, 0, 0), (5, -6, 4, 1, 15, 0),
              (160, 1, -5, 2.5, 0, -20))]
BOUNDED = [(80, 133, 192, 108), (80, 133, 108, 192), (33, 47, 101, 57), (50, 99, 64, 48),
           (7, 11, 31, 17), (30, 31, 40, 60), (256, 700, 60, 20)]  # short side, max_size, w, h
RESIZES = [(256, 224, 300, 260), (256, 224, 101, 57), (40, 36, 64, 48), (17, 12, 640, 427)]  # short side, crop, w, h


def picture(width: int = WIDTH, height: int = HEIGHT) -> np.ndarray:
    """An image without equal areas, with edges, without black and white, so that stretching its contrast changes it."""
    y, x = np.mgrid[:height, :width]
    pixels = np.stack([(x * 5 + y) % 256, (y * 7 + x * y // 9) % 256, (x * 3 + 255 - y * 2) % 256], axis=2)
    pixels[height // 5 : height // 2, width // 3 : width * 3 // 4] //= 3
    return (20 + pixels * 4 // 5).astype(np.uint8)


def digest(pixels: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(pixels).tobytes()).hexdigest()[:16]


def main() -> None:
    import PIL
    import torch
    import torchvision
    from torchvision.transforms import functional as v1
    from torchvision.transforms import v2

    def magnitudes(space: dict[str, Any], bins: int) -> dict[str, Any]:
        made = {}
        for name, (make, signed) in space.items():
            values = make(bins, HEIGHT, WIDTH)
            unit = 255 if name == "Solarize" else 1  # torchvision's threshold is a fraction of the largest value
            made[name] = {"signed": signed, "values": [] if values is None else [float(v) * unit for v in values]}
        return made

    policies = {name: v2.AutoAugment(v2.AutoAugmentPolicy(name))._policies for name in ("imagenet", "cifar10", "svhn")}
    spaces = {name: magnitudes(getattr(v2, name)._AUGMENTATION_SPACE, bins) for name, bins in BINS.items()}
    spaces["AugMixPartial"] = magnitudes(v2.AugMix._PARTIAL_AUGMENTATION_SPACE, BINS["AugMix"])

    for name in ("RandAugment", "TrivialAugmentWide"):
        spaces |= {f"{name} of {bins}": magnitudes(getattr(v2, name)._AUGMENTATION_SPACE, bins)
                   for bins in OTHER_BINS}

    augment, image = v2.RandAugment(), Image.fromarray(picture())
    changes = []
    for name, space in (spaces["RandAugment"] | {"Invert": {"signed": False, "values": []}}).items():
        values = [space["values"][i] for i in (3, 17, 30)] if space["values"] else [0.0]
        for value in values + ([-value for value in values] if space["signed"] else []):
            unit = 255 if name == "Solarize" else 1
            changed = augment._apply_image_or_video_transform(image, name, value / unit, interpolation=0, fill={})
            changes.append([name, value, digest(np.asarray(changed))])
    filled = []
    for name in ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate"):
        changed = augment._apply_image_or_video_transform(
            image, name, spaces["RandAugment"][name]["values"][17], interpolation=0, fill={Image.Image: FILL})
        filled.append([name, spaces["RandAugment"][name]["values"][17], digest(np.asarray(changed))])

    affine = [given | {"matrix": v1._get_inverse_affine_matrix([WIDTH / 2, HEIGHT / 2], **given)} for given in AFFINE]
    resizes = []
    for short, crop, width, height in RESIZES:
        planes = torch.from_numpy(picture(width, height)).permute(2, 0, 1)
        made = v2.CenterCrop(crop)(v2.Resize(short, antialias=True)(planes)).permute(1, 2, 0).numpy()
        resizes.append({"short": short, "crop": crop, "size": [width, height], "digest": digest(made)})

    bounded = []
    for short, most, width, height in BOUNDED:
        planes = torch.from_numpy(picture(width, height)).permute(2, 0, 1)
        made = v2.Resize(short, max_size=most, antialias=True)(planes).permute(1, 2, 0).numpy()
        bounded.append({"short": short, "max_size": most, "size": [width, height], "made": made.shape[:2],
                        "digest": digest(made)})

    parts = {"torchvision": torchvision.__version__, "pillow": PIL.__version__, "size": [WIDTH, HEIGHT],
             "policies": policies, "spaces": spaces, "changes": changes, "filled": filled, "affine": affine,
             "resizes": resizes, "bounded": bounded}
    lines = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in parts.items())
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
