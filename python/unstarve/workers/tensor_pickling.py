"""Pickles torch tensors as NumPy arrays are pickled: with out-of-band buffers."""

from __future__ import annotations

import copyreg
import pickle
from collections import ChainMap
from collections.abc import Callable, MutableMapping
from typing import Any

import torch


def reduce_tensor(tensor: torch.Tensor) -> Any:
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError("pickle a tensor: found one that requires grad and is not a leaf; expected a detached "
                           "tensor. Call detach().")
    if (tensor.device.type != "cpu" or tensor.layout != torch.strided or tensor.is_nested or tensor.requires_grad
            or tensor.is_quantized or tensor.is_conj() or tensor.is_neg() or tensor.numel() == 0):
        return tensor.__reduce_ex__(5)
    order = None
    if not tensor.is_contiguous():
        # Permuted dimensions (channels_last) keep their strides; other layouts are made contiguous.
        by_stride = sorted(range(tensor.dim()), key=tensor.stride, reverse=True)
        permuted = tensor.permute(by_stride)
        if permuted.is_contiguous():
            tensor, order = permuted, [by_stride.index(axis) for axis in range(tensor.dim())]
        else:
            tensor = tensor.contiguous()
    flat = tensor.reshape(-1).view(torch.uint8).numpy()
    return _tensor, (pickle.PickleBuffer(flat), tensor.dtype, tuple(tensor.shape), order)


def _tensor(buffer: pickle.PickleBuffer, dtype: torch.dtype, shape: tuple[int, ...],
            order: list[int] | None) -> torch.Tensor:
    tensor = torch.frombuffer(buffer, dtype=dtype).reshape(shape)
    return tensor if order is None else tensor.permute(order)


REDUCERS: MutableMapping[type, Callable[[Any], Any]] = ChainMap({torch.Tensor: reduce_tensor}, copyreg.dispatch_table)
