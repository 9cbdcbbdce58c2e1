"""One epoch of a DataLoader: prefetches batches from the workers and yields them in order."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, TypeVar

import torch
from torch.utils.data.dataloader import DataLoader as TorchDataLoader
from torch.utils.data.dataloader import _DatasetKind

from unstarve.workers import generator_states
from unstarve.workers.epoch_order import EpochOrder
from unstarve.workers.job import Job, Resume
from unstarve.workers.pinning import Pinner, Taken, Taker, pin_device
from unstarve.workers.pool import IdlePool, InlinePool, Pool
from unstarve.workers.streams import Streams

_EPOCH_SEED_STEP = 0x632BE59BD9B4E019  # between the seeds of consecutive epochs of persistent workers
# Batches of a stream that are requested from a worker at the same time. The socket of a worker has room for about 270
# requests; more would wait until the worker reads them, which it does not while its own socket of results is full.
_MOST_OF_STREAM = 128
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
        self._taker: Taker | None = None
        self._process = os.getpid()
        if loader.num_workers == 0 and loader.timeout != 0:
            raise AssertionError("DataLoader: num_workers=0 requires timeout == 0")
        self._workers = loader.num_workers
        self._timeout = loader.timeout or None
        self._persistent = loader.persistent_workers
        self._idle_pool = loader._idle_pool
        device = pin_device(loader)

        if resume is not None and (not resume["begun"] or resume["finished"]):
            generator_states.set_own_states(generator_states.generators_of(loader), resume["generators"])
            loader._rounds = resume["round"] + 1 if resume["begun"] else 0
            loader._epoch_base_seed = resume["base_seed"] if resume["begun"] else None
            resume = None
        self._order = EpochOrder(loader, loader._first_position, loader._epoch_base_seed, resume)
        loader._epoch_base_seed = self._order.base_seed
        round_ = resume["round"] if resume else loader._rounds
        loader._rounds = round_ + 1
        iterable = loader._dataset_kind == _DatasetKind.Iterable
        self._streams = Streams(loader, resume["streams"] if resume else None) if iterable else None
        yielded = resume["yielded"] if resume else 0
        self._submitted = self._next = 0 if iterable else yielded  # serial numbers of batches
        self._progress: dict[str, Any] = {
            "finished": False, "yielded": yielded, **self._order.start, "round": round_,
            "streams": None if self._streams is None else self._streams.state()}
        loader._progress = self._progress

        sample_seed = self._order.base_seed + (_EPOCH_SEED_STEP * round_ if self._persistent else 0)
        points = self._streams.points() if self._streams is not None and resume else None
        self._pool = self._begun_pool(loader, sample_seed, points)
        any_batch = self._workers > 0 and not loader.in_order
        taker = Taker if device is None or not self._workers else Pinner
        self._taker = taker(self._pool, device, iterable, any_batch)
        self._prefetch((loader.prefetch_factor or 0) * self._workers)

    # --- the beginning ----------------------------------------------------------------------------------------------

    def _begun_pool(self, loader: EpochLoader[Any], sample_seed: int, points: Resume | None) -> Pool:
        """Returns workers that have begun the epoch; see Pool.begin()."""
        epoch = loader._job(), self._order.base_seed, sample_seed, not self._persistent, points
        pool: Pool | None = InlinePool()
        if self._workers:
            loader.check_worker_number_rationality()
            pool = self._idle_pool.take()
            # Only new workers can begin at a resume position.
            if pool is not None and points is not None and self._persistent:
                pool.close()
                pool = None
        pool = pool or loader._new_pool()
        try:
            if not pool.begin(*epoch):
                pool.close()
                pool = loader._new_pool()
                pool.begin(*epoch)
        except BaseException:
            pool.close()
            raise
        return pool

    def _prefetch(self, batches: int) -> None:
        if self._streams is None:
            for _ in range(batches):
                self._submit()
            return
        for _ in range(min(batches // max(1, self._workers), _MOST_OF_STREAM)):
            for worker in self._streams.in_turn():
                self._submit_stream(self._streams, worker)

    # --- iteration --------------------------------------------------------------------------------------------------

    def __iter__(self) -> Epoch:
        return self

    def __len__(self) -> int:
        return len(self._order.sampler)

    def __next__(self) -> Any:
        with torch.autograd.profiler.record_function("enumerate(DataLoader)#unstarve.__next__"):
            if self._pool is None:
                raise StopIteration
            return self._next_batch() if self._streams is None else self._next_stream(self._streams)

    def _submit(self) -> None:
        if (drawn := self._order.next()) is not None:
            self._request(*drawn)

    def _submit_stream(self, streams: Streams, worker: int) -> None:
        if not streams.ended(worker):
            self._request(streams.batch_size, 0, worker)

    def _request(self, index: Any, position: int, worker: int | None = None) -> None:
        assert self._pool is not None and self._taker is not None
        serial = self._submitted
        self._submitted += 1
        self._pool.submit(serial, index, position, worker)
        self._taker.request(serial)

    def _get(self, serial: int) -> Taken:
        """Takes batch `serial`. Raises RuntimeError after the timeout, or if a worker died."""
        assert self._taker is not None
        taken = self._taker.get(serial, self._timeout)
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
        self._progress["yielded"] = self._next
        return value

    def _next_stream(self, streams: Streams) -> Any:
        while True:
            if self._workers == 0:
                self._submit_stream(streams, 0)
            if self._next == self._submitted:
                self._finish()
                raise StopIteration
            batch, value, error = self._get(self._next)
            assert batch.worker is not None
            if error is None and value is None:
                streams.end(batch.worker)
                self._progress["streams"] = streams.state()
                continue
            if self._workers:
                self._submit_stream(streams, batch.worker)
            if error is not None:
                raise error
            data, state = value
            streams.advance(batch.worker, state)
            self._progress["streams"] = streams.state()
            self._progress["yielded"] += 1
            streams.check_length(self._progress["yielded"])
            return data

    # --- the end ----------------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        self._progress["finished"] = True
        self._progress["generators"] = generator_states.own_states(self._order.generators)
        self._release_workers()

    def _release_workers(self) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        pool.forget()
        if self._taker is not None:
            self._taker.close()
        if self._workers and (pool.renewable or self._persistent):
            self._idle_pool.give(pool)
        else:
            pool.close()

    def __del__(self) -> None:
        if not sys.is_finalizing() and os.getpid() == self._process:
            self._release_workers()

    def __getstate__(self) -> dict[str, Any]:
        raise NotImplementedError("pickle: an iterator of unstarve.DataLoader is not picklable")
