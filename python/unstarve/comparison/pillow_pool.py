"""Pillow in a pool of threads or processes, without torch: the simplest fast loader for someone without a framework.

Settings:
kind       "threads": Pillow and NumPy release Python's lock where the work is; each task fills a float32 batch.
           "processes": each task returns a uint8 batch, and the main process normalises it, because that is a quarter
           of the bytes to send.
workers    threads or processes; 0: in the main process
Two tasks per worker are in flight, as in torch's DataLoader. A task is a batch.
"""

from __future__ import annotations

import collections
import itertools
import multiprocessing
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy
from numpy.typing import NDArray

from .inputs import CROP, IMAGENET_MEAN, IMAGENET_STD, Job, endless_order, image_files
from .pillow import training_image

Batch = tuple[NDArray[Any], NDArray[numpy.int64]]
Files = Sequence[tuple[str, int]]


def candidates(job: Job) -> list[dict[str, Any]]:
    """Settings to try."""
    return [{"kind": kind, "workers": job["cores"]} for kind in ("threads", "processes")]


def _labels(files: Files) -> NDArray[numpy.int64]:
    return numpy.array([label for _, label in files], numpy.int64)


def _pixels(files: Files) -> Batch:
    """A uint8 batch, channels last."""
    return numpy.stack([numpy.asarray(training_image(path)) for path, _ in files]), _labels(files)


def _normalise(pixels: NDArray[numpy.uint8], out: NDArray[numpy.float32]) -> None:
    """Writes normalised float32, channels first; `pixels` are channels last."""
    for channel, (mean, std) in enumerate(zip(IMAGENET_MEAN, IMAGENET_STD, strict=True)):
        plane = out[..., channel, :, :]
        numpy.multiply(pixels[..., channel], numpy.float32(1 / (255 * std)), out=plane)
        plane -= numpy.float32(mean / std)


def _empty(samples: int) -> NDArray[numpy.float32]:
    return numpy.empty((samples, 3, CROP, CROP), numpy.float32)


def _normalised(files: Files) -> Batch:
    images = _empty(len(files))
    for image, (path, _) in zip(images, files, strict=True):
        _normalise(numpy.asarray(training_image(path)), image)
    return images, _labels(files)


def _executor(settings: dict[str, Any]) -> Executor:
    if settings["kind"] == "threads":
        return ThreadPoolExecutor(settings["workers"])
    # Without the initializer all processes would draw the same crops.
    return ProcessPoolExecutor(settings["workers"], multiprocessing.get_context("fork"), initializer=random.seed)


def _tasks(make: Callable[[Files], Batch], tasks: Iterator[Files], settings: dict[str, Any]) -> Iterator[Batch]:
    """The results of the tasks, in order."""
    if settings["workers"] == 0:
        yield from map(make, tasks)
        return
    waiting: collections.deque[Future[Batch]] = collections.deque()
    with _executor(settings) as pool:
        for task in tasks:
            waiting.append(pool.submit(make, task))
            if len(waiting) >= 2 * settings["workers"]:
                yield waiting.popleft().result()


def batches(job: Job, settings: dict[str, Any]) -> Iterator[Batch]:
    """Endless iterator over batches."""
    files = image_files(job["data"])
    order = endless_order(len(files), job["seed"])
    tasks = ([files[index] for index in itertools.islice(order, job["batch"])] for _ in itertools.count())
    if settings["kind"] == "threads":
        yield from _tasks(_normalised, tasks, settings)
    out = _empty(job["batch"])
    for pixels, labels in _tasks(_pixels, tasks, settings):
        _normalise(pixels, out)
        yield out, labels
