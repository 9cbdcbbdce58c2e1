"""unstarve's own Python package, as the side that others are compared with, or beside its C++ (python-iteration).

Jobs: "trivial", samples that cost next to nothing; "folder-first-batch", timed as torch_folder.py times it: from
nothing opened to the first batch, again and again, imports and the end of the threads left out; "imagenet-train", as
tensors of torch where the settings say so (imagenet-train-python).
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
        made = un.open(job["source"]).shuffle(seed).output("uint8", "NHWC")
    elif job["job"] == "folder-first-batch":
        made = un.open(job["data"]).shuffle(seed).pad_crop(32, CIFAR_PAD).flip().normalize(CIFAR_MEAN, CIFAR_STD)
    else:
        made = un.open(job["data"]).shuffle(seed).random_resized_crop(224).flip().normalize(*un.IMAGENET)
    return made.options(threads=job["cores"]).batch(job["batch"])


class FirstBatches:
    """Iterator of first batches; `seconds` is how long the last one took."""

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
