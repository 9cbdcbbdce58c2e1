"""The batches of any iterable, one pass after another, and the position among them."""

from __future__ import annotations

import base64
import copy
import io
import json
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from typing import Any

import numpy as np

from unstarve.optional_packages import require_package

with require_package("torch", "Trainer"):
    import torch

from unstarve import notices
from unstarve.arguments import check_normalisation
from unstarve.dataloader import DataLoader
from unstarve.errors import ArgumentError, InputError
from unstarve.loaders.engine import Normalisation
from unstarve.loaders.framework_loader import FrameworkLoader
from unstarve.training.reader import BatchReader, Described
from unstarve.workers.seeding import mix

_END = object()
_STATE_VERSION = 1
_UNREADABLE = (RuntimeError, ValueError, pickle.UnpicklingError)
_READABLE = "numbers, text, tensors and NumPy arrays"
_IDENTITY: Normalisation = ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


def batches_per_epoch(loader: Any) -> int | None:
    """Returns the length of a loader, or None if it has none."""
    try:
        return len(loader)
    except TypeError:
        return None


def class_count(loader: Any) -> int | None:
    """Returns the number of classes of a loader or of its dataset, or None if neither has `classes`."""
    for owner in (loader, getattr(loader, "dataset", None)):
        classes = getattr(owner, "classes", None)
        if isinstance(classes, Sized) and len(classes) > 0:
            return len(classes)
    return None


class Batches:
    """The batches of a loader, one pass after another.

    Args:
        loader: Any iterable of (images, labels).
        endless: Whether the end of a pass begins the next one, for training. Otherwise there is one pass, without the
            copies that fill up batches (Pipeline.batch).
        pinned: Whether page-locked memory is recognised.
        normalize: (mean, std) of uint8 pixels; None: they are only scaled.
        seed: torch's generator of the CPU, from which the loader may draw, is seeded with this number and the number
            of the batch; None: it is not seeded.

    Raises:
        ArgumentError: `normalize` is invalid, or this loader of the package has images of another dtype.
    """

    def __init__(self, loader: Iterable[Any], *, endless: bool, pinned: bool = False,
                 normalize: Normalisation | None = None, seed: int | None = None) -> None:
        self._loader = loader
        self._seed = seed
        self._endless = endless
        given = _IDENTITY if normalize is None else check_normalisation(normalize)
        self.normalisation: Normalisation = (tuple(given[0]), tuple(given[1]))
        self._reader = BatchReader(loader, pinned=pinned, only_uint8=normalize is not None, omit_copies=not endless)
        self._iterator: Iterator[Any] | None = None
        self._per_epoch = batches_per_epoch(loader)
        self._passed = 0  # batches since the beginning of the run, if all had the present size
        self._epoch = 0  # of the next pass: the number of those begun
        self._empty = False  # the last pass had no batch
        self._readable = False  # a state of the loader was read
        self._restored = False  # the next pass is the rest of one before a resume

    # --- for the training loop --------------------------------------------------------------------------------------

    def next(self) -> Described | None:
        """Returns the next batch; None at the end."""
        while (batch := self._take()) is not None:
            self._passed += 1
            described = self._reader.read(batch)
            if described is not None:
                return described
        return None

    def position(self) -> Callable[[], str]:
        """Returns the position after the last batch, as a function that encodes it for a checkpoint.

        The function may be called after further batches. It raises ArgumentError if the first encoded state of the
        loader could not be read by resume().
        """
        epochs = self._passed / self._per_epoch if self._per_epoch else None
        state_dict = getattr(self._loader, "state_dict", None)
        encoded = (lambda: None) if state_dict is None else self._encoding(state_dict())
        # A pass that was resumed and not continued yet has begun.
        begun = self._epoch + (1 if self._restored and not self._per_epoch else 0)
        return lambda: self._text({"version": _STATE_VERSION, "epochs": epochs, "begun": begun, "loader": encoded()})

    def _encoding(self, state: Any) -> Callable[[], Any]:
        """Returns a function that encodes a state of the loader, also after further batches."""
        if getattr(type(self._loader), "state_dict", None) is DataLoader.state_dict and state["streams"] is None:
            return lambda: _encoded(state)  # new objects, with the states of generators, whose copies are slow
        try:
            copied = copy.deepcopy(state)
        except Exception:  # of any kind: objects of users, and tensors with a history
            text = _encoded(state)
            return lambda: text
        return lambda: _encoded(copied)

    def _text(self, position: dict[str, Any]) -> str:
        if not self._readable:
            try:
                _decoded(position["loader"])
            except _UNREADABLE as error:
                raise ArgumentError(f"Trainer(loader): state_dict() of {type(self._loader).__name__} returned a state "
                                    f"that could not be read from a checkpoint: {_reason(error)}; expected "
                                    f"{_READABLE}") from error
            self._readable = True
        return json.dumps(position)

    # --- resuming ---------------------------------------------------------------------------------------------------

    def resume(self, step: int, text: str, origin: str) -> int:
        """Continues from a state.

        A loader with load_state_dict() continues with the next batch, any other with a new epoch, after a warning: also
        at the end of an epoch, because the order of its batches may depend on the epochs before.

        Args:
            step: Number of steps before.
            text: A result of the function that position() returned, or "".
            origin: Name of the checkpoint, for messages.

        Returns:
            The number of batches before, if all had the present size.

        Raises:
            ArgumentError: The state is of other data or another order; the message names the checkpoint.
        """
        try:
            state = json.loads(text) if text else {}
        except ValueError:
            state = {}
        own = isinstance(state, dict) and state.get("version") == _STATE_VERSION and "epochs" in state
        if own and state["epochs"] is not None and self._per_epoch:
            self._passed = round(state["epochs"] * self._per_epoch)
        else:
            self._passed = step
        per_epoch = self._per_epoch or 0
        begun = state.get("begun", 0) if own else 0
        load = getattr(self._loader, "load_state_dict", None)
        if own and state["loader"] is not None and load is not None:
            try:
                restored = _decoded(state["loader"])
            except _UNREADABLE as error:
                raise InputError(f"resume from {origin}: the state of the loader cannot be read: {_reason(error)}; "
                                 f"expected {_READABLE}") from error
            try:
                load(restored)
            except ArgumentError as error:
                raise ArgumentError(f"resume from {origin}: {error}. Continue with the data, seed, filters and order "
                                    "of the original run") from error
            self._epoch = self._passed // per_epoch if per_epoch else max(begun - 1, 0)
            self._restored = True
        elif step > 0:
            notices.warn(f"resume from {origin}: the loader has no resume position (state_dict and load_state_dict): "
                         "training continues with a new epoch of the data, whose order may differ from that of an "
                         "uninterrupted run")
            self._epoch = -(-self._passed // per_epoch) if per_epoch else begun
        return self._passed

    # --- reading ----------------------------------------------------------------------------------------------------

    def _take(self) -> Any:
        while True:
            fresh, restored = self._iterator is None, self._restored
            self._seed_generator()
            if self._iterator is None:
                self._iterator = self._new_pass()
                if restored:
                    self._seed_generator()  # as for the same batch of a pass that began earlier
            self._restored = False
            batch = next(self._iterator, _END)
            if batch is not _END:
                self._empty = False
                return batch
            self._iterator = None
            if restored and self._per_epoch:
                self._epoch -= 1  # the position was the end of an epoch, which was counted
            if not self._endless:
                return None
            if fresh and self._empty:
                raise InputError(f"Trainer(loader): found no batch in a pass over {type(self._loader).__name__}; "
                                 "expected an iterable whose every pass has batches, such as a DataLoader; not a "
                                 "generator, which has one pass")
            self._empty = fresh

    def _seed_generator(self) -> None:
        """Seeds torch's generator for the next batch, or the pass that begins with it."""
        if self._seed is not None:
            torch.default_generator.manual_seed(mix(self._seed, self._passed) >> 1)

    def _new_pass(self) -> Iterator[Any]:
        for sampler in _samplers(self._loader):
            sampler.set_epoch(self._epoch)
        self._epoch += 1
        return iter(self._loader)


def _samplers(loader: Any) -> list[Any]:
    """Returns the samplers of a loader that have set_epoch(), such as a DistributedSampler, also in a batch_sampler."""
    if isinstance(loader, FrameworkLoader):  # its batch_sampler would begin the epoch again after a resume
        return []
    of_batches = getattr(loader, "batch_sampler", None)
    found = (getattr(loader, "sampler", None), of_batches, getattr(of_batches, "sampler", None))
    return [*{id(sampler): sampler for sampler in found if hasattr(sampler, "set_epoch")}.values()]


def _encoded(state: Any) -> Any:
    """Returns a state as JSON can represent it: itself, or {"torch": the bytes of torch.save()}."""
    try:
        if json.loads(json.dumps(state, allow_nan=False)) == state:
            return state
    except (TypeError, ValueError, RuntimeError):
        pass
    file = io.BytesIO()
    torch.save(state, file)
    return {"torch": base64.b64encode(file.getvalue()).decode()}


def _decoded(state: Any) -> Any:
    """Returns the state of which `state` is the result of _encoded(). Raises one of _UNREADABLE."""
    if not isinstance(state, Mapping) or state.keys() != {"torch"}:
        return state
    with torch.serialization.safe_globals(_array_globals()):
        return torch.load(io.BytesIO(base64.b64decode(state["torch"])), weights_only=True)


def _array_globals() -> list[Any]:
    """Returns the functions and classes of which torch.load() makes NumPy arrays and numbers."""
    dtypes = {type(np.dtype(code)) for code in np.typecodes["All"] if code not in "OV"}
    return [np.zeros(0).__reduce__()[0], np.float64(0).__reduce__()[0], np.ndarray, np.dtype, *dtypes]


def _reason(error: Exception) -> str:
    """Returns the message of an error of _decoded(), without torch's advice."""
    found = re.search(r"GLOBAL (\S+)", str(error))
    return f"found {found[1]}" if found else str(error).partition("\n")[0]
