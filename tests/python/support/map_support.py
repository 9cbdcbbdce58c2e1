"""Functions and sources for the tests of map(), filter() and from_source(), importable by worker processes."""

import os
import random
import signal
import time

import numpy as np

import unstarve as un

DATA = "synthetic:images=60,size=24,classes=5"


def crop(image, label):
    return image[4:20, 4:20]


def noisy(image, label, rng):
    """Draws from its own generator and from the global ones."""
    drawn = [rng.random(), random.random(), np.random.rand()]  # noqa: NPY002
    return image.astype(np.float32)[:8, :8], np.array([label, *drawn])


def shifted(image, label, rng):
    return image + np.float32(rng.random()), label


class Scale:
    """A function with a state."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, image, label):
        return image.astype(np.float64) * self.factor, float(label)


def pair_of(image, label):
    return image, label, 3


def nothing(image, label):
    return None


class Faulty:
    """The failure for each label."""

    def __init__(self, label, what):
        self.label, self.what = label, what

    def __call__(self, image, label):
        if label != self.label:
            return image
        match self.what:
            case "raise":
                return self.deeper(label)
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "sleep":
                time.sleep(600)
            case "shape":
                return image[1:]
            case "dtype":
                return image.astype(np.float32)
            case "label":
                return image, np.zeros(2)
        raise AssertionError(self.what)

    def deeper(self, label):
        raise LookupError(f"no {label} today")


class Encoded:
    """Records of a dataset, like rows of a database."""

    def __init__(self, path, samples, labelled=True, bad=None):
        self.path, self.samples, self.labelled, self.bad = path, samples, labelled, bad or {}
        self.opened = None

    def __len__(self):
        return self.samples

    def __getstate__(self):
        return {**self.__dict__, "opened": None}

    def __getitem__(self, i):
        if self.opened is None:
            self.opened = un.open(self.path)
        if i in self.bad:
            made = self.bad[i]
            if made == "raise":
                raise LookupError(f"row {i} is locked")
            return made
        record = self.opened.read(i)
        return (record["image"], record["label"]) if self.labelled else record["image"]


def batches(loader):
    """Copies of an epoch's batches: images, labels, ids."""
    with loader:
        return [tuple(np.array(array) for array in batch) for batch in loader.batches()]


def same(ours, theirs):
    return len(ours) == len(theirs) and all(
        a.dtype == b.dtype and np.array_equal(a, b)
        for one, other in zip(ours, theirs, strict=True) for a, b in zip(one, other, strict=True))
