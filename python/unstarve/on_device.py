"""The operations of a pipeline that run on the device which the batches are for, over torch's memory.

The host's part ends where all samples have one size, after the random crop that a decoder need not decode around: uint8
images cross the bus, and one kernel makes the batch of them. Draws are those of the host, by sample and operation, and
the arithmetic is the same to the bit; on the processor the kernels' own code runs, slowly, to check that.

Where the device takes part in decoding, some samples cross the bus as files, each in its place in the batch. nvJPEG
decodes them behind the batch, and all of their operations are the device's.
"""

from __future__ import annotations

import json

from unstarve.frameworks import needed

with needed("torch", "unstarve.on_device"):
    import torch

from unstarve import _core
from unstarve.loader import Loader
from unstarve.running import Allocate


class DeviceOperations:
    """Of `whole`, a loader whose pipeline says what its device does (Loader.for_device). host: the loader of what the
    device gets, uint8 (batch, height, width, 3).

    Called with a batch of it on the host, its files (int32, as Loader.host_part gives them; None where the host decodes
    all), its ids (int64), its epoch and a stream of the device, gives the images: (batch, 3, height, width) of `dtype`,
    ready on that stream, until which the batch must stay. ArgumentError where the operations have to stay on the host.

    allocate: where the host's batches are made; None: in the loader's slots, and none is sent.
    at_once: how many batches the device has at once.
    """

    def __init__(self, whole: Loader, device: torch.device, dtype: torch.dtype, allocate: Allocate | None,
                 at_once: int) -> None:
        first = _core.first_on_device(whole.spec)
        balance = _core.decode_balance(whole.spec)
        index = torch.cuda.current_device() if device.type == "cuda" and device.index is None else device.index
        name = "cpu" if device.type == "cpu" else f"cuda:{index}"
        self._run = whole.device_operations(name, balance)
        self._device, self._dtype, self._channels_last = device, dtype, whole.layout == "NHWC"
        # bytes of a uint8 value, and of those that are decoded behind it
        sent = (0 if allocate is None and balance is None else 1) + (0 if balance is None else _core.MOST_DECODED)
        batch: int = json.loads(whole.spec)["batch"]["size"]
        height, width = self._run.largest_output
        made = 3 * height * width * dtype.itemsize
        self.host = whole.host_part(first, allocate, on_device=(sent, at_once * batch * made), decode=balance)
        self.decodes = balance is not None

    def explain(self) -> str:
        """What the device does, a line for each operation."""
        return self._run.explain()

    def __call__(self, images: torch.Tensor, files: torch.Tensor | None, ids: torch.Tensor, epoch: int,
                 stream: int) -> torch.Tensor:
        height, width = self._run.output_size(epoch)
        made = torch.empty((len(images), 3, height, width), dtype=self._dtype, device=self._device,
                           memory_format=torch.channels_last if self._channels_last else torch.contiguous_format)
        numbers = ids.numpy().view("uint64")
        if files is None:
            there = images.to(self._device, non_blocking=True)
            self._run.run(numbers, epoch, there.data_ptr(), made.data_ptr(), stream)
            return made
        extents = files.numpy()
        there = torch.empty(images.numel() + _core.decoded_bytes(extents), dtype=torch.uint8, device=self._device)
        there[:images.numel()].copy_(images.view(-1), non_blocking=True)
        self._run.run_files(numbers, epoch, extents, images.data_ptr(), there.data_ptr(), made.data_ptr(), stream)
        return made
