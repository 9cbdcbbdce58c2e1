"""Batches of any iterable as the training loop reads them: addresses of contiguous host memory, and its owner."""

from __future__ import annotations

import base64
import io
import json
import math
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any, TypeAlias

import numpy as np

from unstarve.optional_packages import require_package

with require_package("torch", "Trainer"):
    import torch

from unstarve import notices
from unstarve.arguments import check_normalisation
from unstarve.errors import ArgumentError, InputError
from unstarve.loaders.base_loader import BaseLoader
from unstarve.loaders.engine import Normalisation
from unstarve.loaders.framework_loader import FrameworkLoader

_CHANNELS = 3
_END = object()
_STATE_VERSION = 1
# The numbers of ElementType (unstarve/ops/store/store_format.h).
_ELEMENT_TYPES = {torch.uint8: 0, torch.float32: 1, torch.bfloat16: 2, torch.float16: 3}
_IDENTITY: Normalisation = ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
# (address of the pixels, element type, whether they are NHWC, height, width, address and number of the labels, address
# and number of the targets, whether the pixels are page-locked, owner of the memory)
Described: TypeAlias = "tuple[int, int, bool, int, int, int, int, int, int, bool, object]"


def batches_per_epoch(loader: Any) -> int | None:
    """Returns the length of a loader, or None if it has none."""
    try:
        return len(loader)
    except TypeError:
        return None


def steps_of(epochs: float, per_epoch: int) -> int:
    """Returns the number of steps of `epochs`, of which the last one may be a part; rounded up, as EpochSteps does."""
    whole = math.floor(epochs)
    rounding = 1e-12 * max(1.0, epochs) * per_epoch  # 0.07 * 100 is a little more than 7
    return whole * per_epoch + math.ceil((epochs - whole) * per_epoch - rounding)


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

    Raises:
        ArgumentError: `normalize` is invalid, or this loader of the package has images of another dtype.
    """

    def __init__(self, loader: Iterable[Any], *, endless: bool, pinned: bool = False,
                 normalize: Normalisation | None = None) -> None:
        self._loader = loader
        self._endless = endless
        self._pinned = pinned
        given = _IDENTITY if normalize is None else check_normalisation(normalize)
        self.normalisation: Normalisation = (tuple(given[0]), tuple(given[1]))
        self._only_uint8 = normalize is not None
        whole = getattr(loader, "_whole", loader)  # of to_torch()
        if isinstance(whole, BaseLoader) and not whole._mapped:
            self._check_dtype(whole.dtype)
        self._nhwc = getattr(loader, "layout", "NCHW") == "NHWC"
        self._bfloat16 = getattr(loader, "dtype", None) == "bfloat16"
        parts = getattr(loader, "parts", ())
        self._valid = parts.index("valid") if not endless and "valid" in parts else None
        self._iterator: Iterator[Any] | None = None
        self._per_epoch = batches_per_epoch(loader)
        self._passed = 0  # batches since the beginning of the run, if all had the present size
        self._epoch = 0  # of the next pass
        self._empty = False  # the last pass had no batch

    # --- for the training loop --------------------------------------------------------------------------------------

    def next(self) -> Described | None:
        """Returns the next batch; None at the end."""
        while (batch := self._take()) is not None:
            self._passed += 1
            described = self._described(batch)
            if described is not None:
                return described
        return None

    def state(self) -> str:
        """Returns the position after the last batch, for checkpoints."""
        epochs = self._passed / self._per_epoch if self._per_epoch else None
        state_dict = getattr(self._loader, "state_dict", None)
        state = None if state_dict is None else _encoded(state_dict())
        return json.dumps({"version": _STATE_VERSION, "epochs": epochs, "loader": state})

    # --- resuming ---------------------------------------------------------------------------------------------------

    def resume(self, step: int, text: str, origin: str) -> int:
        """Continues from a state.

        A loader with load_state_dict() continues with the next batch, any other with a new epoch, after a warning: also
        at the end of an epoch, because the order of its batches may depend on the epochs before.

        Args:
            step: Number of steps before.
            text: A result of state(), or "".
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
        load = getattr(self._loader, "load_state_dict", None)
        if own and state["loader"] is not None and load is not None:
            try:
                load(_decoded(state["loader"], origin))
            except ArgumentError as error:
                raise ArgumentError(f"resume from {origin}: {error}. Continue with the data, seed, filters and order "
                                    "of the original run") from error
            self._epoch = self._passed // per_epoch if per_epoch else 0
        elif step > 0:
            notices.warn(f"resume from {origin}: the loader has no resume position (state_dict and load_state_dict): "
                         "training continues with a new epoch of the data, whose order may differ from that of an "
                         "uninterrupted run")
            self._epoch = -(-self._passed // per_epoch) if per_epoch else 0
        return self._passed

    # --- reading ----------------------------------------------------------------------------------------------------

    def _take(self) -> Any:
        while True:
            fresh = self._iterator is None
            if self._iterator is None:
                self._iterator = self._new_pass()
            batch = next(self._iterator, _END)
            if batch is not _END:
                self._empty = False
                return batch
            self._iterator = None
            if not self._endless:
                return None
            if fresh and self._empty:
                raise InputError(f"Trainer(loader): found no batch in a pass over {type(self._loader).__name__}; "
                                 "expected an iterable whose every pass has batches, such as a DataLoader; not a "
                                 "generator, which has one pass")
            self._empty = fresh

    def _new_pass(self) -> Iterator[Any]:
        for sampler in _samplers(self._loader):
            sampler.set_epoch(self._epoch)
        self._epoch += 1
        return iter(self._loader)

    def _described(self, batch: Any) -> Described | None:
        """Returns a batch; None if all of its samples are copies."""
        if not isinstance(batch, tuple | list) or len(batch) < 2:
            found = f"{type(batch).__name__} of {len(batch)}" if isinstance(batch, Sized) else type(batch).__name__
            raise InputError(f"Trainer: the loader returned a {found}; expected (images, labels)")
        images, labels = self._images(batch[0]), _labels(batch[1])
        if self._valid is not None:
            count = int(batch[self._valid].sum())  # copies follow
            if count == 0:
                return None
            images, labels = images[:count], labels[:count]
        if len(labels) != len(images):
            raise InputError(f"Trainer: the loader returned {len(images)} images and {len(labels)} labels; expected "
                             "one label per image")
        nhwc = not images.is_contiguous()
        if nhwc and not images.is_contiguous(memory_format=torch.channels_last):
            images, nhwc = images.contiguous(), False
        targets = None
        if labels.dtype == torch.float32:
            targets, labels = labels.contiguous(), labels.argmax(1)
        labels = labels.to(torch.int64).contiguous()
        return (images.data_ptr(), _ELEMENT_TYPES[images.dtype], nhwc, images.shape[2], images.shape[3],
                labels.data_ptr(), len(labels), 0 if targets is None else targets.data_ptr(),
                0 if targets is None else targets.numel(), self._pinned and images.is_pinned(),
                (batch, images, labels, targets))

    def _images(self, found: Any) -> torch.Tensor:
        """Returns (batch, 3, height, width) of the same memory."""
        nhwc = self._nhwc and isinstance(found, np.ndarray)
        images = _tensor(found)
        if self._bfloat16 and isinstance(found, np.ndarray):
            images = images.view(torch.bfloat16)
        if images.dim() == 4 and (nhwc or images.shape[1] != _CHANNELS and images.shape[3] == _CHANNELS):
            images = images.permute(0, 3, 1, 2)
        if images.dim() != 4 or images.shape[1] != _CHANNELS or images.dtype not in _ELEMENT_TYPES:
            raise InputError(f"Trainer: the loader returned images {images.dtype} {tuple(images.shape)}; expected "
                             "uint8, float32, bfloat16 or float16 (batch, 3, height, width)")
        self._check_dtype(str(images.dtype).removeprefix("torch."))
        return images

    def _check_dtype(self, dtype: str) -> None:
        if self._only_uint8 and dtype != "uint8":
            raise ArgumentError(f"Trainer(normalize): no effect on {dtype} images of the loader; expected uint8. "
                                "Remove it and normalise in the loader, or return uint8 pixels, in a pipeline by "
                                "output('uint8') instead of normalize().")


def _samplers(loader: Any) -> list[Any]:
    """Returns the samplers of a loader that have set_epoch(), such as a DistributedSampler, also in a batch_sampler."""
    if isinstance(loader, FrameworkLoader):  # its batch_sampler would begin the epoch again after a resume
        return []
    of_batches = getattr(loader, "batch_sampler", None)
    found = (getattr(loader, "sampler", None), of_batches, getattr(of_batches, "sampler", None))
    return [*{id(sampler): sampler for sampler in found if hasattr(sampler, "set_epoch")}.values()]


def _tensor(found: Any) -> torch.Tensor:
    """Returns a tensor on the host, of the same memory."""
    if isinstance(found, np.ndarray):
        return torch.from_numpy(found if found.flags.writeable else found.copy())
    if not isinstance(found, torch.Tensor):
        raise InputError(f"Trainer: the loader returned images and labels of which one is {type(found).__name__}; "
                         "expected torch tensors or NumPy arrays")
    if found.device.type != "cpu":
        raise ArgumentError(f"Trainer: the loader returned a tensor on {found.device}; expected host memory, which the "
                            "trainer copies to its device. Use to_torch('cpu').")
    return found


def _labels(found: Any) -> torch.Tensor:
    """Returns integers (batch,), or float32 (batch, classes)."""
    labels = torch.as_tensor(found) if isinstance(found, list | tuple) else _tensor(found)
    if labels.dim() == 2 and labels.is_floating_point():
        return labels.to(torch.float32)
    if labels.dim() != 1 or labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool:
        raise InputError(f"Trainer: the loader returned labels {labels.dtype} {tuple(labels.shape)}; expected integers "
                         "(batch,) or probabilities (batch, classes)")
    return labels


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


def _decoded(state: Any, origin: str) -> Any:
    if not isinstance(state, Mapping) or state.keys() != {"torch"}:
        return state
    try:
        return torch.load(io.BytesIO(base64.b64decode(state["torch"])), weights_only=True)
    except (RuntimeError, ValueError, pickle.UnpicklingError) as error:
        raise InputError(f"resume from {origin}: the state of the loader cannot be read: {error}; expected numbers, "
                         "text and tensors") from error
