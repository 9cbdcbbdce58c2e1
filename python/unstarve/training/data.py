"""The data of a training run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from unstarve.errors import ArgumentError
from unstarve.loaders.base_loader import BaseLoader
from unstarve.loaders.engine import Normalisation
from unstarve.loaders.representation import counted
from unstarve.training.batches import Batches, batches_per_epoch
from unstarve.workers.seeding import mix


class TrainingData:
    """The loaders of a run and how their batches are read.

    Args:
        loader: The training data.
        validation: The data to evaluate on, or None.
        normalize: (mean, std) of uint8 pixels; None: they are only scaled.
        pinned: Whether page-locked memory is recognised.
    """

    def __init__(self, loader: Iterable[Any], validation: Iterable[Any] | None, normalize: Normalisation | None,
                 pinned: bool) -> None:
        self.loader = loader
        self.validation = validation
        self.per_epoch = batches_per_epoch(loader)
        self._normalize = normalize
        self._pinned = pinned

    def check_normalisation(self) -> None:
        """Raises ArgumentError if `normalize` is invalid or has no effect on images of another dtype."""
        for data in (self.loader, self.validation):
            if isinstance(data, Iterable):
                self._batches(data, endless=True)

    def check_shard(self, world: int) -> None:
        """Raises ArgumentError if the loader's part of the data is not that of one of `world` ranks."""
        loader = getattr(self.loader, "_whole", self.loader)  # of to_torch()
        if isinstance(loader, BaseLoader):
            found = json.loads(loader.spec).get("order", {}).get("world", 1)
            if found != world:
                raise ArgumentError(f"Trainer(loader): found the share of one of {found} ranks; expected that of one "
                                    f"of {world}. Add the step shard().")

    def training_batches(self, seed: int, rank: int) -> Batches:
        """Returns the batches to train on, without end. The loader may draw random numbers: of `seed` and `rank`."""
        return self._batches(self.loader, endless=True, seed=mix(seed, rank))

    def validation_batches(self) -> Batches:
        """Returns the batches of one evaluation. Precondition: there is validation data."""
        assert self.validation is not None
        return self._batches(self.validation, endless=False)

    def _batches(self, loader: Iterable[Any], *, endless: bool, seed: int | None = None) -> Batches:
        return Batches(loader, endless=endless, pinned=self._pinned, normalize=self._normalize, seed=seed)

    def __str__(self) -> str:
        return (f"{type(self.loader).__name__}"
                + ("" if self.per_epoch is None else f" of {counted(self.per_epoch, 'batch', 'batches')}")
                + ("" if self.validation is None else f", validation {type(self.validation).__name__}"))
