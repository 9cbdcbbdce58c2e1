"""A job of a pipeline with functions of its user: samples by the library, then the functions, then a batch.

A sample is an index (id, draw). What cannot be used is a value, not an exception: the policy of `errors` decides in the
worker which sample comes instead, and the consumer counts.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from unstarve import _core
from unstarve.errors import Error, InputError
from unstarve.functions import Function
from unstarve.sources import Source, joined
from unstarve.workers.caught import Caught
from unstarve.workers.seeding import mix, seed_sample

_NO_NUMBERS = "OSUmMV"  # kinds of NumPy dtypes that no batch can be of


@dataclasses.dataclass
class Bad:
    """A sample that cannot be used. error: what its function raised, or the library's own, as it is to be raised."""

    id: int
    location: str
    reason: str
    error: Caught | Error

    def reraise(self) -> None:
        """Raises the error."""
        if isinstance(self.error, Caught):
            self.error.reraise()
        else:
            raise self.error


@dataclasses.dataclass
class Made:
    """A sample, or none where it is left out; ns: spent by the library, and by the functions."""

    id: int
    image: npt.NDArray[Any] | None
    label: npt.NDArray[Any] | None
    bad: list[Bad]
    ns: tuple[int, int]


@dataclasses.dataclass
class Batch:
    """failure: what it fails by; there are no arrays then, nor where all samples were left out."""

    images: npt.NDArray[Any] | None
    labels: npt.NDArray[Any] | None
    ids: npt.NDArray[np.uint64]
    bad: list[Bad]
    ns: tuple[int, int]
    tried: int
    failure: Bad | None = None


@dataclasses.dataclass
class ChainJob:
    """See job.Job. dataset: as the consumer has it; helper processes open their own."""

    spec: str
    seed: int
    policy: str  # of errors()
    sources: tuple[Source, ...]
    chosen: _core.SampleSet
    functions: tuple[Function, ...]
    dataset: _core.Dataset | None
    size: int  # of the data set, where the consumer opened it
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
        """Nothing is shared with what comes next."""

    def reader(self) -> _core.SampleReader:
        """The one of this process."""
        with self._opening:
            if self._reader is None:
                if self.dataset is None:
                    self.dataset = joined(self.sources, [source.open() for source in self.sources])
                if len(self.dataset) != self.size:
                    raise InputError(f"{self.sources[0].name}: a helper process found {len(self.dataset)} samples, but "
                                     f"there were {self.size} when the pipeline was made")
                self._reader = _core.SampleReader(self.spec, self.dataset, self.chosen)
            return self._reader

    def fetcher(self, sample_seed: int, seeded: bool = True) -> ChainFetcher:
        """sample_seed is not used: the pipeline's counts."""
        return ChainFetcher(self, seeded)

    def stream(self, resume: tuple[Any, int] | None = None) -> Any:
        """There is none."""
        raise AssertionError("a chain has numbered samples")


class ChainFetcher:
    """See job.Fetcher."""

    def __init__(self, job: ChainJob, seeded: bool) -> None:
        self._job, self._reader, self._seeded = job, job.reader(), seeded

    def samples(self, indices: list[tuple[int, int]], position: int = 0) -> list[Made]:
        """Up to the first that fails the run."""
        made: list[Made] = []
        for sample, draw in indices:
            made.append(self._sample(sample, draw))
            if made[-1].image is None and self._job.policy == "fail":
                break
        return made

    def collate(self, samples: list[Made], position: int = 0) -> Batch:
        """One shape and one dtype for all."""
        bad = [one for made in samples for one in made.bad]
        ns = sum(made.ns[0] for made in samples), sum(made.ns[1] for made in samples)
        good = [made for made in samples if made.image is not None]
        batch = Batch(None, None, np.array([made.id for made in good], np.uint64), bad, ns, len(samples))
        if self._job.policy == "fail" and bad:
            batch.failure = bad[0]
            return batch
        for what in ("image", "label"):
            arrays = [getattr(made, what) for made in good]
            for made, array in zip(good, arrays, strict=True):
                if (array.shape, array.dtype) != (arrays[0].shape, arrays[0].dtype):
                    batch.failure = self._unlike(made, good[0], what)
                    return batch
            if good:
                setattr(batch, f"{what}s", np.stack(arrays))
        return batch

    def whole(self, index: list[tuple[int, int]], position: int = 0) -> Batch:
        """The batch of (id, draw)s."""
        return self.collate(self.samples(index))

    def _unlike(self, made: Made, first: Made, what: str) -> Bad:
        place = self._reader.location(made.id)
        found, other = ((array.dtype, array.shape) for array in (getattr(made, what), getattr(first, what)))
        error = InputError(f"map: the {what} made of sample {made.id} ({place}) is {found[0]} {found[1]}, that of "
                           f"sample {first.id} ({self._reader.location(first.id)}) is {other[0]} {other[1]}; expected "
                           "one shape and dtype for all")
        return Bad(made.id, place, str(error), error)

    def _sample(self, sample: int, draw: int) -> Made:
        bad: list[Bad] = []
        first, library, own = sample, 0, 0
        while True:
            begin = between = time.perf_counter_ns()
            place = ""
            try:
                image, label = self._reader.make(sample, draw)
                between = time.perf_counter_ns()
                place = self._reader.location(sample)
                made = self._mapped(sample, draw, image, label, place)
            except Error as error:
                between = between if place else time.perf_counter_ns()
                bad.append(Bad(sample, self._reader.location(sample), str(error), error))
            except _Raised as raised:
                bad.append(raised.bad)
            else:
                return Made(sample, *made, bad, (library + between - begin, own + time.perf_counter_ns() - between))
            library, own = library + between - begin, own + time.perf_counter_ns() - between
            sample = self._job.chosen.next(sample)
            if self._job.policy != "replace" or sample == first:
                return Made(first, None, None, bad, (library, own))

    def _mapped(self, sample: int, draw: int, image: Any, label: Any, place: str) -> tuple[npt.NDArray[Any],
                                                                                           npt.NDArray[Any]]:
        base = mix(self._job.seed, draw)
        if self._seeded:
            seed_sample(base, sample)
        for function in self._job.functions:
            try:
                made = function(base, sample, image, label)
            except Exception as error:
                caught = Caught(f"in map({function.name}), of sample {sample} ({place})")
                reason = f"{type(error).__name__} in map({function.name}): {error}"
                raise _Raised(Bad(sample, place, reason, caught)) from None
            if isinstance(made, tuple):
                if len(made) != 2:
                    raise InputError(f"map: {function.name} made a tuple of {len(made)} of sample {sample} ({place}), "
                                     "expected an image, or (image, label)")
                image, label = made
            else:
                image = made
            image, label = (self._array(value, what, function, sample, place)
                            for value, what in ((image, "image"), (label, "label")))
        return image, label

    @staticmethod
    def _array(value: Any, what: str, function: Function, sample: int, place: str) -> npt.NDArray[Any]:
        try:
            array = np.asarray(value)
        except Exception as error:
            why = f" ({type(error).__name__}: {error})"
        else:
            if array.dtype.kind not in _NO_NUMBERS:
                return array
            why = f" of dtype {array.dtype}"
        raise InputError(f"map: {function.name} made of sample {sample} ({place}) {what} {type(value).__name__}{why}, "
                         "expected numbers: an array, a tensor on the processor, or a number; given as an image, or as "
                         "(image, label)")


class _Raised(Exception):
    def __init__(self, bad: Bad) -> None:
        super().__init__(bad.reason)
        self.bad = bad
