"""The order of the samples of a torch dataset: shuffled by (seed, epoch), distributed to ranks, from any position."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch

from unstarve.errors import ArgumentError


class RankBatches(NamedTuple):
    """How an epoch is divided into batches of `size` samples for each of `world` ranks; the part of `rank`."""

    size: int
    drop_last: bool
    rank: int
    world: int


class Order:
    """A batch sampler: yields the lists of indices of one rank.

    `at` is the position (epoch, batch, offset). The first `offset` samples of the epoch, over all ranks, have been
    used; batches are counted from there.

    A global batch has world x size samples; rank r takes the r-th part. A last global batch that is kept and not
    divisible by the world size is completed with the first samples of the epoch, as unstarve.Loader and torch's
    DistributedSampler do.
    """

    def __init__(self, samples: int, batches: RankBatches, seed: int, shuffle: bool) -> None:
        size, drop_last, rank, world = batches
        self._total, self._size, self._drop_last = samples, size, drop_last
        self._rank, self._world = rank, world
        self._seed, self._shuffle = seed, shuffle
        if samples == 0:
            raise ArgumentError("batch: found no samples in the dataset; expected at least one")
        if self.batches(0) == 0:
            most = samples // world
            smaller = f"a size of at most {most}" if most else "fewer ranks"
            ranks = f" on each of {world} ranks" if world > 1 else ""
            raise ArgumentError(f"batch: found too few samples, {samples}; expected at least one full batch of "
                                f"{size}{ranks}. Use {smaller}, or last='keep'.")
        self.at = (0, 0, 0)

    def _parts(self, offset: int) -> tuple[int, int]:
        """Returns (full batches, samples of a shorter one) of this rank after `offset` samples of an epoch."""
        full, over = divmod(self._total - offset, self._size * self._world)
        return full, 0 if self._drop_last else -(-over // self._world)

    def batches(self, offset: int) -> int:
        """Returns the number of batches of this rank after the first `offset` samples of an epoch."""
        full, last = self._parts(offset)
        return full + (last > 0)

    @property
    def samples(self) -> int:
        """Samples per epoch of this rank."""
        full, last = self._parts(0)
        return full * self._size + last

    @property
    def position(self) -> int:
        """Samples of the epoch that this rank used before `at`, if the number of ranks did not change."""
        return self.at[2] // self._world + self.at[1] * self._size

    def seed_of(self, epoch: int) -> int:
        """Returns the seed (63 bits) of the generator of an epoch."""
        value = (self._seed * 0x9E3779B97F4A7C15 + (epoch + 1) * 0xD1B54A32D192ED03) & ((1 << 64) - 1)
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & ((1 << 64) - 1)
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & ((1 << 64) - 1)
        return (value ^ (value >> 31)) >> 1

    def __len__(self) -> int:
        return self.batches(0)

    def __iter__(self) -> Iterator[list[int]]:
        return self._lists(*self.at)

    def _lists(self, epoch: int, first: int, offset: int) -> Iterator[list[int]]:
        order = None
        if self._shuffle:
            order = torch.randperm(self._total, generator=torch.Generator().manual_seed(self.seed_of(epoch)))
        full, last = self._parts(offset)
        for batch in range(first, self.batches(offset)):
            size = self._size if batch < full else last
            begin = offset + batch * self._size * self._world + self._rank * size
            positions = [position % self._total for position in range(begin, begin + size)]
            yield positions if order is None else order[positions].tolist()
