"""Images for the tests of the functions: noise with structure, and its files in several formats."""

import io

import numpy as np
from PIL import Image


def pixels(height=60, width=90, seed=0):
    """uint8 (height, width, 3): gradients, an edge and noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    image = np.stack([255 * x / width, 255 * y / height, 255 * (x > width // 2)], 2) * 0.8
    return (image + rng.integers(0, 50, (height, width, 3))).astype(np.uint8)


def encoded(image, kind="JPEG", **options):
    """The bytes of a file."""
    file = io.BytesIO()
    Image.fromarray(image).save(file, kind, **options)
    return file.getvalue()


def decoded(data, mode="RGB"):
    """The pixels by Pillow."""
    return np.asarray(Image.open(io.BytesIO(data)).convert(mode))
