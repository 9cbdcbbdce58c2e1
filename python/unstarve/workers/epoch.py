"""One epoch of a DataLoader: prefetches batches from the workers and yields them in order."""

from __future__ import annotations

import itertools
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import torch
from torch.utils.data.dataloader import DataLoader as TorchDataLoader
from torch.utils.data.dataloader import _DatasetKind

from unstarve.errors import ArgumentError
from unstarve.workers import generator_states
from unstarve.workers.job import Job
from unstarve.workers.pinning import Pinner, Taken, pin_device, take
from unstarve.workers.pool import IdlePool, InlinePool, Pool

_EPOCH_SEED_STEP = 0x632BE59BD9B4E019  # between the seeds of consecutive epochs of persistent workers
_Sample = TypeVar("_Sample", covariant=True)


class EpochLoader(TorchDataLoader[_Sample]):
    """The part of unstarve.DataLoader that Epoch requires."""

    _idle_pool: IdlePool
    _first_position: int  # position in the epoch of the first sample of the next loop
    _rounds: int  # epochs begun
    _epoch_base_seed: int | None  # of the newest epoch; kept by persistent workers
    _progress: dict[str, Any] | None

    def _job(self) -> Job:
        raise NotImplementedError

    def _new_pool(self) -> Pool:
        raise NotImplementedError


class Epoch:
    """The iterator of a DataLoader. Its end or deletion returns the workers to the loader.

    `resume` is a state dict of the loader from which to continue, or None.
    """

    def __init__(self, loader: EpochLoader[Any], resume: Mapping[str, Any] | None) -> None:
        self._pool: Pool | None = None
        self._pinner: Pinner | None = None
        self._process = os.getpid()
        if loader.num_workers == 0 and loader.timeout != 0:
            raise AssertionError("DataLoader: num_workers=0 requires timeout == 0")
        self._dataset = loader.dataset
        self._iterable = loader._dataset_kind == _DatasetKind.Iterable
        self._sampler = loader._index_sampler
        self._auto_collation = loader._auto_collation
        self._batch_size = loader.batch_size
        self._workers = loader.num_workers
        self._prefetch = (loader.prefetch_factor or 0) * loader.num_workers
        self._timeout = loader.timeout or None
        self._in_order = loader.in_order
        self._loader_length = getattr(loader, "_IterableDataset_len_called", None)  # noqa: B009
        self._pin_device = pin_device(loader)
        self._idle_pool = loader._idle_pool
        self._generators = generator_states.generators_of(loader)
        self._num_yielded = 0
        self._submitted = self._next = 0  # serial numbers of batches
        self._position = loader._first_position  # of the next sample to submit

        if resume is not None and (not resume["begun"] or resume["finished"]):
            generator_states.set_own_states(self._generators, resume["generators"])
            loader._rounds = resume["round"] + 1 if resume["begun"] else 0
            loader._epoch_base_seed = resume["base_seed"] if resume["begun"] else None
            resume = None
        base_seed = self._begin_order(loader, resume)
        persistent = self._persistent = loader.persistent_workers
        round_ = resume["round"] if resume else loader._rounds
        loader._rounds = round_ + 1
        self._progress["round"] = round_
        loader._progress = self._progress
        self._begin_workers(loader, base_seed, base_seed + _EPOCH_SEED_STEP * round_ if persistent else base_seed,
                            not persistent, resume)

    # --- the beginning ----------------------------------------------------------------------------------------------

    def _begin_order(self, loader: EpochLoader[Any], resume: Mapping[str, Any] | None) -> int:
        """Creates the iterator of indices, drawing exactly the numbers that torch draws. Returns the base seed."""
        sampler: Any = loader._index_sampler
        stateful: Any = next((holder for holder in (loader.batch_sampler, loader.sampler)
                         if hasattr(holder, "state_dict") and hasattr(holder, "load_state_dict")), None)
        if resume is not None and stateful is not None and resume["sampler"] is not None:
            stateful.load_state_dict(resume["sampler"])
        progress: dict[str, Any] = {
            "finished": False, "yielded": 0, "sampler": stateful.state_dict() if stateful else None,
            "generators": None, "global": None, "base_seed": None, "round": 0, "streams": None}
        self._progress = progress
        with generator_states.replayed(self._generators, resume):
            progress["generators"] = generator_states.own_states(self._generators)
            progress["global"] = generator_states.global_states()
            self._indices: Iterator[Any] = iter(sampler)
            base_seed = loader._epoch_base_seed
            if resume is not None:
                base_seed = resume["base_seed"] if resume["round"] else None
            if base_seed is None or not loader.persistent_workers:
                base_seed = int(torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item())
                if self._workers:
                    # torch's multi-process iterator creates the iterator of its sampler twice, which matters for
                    # samplers that draw or count there.
                    self._indices = iter(sampler)
            if resume is not None:
                base_seed = int(resume["base_seed"])
                if not self._iterable:
                    self._skip(resume["yielded"])
        loader._epoch_base_seed = base_seed
        progress["base_seed"] = base_seed
        return base_seed

    def _skip(self, batches: int) -> None:
        for number in range(batches):
            index = next(self._indices, None)
            if index is None:
                raise ArgumentError(f"state: found {batches} batches of the epoch; expected at most {number}, the "
                                    "length of the sampler")
            self._position += self._samples(index)
        # Draws the next index while the generators have their states of the beginning of the epoch.
        self._indices = itertools.chain(list(itertools.islice(self._indices, 1)), self._indices)
        self._submitted = self._next = self._num_yielded = self._progress["yielded"] = batches

    def _samples(self, index: Any) -> int:
        return len(index) if self._auto_collation and hasattr(index, "__len__") else 1

    def _begin_workers(self, loader: EpochLoader[Any], base_seed: int, sample_seed: int, fresh: bool,
                       resume: Mapping[str, Any] | None) -> None:
        points = None
        if self._iterable:
            streams: Any = resume["streams"] if resume else {
                "turn": 0, "workers": [{"state": None, "given": 0, "ended": False}] * max(1, self._workers)}
            self._streams: list[dict[str, Any]] = [dict(worker) for worker in streams["workers"]]
            self._turn: int = streams["turn"]
            self._save_streams()
            self._num_yielded = self._progress["yielded"] = resume["yielded"] if resume else 0
            if resume:
                points = [(worker["state"], worker["given"]) for worker in self._streams]
        job = loader._job()
        if self._workers == 0:
            self._pool = InlinePool()
            self._pool.begin(job, base_seed, sample_seed, fresh, points)
        else:
            loader.check_worker_number_rationality()
            pool = self._idle_pool.take()
            # Only new workers can begin at a resume position.
            if pool is not None and points is not None and not fresh:
                pool.close()
                pool = None
            pool = pool or loader._new_pool()
            try:
                if not pool.begin(job, base_seed, sample_seed, fresh, points):
                    pool.close()
                    pool = loader._new_pool()
                    pool.begin(job, base_seed, sample_seed, fresh, points)
            except BaseException:
                pool.close()
                raise
            self._pool = pool
        if self._pin_device is not None and self._workers:
            self._pinner = Pinner(self._pool, self._pin_device, self._iterable)
        if self._iterable:
            first = self._turn
            for _ in range(self._prefetch // max(1, self._workers)):
                for offset in range(self._workers):
                    self._submit_stream((first + offset) % self._workers)
        else:
            for _ in range(self._prefetch):
                self._submit()

    # --- iteration --------------------------------------------------------------------------------------------------

    def __iter__(self) -> Epoch:
        return self

    def __len__(self) -> int:
        return len(self._sampler)

    def __next__(self) -> Any:
        with torch.autograd.profiler.record_function("enumerate(DataLoader)#unstarve.__next__"):
            if self._pool is None:
                raise StopIteration
            return self._next_stream() if self._iterable else self._next_batch()

    def _submit(self) -> None:
        for index in self._indices:
            self._request(index, self._position)
            self._position += self._samples(index)
            return

    def _submit_stream(self, worker: int) -> None:
        if not self._streams[worker]["ended"]:
            self._request(self._batch_size, 0, worker)

    def _request(self, index: Any, position: int, worker: int | None = None) -> None:
        assert self._pool is not None
        serial = self._submitted
        self._submitted += 1
        self._pool.submit(serial, index, position, worker)
        if self._pinner is not None:
            self._pinner.request(serial, not self._in_order)

    def _get(self, serial: int) -> Taken:
        """Takes batch `serial`. Raises RuntimeError after the timeout, or if a worker died."""
        assert self._pool is not None
        if self._pinner is None:
            requested = serial if self._in_order or not self._workers else None
            taken = take(self._pool, requested, self._timeout, self._pin_device, self._iterable)
        else:
            taken = self._pinner.get(serial, self._timeout)
        if taken is None:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        self._next = serial + 1
        return taken

    def _next_batch(self) -> Any:
        if self._workers == 0:
            self._submit()
        if self._next == self._submitted:
            self._finish()
            raise StopIteration
        _, value, error = self._get(self._next)
        if self._workers:
            self._submit()
        if error is not None:
            raise error
        self._num_yielded += 1
        self._progress["yielded"] = self._next
        return value

    def _next_stream(self) -> Any:
        while True:
            if self._workers == 0:
                self._submit_stream(0)
            if self._next == self._submitted:
                self._finish()
                raise StopIteration
            batch, value, error = self._get(self._next)
            assert batch.worker is not None
            stream = self._streams[batch.worker]
            if error is None and value is None:
                stream["ended"] = True
                self._save_streams()
                continue
            if self._workers:
                self._submit_stream(batch.worker)
            if error is not None:
                raise error
            data, stream["state"] = value
            stream["given"] += 1
            self._turn = (batch.worker + 1) % len(self._streams)
            self._save_streams()
            self._num_yielded += 1
            self._progress["yielded"] = self._num_yielded
            if self._loader_length is not None and self._num_yielded > self._loader_length:
                self._warn_of_length()
            return data

    def _save_streams(self) -> None:
        self._progress["streams"] = {"turn": self._turn, "workers": [dict(stream) for stream in self._streams]}

    def _warn_of_length(self) -> None:
        message = (f"Length of IterableDataset {self._dataset} was reported to be {self._loader_length}"
                   f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. ")
        if self._workers:
            message += ("For multiprocessing data-loading, this could be caused by not properly configuring the "
                        "IterableDataset replica at each worker. Please see "
                        "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples.")
        warnings.warn(message, stacklevel=4)

    # --- the end ----------------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        self._progress["finished"] = True
        self._progress["generators"] = generator_states.own_states(self._generators)
        self._release_workers()

    def _release_workers(self) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        pool.forget()
        if self._pinner is not None:
            self._pinner.close()
        if self._workers and (pool.renewable or self._persistent):
            self._idle_pool.give(pool)
        else:
            pool.close()

    def __del__(self) -> None:
        if not sys.is_finalizing() and os.getpid() == self._process:
            self._release_workers()

    def __getstate__(self) -> dict[str, Any]:
        raise NotImplementedError("pickle: an iterator of unstarve.DataLoader is not picklable")
