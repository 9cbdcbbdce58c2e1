"""A Dataset of the user's own, with Pillow and torchvision's transforms, in PyTorch's DataLoader or in ours.

Both sides run this module in the same environment; the setting "loader" is "torch" or "unstarve". Samples are
normalised float32, as in torchvision's references.
dataset              an endless order of the photographs
dataset-first-epoch  one epoch of `images` photographs with a new loader, repeatedly; timed from the creation of the
                     loader to the end of its loop, with the start and the end of its workers
"""

import time

from bench.peers.inputs import CROP, IMAGENET_MEAN, IMAGENET_STD, image_files

ENVIRONMENT = "torchvision"
JOBS = ["dataset", "dataset-first-epoch"]


def candidates(job):
    return [{"loader": "torch"}]


class Photographs:
    """Map-style dataset of (normalised float32 tensor, label)."""

    def __init__(self, files):
        from torchvision import transforms

        self.files = files
        self.transform = transforms.Compose([
            transforms.RandomResizedCrop(CROP), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
            transforms.Normalize(IMAGENET_MEAN, IMAGENET_STD)])

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        from PIL import Image

        path, label = self.files[index]
        with Image.open(path) as image:
            return self.transform(image.convert("RGB")), label


def _loader(job, settings, files, **order):
    if settings["loader"] == "torch":
        from torch.utils.data import DataLoader
    else:
        from unstarve import DataLoader
    return DataLoader(Photographs(files), batch_size=job["batch"], num_workers=job["cores"], drop_last=True, **order)


class FirstEpochs:
    """Iterator over the last batches of first epochs; `seconds` is the time of the last epoch."""

    def __init__(self, job, settings):
        # Evenly spaced, so that the epoch has every kind of photograph.
        files = image_files(job["data"])
        self.files = files[:: max(1, len(files) // job["images"])][: job["images"]]
        self.job, self.settings, self.seconds = job, settings, 0.0

    def __iter__(self):
        return self

    def __next__(self):
        start = time.perf_counter()
        for batch in _loader(self.job, self.settings, self.files, shuffle=True):
            last = batch
        self.seconds = time.perf_counter() - start
        return last


def batches(job, settings):
    import torch

    torch.manual_seed(job["seed"])
    if job["job"] == "dataset-first-epoch":
        return FirstEpochs(job, settings)
    files = image_files(job["data"])

    class Sampler(torch.utils.data.Sampler):
        def __iter__(self):
            while True:
                yield from torch.randperm(len(files)).tolist()

    return iter(_loader(job, settings, files, sampler=Sampler()))
