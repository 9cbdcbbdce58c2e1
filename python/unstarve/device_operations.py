"""Runs operations of a pipeline on the device of its batches, in torch's memory.

The host's part ends where all samples have one size, after the random crop that saves decoding. uint8 images cross the
bus, and one kernel computes the batch from them. Random numbers are those of the host, by sample and operation, and the
results are bit-equal. On the CPU the same kernel code runs, slowly, so that tests can compare it.

If the device takes part in decoding, some samples cross the bus as files, each in its slice of the batch. nvJPEG
decodes them into memory after the batch, and the device applies all of their operations.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

from unstarve.optional_packages import require_package

with require_package("torch", "unstarve.device_operations"):
    import torch

from unstarve import _core
from unstarve.errors import ArgumentError, MissingError
from unstarve.loaders.base_loader import BaseLoader
from unstarve.loaders.engine import Allocate


def torch_device(device: str | torch.device, what: str = "to_torch(device)") -> torch.device:
    """Returns `device` as a torch.device.

    Args:
        device: "cpu", "cuda", "cuda:1", or a torch.device.
        what: The argument, as error messages name it.

    Raises:
        ArgumentError: torch does not know it.
        MissingError: torch does not find that GPU.
    """
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        raise ArgumentError(f"{what}: found {str(device)!r}; expected 'cpu', 'cuda' or 'cuda:N'") from None
    gpus = torch.cuda.device_count() if found.type == "cuda" and torch.cuda.is_available() else 0
    if found.type == "cuda" and (found.index or 0) >= gpus:
        raise MissingError(f"{what}: found {found}, but torch {torch.__version__} finds {gpus} GPUs; "
                           "expected an available device. Use 'cpu', or install a torch that supports the GPU.")
    return found


@contextlib.contextmanager
def using_device(device: torch.device) -> Iterator[None]:
    """Makes a GPU torch's current device in this thread, and afterwards the previous one. No effect for the CPU."""
    with torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext():
        yield


class DeviceOperations:
    """The device's part of a pipeline; `host` is the loader of the host's part: uint8 (batch, height, width, 3).

    Args:
        whole: A loader of the whole pipeline (see Loader._for_device).
        device: The device of the batches.
        dtype: Dtype of the results.
        allocate: Allocates the host's batches; None leaves them in the loader's batch slots, and copies nothing.
        batches: Number of batches on the device at a time.

    Raises:
        ArgumentError: The operations can run on the host only.
    """

    def __init__(self, whole: BaseLoader, device: torch.device, dtype: torch.dtype, allocate: Allocate | None,
                 batches: int) -> None:
        first = _core.first_on_device(whole.spec)
        balance = _core.decode_balance(whole.spec)
        index = torch.cuda.current_device() if device.type == "cuda" and device.index is None else device.index
        name = "cpu" if device.type == "cpu" else f"cuda:{index}"
        with using_device(device):
            self._run = whole._device_operations(name, balance)
        self._device, self._dtype, self._channels_last = device, dtype, whole.layout == "NHWC"
        # Device memory per value, in bytes: the uint8 input, and the pixels decoded after it.
        per_value = (0 if allocate is None and balance is None else 1) + (0 if balance is None else _core.MOST_DECODED)
        batch: int = json.loads(whole.spec)["batch"]["size"]
        height, width = self._run.largest_output
        image_bytes = 3 * height * width * dtype.itemsize
        self.host = whole._host_part(first, allocate, device_bytes=(per_value, batches * batch * image_bytes),
                                    decode=balance)
        self.decodes = balance is not None

    def explain(self) -> str:
        """Returns one line for each operation of the device."""
        return self._run.explain()

    def __call__(self, images: torch.Tensor, files: torch.Tensor | None, ids: torch.Tensor, epoch: int,
                 stream: int) -> torch.Tensor:
        """Computes a batch.

        Args:
            images: The host's batch. It must remain valid until `stream` has finished.
            files: int32 of shape (batch, 3), see Loader._host_part; None if the host decodes all samples.
            ids: int64 of shape (batch,).
            epoch: Epoch of the batch.
            stream: Stream of the device.

        Returns:
            (batch, 3, height, width) of `dtype`, complete when `stream` has finished.
        """
        height, width = self._run.output_size(epoch)
        output = torch.empty((len(images), 3, height, width), dtype=self._dtype, device=self._device,
                             memory_format=torch.channels_last if self._channels_last else torch.contiguous_format)
        numbers = ids.numpy().view("uint64")
        if files is None:
            source = images.to(self._device, non_blocking=True)
            self._run.run(numbers, epoch, _core.DeviceAddresses(source.data_ptr(), output.data_ptr(), stream))
            return output
        extents = files.numpy()
        source = torch.empty(images.numel() + _core.decoded_bytes(extents), dtype=torch.uint8, device=self._device)
        source[:images.numel()].copy_(images.view(-1), non_blocking=True)
        addresses = _core.DeviceAddresses(source.data_ptr(), output.data_ptr(), stream, images.data_ptr())
        self._run.run_files(numbers, epoch, extents, addresses)
        return output
