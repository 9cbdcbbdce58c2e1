"""The Python package of unstarve, compared with peers or with its own C++ loader (python-iteration).

Jobs: "trivial": samples of almost no cost; "folder-first-batch": from opening to the first batch, repeatedly, timed
like torch_folder.py without imports and shutdown; "imagenet-train": as torch tensors if the settings have "tensors"
(imagenet-train-python).
"""

import time

from bench.peers.inputs import CIFAR_MEAN, CIFAR_PAD, CIFAR_STD

ENVIRONMENT = ""
JOBS = ["trivial", "folder-first-batch", "imagenet-train"]


def candidates(job):
    return [{}]


def pipeline(job, seed):
    import unstarve as un

    if job["job"] == "trivial":
        built = un.open(job["source"]).shuffle(seed).output("uint8", "NHWC")
    elif job["job"] == "folder-first-batch":
        built = un.open(job["data"]).shuffle(seed).pad_crop(32, CIFAR_PAD).flip().normalize(CIFAR_MEAN, CIFAR_STD)
    else:
        built = un.open(job["data"]).shuffle(seed).random_resized_crop(224).flip().normalize(*un.IMAGENET)
    return built.options(threads=job["cores"]).batch(job["batch"])


class FirstBatches:
    """Iterator of first batches; `seconds` is the time of the last one."""

    def __init__(self, job):
        self.job, self.seed, self.seconds = job, job["seed"], 0.0

    def __iter__(self):
        return self

    def __next__(self):
        self.seed += 1
        start = time.perf_counter()
        loader = pipeline(self.job, self.seed)
        images, labels = next(iter(loader))
        self.seconds = time.perf_counter() - start
        loader.close()
        return images, labels


def endless(loader):
    while True:
        yield from loader


def batches(job, settings):
    if job["job"] == "folder-first-batch":
        return FirstBatches(job)
    loader = pipeline(job, job["seed"])
    return endless(loader.to_torch("cpu") if settings.get("tensors") else loader)
