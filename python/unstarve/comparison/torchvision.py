"""torchvision in PyTorch's DataLoader.

Photographs: decoded by torchvision.io (libjpeg-turbo, RGB, channels-last in memory); functional resized_crop of v2 with
antialias on uint8 (the fast vectorised path requires this layout), flip, normalise.
CIFAR-10: the standard transforms on tensors in memory: RandomCrop(32, padding=4), RandomHorizontalFlip, normalise.
Candidates for CIFAR: v2 transforms on tensors or on PIL images (the most common recipe), different numbers of workers.
torchvision of PyPI is built for torch of PyPI and does not load with a CPU build of torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import torch_loader
from .inputs import CIFAR_MEAN, CIFAR_STD, CROP, EVAL_RESIZE, Job, crop_box, image_files, load_cifar

if TYPE_CHECKING:
    import torch

    Batches = Iterator[tuple[torch.Tensor, torch.Tensor]]

ENVIRONMENT = "torchvision"
JOBS = ["imagenet-train", "functions", "imagenet-eval", "cifar-train"]


def candidates(job: Job) -> list[dict[str, Any]]:
    """Settings to try."""
    if job["job"] != "cifar-train":
        return torch_loader.photograph_candidates(job)
    cores = job["cores"]
    return [
        {"workers": cores, "prefetch": 2, "normalise": "main", "images": "tensor"},
        {"workers": cores, "prefetch": 4, "normalise": "sample", "images": "tensor"},
        {"workers": 2 * cores, "prefetch": 2, "normalise": "main", "images": "tensor"},
        {"workers": 0, "prefetch": 0, "normalise": "main", "images": "tensor"},
        {"workers": cores, "prefetch": 2, "normalise": "transform", "images": "pil"},
    ]


def _photographs(job: Job, settings: dict[str, Any]) -> Batches:
    import random

    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms.v2 import functional

    files = image_files(job["data"])

    def load(index: int) -> tuple[torch.Tensor, int]:
        path, label = files[index]
        image = decode_jpeg(read_file(path), mode=ImageReadMode.RGB)
        if job["job"] == "imagenet-eval":
            return functional.center_crop(functional.resize(image, [EVAL_RESIZE], antialias=True), [CROP, CROP]), label
        left, top, width, height = crop_box(image.shape[2], image.shape[1])
        image = functional.resized_crop(image, top, left, height, width, [CROP, CROP], antialias=True)
        if random.random() < 0.5:
            image = functional.horizontal_flip(image)
        return image, label

    return torch_loader.batches(len(files), load, job, settings)


def _cifar(job: Job, settings: dict[str, Any]) -> Batches:
    import torch
    from torchvision.transforms import v2

    pixels, labels = load_cifar(job["data"])
    labels = labels.tolist()
    crop = [v2.RandomCrop(32, padding=4), v2.RandomHorizontalFlip()]
    if settings["images"] == "tensor":
        images: Any = torch.from_numpy(pixels)
        transform = v2.Compose(crop)
    else:
        from PIL import Image

        images = [Image.fromarray(image) for image in pixels.transpose(0, 2, 3, 1)]
        transform = v2.Compose(crop + [v2.ToImage(), v2.ToDtype(torch.float32, scale=True),
                                       v2.Normalize(CIFAR_MEAN, CIFAR_STD, inplace=True), v2.ToPureTensor()])
    return torch_loader.batches(len(labels), lambda index: (transform(images[index]), labels[index]), job, settings)


def batches(job: Job, settings: dict[str, Any]) -> Batches:
    """Endless iterator over batches."""
    return _cifar(job, settings) if job["job"] == "cifar-train" else _photographs(job, settings)
