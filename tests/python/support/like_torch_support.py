"""Datasets and functions for test_dataloader_like_torch.py, importable by worker processes."""

import os
import signal

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset, Sampler, get_worker_info


class Count(IterableDataset):
    """0 .. samples - 1, all of them from every worker."""

    def __init__(self, samples=20):
        self.samples = samples

    def __len__(self):
        return self.samples

    def __iter__(self):
        return iter(range(self.samples))


class Parts(Count):
    """Yields N samples in each worker."""

    def __init__(self, parts):
        super().__init__(sum(parts))
        self.parts = parts

    def __iter__(self):
        return iter(range(self.parts[get_worker_info().id]))


class Broken(IterableDataset):
    def __iter__(self):
        raise RuntimeError("no way to begin")


class Bulk(Dataset):
    """Receives lists of indices."""

    def __len__(self):
        return 35

    def __getitem__(self, indices):
        assert isinstance(indices, list)
        return torch.as_tensor(indices)


class InLists(Sampler):
    def __init__(self, samples, size):
        self.samples, self.size = samples, size

    def __iter__(self):
        return (part.tolist() for part in torch.randperm(self.samples).split(self.size))

    def __len__(self):
        return -(-self.samples // self.size)


class Nothing(Dataset):
    """A dataset without __getitem__."""

    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return self.samples


class Values(Dataset):
    """Samples from a list."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        return self.values[i]


class Crashing(Values):
    def __getitem__(self, i):
        os.kill(os.getpid(), signal.SIGSEGV)


class OwnDict(dict):
    pass


class OwnList(list):
    pass


class Affinity(IterableDataset):
    def __iter__(self):
        return iter(sorted(os.sched_getaffinity(0)))


class InfoOf(Values):
    """The contents of the worker's info."""

    def __getitem__(self, i):
        info = get_worker_info()
        try:
            info.id = 3
        except (RuntimeError, AttributeError) as error:
            assert "cannot assign" in str(error).lower()
        else:
            raise AssertionError("id was assigned")
        assert all(f"{name}=" in repr(info) for name in ("id", "num_workers", "seed", "dataset"))
        return info.id, info.seed, info.dataset.mark


def mark(worker):
    get_worker_info().dataset.mark = worker + 100


def to_first_core(worker):
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])


def fail(worker):
    raise RuntimeError("no way to prepare")


def packed(batch):
    data = torch.stack([sample[0] for sample in batch], 1)
    lengths = torch.arange(1, data.shape[1] + 1)
    return torch.nn.utils.rnn.pack_padded_sequence(data, lengths, enforce_sorted=False)


class Pair:
    """A batch of a user-defined class."""

    def __init__(self, samples):
        self.first, self.second = (torch.stack(part) for part in zip(*samples, strict=True))


def cloned(batch):
    return [sample.clone() for sample in batch]


SCALARS = (np.float64, np.float32, np.float16, np.int64, np.int32, np.int16, np.int8, np.uint8)
