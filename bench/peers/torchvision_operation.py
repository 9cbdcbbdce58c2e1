"""One operation of torchvision v2 on decoded images in memory; one thread.

Candidates: Pillow images, planar tensors and channels-last tensors, as supported by the operation.
"""

from bench.operations import CLASSES, OPERATIONS
from bench.peers import image_operations
from bench.peers.image_operations import check

ENVIRONMENT = "torchvision"
JOBS = ["operation", "batch-operation"]
__all__ = ["ENVIRONMENT", "JOBS", "batches", "candidates", "check"]


def _row(job):
    return next(row for row in OPERATIONS if row.name == job["operation"])


def candidates(job):
    return [{"images": kind} for kind in _row(job).images]


def batches(job, settings):
    import torch
    from torchvision.transforms import v2

    torch.set_num_threads(1)
    operate = _row(job).theirs(v2)
    if job["job"] == "batch-operation":
        return _whole_batches(operate, torch.rand(job["batch"], 3, job["side"], job["side"]),
                              torch.arange(job["batch"]))
    return image_operations.endless([_image(path, job["side"], settings["images"])
                                     for path in image_operations.paths(job)], operate)


def _whole_batches(operate, images, labels):
    while True:
        yield operate(images, labels)


def _image(path, side, kind):
    import torch
    from PIL import Image
    from torchvision.transforms.v2 import functional

    with Image.open(path) as file:
        image = file.convert("RGB")
    if side > 0:
        image = functional.resize(image, [side, side])
    if kind == "pillow":
        return image
    tensor = functional.pil_to_tensor(image)
    if kind == "channels_last":
        return tensor[None].contiguous(memory_format=torch.channels_last)[0]
    return tensor.contiguous()
