"""Datasets for the tests of un.DataLoader and un.from_torch, importable by worker processes, and comparisons."""

import collections
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import torch

from processes_support import alive, gone  # noqa: F401  (of the tests that import them from here)
from unstarve.dataloader import get_worker_info

Pair = collections.namedtuple("Pair", "left right")
HERE = str(Path(__file__).parent)



class Kinds(torch.utils.data.Dataset):
    """Samples of index i as a tensor, a tuple, a dict, ...: everything that default_collate knows."""

    def __init__(self, kind="tuple", samples=23):
        self.kind, self.samples = kind, samples

    def __len__(self):
        return self.samples

    def __getitem__(self, i):
        tensor = torch.full((3, 20, 20), float(i))
        return {
            "tensor": lambda: tensor,
            "tuple": lambda: (tensor, i),
            "dict": lambda: {"image": tensor, "name": f"sample {i}", "weight": i / 3},
            "named": lambda: Pair(np.full((2, 300), i, np.int16), [tensor[0], np.float32(i)]),
            "string": lambda: f"sample {i}",
            "layouts": lambda: (tensor.permute(1, 2, 0), tensor.to(torch.bfloat16), torch.zeros(0), i % 2 == 0),
        }[self.kind]()


class Many(Kinds):
    def __getitems__(self, indices):
        return [(torch.tensor(indices), index) for index in indices]


class Stacked(Kinds):
    """Returns whole batches: a dict of tensors."""

    def __getitems__(self, indices):
        return {"index": torch.tensor(indices), "square": torch.tensor(indices) ** 2}


class Random(Kinds):
    def __getitem__(self, i):
        return i, torch.rand(2), random.random(), np.random.rand(3)


class Stream(torch.utils.data.IterableDataset):
    """0 .. samples - 1, distributed to the workers in parts of different sizes."""

    def __init__(self, samples=23):
        self.samples = samples

    def __len__(self):
        return self.samples

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        return iter([(torch.full((40, 40), i), i) for i in range(worker, self.samples, workers)])


class Counting(torch.utils.data.IterableDataset):
    """Has its own state: resumes without reading earlier samples."""

    def __init__(self):
        self.at, self.read = 0, 0

    def __iter__(self):
        while self.at < 20:
            self.at += 1
            self.read += 1
            yield self.at, self.read
        self.at = self.read = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class Padded(torch.utils.data.IterableDataset):
    """0 .. 399 in samples of 12 KB; its iterator has a state of 3.5 KB."""

    class Iterator:
        def __init__(self):
            self.at, self.padding = 0, bytes(3500)

        def __iter__(self):
            return self

        def __next__(self):
            if self.at == 400:
                raise StopIteration
            self.at += 1
            return torch.full((3000,), self.at - 1, dtype=torch.int32)

        def state_dict(self):
            return {"at": self.at, "padding": self.padding}

        def load_state_dict(self, state):
            self.at = state["at"]

    def __iter__(self):
        return self.Iterator()


class ManyArrays(Kinds):
    """Has arrays of 1 KB."""

    def __init__(self, arrays):
        super().__init__("tuple", 8)
        self.arrays = list(np.arange(arrays * 256, dtype=np.int32).reshape(arrays, 256))

    def __getitem__(self, i):
        return int(self.arrays[-1 - i][0])


class Special(Exception):
    def __init__(self, one, two):
        super().__init__(one, two)


class Faulty(Kinds):
    """The failure for each index."""

    def __init__(self, at, samples=24):
        super().__init__("tuple", samples)
        self.at = at

    def __getitem__(self, i):
        what = self.at.get(i)
        if what == "value":
            raise ValueError(f"no sample {i}")
        if what == "key":
            raise KeyError("a key")
        if what == "special":
            raise Special(1, 2)
        if what == "local":
            class LocalError(Exception):
                pass
            raise LocalError("of a function")
        if what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "exit":
            os._exit(3)
        if what == "sys.exit":
            sys.exit("no more samples")
        if what == "long":
            raise ValueError("\U0001f600" * 20_000)
        if isinstance(what, float):
            time.sleep(what)
        return super().__getitem__(i)


class Uneven(Kinds):
    """The first sample takes as long as a hundred others together."""

    def __getitem__(self, i):
        time.sleep(0.02 if i else 2)
        return i, os.getpid()


class Closure(Kinds):
    """Samples that cannot be sent to another process."""

    def __getitem__(self, i):
        return lambda: i


class Big(Kinds):
    """An array that all workers share until they write to it, and a counter that is shared with the parent."""

    def __init__(self, counter=None, shared=None):
        super().__init__("tuple", 8)
        self.array, self.counter, self.shared = np.arange(100_000), counter, shared

    def __getitem__(self, i):
        self.array[i] += 1
        if self.counter is not None:
            with self.counter.get_lock():
                self.counter.value += 1
        if self.shared is not None:
            self.shared[i] = i
        return int(self.array[i]), os.getpid()


class Dropping(Kinds):
    """Drops the batch that it holds."""

    def __init__(self, held):
        super().__init__("tuple", 4)
        self.held = held

    def __getitem__(self, i):
        self.held = None
        return i


class Info(Kinds):
    def __getitem__(self, i):
        info = get_worker_info()
        return i, info.id, info.num_workers, info.seed, info.dataset is self, getattr(self, "initialised", -1)


def initialise(worker):
    get_worker_info().dataset.initialised = worker * 10


def fail_to_initialise(worker):
    raise ValueError("not today")


def sums(samples):
    return torch.stack([sample[0].sum() for sample in samples]), [sample[1] for sample in samples]


def call(samples):
    return [sample() for sample in samples]


def identity(samples):
    return samples


def noisy(sample):
    return sample[1], torch.rand(1)


def growing(sample):
    """Samples of equal shape, except that sample 13 is larger."""
    number = sample[1] if isinstance(sample, tuple) else sample
    return {"image": (number, np.zeros((3 if number == 13 else 2, 2), np.float32)), "label": number}


def tossed(samples):
    """A dataset whose batches are random numbers."""
    return float(torch.rand(1))


def drawing(sample, rng):
    return rng.random()


def drawing_twice(sample, rng):
    return np.array([sample, rng.random()])


def slow(sample):
    time.sleep(0.001)
    return sample


class Backwards(torch.utils.data.Sampler):
    """Draws a random number when its iterator is created."""

    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return self.samples

    def __iter__(self):
        return iter((torch.randperm(self.samples)).tolist()[::-1])


# --- comparisons and processes ----------------------------------------------------------------------------------------


def same(ours, theirs):
    if isinstance(theirs, torch.Tensor):
        return (isinstance(ours, torch.Tensor) and ours.dtype == theirs.dtype and torch.equal(ours, theirs)
                and ours.stride() == theirs.stride())
    if isinstance(theirs, np.ndarray):
        return ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
    if isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(same(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, (list, tuple)):
        return type(ours) is type(theirs) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    return type(ours) is type(theirs) and ours == theirs


def batches(loader):
    torch.manual_seed(5)
    return list(loader) + list(loader)


def script(code):
    """A program without the guard that spawned processes usually need: its dataset is another module's."""
    path = os.pathsep.join([HERE, *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen([sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, env={**os.environ, "PYTHONPATH": path})
