"""A job on its way to new processes: pickled as multiprocessing and torch pickle what a spawned process may inherit."""

from __future__ import annotations

import io
import multiprocessing.context
import multiprocessing.popen_spawn_posix
import multiprocessing.reduction
import sys
from collections import ChainMap
from typing import Any

from unstarve.errors import ArgumentError
from unstarve.workers import transport
from unstarve.workers.job import Job


def dump(job: Job) -> tuple[bytes, list[memoryview], list[int]]:
    """(pickle, its buffers, descriptors that the processes must inherit). ArgumentError when it cannot be pickled."""
    try:
        return dumped(job)
    except Exception as error:
        raise ArgumentError(
            f"DataLoader: the dataset, collate_fn or worker_init_fn cannot be sent to helper processes "
            f"({type(error).__name__}: {error}); define what it holds at the top level of a module (no lambda), or "
            "use workers='threads' or num_workers=0") from error


def dumped(value: object) -> tuple[bytes, list[memoryview], list[int]]:
    """As dump(), of anything. Raises what pickling raises."""
    spawning = _Spawning()
    multiprocessing.context.set_spawning_popen(spawning)  # type: ignore[arg-type]  # what of it is asked for is there
    try:
        head, buffers = transport.dump(value, _reducers())
    finally:
        multiprocessing.context.set_spawning_popen(None)
    return head, buffers, spawning.inherited


class _Spawning:
    """What pickles of multiprocessing's locks, values and shared tensors ask for: a process that is being started."""

    DupFd = staticmethod(multiprocessing.popen_spawn_posix._DupFd)

    def __init__(self) -> None:
        self.inherited: list[int] = []

    def duplicate_for_child(self, fd: int) -> int:
        self.inherited.append(fd)
        return fd


def _reduce_tensor(tensor: Any) -> Any:
    """Tensors of a dataset: shared ones stay shared, others are one copy for all helpers, private once written to."""
    import torch.multiprocessing.reductions

    from unstarve.workers import tensors

    if tensor.is_shared() and tensor.device.type == "cpu":
        return torch.multiprocessing.reductions.reduce_tensor(tensor)
    return tensors.reduce_tensor(tensor)


def _reducers() -> transport.Reducers:
    """With those that multiprocessing and torch registered."""
    registered = multiprocessing.reduction.ForkingPickler(io.BytesIO()).dispatch_table
    torch: Any = sys.modules.get("torch")
    return registered if torch is None else ChainMap({torch.Tensor: _reduce_tensor}, registered)
