"""Iteration, lifetime and checkpoints of a loader; its batches are NumPy arrays.

Batches are the same in every run in exact order: order and augmentation are functions of (seed, epoch, sample), not of
threads or timing. One process with threads produces them, except for functions of the user (unstarve.mapped_loader).
The threads continue from one epoch into the next, so epochs begin without a pause.
"""

from __future__ import annotations

import atexit
import json
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from unstarve import _core, notices
from unstarve.arguments import MAX_EPOCH, check_int
from unstarve.errors import CancelledError, Error
from unstarve.loaders import run_state
from unstarve.loaders.batch_form import BatchForm
from unstarve.loaders.conversions import LoaderConversions
from unstarve.loaders.copies import Copies
from unstarve.loaders.description import LoaderDescription
from unstarve.loaders.device_part import DevicePart
from unstarve.loaders.engine import Batch, Engine
from unstarve.loaders.engines import Engines
from unstarve.loaders.representation import Rows, as_html, as_text, counted, images_of, steps_of
from unstarve.loaders.run import LoaderRun
from unstarve.spec_json import spec_json
from unstarve.steps import PipelineSteps
from unstarve.suggestions import suggesting_methods, suggestion
from unstarve.user_code.user_code import UserCode

LOOP_ENDED = ("this loop over the loader was ended by a newer loop over the same loader, or by close(); expected one "
               "loop at a time. Create another loader by batch() for a second loop.")
_PIPELINE_METHODS = ("batch", "read", "location")  # of Pipeline, in addition to the steps
_DATALOADER_ATTRIBUTES = ("dataset", "batch_sampler", "sampler", "collate_fn")

# Loaders whose threads call Python: they must stop before the interpreter exits.
_calling_python: weakref.WeakSet[BaseLoader] = weakref.WeakSet()


@atexit.register
def _close_loaders() -> None:
    for loader in list(_calling_python):
        loader.close()


@suggesting_methods
class BaseLoader(LoaderDescription, LoaderConversions):
    """unstarve.Loader without the conversions to frameworks."""

    _mapped = False  # whether map() makes the samples

    def __init__(self, spec: dict[str, Any], dataset: _core.Dataset, chosen: _core.SampleSet | None = None,
                 users: UserCode | None = None) -> None:
        self._spec = spec_json(spec)
        self._dataset = dataset
        self._users = UserCode.of_spec(spec) if users is None else users
        self._form = BatchForm.of_spec(spec, self._spec)
        # The samples that take part.
        self._chosen = self._users.choose(self._spec, dataset) if chosen is None else chosen
        if chosen is None:
            _core.check_samples(self._spec, dataset, self._chosen, self._mapped)
            notices.warn_pending()
        self._run = LoaderRun(spec, _core.epoch_of(self._spec, self._chosen), self._new_state())
        self._copies = Copies()
        self._device_part = DevicePart()
        self._engines = Engines()
        self._iteration = 0  # number of the newest iterator
        if self._users.has_python_sources:
            _calling_python.add(self)

    def _new_state(self) -> _core.RunState:
        return _core.RunState(self._spec, self._chosen, self._dataset)

    def __len__(self) -> int:
        """Batches per epoch of this rank, including those that errors("skip") may omit."""
        return self._run.batches

    def _rows(self) -> Rows:
        """Returns the description of repr()."""
        spec = json.loads(self._spec)
        rows = [("data", f"{self._dataset.format}, {counted(self.samples, 'sample', 'samples')}"),
                ("batches", f"{counted(len(self), 'batch', 'batches')} of {self._run.batch_size}")]
        if not self._mapped:  # the shapes of map() would require a call of its functions
            try:
                image, label = self.shapes
                rows.append(("images", f"images {images_of(self._form.dtype, image)}"))
                rows.append(("labels", f"labels {images_of(self.label_dtype, label)}" if label else "labels int64"))
            except Error:
                rows.append(("images", f"images {self._form.dtype}"))
        own = ["weights(array)"] if self._users.weights is not None else []
        own += [f"map({function.name})" for function in self._users.functions]
        return [*rows, ("steps", ", ".join([steps_of(spec, self._users.predicate_names()), *own]))]

    def __repr__(self) -> str:
        return as_text("Loader", self._rows())

    def _repr_html_(self) -> str:
        return as_html("Loader", self._rows())

    def __reduce__(self) -> NoReturn:
        raise TypeError("copy or pickle: found a Loader, which holds threads and memory; expected one loader per "
                        "process. Repeat the steps there, or use un.from_yaml(loader.to_yaml()).")

    if not TYPE_CHECKING:
        def __getattr__(self, name):
            if name in _PIPELINE_METHODS or not name.startswith("_") and hasattr(PipelineSteps, name):
                raise AttributeError(f"{name}(): found on a Loader; expected on a Pipeline. Call it before batch().",
                                     name=name, obj=self)
            if name in _DATALOADER_ATTRIBUTES:
                raise AttributeError(f"{name}: found on a Loader of NumPy arrays; expected on the loader that "
                                     "to_torch() returns", name=name, obj=self)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}"
                                 + suggestion(name, dir(type(self))), name=name, obj=self)

    @property
    def epoch(self) -> int:
        """Epoch of the next batch."""
        return self._run.position[0]

    def set_epoch(self, epoch: int, batch: int = 0) -> None:
        """Sets the position of the next loop.

        Args:
            epoch: Epoch to run, 0 or more.
            batch: Index of its first batch.

        Raises:
            ArgumentError: The epoch has no such batch, or `batch` is not 0 with order="relaxed", where only a state
                dict knows which samples were used.
        """
        self._run.set_epoch(check_int("set_epoch(epoch)", epoch, 0, MAX_EPOCH), check_int("set_epoch(batch)", batch, 0))

    # --- iteration --------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Batch]:
        for images, labels, _, *more in self.batches():
            yield images, labels, *more
            del images, labels, more  # as in batches()

    def batches(self) -> Iterator[Batch]:
        """Iterates over one epoch with the ids of the samples.

        Yields:
            (images, labels, ids, ...): as in iteration, with ids uint64 of shape (batch,).

        Raises:
            CancelledError: close() or a newer loop ended this loop.
            Error: A batch failed. All good batches before it are yielded first.
        """
        self._iteration += 1
        iteration = self._iteration
        self._run.begin_loop()
        while True:
            if iteration != self._iteration:
                raise CancelledError(LOOP_ENDED)
            engine = self._engine_at_position()
            try:
                batch = engine.next() if iteration == self._iteration else None
                notices.warn_pending()
            except BaseException:
                self._engines.position = None  # unknown: the next loop starts another engine
                raise
            if batch is None:
                self._stop()
                raise CancelledError("the loader was closed during iteration")
            images, labels, ids, sizes, valid, epoch, index, last = batch
            del engine  # a paused loop must not keep a closed engine alive
            self._engines.position = self._run.receive(epoch, index, last, self._engines.running is not None)
            if last:
                self._copies.finish_epoch()
            if len(ids) == 0:
                return  # all samples of the last batch are bad
            more: list[npt.NDArray[Any]] = [] if sizes is None else [sizes]
            if self._form.parts[-1] == "valid":
                more.append(np.arange(len(ids)) < valid)
            yield images, labels, ids, *more
            if last:
                return
            # Releases the batch before the next one is requested, if the consumer has released it too.
            del batch, images, labels, ids, sizes, more

    def _engine_at_position(self) -> Engine:
        """Returns the running engine, or a new one if it is not at the resume position."""
        engine = self._engines.at(self._run.position)
        if engine is None:
            self._stop()
            engine = self._engines.begin(self._start(), self._run.position)
        return engine

    def _start(self) -> Engine:
        """Returns a new engine at the resume position; its threads begin to read."""
        part = self._device_part
        options = _core.LoaderOptions(self._run.position, self._chosen, self._run.stretches, part.device_bytes,
                                      part.decode)
        return _core.Loader(self._spec, self._dataset, options, part.allocate)

    def close(self) -> None:
        """Stops the threads and frees the memory. The end of a `with` block does the same; iterating restarts.

        May be called from another thread: a loop that waits for a batch then raises CancelledError.
        """
        self._iteration += 1
        self._stop()

    def _stop(self) -> None:
        engine = self._engines.stop()
        if engine is not None:
            self._run.keep_progress(engine)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- checkpoints ------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Returns the resume position after the last batch received, a small dict that JSON can represent.

        Loaders with any number of threads and ranks and any batch size can load it: together they load the rest of the
        epoch. With order="relaxed" the value "window" has one bit per sample up to the last one that bypassed another:
        up to 4096, or the samples of the batches in flight. Each of several ranks then knows its own part only.
        """
        return self._run.state_dict(self._engines.running)

    def load_state_dict(self, state_dict: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
        """Continues the run from a state in the next loop.

        The location of the data may differ. Buckets remain those of the run that saved the state, so that each sample
        occurs once; batches of another size may then cross bucket borders. The weights of a mixture may differ: the new
        ones apply from the end of the current block of samples (see `explain` for its length), and every source
        continues where it stopped. A state of more than 8 sources does not contain earlier weights; pass them to
        `un.mix(earlier=)`.

        Args:
            state_dict: A result of state_dict(). With order="relaxed" and several ranks, the list of the states of all
                ranks (torch.distributed.all_gather_object collects them).

        Raises:
            ArgumentError: The state is of another dataset or order; the message names the difference.
        """
        states = run_state.as_list(state_dict)
        position, stretches, bucket_run = run_state.from_dicts(self._run.state, states)
        if bucket_run:  # the samples of the epoch are in the buckets of the run that began it
            self._stop()
            spec = json.loads(self._spec)
            spec["batch"]["bucket"]["run"] = bucket_run
            self._spec = spec_json(spec)
            self._run.state = self._new_state()
        if stretches != self._run.stretches:
            self._stop()
        self._run.continue_at(position, stretches)

    def _continue_with(self, spec: dict[str, Any], device_part: DevicePart) -> Self:
        result = type(self)(spec, self._dataset, self._chosen, self._users)
        result._run.continue_from(self._run, self._engines.running)
        result._copies = self._copies.copied(self._run.position)
        result._device_part = device_part
        return result

    def _warn_if_repeated(self, call: str) -> None:
        """Warns if an earlier copy has already run the epoch that another copy would begin with."""
        if json.loads(self._spec).get("order", {}).get("shuffle", True):
            self._copies.warn_if_repeated(call, self._run.position)
