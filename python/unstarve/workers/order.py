"""The order of a torch dataset's samples: shuffled by (seed, epoch), dealt to ranks in batches, from any place on."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from unstarve.errors import ArgumentError


class Order:
    """A batch sampler: the lists of indices of one rank, from batch at[1] of epoch at[0] on, behind at[2] samples.

    at: epoch; batch of what is left of the epoch behind its first so many samples, of all ranks, which were used
        before, maybe by other ranks in other batches; and how many these are.

    The global batch is world x size samples, rank r takes its r-th stretch; a kept last one that does not divide by the
    world is filled up with the first samples of the epoch, as unstarve.Loader and torch's DistributedSampler do.
    """

    def __init__(self, samples: int, size: int, drop_last: bool, rank: int, world: int, seed: int, shuffle: bool
                 ) -> None:
        self._total, self._size, self._drop_last = samples, size, drop_last
        self._rank, self._world = rank, world
        self._seed, self._shuffle = seed, shuffle
        if self.batches(0) == 0:
            most = samples // world
            smaller = f"a size of at most {most}" if most else "fewer ranks"
            raise ArgumentError(f"batch: {samples} sample(s) make no full batch of {size} on {world} rank(s); "
                                f"give {smaller}, or keep the last, short one (last='keep')")
        self.at = (0, 0, 0)

    def _parts(self, offset: int) -> tuple[int, int]:
        """Behind the first `offset` samples of an epoch: whole batches, and this rank's samples of a shorter one."""
        full, over = divmod(self._total - offset, self._size * self._world)
        return full, 0 if self._drop_last else -(-over // self._world)

    def batches(self, offset: int) -> int:
        """Of this rank, behind the first `offset` samples of an epoch."""
        full, last = self._parts(offset)
        return full + (last > 0)

    @property
    def samples(self) -> int:
        """Of this rank, in a whole epoch."""
        full, last = self._parts(0)
        return full * self._size + last

    @property
    def position(self) -> int:
        """How many samples of the epoch this rank has had before `at`, if the ranks stayed as they are."""
        return self.at[2] // self._world + self.at[1] * self._size

    def seed_of(self, epoch: int) -> int:
        """A generator's seed (63 bits) of the pair: neighbouring pairs give unrelated ones."""
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
            places = [place % self._total for place in range(begin, begin + size)]
            yield places if order is None else order[places].tolist()
