"""The interface of what produces batches, and the type aliases that loaders share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from unstarve.loaders.run_state import Progress

# Images, labels and optional parts of one batch; shapes and dtypes are documented at Loader.
Batch: TypeAlias = "tuple[npt.NDArray[Any], ...]"
# (mean, std) per channel, for pixel values scaled to 0..1.
Normalisation: TypeAlias = "tuple[tuple[float, ...], tuple[float, ...]]"
# (id, location, reason) of a bad sample.
BadSample: TypeAlias = "tuple[int, str, str]"
# Maps a number of bytes to the address of a writable buffer and the object that owns it.
Allocate: TypeAlias = "Callable[[int], tuple[int, object]]"
# Device memory in bytes: per value of the images of a batch, and independent of the batch.
DeviceBytes: TypeAlias = "tuple[int, int]"


class Engine(Protocol):
    """Produces the batches of a run: `_core.Loader`, or workers for map() (unstarve.mapping.engine)."""

    @property
    def forked(self) -> bool:
        """Whether this process is a fork of the one that started the engine."""

    def next(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.uint64], npt.NDArray[np.int32] | None,
                            int, int, int, bool] | None:
        """Returns the next batch, or None after close().

        Batches without good samples are omitted, except that the last batch of an epoch is returned empty.

        Returns:
            (images, labels, ids, sizes, valid, epoch, batch, last): images and labels as in Loader; ids uint64 of shape
            (batch,); sizes int32, or files (see _host_part), or None; the number of valid samples; the epoch; the index
            of the batch; whether it is the last one of the epoch.
        """

    def close(self) -> None:
        """Stops the engine. May be called from any thread."""

    def memory(self) -> list[tuple[str, int, int]]:
        """Returns (owner, bytes held, limit in bytes) for each part of the pipeline."""

    def progress(self) -> Progress:
        """Returns the progress of a run with out-of-order delivery."""

    def profile(self) -> str:
        """Returns the measurements as JSON."""

    def explain(self) -> str:
        """Returns the description of what runs."""

    def bad_samples(self, most: int) -> list[BadSample]:
        """Returns the first `most` bad samples, by id."""
