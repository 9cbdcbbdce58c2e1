"""Reads a batch of any loader as the training loop requires it: addresses of contiguous host memory, and its owner."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, TypeAlias

import numpy as np

from unstarve.optional_packages import require_package

with require_package("torch", "Trainer"):
    import torch

from unstarve.errors import ArgumentError, InputError
from unstarve.loaders.base_loader import BaseLoader

_CHANNELS = 3
# The numbers of ElementType (unstarve/ops/store/store_format.h).
_ELEMENT_TYPES = {torch.uint8: 0, torch.float32: 1, torch.bfloat16: 2, torch.float16: 3}
# (address of the pixels, element type, whether they are NHWC, height, width, address and number of the labels, address
# and number of the targets, whether the pixels are page-locked, owner of the memory)
Described: TypeAlias = "tuple[int, int, bool, int, int, int, int, int, int, bool, object]"


class BatchReader:
    """Reads the batches of one loader.

    Args:
        loader: Any iterable of (images, labels).
        pinned: Whether page-locked memory is recognised.
        only_uint8: Whether images of other dtypes are rejected.
        omit_copies: Whether copies that fill up batches (Pipeline.batch) are omitted.

    Raises:
        ArgumentError: This loader of the package has images of a rejected dtype.
    """

    def __init__(self, loader: Any, *, pinned: bool, only_uint8: bool, omit_copies: bool) -> None:
        self._pinned = pinned
        self._only_uint8 = only_uint8
        whole = getattr(loader, "_whole", loader)  # of to_torch()
        if isinstance(whole, BaseLoader) and not whole._mapped:
            self._check_dtype(whole.dtype)
        self._nhwc = getattr(loader, "layout", "NCHW") == "NHWC"
        self._bfloat16 = getattr(loader, "dtype", None) == "bfloat16"
        parts = getattr(loader, "parts", ())
        self._valid = parts.index("valid") if omit_copies and "valid" in parts else None

    def read(self, batch: Any) -> Described | None:
        """Returns a batch; None if all of its samples are copies. Raises InputError for another form."""
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
        if images.dim() != 4 or images.shape[1] != _CHANNELS or images.dtype not in _ELEMENT_TYPES or not len(images):
            raise InputError(f"Trainer: the loader returned images {images.dtype} {tuple(images.shape)}; expected "
                             "uint8, float32, bfloat16 or float16 (batch, 3, height, width), of one image at least")
        self._check_dtype(str(images.dtype).removeprefix("torch."))
        return images

    def _check_dtype(self, dtype: str) -> None:
        if self._only_uint8 and dtype != "uint8":
            raise ArgumentError(f"Trainer(normalize): no effect on {dtype} images of the loader; expected uint8. "
                                "Remove it and normalise in the loader, or return uint8 pixels, in a pipeline by "
                                "output('uint8') instead of normalize().")


def _tensor(found: Any) -> torch.Tensor:
    """Returns a tensor on the host, of the same memory."""
    if isinstance(found, np.ndarray):
        # Tensors cannot share memory that is read-only or reversed.
        usable = found.flags.writeable and min(found.strides, default=0) >= 0
        return torch.from_numpy(found if usable else found.copy())
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
