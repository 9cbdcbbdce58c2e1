"""The streams of an iterable dataset in an epoch of a DataLoader."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from torch.utils.data import DataLoader

from unstarve.workers.job import Resume


class Streams:
    """How far the stream of every worker is, and whose batch is next. Without workers there is one stream.

    `saved` is a result of state() from which to continue, or None.
    """

    def __init__(self, loader: DataLoader[Any], saved: Mapping[str, Any] | None) -> None:
        self.batch_size = loader.batch_size
        self._dataset, self._workers = loader.dataset, loader.num_workers
        self._length: int | None = getattr(loader, "_IterableDataset_len_called", None)
        saved = saved or {
            "turn": 0, "workers": [{"state": None, "given": 0, "ended": False}] * max(1, loader.num_workers)}
        self._streams: list[dict[str, Any]] = [dict(stream) for stream in saved["workers"]]
        self._turn: int = saved["turn"]

    def state(self) -> dict[str, Any]:
        """Returns the resume position: a part of the loader's state dict."""
        return {"turn": self._turn, "workers": [dict(stream) for stream in self._streams]}

    def points(self) -> Resume:
        """Returns the resume position for Pool.begin()."""
        return [(stream["state"], stream["given"]) for stream in self._streams]

    def in_turn(self) -> list[int]:
        """Returns all workers, beginning with the one whose batch is next."""
        return [*range(self._turn, len(self._streams)), *range(self._turn)]

    def ended(self, worker: int) -> bool:
        return bool(self._streams[worker]["ended"])

    def end(self, worker: int) -> None:
        """Records the end of a worker's stream."""
        self._streams[worker]["ended"] = True

    def advance(self, worker: int, state: Any) -> None:
        """Records a batch of a worker, after which its stream has `state`."""
        stream = self._streams[worker]
        stream["state"] = state
        stream["given"] += 1
        self._turn = (worker + 1) % len(self._streams)

    def check_length(self, yielded: int) -> None:
        """Warns as torch does if there are more batches than the dataset's length, if that was requested."""
        if self._length is None or yielded <= self._length:
            return
        message = (f"Length of IterableDataset {self._dataset} was reported to be {self._length}"
                   f"(when accessing len(dataloader)), but {yielded} samples have been fetched. ")
        if self._workers:
            message += ("For multiprocessing data-loading, this could be caused by not properly configuring the "
                        "IterableDataset replica at each worker. Please see "
                        "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples.")
        warnings.warn(message, stacklevel=4)
