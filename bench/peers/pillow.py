"""Pillow in PyTorch's DataLoader, as in most training scripts.

Image.open, RGB, crop and antialiased bilinear resize in one call (resize with a box does not copy the crop), flip of
the resized image. Draft mode (decoding at reduced scale) is not used, because it changes the pixels.
"""

from bench.peers import torch_loader
from bench.peers.inputs import CROP, EVAL_RESIZE, crop_box, image_files

ENVIRONMENT = "torch"
JOBS = ["imagenet-train", "imagenet-eval"]
candidates = torch_loader.photograph_candidates


def batches(job, settings):
    import random

    import numpy
    import torch
    from PIL import Image

    files = image_files(job["data"])

    def middle(image):
        """Resizes only the centre crop, as if the short side were resized to EVAL_RESIZE."""
        scale = EVAL_RESIZE / min(image.size)
        width, height = CROP / scale, CROP / scale
        left, top = (image.width - width) / 2, (image.height - height) / 2
        return image.resize((CROP, CROP), Image.Resampling.BILINEAR, (left, top, left + width, top + height))

    def load(index):
        path, label = files[index]
        with Image.open(path) as image:
            image = image.convert("RGB")
        if job["job"] == "imagenet-eval":
            return torch.from_numpy(numpy.array(middle(image))).permute(2, 0, 1), label
        left, top, width, height = crop_box(*image.size)
        image = image.resize((CROP, CROP), Image.Resampling.BILINEAR, (left, top, left + width, top + height))
        if random.random() < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return torch.from_numpy(numpy.array(image)).permute(2, 0, 1), label

    return torch_loader.batches(len(files), load, job, settings)
