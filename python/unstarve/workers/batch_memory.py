"""Memory for the tensors of a batch that a worker process assembles: they are stacked where the consumer reads them."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import _utils

from unstarve.workers import transport

_SMALLEST_BYTES = 16 << 10  # smaller tensors travel in the message
_arena: transport.Arena | None = None


def use(arena: transport.Arena) -> None:
    """Makes collate() in this process stack tensors in `arena`, from which the next pack() sends them."""
    global _arena
    _arena = arena


def collate(samples: list[Any]) -> Any:
    """Returns torch's default_collate(samples) as in one of its workers: stacked tensors are contiguous.

    In a process that has called use(), large ones are in its arena.
    """
    table = _utils.collate.default_collate_fn_map
    if _arena is None or table.get(torch.Tensor) is not _utils.collate.collate_tensor_fn:
        return _utils.collate.default_collate(samples)
    return _utils.collate.collate(samples, collate_fn_map={**table, torch.Tensor: _stack})


def _stack(tensors: Any, *, collate_fn_map: Any = None) -> Any:
    first = tensors[0]
    if (type(first) is not torch.Tensor or first.device.type != "cpu" or first.layout != torch.strided
            or first.is_nested or first.is_quantized or any(tensor.requires_grad for tensor in tensors)):
        return _utils.collate.collate_tensor_fn(tensors, collate_fn_map=collate_fn_map)
    shape = len(tensors), *first.shape
    size = len(tensors) * first.numel() * first.itemsize
    if size < _SMALLEST_BYTES:
        out = torch.empty(shape, dtype=first.dtype)
    else:
        assert _arena is not None
        out = torch.frombuffer(_arena.reserve(size), dtype=first.dtype).reshape(shape)
    return torch.stack(tensors, 0, out=out)
