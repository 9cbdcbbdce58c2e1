"""Copies batches into page-locked memory in a separate thread, while the consumer computes."""

from __future__ import annotations

import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

import torch
from torch.utils.data import _utils

from unstarve.workers.pool import Pool
from unstarve.workers.scheduler import Batch

# (batch, its data or None, its error or None)
Taken = tuple[Batch, Any, "Exception | None"]


def pin_device(loader: torch.utils.data.DataLoader[Any]) -> str | None:
    """Returns the type of the accelerator for which batches are page-locked, or None. Warns as torch does."""
    if not loader.pin_memory:
        return None
    if loader.pin_memory_device:
        warnings.warn("pin_memory_device is deprecated, the current accelerator will be used as the device,"
                      f"ignore pin_memory_device='{loader.pin_memory_device}'.", stacklevel=4)
    if not torch.accelerator.is_available():
        warnings.warn("'pin_memory' argument is set as true but no accelerator is found, "
                      "then device pinned memory won't be used.", stacklevel=4)
        return None
    accelerator = torch.accelerator.current_accelerator()
    device = accelerator.type if accelerator else None
    if device == "mps":
        warnings.warn("'pin_memory' argument is set as true but not supported on MPS now, "
                      "device pinned memory won't be used.", stacklevel=4)
        return None
    return device


def take(pool: Pool, serial: int | None, timeout: float | None, device: str | None, stream: bool) -> Taken | None:
    """Takes batch `serial` (None: any), page-locked for `device`. Returns None after `timeout` seconds."""
    batch = pool.take(serial, timeout)
    if batch is None:
        return None
    try:
        value = pool.value(batch)
        if device is not None and value is not None:
            pin: Any = _utils.pin_memory.pin_memory
            value = (pin(value[0], device), value[1]) if stream else pin(value, device)
        return batch, value, None
    except Exception as error:
        return batch, None, error


class Pinner:
    """A thread that page-locks the requested batches. Used by one thread."""

    def __init__(self, pool: Pool, device: str, stream: bool) -> None:
        index = torch.accelerator.current_device_index()
        self._pool, self._device, self._stream = pool, device, stream
        self._thread = ThreadPoolExecutor(1, "unstarve-pin", torch.accelerator.set_device_index, (index,))
        self._requests: dict[int, Future[Taken | None]] = {}

    def request(self, serial: int, any_batch: bool) -> None:
        """Requests a submitted batch. If `any_batch`, the first batch that is ready may replace it."""
        self._requests[serial] = self._thread.submit(take, self._pool, None if any_batch else serial, None,
                                                     self._device, self._stream)

    def get(self, serial: int, timeout: float | None) -> Taken | None:
        """Returns the result of request(serial), once. Returns None after `timeout` seconds."""
        try:
            value = self._requests[serial].result(timeout)
        except FutureTimeoutError:
            return None
        del self._requests[serial]
        return value

    def close(self) -> None:
        self._thread.shutdown(cancel_futures=True)
        self._requests.clear()
