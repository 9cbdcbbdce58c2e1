"""The order of an epoch of a DataLoader."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.utils.data import DataLoader

from unstarve.errors import ArgumentError
from unstarve.workers import generator_states


class EpochOrder:
    """The indices of an epoch and its base seed, drawn exactly as torch draws them.

    Args:
        loader: The loader whose samplers and generators are used.
        position: Position in the epoch of the first sample.
        base_seed: That of the previous epoch, which persistent workers keep, or None.
        resume: A state dict of the loader from which to continue, or None.

    Raises:
        ArgumentError: `resume` is after the end of the sampler.
    """

    def __init__(self, loader: DataLoader[Any], position: int, base_seed: int | None,
                 resume: Mapping[str, Any] | None) -> None:
        self.sampler: Any = loader._index_sampler
        self.generators = generator_states.generators_of(loader)
        self._auto_collation = loader._auto_collation
        self._position = position
        stateful: Any = next((holder for holder in (loader.batch_sampler, loader.sampler)
                             if hasattr(holder, "state_dict") and hasattr(holder, "load_state_dict")), None)
        if resume is not None and stateful is not None and resume["sampler"] is not None:
            stateful.load_state_dict(resume["sampler"])
        sampler_state = copy.deepcopy(stateful.state_dict()) if stateful else None  # it may be part of the sampler
        with generator_states.replayed(self.generators, resume):
            states = generator_states.own_states(self.generators), generator_states.global_states()
            self._indices: Iterator[Any] = iter(self.sampler)
            if resume is not None:
                base_seed = resume["base_seed"] if resume["round"] else None
            if base_seed is None or not loader.persistent_workers:
                base_seed = int(torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item())
                if loader.num_workers:
                    # torch's multi-process iterator creates the iterator of its sampler twice, which matters for
                    # samplers that draw or count there.
                    self._indices = iter(self.sampler)
            if resume is not None:
                base_seed = int(resume["base_seed"])
                if resume["streams"] is None:
                    self._skip(resume["yielded"])
        self.base_seed: int = base_seed
        # From which a loop can draw the same order: a part of the loader's state dict.
        self.start = {"sampler": sampler_state, "generators": states[0], "global": states[1], "base_seed": base_seed}

    def _skip(self, batches: int) -> None:
        for number in range(batches):
            index = next(self._indices, None)
            if index is None:
                raise ArgumentError(f"state: found {batches} batches of the epoch; expected at most {number}, the "
                                    "length of the sampler")
            self._position += self._samples(index)
        # Draws the next index while the generators have their states of the beginning of the epoch.
        self._indices = itertools.chain(list(itertools.islice(self._indices, 1)), self._indices)

    def _samples(self, index: Any) -> int:
        return len(index) if self._auto_collation and hasattr(index, "__len__") else 1

    def next(self) -> tuple[Any, int] | None:
        """Returns the next index and the position in the epoch of its first sample, or None at the end."""
        for index in self._indices:
            position = self._position
            self._position += self._samples(index)
            return index, position
        return None
