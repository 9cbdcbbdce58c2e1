"""Pillow-SIMD's resize with BILINEAR (antialiased) on decoded photographs in memory; one thread."""

from bench.peers import image_operations
from bench.peers.image_operations import check

ENVIRONMENT = "pillow-simd"
JOBS = ["resize"]
__all__ = ["ENVIRONMENT", "JOBS", "batches", "candidates", "check"]


def candidates(job):
    return [{}]


def batches(job, settings):
    import PIL
    from PIL import Image

    if ".post" not in PIL.__version__:
        raise RuntimeError(f"this is Pillow {PIL.__version__}, not Pillow-SIMD")
    images = []
    for path in image_operations.paths(job):
        with Image.open(path) as image:
            images.append(image.convert("RGB"))
    height, width = job["size"]
    return image_operations.endless(images, lambda image: image.resize((width, height), Image.BILINEAR))
