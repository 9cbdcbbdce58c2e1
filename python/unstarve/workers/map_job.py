"""The job of a pipeline with map(): the library makes samples, then the functions are applied, then they are stacked.

The index of a sample is (id, draw). A bad sample is a value, not an exception: the worker applies the policy of
`errors`, and the consumer counts.
"""

from __future__ import annotations

import dataclasses
import inspect
import threading
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from unstarve import _core
from unstarve.errors import ArgumentError, Error, InputError
from unstarve.user_code.functions import Function
from unstarve.user_code.sources import Source, concatenate
from unstarve.workers import job_pickling
from unstarve.workers.exceptions import ExceptionWrapper
from unstarve.workers.seeding import mix, seed_sample

_NON_NUMERIC = "OSUmMV"  # kinds of NumPy dtypes that a batch cannot have


@dataclasses.dataclass
class BadRecord:
    """A bad sample. `error` is the exception of a function or of the library."""

    id: int
    location: str
    reason: str
    error: ExceptionWrapper | Error

    def reraise(self) -> None:
        """Raises the error."""
        if isinstance(self.error, ExceptionWrapper):
            self.error.reraise()
        else:
            raise self.error


@dataclasses.dataclass
class MappedSample:
    """A sample, or None if it is omitted. `ns`: nanoseconds of the library and of the functions."""

    id: int
    image: npt.NDArray[Any] | None
    label: npt.NDArray[Any] | None
    bad: list[BadRecord]
    ns: tuple[int, int]


@dataclasses.dataclass
class MappedBatch:
    """A batch. It has no arrays if `failure` is set, or if all samples were omitted."""

    images: npt.NDArray[Any] | None
    labels: npt.NDArray[Any] | None
    ids: npt.NDArray[np.uint64]
    bad: list[BadRecord]
    ns: tuple[int, int]
    tried: int
    failure: BadRecord | None = None


@dataclasses.dataclass
class MapJob:
    """A job.Job of a pipeline. `dataset` is that of the consumer; worker processes open their own."""

    spec: str
    seed: int
    policy: str  # of errors()
    sources: tuple[Source, ...]
    chosen: _core.SampleSet
    functions: tuple[Function, ...]
    dataset: _core.Dataset | None
    size: int  # of the dataset in the consumer
    iterable = False
    by_index = True
    splits = True

    def __post_init__(self) -> None:
        self._opening = threading.Lock()
        self._reader: _core.SampleReader | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)} | {"dataset": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def enter(self, worker: int, workers: int, base_seed: int, in_thread: bool) -> None:
        """Opens the data."""
        self.reader()

    def leave(self) -> None:
        """Does nothing: the next job shares no state."""

    def reader(self) -> _core.SampleReader:
        """Returns the reader of this process."""
        with self._opening:
            if self._reader is None:
                if self.dataset is None:
                    self.dataset = concatenate(self.sources, [source.open() for source in self.sources])
                if len(self.dataset) != self.size:
                    raise InputError(f"{self.sources[0].name}: a worker process found {len(self.dataset)} samples; "
                                     f"expected {self.size}, as when the pipeline was created")
                self._reader = _core.SampleReader(self.spec, self.dataset, self.chosen)
            return self._reader

    def fetcher(self, sample_seed: int, seeded: bool = True) -> MapFetcher:
        """Returns a fetcher. `sample_seed` is ignored: the seed of the pipeline applies."""
        return MapFetcher(self, seeded)

    def stream(self, resume: tuple[Any, int] | None = None) -> Any:
        """Not implemented: samples have indices."""
        raise AssertionError("the samples of a pipeline have indices")


class MapFetcher:
    """See job.Fetcher."""

    def __init__(self, job: MapJob, seeded: bool) -> None:
        self._job, self._reader, self._seeded = job, job.reader(), seeded

    def samples(self, indices: list[tuple[int, int]], position: int = 0) -> list[MappedSample]:
        """Returns the samples up to the first one that fails the run."""
        made: list[MappedSample] = []
        for sample, draw in indices:
            made.append(self._sample(sample, draw))
            if made[-1].image is None and self._job.policy == "fail":
                break
        return made

    def collate(self, samples: list[MappedSample], position: int = 0) -> MappedBatch:
        """Stacks samples, which must have one shape and dtype."""
        bad = [one for made in samples for one in made.bad]
        ns = sum(made.ns[0] for made in samples), sum(made.ns[1] for made in samples)
        good = [made for made in samples if made.image is not None]
        batch = MappedBatch(None, None, np.array([made.id for made in good], np.uint64), bad, ns, len(samples))
        if self._job.policy == "fail" and bad:
            batch.failure = bad[0]
            return batch
        for what in ("image", "label"):
            arrays = [getattr(made, what) for made in good]
            for made, array in zip(good, arrays, strict=True):
                if (array.shape, array.dtype) != (arrays[0].shape, arrays[0].dtype):
                    batch.failure = self._mismatch(made, good[0], what)
                    return batch
            if good:
                setattr(batch, f"{what}s", np.stack(arrays))
        return batch

    def whole(self, index: list[tuple[int, int]], position: int = 0) -> MappedBatch:
        """Returns the batch of a list of (id, draw)."""
        return self.collate(self.samples(index))

    def _mismatch(self, made: MappedSample, first: MappedSample, what: str) -> BadRecord:
        location = self._reader.location(made.id)
        found, other = ((array.dtype, array.shape) for array in (getattr(made, what), getattr(first, what)))
        error = InputError(f"map: the {what} of sample {made.id} ({location}) is {found[0]} {found[1]}, that of sample "
                           f"{first.id} ({self._reader.location(first.id)}) is {other[0]} {other[1]}; expected one "
                           "shape and dtype for all samples")
        return BadRecord(made.id, location, str(error), error)

    def _sample(self, sample: int, draw: int) -> MappedSample:
        bad: list[BadRecord] = []
        first, library, own = sample, 0, 0
        while True:
            begin = between = time.perf_counter_ns()
            location = ""
            try:
                image, label = self._reader.make(sample, draw)
                between = time.perf_counter_ns()
                location = self._reader.location(sample)
                made = self._mapped(sample, draw, image, label, location)
            except Error as error:
                between = between if location else time.perf_counter_ns()
                bad.append(BadRecord(sample, self._reader.location(sample), str(error), error))
            except _FunctionError as raised:
                bad.append(raised.bad)
            else:
                ns = library + between - begin, own + time.perf_counter_ns() - between
                return MappedSample(sample, *made, bad, ns)
            library, own = library + between - begin, own + time.perf_counter_ns() - between
            sample = self._job.chosen.next(sample)
            if self._job.policy != "replace" or sample == first:
                return MappedSample(first, None, None, bad, (library, own))

    def _mapped(self, sample: int, draw: int, image: Any, label: Any, location: str) -> tuple[npt.NDArray[Any],
                                                                                           npt.NDArray[Any]]:
        base = mix(self._job.seed, draw)
        if self._seeded:
            seed_sample(base, sample)
        for function in self._job.functions:
            try:
                made = function(base, sample, image, label)
            except Exception as error:
                caught = ExceptionWrapper(f"in map({function.name}), for sample {sample} ({location})")
                reason = f"{type(error).__name__} in map({function.name}): {error}"
                raise _FunctionError(BadRecord(sample, location, reason, caught)) from None
            if isinstance(made, tuple):
                if len(made) != 2:
                    raise InputError(f"map: {function.name} returned a tuple of {len(made)} for sample {sample} "
                                     f"({location}); expected an image, or (image, label)")
                image, label = made
            else:
                image = made
            image, label = (self._array(value, what, function, sample, location)
                            for value, what in ((image, "image"), (label, "label")))
        return image, label

    @staticmethod
    def _array(value: Any, what: str, function: Function, sample: int, location: str) -> npt.NDArray[Any]:
        try:
            array = np.asarray(value)
        except Exception as error:
            why = f" ({type(error).__name__}: {error})"
        else:
            if array.dtype.kind not in _NON_NUMERIC:
                return array
            why = f" of dtype {array.dtype}"
        raise InputError(f"map: {function.name} returned for sample {sample} ({location}) the {what} "
                         f"{type(value).__name__}{why}; expected an array, a CPU tensor or a number, as image or as "
                         "(image, label)")


class _FunctionError(Exception):
    def __init__(self, bad: BadRecord) -> None:
        super().__init__(bad.reason)
        self.bad = bad


def check_picklable(functions: tuple[Function, ...]) -> None:
    """Raises ArgumentError that names the first function that cannot be sent to worker processes."""
    for function in functions:
        remedy = "Define it at the top level of a module (def or class), or use .options(kind='threads')."
        holder = function.call if inspect.isroutine(function.call) else type(function.call)
        if getattr(holder, "__module__", None) == "__main__" and not job_pickling.main_can_be_imported():
            raise ArgumentError(f"map: {function.name} is defined in a notebook or at a prompt; expected a function "
                                f"that worker processes can import. {remedy}")
        try:
            job_pickling.dump(function)
        except Exception as error:
            raise ArgumentError(f"map: {function.name} cannot be pickled ({type(error).__name__}: {error}); expected "
                                f"a function that can be sent to worker processes. {remedy}") from error
