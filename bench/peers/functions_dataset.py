"""The functions of unstarve in a Dataset, in place of torchvision's or simplejpeg's.

The same loader, batches and normalisation as the peers torchvision and simplejpeg; only `load` differs: decoding and
random crop are un.random_resized_crop(path, size).
"""

from bench.peers import torch_loader
from bench.peers.inputs import CROP, image_files

ENVIRONMENT = ""
JOBS = ["functions"]


def candidates(job):
    return torch_loader.photograph_candidates(job)


def batches(job, settings):
    import torch

    import unstarve as un

    files = image_files(job["data"])

    def load(index):
        path, label = files[index]
        image = un.horizontal_flip(un.random_resized_crop(path, CROP))
        return torch.from_numpy(image).permute(2, 0, 1), label

    return torch_loader.batches(len(files), load, job, settings)
