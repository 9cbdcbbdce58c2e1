"""The loader of un.open, compared with other loaders or with its own C++ loader (python-iteration).

Jobs: "trivial": samples of almost no cost; "folder-first-batch": from opening to the first batch, repeatedly, timed
like bench/peers/torch_folder.py without imports and shutdown; "imagenet-train": as torch tensors if the settings have
"tensors" (imagenet-train-python). "indexed" in the job switches scan indexes on or off. "repeat": passes over the data
per epoch, for data of few batches.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from .inputs import CIFAR_MEAN, CIFAR_PAD, CIFAR_STD, Job

ENVIRONMENT = ""
JOBS = ["trivial", "folder-first-batch", "imagenet-train"]


def candidates(job: Job) -> list[dict[str, Any]]:
    """No settings: the defaults."""
    return [{}]


def pipeline(job: Job, seed: int) -> Any:
    """The loader of a job."""
    import unstarve as un

    if job["job"] == "trivial":
        built = un.open(job["source"]).shuffle(seed).output("uint8", "NHWC")
    elif job["job"] == "folder-first-batch":
        built = un.open(job["data"]).shuffle(seed).pad_crop(32, CIFAR_PAD).flip().normalize(CIFAR_MEAN, CIFAR_STD)
    else:
        built = un.open(job["data"]).repeat(job.get("repeat", 1)).shuffle(seed).random_resized_crop(224).flip()
        built = built.normalize(*un.IMAGENET)
    if "indexed" in job:
        built = built.passes(scan_index=job["indexed"])
    return built.options(threads=job["cores"]).batch(job["batch"])


class FirstBatches:
    """Iterator of first batches; `seconds` is the time of the last one."""

    def __init__(self, job: Job) -> None:
        self.job, self.seed = job, job["seed"]
        self.seconds = 0.0

    def __iter__(self) -> FirstBatches:
        return self

    def __next__(self) -> Any:
        self.seed += 1
        start = time.perf_counter()
        loader = pipeline(self.job, self.seed)
        images, labels = next(iter(loader))
        self.seconds = time.perf_counter() - start
        loader.close()
        return images, labels


def endless(loader: Any) -> Iterator[Any]:
    """One epoch after another."""
    while True:
        yield from loader


def batches(job: Job, settings: dict[str, Any]) -> Iterator[Any]:
    """Endless iterator over batches."""
    if job["job"] == "folder-first-batch":
        return FirstBatches(job)
    loader = pipeline(job, job["seed"])
    return endless(loader.to_torch("cpu") if settings.get("tensors") else loader)
