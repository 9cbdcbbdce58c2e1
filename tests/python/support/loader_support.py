"""Datasets and comparisons for the tests of the loader."""

import numpy as np

SMALL = "synthetic:classes=10,images=200,size=32,seed=1"


def photos(folder, count=24, bad=()):
    """JPEG files of two classes and different sizes; those of `bad` contain no image."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for i in range(count):
        path = folder / ("cat" if i % 2 else "dog") / f"{i:03}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        if i in bad:
            path.write_bytes(b"no image")
            continue
        height, width = rng.integers(40, 120, 2)
        Image.fromarray(rng.integers(0, 256, (height, width, 3), np.uint8)).save(path, quality=90)
    return folder


def copies(loader):
    return [(images.copy(), labels.copy(), ids.copy()) for images, labels, ids in loader.batches()]


def equal(ours, theirs):
    return len(ours) == len(theirs) and all(
        np.array_equal(a, b) for one, other in zip(ours, theirs, strict=True) for a, b in zip(one, other, strict=True))
