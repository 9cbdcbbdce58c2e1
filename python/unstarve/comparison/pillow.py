"""Pillow in PyTorch's DataLoader, as in most training scripts.

Image.open, RGB, crop and antialiased bilinear resize in one call (resize with a box does not copy the crop), flip of
the resized image. Draft mode (decoding at reduced scale) is not used, because it changes the pixels.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import torch_loader
from .inputs import CROP, EVAL_RESIZE, Job, crop_box, image_files

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

ENVIRONMENT = "torch"
JOBS = ["imagenet-train", "imagenet-eval"]
candidates = torch_loader.photograph_candidates


def training_image(path: str) -> Image:
    """The photograph, decoded, randomly cropped, resized and flipped."""
    from PIL import Image

    with Image.open(path) as file:
        image = file.convert("RGB")
    left, top, width, height = crop_box(*image.size)
    image = image.resize((CROP, CROP), Image.Resampling.BILINEAR, (left, top, left + width, top + height))
    return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if random.random() < 0.5 else image


def evaluation_image(path: str) -> Image:
    """The centre crop, as if the short side were resized to EVAL_RESIZE; resizes only this crop."""
    from PIL import Image

    with Image.open(path) as file:
        image = file.convert("RGB")
    scale = EVAL_RESIZE / min(image.size)
    width, height = CROP / scale, CROP / scale
    left, top = (image.width - width) / 2, (image.height - height) / 2
    return image.resize((CROP, CROP), Image.Resampling.BILINEAR, (left, top, left + width, top + height))


def batches(job: Job, settings: dict[str, Any]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Endless iterator over batches."""
    import numpy
    import torch

    files = image_files(job["data"])
    image_of = evaluation_image if job["job"] == "imagenet-eval" else training_image

    def load(index: int) -> tuple[torch.Tensor, int]:
        path, label = files[index]
        return torch.from_numpy(numpy.array(image_of(path))).permute(2, 0, 1), label

    return torch_loader.batches(len(files), load, job, settings)
