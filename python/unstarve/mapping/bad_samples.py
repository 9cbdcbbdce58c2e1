"""The bad samples of a run with map(), and the limits at which they end it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unstarve.errors import InputError, IoError
from unstarve.loaders.engine import BadSample
from unstarve.workers.map_job import BadRecord, MappedBatch

_MIN_SAMPLES_FOR_RATE = 1000  # before the rate of bad samples is checked, as in the library (spec.h)


class BadSamples:
    """Collects the bad samples of a run and ends it as the library does. Used by one thread.

    Args:
        spec: The spec, whose `errors` has the limits.
        batches: Batches per epoch of this rank.
    """

    def __init__(self, spec: Mapping[str, Any], batches: int) -> None:
        errors = spec.get("errors", {})
        self._policy: str = errors.get("policy", "fail")
        self._limit: int = errors.get("limit", 1000)
        self._rate: float = errors.get("rate", 1.0)
        self._world: int = spec.get("order", {}).get("world", 1)
        self._batches_per_epoch = batches
        self._found: dict[int, BadRecord] = {}
        self._omitted = 0  # consecutive batches without good samples

    def add(self, batch: MappedBatch, tried: int) -> None:
        """Adds those of a batch; `tried`: samples of the run so far.

        Raises InputError if there are too many, IoError if the storage failed, which is not the fault of a sample.
        """
        for bad in batch.bad:
            if isinstance(bad.error, IoError):
                raise bad.error
            self._found.setdefault(bad.id, bad)
            if len(self._found) > self._limit:
                samples = "sample" if len(self._found) == 1 else "samples"
                raise InputError(f"{len(self._found)} bad {samples}, more than the limit of {self._limit}; the latest: "
                                 f"{bad.reason}")
            if tried >= _MIN_SAMPLES_FOR_RATE and len(self._found) > self._rate * tried:
                raise InputError(f"{len(self._found)} bad samples among {tried}, more than the limit of "
                                 f"{100 * self._rate:.3g} %; the latest: {bad.reason}")
        self._omitted = 0 if batch.images is not None and batch.labels is not None else self._omitted + 1

    def check_omitted(self, batch: MappedBatch, epoch: int, index: int, last: bool) -> None:
        """Raises InputError if this batch without good samples must not be omitted."""
        bad = batch.bad[0]
        reason = bad.reason if bad.location in bad.reason else f"{bad.location}: {bad.reason}"
        if self._world > 1:
            raise InputError(f"every sample of epoch {epoch} batch {index} is bad; expected at least one good sample, "
                             f"because each of {self._world} ranks must have equally many batches. Use errors: "
                             f"replace, or larger batches. The first: {reason}")
        if last and self._omitted >= self._batches_per_epoch:
            raise InputError(f"errors: {self._policy}: every sample of epoch {epoch} is bad; expected at least one "
                             f"good sample. The first of its last batch: {reason}")

    def first(self, most: int) -> list[BadSample]:
        """Returns the first `most` bad samples, by id."""
        return [(bad.id, bad.location, bad.reason) for _, bad in sorted(self._found.items())[:most]]
