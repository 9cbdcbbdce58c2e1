"""Pillow in PyTorch's DataLoader, as most training scripts read photographs.

Image.open, RGB, then crop and antialiased bilinear resize in one call (resize with a box: the crop is never copied),
flip on the small image. Not used because it changes the pixels: draft mode (decoding at reduced scale).
"""

from bench.peers import torch_loader
from bench.peers.inputs import CROP, crop_box, image_files

ENVIRONMENT = "torch"
JOBS = ["imagenet-train"]
candidates = torch_loader.photograph_candidates


def batches(job, settings):
    import random

    import numpy
    import torch
    from PIL import Image

    files = image_files(job["data"])

    def load(index):
        path, label = files[index]
        with Image.open(path) as image:
            image = image.convert("RGB")
        left, top, width, height = crop_box(*image.size)
        image = image.resize((CROP, CROP), Image.Resampling.BILINEAR, (left, top, left + width, top + height))
        if random.random() < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return torch.from_numpy(numpy.array(image)).permute(2, 0, 1), label

    return torch_loader.batches(len(files), load, job, settings)
