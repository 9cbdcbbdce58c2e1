"""The operations of a pipeline that run on the device which the batches are for, over torch's memory.

The host's part ends where all samples have one size, after the random crop that a decoder need not decode around: uint8
images cross the bus, and one kernel makes the batch of them. Draws are those of the host, by sample and operation, and
the arithmetic is the same to the bit; on the processor the kernels' own code runs, slowly, to check that.
"""

from __future__ import annotations

import json

import torch

from unstarve import _core
from unstarve.loader import Allocate, Loader, Normalisation

NAMES = {torch.uint8: "uint8", torch.float32: "float32", torch.bfloat16: "bfloat16", torch.float16: "float16"}


class DeviceOperations:
    """host: the loader of what the device gets, uint8 (batch, height, width, 3); whole: that of the whole pipeline.

    Called with a batch of it on the device, its ids (int64, on the host), its epoch and the stream that it is ready on,
    gives the images: (batch, 3, height, width) of `dtype`, ready on that stream. ArgumentError where the operations have
    to stay on the host.

    allocate: where the host's batches are made; None: in the loader's slots, and none is sent.
    at_once: how many batches the device has at once.
    """

    def __init__(self, loader: Loader, device: torch.device, dtype: torch.dtype, channels_last: bool,
                 normalize: Normalisation | None, allocate: Allocate | None, at_once: int) -> None:
        self.whole = whole = loader.with_output(None, "NHWC" if channels_last else "NCHW", normalize)
        first = _core.first_on_device(whole.spec)
        (height, width, _), _ = whole.host_part(first).shapes
        assert height is not None
        assert width is not None
        index = torch.cuda.current_device() if device.type == "cuda" and device.index is None else device.index
        name = "cpu" if device.type == "cpu" else f"cuda:{index}"
        self._run = _core.DeviceOperations(whole.spec, height, width, NAMES[dtype], name)
        self._dtype, self._channels_last = dtype, channels_last
        sent = 0 if allocate is None else 1  # bytes of a uint8 value
        batch: int = json.loads(whole.spec)["batch"]["size"]
        made = 3 * self._run.output_size[0] * self._run.output_size[1] * dtype.itemsize
        self.host = whole.host_part(first, allocate, on_device=(sent, at_once * batch * made))

    def explain(self) -> str:
        """What the device does, a line for each operation."""
        return self._run.explain()

    def __call__(self, images: torch.Tensor, ids: torch.Tensor, epoch: int, stream: int) -> torch.Tensor:
        height, width = self._run.output_size
        made = torch.empty((len(images), 3, height, width), dtype=self._dtype, device=images.device,
                           memory_format=torch.channels_last if self._channels_last else torch.contiguous_format)
        self._run.run(ids.numpy().view("uint64"), epoch, images.data_ptr(), made.data_ptr(), stream)
        return made
