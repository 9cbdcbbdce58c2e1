"""A drop-in for torch.utils.data.DataLoader: its arguments, batches and errors; another engine, and exact resume.

    loader = un.DataLoader(dataset, batch_size=256, shuffle=True, num_workers=8)

What is the same: the order of samples for the same sampler and generator, samplers, collate functions, worker_init_fn,
get_worker_info(), how errors are raised; it is a torch DataLoader for isinstance.

What differs with num_workers > 0:
- Helper processes are started anew, never forked; or threads: `workers`. The dataset, collate_fn and worker_init_fn
  must be picklable for processes; they are pickled once, and large arrays and tensors in them exist once for all.
- Samples go to whoever is free, not batches to fixed workers: a slow sample delays only its own batch. A dataset object
  that keeps state of its own per worker sees samples in an order that depends on timing.
- The global generators are seeded for every sample from the epoch's base seed and the sample's position: augmentation
  that draws from random, numpy.random or torch is the same for any number of helper processes, also after a resume.
- Processes are kept for the next loop. Unless persistent_workers is set, they get the dataset as it is by then, new
  seeds and a new worker_init_fn call, as if they were new.
- Batches lie in memory that a helper wrote and this process reads without a copy, used again once they are dropped;
  /dev/shm is not used, except by torch where a collate_fn of your own calls default_collate. Nothing is left behind,
  whichever process is killed.
"""

import copy
import itertools
import sys
import threading
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError

import torch
from torch.utils.data import IterDataPipe, MapDataPipe, _utils
from torch.utils.data.dataloader import DataLoader as TorchDataLoader
from torch.utils.data.dataloader import _DatasetKind

from unstarve.workers import generators, tasks, threads
from unstarve.workers.schedule import Batch
from unstarve.errors import ArgumentError

STATE_VERSION = 1
_ROUND = 0x632BE59BD9B4E019  # sets the seeds of persistent workers' epochs apart


def get_worker_info():
    """torch.utils.data.get_worker_info(), which also works in worker threads."""
    return threads.worker_info() or torch.utils.data.get_worker_info()


class DataLoader(TorchDataLoader):
    """Batches of a torch dataset; arguments as torch.utils.data.DataLoader, and:

    workers: "processes", "threads", or None: threads where the interpreter has no global lock and the dataset is
        map-style, else processes. Threads share one dataset object and the process's random generators;
        torch's get_worker_info() is None there, unstarve.dataloader's works.
    multiprocessing_context: checked as torch does; helpers are spawned whatever it says.

    Every loop is one epoch, its order drawn from `generator` or torch's global one, as torch draws it. Two loops may
    run at the same time, each with workers of its own; state_dict is that of the newest.

    Raises ValueError and the like as torch does; ArgumentError for what cannot be sent to helpers, and for DataPipes.
    A helper that dies raises RuntimeError at the loop, after the batches that were already complete.
    """

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0,
                 collate_fn=None, pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None,
                 multiprocessing_context=None, generator=None, *, prefetch_factor=None, persistent_workers=False,
                 pin_memory_device="", in_order=True, workers=None):
        if isinstance(dataset, (IterDataPipe, MapDataPipe)):
            raise ArgumentError(f"DataLoader: {type(dataset).__name__} is a DataPipe; expected a Dataset")
        if workers not in (None, "processes", "threads"):
            raise ArgumentError(f"DataLoader: workers {workers!r}, expected 'processes', 'threads' or None")
        if workers == "threads" and isinstance(dataset, torch.utils.data.IterableDataset):
            raise ArgumentError("DataLoader: workers='threads' with an IterableDataset, which threads cannot share; "
                                "expected 'processes'")
        self.workers = workers
        self._by_index = False
        self._home = _Home()
        self._rounds = 0  # epochs begun
        self._epoch_base_seed = None  # of the newest epoch; persistent workers keep it
        self._progress = None
        self._resume = None
        super().__init__(dataset, batch_size, shuffle, sampler, batch_sampler, num_workers, collate_fn, pin_memory,
                         drop_last, timeout, worker_init_fn, multiprocessing_context, generator,
                         prefetch_factor=prefetch_factor, persistent_workers=persistent_workers,
                         pin_memory_device=pin_memory_device, in_order=in_order)
        method = self.multiprocessing_context and self.multiprocessing_context.get_start_method()
        if method == "fork":
            warnings.warn("unstarve.DataLoader: helper processes are spawned, not forked as multiprocessing_context "
                          "says", stacklevel=2)

    def __iter__(self):
        resume, self._resume = self._resume, None
        return _Iterator(self, resume)

    def close(self):
        """Ends the idle workers, which the end of the loader does too; the next loop starts new ones."""
        self._home.close()
        self._home = _Home()

    # --- state ------------------------------------------------------------------------------------------------------

    def state_dict(self):
        """Where the newest loop stands, after the last batch that it gave: plain data and small tensors.

        It holds the samplers' generators (their states at the epoch's beginning), so that a loader made alike goes on
        exactly, with any number of workers for a map-style dataset. An iterable dataset's own state_dict, or its
        iterator's, is used where it has one; others are read again up to the place, unseen.
        """
        if self._resume is not None:
            return self._resume
        if self.num_workers and not self.in_order:
            raise ArgumentError("DataLoader.state_dict: in_order=False has no place in the order to come back to")
        if self._progress is None:
            return {"version": STATE_VERSION, "begun": False,
                    "generators": generators.own_states(generators.of(self))}
        return {"version": STATE_VERSION, "begun": True, **self._progress}

    def load_state_dict(self, state):
        """The next loop goes on where `state` was taken. ArgumentError when it does not fit this loader."""
        if state.get("version") != STATE_VERSION:
            raise ArgumentError(f"state: version {state.get('version')!r}, expected {STATE_VERSION}")
        if len(state["generators"]) != len(generators.of(self)):
            raise ArgumentError(f"state: {len(state['generators'])} generator(s), but this loader has "
                                f"{len(generators.of(self))}")
        streams = state.get("streams")
        if state["begun"] and (streams is not None) != (self._dataset_kind == _DatasetKind.Iterable):
            raise ArgumentError("state: of an iterable dataset, but the loader's is map-style, or the other way round")
        if streams is not None and len(streams["workers"]) != max(1, self.num_workers):
            raise ArgumentError(f"state: {len(streams['workers'])} worker(s) of an iterable dataset, but this loader "
                                f"has {max(1, self.num_workers)}")
        self._resume = state

    # --- for copies -------------------------------------------------------------------------------------------------

    def __getstate__(self):
        return {key: value for key, value in self.__dict__.items() if key not in ("_home", "_progress", "_resume")}

    def __setstate__(self, state):
        self.__dict__.update(state, _home=_Home(), _progress=None, _resume=None)

    # --- for the iterator -------------------------------------------------------------------------------------------

    def _job(self):
        return tasks.Job(dataset=self.dataset, collate_fn=self.collate_fn, worker_init_fn=self.worker_init_fn,
                         iterable=self._dataset_kind == _DatasetKind.Iterable, auto_collation=self._auto_collation,
                         drop_last=self.drop_last, batch_size=self.batch_size, by_index=self._by_index)

    def _new_pool(self):
        iterable = self._dataset_kind == _DatasetKind.Iterable
        free = not getattr(sys, "_is_gil_enabled", lambda: True)()
        if self.workers == "threads" or self.workers is None and free and not iterable:
            return threads.ThreadPool(self.num_workers)
        from unstarve.workers.processes import HelperPool

        return HelperPool(self.num_workers, iterable)


class _Home:
    """Where a loader's workers stay between loops: at most one idle pool. The loader's end ends it."""

    def __init__(self):
        self._lock = threading.RLock()
        self._idle = [None]
        self._closed = False
        self._finalizer = weakref.finalize(self, _close_idle, self._idle)

    def take(self):
        with self._lock:
            pool, self._idle[0] = self._idle[0], None
            return pool

    def give(self, pool):
        with self._lock:
            if not self._closed and self._idle[0] is None:
                self._idle[0] = pool
                return
        pool.close()

    def close(self):
        self._closed = True
        self._finalizer()


def _close_idle(idle):
    if idle[0] is not None:
        idle[0].close()


class _Inline:
    """num_workers=0: batches are made where they are taken. The calls of HelperPool."""

    def __init__(self):
        self._batches = {}

    def begin(self, job, _base_seed, sample_seed, _fresh, resume=None):
        self._job, self._batches = job, {}
        if job.iterable:
            self._stream = tasks.Stream(job, resume and resume[0])
        else:
            # torch leaves the caller's generators alone here; a loader that seeds by index puts them back.
            self._fetcher = tasks.Fetcher(job, sample_seed, seeded=job.by_index)
        return True

    def submit(self, serial, index, position, worker=None):
        self._batches[serial] = Batch(serial, index, position, worker)

    def take(self, serial, _timeout=None):
        return self._batches.pop(serial)

    def value(self, batch):
        if self._job.iterable:
            try:
                return self._stream.next(batch.index), copy.deepcopy(self._stream.state())
            except StopIteration:
                return None
        if not self._job.by_index:
            return self._fetcher.whole(batch.index, batch.position)
        with tasks.kept_generators():
            return self._fetcher.whole(batch.index, batch.position)

    def forget(self):
        self._batches = {}

    def close(self):
        pass


class _Iterator:
    """One epoch of a loader. Its end, or the end of the last reference to it, gives the workers back."""

    def __init__(self, loader, resume):
        self._pool = None
        if loader.num_workers == 0 and loader.timeout != 0:
            raise AssertionError("DataLoader: num_workers=0 requires timeout == 0")
        self._dataset = loader.dataset
        self._iterable = loader._dataset_kind == _DatasetKind.Iterable
        self._sampler = loader._index_sampler
        self._auto_collation = loader._auto_collation
        self._batch_size = loader.batch_size
        self._workers = loader.num_workers
        self._ahead = loader.prefetch_factor * loader.num_workers if loader.num_workers else 0
        self._timeout = loader.timeout or None
        self._in_order = loader.in_order
        self._loader_length = loader._IterableDataset_len_called
        self._pin_device = _pin_device(loader)
        self._home = loader._home
        self._generators = generators.of(loader)
        self._num_yielded = 0
        self._submitted = self._next = 0  # serial numbers
        self._position = 0  # of the next sample to be submitted

        if resume is not None and (not resume["begun"] or resume["finished"]):
            generators.set_own_states(self._generators, resume["generators"])
            loader._rounds = resume["round"] + 1 if resume["begun"] else 0
            loader._epoch_base_seed = resume["base_seed"] if resume["begun"] else None
            resume = None
        base_seed = self._begin_order(loader, resume)
        persistent = loader.persistent_workers
        round_ = resume["round"] if resume else loader._rounds
        loader._rounds = round_ + 1
        self._progress["round"] = round_
        loader._progress = self._progress
        self._begin_workers(loader, base_seed, base_seed + _ROUND * round_ if persistent else base_seed,
                            not persistent, resume)

    # --- the beginning ----------------------------------------------------------------------------------------------

    def _begin_order(self, loader, resume):
        """Sets the iterator of indices; draws from the generators exactly what torch draws. The base seed."""
        sampler = loader._index_sampler
        stateful = next((holder for holder in (loader.batch_sampler, loader.sampler)
                         if hasattr(holder, "state_dict") and hasattr(holder, "load_state_dict")), None)
        if resume is not None and stateful is not None and resume["sampler"] is not None:
            stateful.load_state_dict(resume["sampler"])
        self._progress = progress = {
            "finished": False, "yielded": 0, "sampler": stateful.state_dict() if stateful else None,
            "generators": None, "global": None, "base_seed": None, "round": 0, "streams": None}
        with generators.replayed(self._generators, resume):
            progress["generators"] = generators.own_states(self._generators)
            progress["global"] = generators.global_states()
            self._indices = iter(sampler)
            base_seed = loader._epoch_base_seed
            if resume is not None:
                base_seed = resume["base_seed"] if resume["round"] else None
            if base_seed is None or not loader.persistent_workers:
                base_seed = torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item()
                if self._workers:
                    # torch's multi-process iterator makes its sampler's iterator twice: samplers that draw or count
                    # there are the same only so.
                    self._indices = iter(sampler)
            if resume is not None:
                base_seed = resume["base_seed"]
                if not self._iterable:
                    self._skip(resume["yielded"])
        loader._epoch_base_seed = base_seed
        progress["base_seed"] = base_seed
        return base_seed

    def _skip(self, batches):
        for number in range(batches):
            index = next(self._indices, None)
            if index is None:
                raise ArgumentError(f"state: {batches} batches into the epoch, but the sampler gives only {number}")
            self._position += self._samples(index)
        # What comes next is drawn while the generators are those of the epoch's beginning.
        self._indices = itertools.chain(list(itertools.islice(self._indices, 1)), self._indices)
        self._submitted = self._next = self._num_yielded = self._progress["yielded"] = batches

    def _samples(self, index):
        return len(index) if self._auto_collation and hasattr(index, "__len__") else 1

    def _begin_workers(self, loader, base_seed, sample_seed, fresh, resume):
        points = None
        if self._iterable:
            streams = resume["streams"] if resume else {
                "turn": 0, "workers": [{"state": None, "given": 0, "ended": False}] * max(1, self._workers)}
            self._streams = [dict(worker) for worker in streams["workers"]]
            self._turn = streams["turn"]
            self._keep_streams()
            self._num_yielded = self._progress["yielded"] = resume["yielded"] if resume else 0
            if resume:
                points = [(worker["state"], worker["given"]) for worker in self._streams]
        job = loader._job()
        if self._workers == 0:
            self._pool = _Inline()
            self._pool.begin(job, base_seed, sample_seed, fresh, points)
        else:
            loader.check_worker_number_rationality()
            pool = self._home.take()
            # A resume point is for workers that have not begun.
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
        self._pinner = self._pinned = None
        if self._pin_device is not None and self._workers:
            index = torch.accelerator.current_device_index()
            self._pinner = ThreadPoolExecutor(1, "unstarve-pin", torch.accelerator.set_device_index, (index,))
            self._pinned = {}
        if self._iterable:
            first = self._turn
            for _ in range(self._ahead // max(1, self._workers)):
                for offset in range(self._workers):
                    self._submit_stream((first + offset) % self._workers)
        else:
            for _ in range(self._ahead):
                self._submit()

    # --- going on ---------------------------------------------------------------------------------------------------

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._sampler)

    def __next__(self):
        with torch.autograd.profiler.record_function("enumerate(DataLoader)#unstarve.__next__"):
            if self._pool is None:
                raise StopIteration
            return self._next_stream() if self._iterable else self._next_batch()

    def _submit(self):
        for index in self._indices:
            self._request(index, self._position)
            self._position += self._samples(index)
            return

    def _submit_stream(self, worker):
        if not self._streams[worker]["ended"]:
            self._request(self._batch_size, 0, worker)

    def _request(self, index, position, worker=None):
        serial = self._submitted
        self._submitted += 1
        self._pool.submit(serial, index, position, worker)
        if self._pinner is not None:
            asked = serial if self._in_order else None
            self._pinned[serial] = self._pinner.submit(self._made, self._pool, asked, None, self._pin_device,
                                                       self._iterable)

    @staticmethod
    def _made(pool, serial, timeout, pin_device, iterable):
        """(batch, its value or None, its error or None), pinned; None after `timeout` seconds."""
        batch = pool.take(serial, timeout)
        if batch is None:
            return None
        try:
            value = pool.value(batch)
            if pin_device is not None and value is not None:
                pin = _utils.pin_memory.pin_memory
                value = (pin(value[0], pin_device), value[1]) if iterable else pin(value, pin_device)
            return batch, value, None
        except Exception as error:
            return batch, None, error

    def _get(self, serial):
        """As _made() of batch `serial`, which is past then. RuntimeError after the loader's timeout, or at a death."""
        if self._pinner is None:
            asked = serial if self._in_order or not self._workers else None
            made = self._made(self._pool, asked, self._timeout, self._pin_device, self._iterable)
        else:
            try:
                made = self._pinned[serial].result(self._timeout)
            except FutureTimeoutError:
                made = None
            else:
                del self._pinned[serial]
        if made is None:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        self._next = serial + 1
        return made

    def _next_batch(self):
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

    def _next_stream(self):
        while True:
            if self._workers == 0:
                self._submit_stream(0)
            if self._next == self._submitted:
                self._finish()
                raise StopIteration
            batch, value, error = self._get(self._next)
            stream = self._streams[batch.worker]
            if error is None and value is None:
                stream["ended"] = True
                self._keep_streams()
                continue
            if self._workers:
                self._submit_stream(batch.worker)
            if error is not None:
                raise error
            data, stream["state"] = value
            stream["given"] += 1
            self._turn = (batch.worker + 1) % len(self._streams)
            self._keep_streams()
            self._num_yielded += 1
            self._progress["yielded"] = self._num_yielded
            if self._loader_length is not None and self._num_yielded > self._loader_length:
                self._warn_of_length()
            return data

    def _keep_streams(self):
        self._progress["streams"] = {"turn": self._turn, "workers": [dict(stream) for stream in self._streams]}

    def _warn_of_length(self):
        message = (f"Length of IterableDataset {self._dataset} was reported to be {self._loader_length}"
                   f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. ")
        if self._workers:
            message += ("For multiprocessing data-loading, this could be caused by not properly configuring the "
                        "IterableDataset replica at each worker. Please see "
                        "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples.")
        warnings.warn(message, stacklevel=4)

    # --- the end ----------------------------------------------------------------------------------------------------

    def _finish(self):
        self._progress["finished"] = True
        self._progress["generators"] = generators.own_states(self._generators)
        self._leave()

    def _leave(self):
        pool, self._pool = self._pool, None
        if pool is None:
            return
        pool.forget()
        if self._pinner is not None:
            self._pinner.shutdown(cancel_futures=True)
            self._pinned.clear()
        if self._workers:
            self._home.give(pool)

    def __del__(self):
        if not sys.is_finalizing():
            self._leave()

    def __getstate__(self):
        raise NotImplementedError("an iterator of unstarve.DataLoader cannot be pickled")


def _pin_device(loader):
    """The type of the accelerator for which batches are page-locked, or None; warns as torch does."""
    if not loader.pin_memory:
        return None
    if loader.pin_memory_device:
        warnings.warn("pin_memory_device is deprecated, the current accelerator will be used as the device,"
                      f"ignore pin_memory_device='{loader.pin_memory_device}'.", stacklevel=4)
    if not torch.accelerator.is_available():
        warnings.warn("'pin_memory' argument is set as true but no accelerator is found, "
                      "then device pinned memory won't be used.", stacklevel=4)
        return None
    device = torch.accelerator.current_accelerator().type
    if device == "mps":
        warnings.warn("'pin_memory' argument is set as true but not supported on MPS now, "
                      "device pinned memory won't be used.", stacklevel=4)
        return None
    return device
