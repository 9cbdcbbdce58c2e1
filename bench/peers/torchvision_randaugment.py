"""torchvision's v2.RandAugment on decoded uint8 tensors in memory; one thread.

Candidates: planar and channels-last tensors.
"""

from bench.peers import image_operations
from bench.peers.image_operations import check

ENVIRONMENT = "torchvision"
JOBS = ["randaugment"]
__all__ = ["ENVIRONMENT", "JOBS", "batches", "candidates", "check"]


def candidates(job):
    return [{"channels_last": False}, {"channels_last": True}]


def batches(job, settings):
    import torch
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms import v2
    from torchvision.transforms.v2 import functional

    torch.set_num_threads(1)
    side = [job["side"], job["side"]]
    images = []
    for path in image_operations.paths(job):
        image = functional.resize(decode_jpeg(read_file(path), mode=ImageReadMode.RGB), side, antialias=True)
        if settings["channels_last"]:
            image = image[None].contiguous(memory_format=torch.channels_last)[0]
        images.append(image)
    return image_operations.endless(images, v2.RandAugment())
