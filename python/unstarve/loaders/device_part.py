"""What the host's part of a pipeline must know of the device that uses its batches."""

from __future__ import annotations

import dataclasses

from unstarve import _core
from unstarve.loaders.engine import Allocate, DeviceBytes


@dataclasses.dataclass(frozen=True)
class DevicePart:
    """The memory and the work of the device that uses the batches of a loader; by default none.

    Args:
        allocate: Allocates the memory of the batches: maps a number of bytes to the address of a writable buffer and
            its owner. At most two batches may be held then.
        device_bytes: Memory of the batches on a device in bytes, per value and fixed; part of memory_limit.
        decode: Selects the samples that the device decodes; their files take the place of pixels in the batch.
    """

    allocate: Allocate | None = None
    device_bytes: DeviceBytes = (0, 0)
    decode: _core.DecodeBalance | None = None
