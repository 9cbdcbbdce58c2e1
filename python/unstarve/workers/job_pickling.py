"""Pickles jobs for new processes, including what a spawned process may inherit (locks, shared tensors)."""

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


def dump_job(job: Job) -> tuple[bytes, list[memoryview], list[int]]:
    """Returns (pickle, its buffers, descriptors to inherit). Raises ArgumentError if the job cannot be pickled."""
    try:
        return dump(job)
    except Exception as error:
        raise ArgumentError(
            f"DataLoader: the dataset, collate_fn or worker_init_fn cannot be pickled ({type(error).__name__}: {error})"
            "; expected objects that can be sent to worker processes. Define them at the top level of a module (no "
            "lambda), or use workers='threads' or num_workers=0.") from error


def main_can_be_imported() -> bool:
    """Returns whether a spawned process can run the main module: a file or a module, not a notebook or `python -c`."""
    main = sys.modules["__main__"]
    return getattr(main, "__spec__", None) is not None or hasattr(main, "__file__")


def dump(value: object) -> tuple[bytes, list[memoryview], list[int]]:
    """As dump_job(), for any object. Raises the error of pickling."""
    spawning = _Spawning()
    multiprocessing.context.set_spawning_popen(spawning)  # type: ignore[arg-type]  # has the attributes that are used
    try:
        head, buffers = transport.dump(value, _reducers())
    finally:
        multiprocessing.context.set_spawning_popen(None)
    return head, buffers, spawning.inherited


class _Spawning:
    """Represents the process being started, to which pickles of locks, values and shared tensors refer."""

    DupFd = staticmethod(multiprocessing.popen_spawn_posix._DupFd)

    def __init__(self) -> None:
        self.inherited: list[int] = []

    def duplicate_for_child(self, fd: int) -> int:
        self.inherited.append(fd)
        return fd


def _reduce_tensor(tensor: Any) -> Any:
    """Shared tensors remain shared; of others all workers map one copy, private once written to."""
    import torch.multiprocessing.reductions

    from unstarve.workers import tensor_pickling

    if tensor.is_shared() and tensor.device.type == "cpu":
        return torch.multiprocessing.reductions.reduce_tensor(tensor)
    return tensor_pickling.reduce_tensor(tensor)


def _reducers() -> transport.Reducers:
    """Returns the reducers that multiprocessing and torch registered, and that of tensors."""
    registered = multiprocessing.reduction.ForkingPickler(io.BytesIO()).dispatch_table
    torch: Any = sys.modules.get("torch")
    return registered if torch is None else ChainMap({torch.Tensor: _reduce_tensor}, registered)
