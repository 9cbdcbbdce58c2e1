"""The interface of what workers execute: a job creates a fetcher or a stream in each worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class Fetcher(Protocol):
    """Loads samples and batches by index. `position` is that of the first sample in the epoch."""

    def samples(self, indices: list[Any], position: int) -> list[Any]:
        """Returns the samples of `indices`."""

    def collate(self, samples: list[Any], position: int) -> Any:
        """Returns a batch of `samples`."""

    def whole(self, index: Any, position: int) -> Any:
        """Returns the batch of an index that was submitted to the pool."""


class Stream(Protocol):
    """Loads the batches of a dataset without indices."""

    def next(self, size: int | None) -> Any:
        """Returns a batch of `size` samples, or one sample if it is None. Raises StopIteration at the end."""

    def state(self) -> Any:
        """Returns the state from which the stream can resume, or None."""


class Job(Protocol):
    """Pickled once and sent to all worker processes, or shared by threads."""

    iterable: bool  # the job creates streams, not fetchers
    by_index: bool  # seeds depend on the indices of the samples, not on their positions

    @property
    def splits(self) -> bool:
        """Whether a batch may be made in parts."""

    def enter(self, worker: int, workers: int, base_seed: int, in_thread: bool) -> None:
        """Called first, in every worker."""

    def leave(self) -> None:
        """Called before another job replaces this one in a worker process."""

    def fetcher(self, sample_seed: int, seeded: bool = True) -> Fetcher:
        """Returns the fetcher of one epoch. `seeded` is False for threads: they share the global generators."""

    def stream(self, resume: tuple[Any, int] | None = None) -> Stream:
        """Returns the stream of one epoch. `resume`: (state, batches already loaded) of a stream to continue."""


Resume = Sequence[tuple[Any, int]]  # (state, batches already loaded) of the stream of every worker
