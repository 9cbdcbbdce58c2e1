"""Files, labels and random crops of the other loaders, in plain Python.

Photographs: one folder per class; classes are numbered in sorted order of the folder names. Class folders may have
subfolders. Without class folders, all files have label 0.
CIFAR-10: the binary files (1 label byte, then 3072 bytes of R, G, B planes per record).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

# Plain data: "job", "data", "batch", "cores", "seed" and options of the job.
Job = dict[str, Any]

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
CIFAR_MEAN = (0.4914, 0.4822, 0.4465)
CIFAR_STD = (0.2470, 0.2435, 0.2616)

CROP = 224  # output side of the photograph jobs
EVAL_RESIZE = 256  # short side before the centre crop of evaluation
CIFAR_PAD = 4

SUFFIXES = {".jpg", ".jpeg", ".png", ".webp"}


def image_files(root: str | Path) -> list[tuple[str, int]]:
    """Returns (path, label) of all images of a class-per-folder tree, sorted."""
    def images(paths: Iterator[Path]) -> list[str]:
        return sorted(str(path) for path in paths if path.suffix.lower() in SUFFIXES)

    classes = sorted(entry for entry in Path(root).iterdir() if entry.is_dir())
    found = [(path, label) for label, folder in enumerate(classes) for path in images(folder.rglob("*"))]
    return found or [(path, 0) for path in images(Path(root).iterdir())]


def endless_order(count: int, seed: int) -> Iterator[int]:
    """Yields one random permutation of 0 .. count - 1 after another."""
    draw = random.Random(seed)
    numbers = list(range(count))
    while True:
        draw.shuffle(numbers)
        yield from numbers


def middle_box(width: int, height: int) -> tuple[int, int, int, int]:
    """Returns the centre crop of evaluation in pixels of the original image: (left, top, width, height), a square.

    Equal to the crop of CROP after resizing the short side to EVAL_RESIZE, for peers that resize only the crop.
    """
    side = round(min(width, height) * CROP / EVAL_RESIZE)
    return (width - side) // 2, (height - side) // 2, side, side


def load_cifar(root: str | Path) -> tuple[NDArray[numpy.uint8], NDArray[numpy.int64]]:
    """Returns the training images as uint8 [N, 3, 32, 32] and int64 labels [N] (NumPy)."""
    import numpy

    records = numpy.concatenate(
        [numpy.fromfile(path, numpy.uint8).reshape(-1, 3073) for path in sorted(Path(root).glob("data_batch_*.bin"))]
    )
    return records[:, 1:].reshape(-1, 3, 32, 32).copy(), records[:, 0].astype(numpy.int64)


def crop_box(width: int, height: int, draw: random.Random | ModuleType = random) -> tuple[int, int, int, int]:
    """Draws a random resized crop with the common definition: (left, top, width, height).

    The area is uniform in 0.08..1 of the image, the logarithm of the aspect ratio uniform in 3/4..4/3. After ten failed
    attempts, the largest central crop within these ratios is used.
    """
    low, high = math.log(3 / 4), math.log(4 / 3)
    for _ in range(10):
        area = width * height * draw.uniform(0.08, 1.0)
        ratio = math.exp(draw.uniform(low, high))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return draw.randint(0, width - w), draw.randint(0, height - h), w, h
    w, h = min(width, round(height * 4 / 3)), min(height, round(width * 4 / 3))
    return (width - w) // 2, (height - h) // 2, w, h
