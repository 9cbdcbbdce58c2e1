"""simplejpeg (libjpeg-turbo through its TurboJPEG interface) in PyTorch's DataLoader.

Each worker decodes into one reused buffer; antialiased bilinear resize of torch on uint8 in channels-last layout (the
vectorised path). Accurate DCT and smooth upsampling, as for all peers that support them.
"""

from bench.peers import torch_loader
from bench.peers.inputs import CROP, crop_box, image_files, middle_box

ENVIRONMENT = "torch"
JOBS = ["imagenet-train", "functions", "imagenet-eval"]
candidates = torch_loader.photograph_candidates


def batches(job, settings):
    import random

    import numpy
    import simplejpeg
    import torch

    files = image_files(job["data"])
    trains = job["job"] != "imagenet-eval"
    buffer = numpy.empty(0, numpy.uint8)

    def load(index):
        nonlocal buffer
        path, label = files[index]
        with open(path, "rb") as file:
            data = file.read()
        height, width, _, _ = simplejpeg.decode_jpeg_header(data)
        if buffer.size < height * width * 3:
            buffer = numpy.empty(height * width * 3, numpy.uint8)
        image = torch.from_numpy(simplejpeg.decode_jpeg(data, "RGB", buffer=buffer)).permute(2, 0, 1)
        x, y, w, h = (crop_box if trains else middle_box)(width, height)
        image = torch.nn.functional.interpolate(
            image[None, :, y : y + h, x : x + w], (CROP, CROP), mode="bilinear", antialias=True
        )[0]
        return (image.flip(2) if trains and random.random() < 0.5 else image), label

    return torch_loader.batches(len(files), load, job, settings)
