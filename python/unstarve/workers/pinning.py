"""Takes the batches of an epoch from a pool, and page-locks them in a thread while the consumer computes."""

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


class Taker:
    """Takes the requested batches from a pool. Used by one thread.

    Args:
        pool: The pool to which the batches are submitted.
        device: The accelerator for which batches are page-locked, or None.
        stream: The batches are those of streams: data and state.
        any_batch: The first batch that is ready may replace a requested one.
    """

    def __init__(self, pool: Pool, device: str | None, stream: bool, any_batch: bool) -> None:
        self._pool, self._device, self._stream, self._any_batch = pool, device, stream, any_batch

    def request(self, serial: int) -> None:
        """Requests a submitted batch."""

    def get(self, serial: int, timeout: float | None) -> Taken | None:
        """Returns the batch of request(serial), once. Returns None after `timeout` seconds."""
        batch = self._pool.take(None if self._any_batch else serial, timeout)
        if batch is None:
            return None
        try:
            value = self._pool.value(batch)
            if self._device is not None and value is not None:
                pin: Any = _utils.pin_memory.pin_memory
                value = (pin(value[0], self._device), value[1]) if self._stream else pin(value, self._device)
            return batch, value, None
        except Exception as error:
            return batch, None, error

    def close(self) -> None:
        pass


class Pinner(Taker):
    """A Taker that takes and page-locks the batches in a separate thread."""

    def __init__(self, pool: Pool, device: str | None, stream: bool, any_batch: bool) -> None:
        super().__init__(pool, device, stream, any_batch)
        index = torch.accelerator.current_device_index()
        self._thread = ThreadPoolExecutor(1, "unstarve-pin", torch.accelerator.set_device_index, (index,))
        self._requests: dict[int, Future[Taken | None]] = {}

    def request(self, serial: int) -> None:
        self._requests[serial] = self._thread.submit(super().get, serial, None)

    def get(self, serial: int, timeout: float | None) -> Taken | None:
        try:
            value = self._requests[serial].result(timeout)
        except FutureTimeoutError:
            return None
        del self._requests[serial]
        return value

    def close(self) -> None:
        self._thread.shutdown(cancel_futures=True)
        self._requests.clear()
