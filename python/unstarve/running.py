"""What runs behind a loader, and the words for what it gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from unstarve import state

# images and labels of one batch, and what else was asked for; the loader's class says which shapes and dtypes
Batch: TypeAlias = "tuple[npt.NDArray[Any], ...]"
# mean and standard deviation per channel, over pixel values of 0..1
Normalisation: TypeAlias = "tuple[tuple[float, ...], tuple[float, ...]]"
# id, location and reason of a sample that could not be used
BadSample: TypeAlias = "tuple[int, str, str]"
# called with a number of bytes, gives a writable buffer's address and the object that keeps it
Allocate: TypeAlias = "Callable[[int], tuple[int, object]]"
# bytes that are kept on a device: for each value of a batch's images, and besides
OnDevice: TypeAlias = "tuple[int, int]"


class Core(Protocol):
    """What runs and makes the batches: _core.Loader, or workers (unstarve.mapped)."""

    @property
    def forked(self) -> bool:
        """Whether this process is a fork of the one that it runs in."""

    def next(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.uint64], npt.NDArray[np.int32] | None,
                            int, int, int, bool] | None:
        """Images and labels as Loader has them, ids (uint64 of shape (batch,)), sizes or files (int32, host_part), how
        many are valid, epoch, batch, whether it is the epoch's last; None after close(). Batches without a good
        sample are left out, but for the last one of an epoch, which is given without samples."""

    def close(self) -> None:
        """Ends it; by any thread."""

    def memory(self) -> list[tuple[str, int, int]]:
        """Who holds how many bytes, and may at most."""

    def progress(self) -> state.Progress:
        """How far it has come."""

    def profile(self) -> str:
        """What was measured, as JSON."""

    def explain(self) -> str:
        """What runs."""

    def bad_samples(self, most: int) -> list[BadSample]:
        """The first `most`, by id."""
