"""What workers are given to do: a job makes, in each worker, what fetches samples. Nothing here needs a framework."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class Fetcher(Protocol):
    """Samples and batches by index. position: of the first sample in the epoch."""

    def samples(self, indices: list[Any], position: int) -> list[Any]:
        """The samples of `indices`."""

    def collate(self, samples: list[Any], position: int) -> Any:
        """The batch of them."""

    def whole(self, index: Any, position: int) -> Any:
        """The batch of an index as it was submitted."""


class Stream(Protocol):
    """Batches of what has no indices."""

    def next(self, size: int | None) -> Any:
        """A batch of `size` samples, or one sample where it is None. StopIteration at the end."""

    def state(self) -> Any:
        """From which it can go on, or None."""


class Job(Protocol):
    """Pickled once and sent to the helper processes, or shared by threads."""

    iterable: bool  # it gives streams, not fetchers
    by_index: bool  # randomness follows from the samples' indices instead of their positions

    @property
    def splits(self) -> bool:
        """Whether a batch may be made in parts."""

    def enter(self, worker: int, workers: int, base_seed: int, in_thread: bool) -> None:
        """Before anything else, in every worker."""

    def leave(self) -> None:
        """Before another job takes its place in a helper process."""

    def fetcher(self, sample_seed: int, seeded: bool = True) -> Fetcher:
        """Of one epoch. seeded: False leaves the global generators alone, for threads, which share them."""

    def stream(self, resume: tuple[Any, int] | None = None) -> Stream:
        """Of one epoch; resume: the state and the number of batches given of a stream that goes on."""


Resume = Sequence[tuple[Any, int]]  # of every worker's stream
