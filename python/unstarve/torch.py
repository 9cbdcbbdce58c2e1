"""Batches as torch tensors: zero-copy views on the CPU, asynchronous copies on a GPU.

    for images, labels in loader.to_torch("cuda", normalize=un.IMAGENET, channels_last=True):
        ...

On a GPU, uint8 pixels (a quarter of the bytes of float32) are copied from page-locked memory on a separate stream while
the previous batch is in use, and normalised there. The current stream waits for the copy.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any, Generic, TypeAlias, TypeVar, cast

from unstarve.optional_packages import require_package

with require_package("torch", "to_torch"):
    import torch

from unstarve import _core
from unstarve.arguments import check_nonnegative
from unstarve.device_operations import DeviceOperations, torch_device
from unstarve.errors import ArgumentError
from unstarve.loaders.base_loader import BaseLoader
from unstarve.loaders.engine import Normalisation
from unstarve.loaders.framework_loader import FrameworkLoader
from unstarve.steps.literals import DecodeOn, OperationsOn

_Batch = TypeVar("_Batch")  # a tuple, or a dict
_Tensors: TypeAlias = "tuple[torch.Tensor, ...]"

_DTYPES = {"uint8": torch.uint8, "float32": torch.float32, "bfloat16": torch.bfloat16,
           "float16": torch.float16}
# (batch on the device, event at the end of its copy, host tensors to keep until then, state of the loader after it)
_Sent: TypeAlias = "tuple[_Tensors, torch.cuda.Event, _Tensors, dict[str, Any]]"
# Batches on the device: the consumer's, the next one, and the one that is being sent.
_DEVICE_BATCHES = 3
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


class TorchLoader(FrameworkLoader, Generic[_Batch]):
    """An iterable of (images, labels, ...) with the methods of Loader; `Loader.to_torch` creates it.

    images: (batch, 3, height, width) of `dtype`. labels: int64 (batch,), or with batch operations float32 (batch,
    classes). Further parts as in Loader. On the CPU, tensors are zero-copy views of the loader's memory; on a GPU their
    memory belongs to torch. With map(), the functions determine images and labels, and normalize, dtype and
    channels_last are rejected.

    Args:
        loader: The loader of the batches.
        device: "cpu", "cuda", "cuda:1", or a torch.device; None uses the device of Pipeline.device, or "cpu".
        normalize: (mean, std) per channel for pixel values scaled to 0..1, such as un.IMAGENET. None keeps the
            pipeline's normalize().
        dtype: torch.uint8, float32, bfloat16 or float16. None keeps the pipeline's, or is float32 if `normalize` is
            given for uint8.
        channels_last: Use the memory format torch.channels_last; the logical shape is the same. None: True if the
            layout of the pipeline is "NHWC".
        names: Yield dicts with these keys instead of tuples: ("pixel_values", "labels") for Hugging Face models.
        operations: As in Pipeline.device, whose value is the default for the same type of device; otherwise "host".
        decode: As in Pipeline.device, whose value is the default unless `operations` is given as "host".
        decode_share: As in Pipeline.device, whose value is the default unless `decode` is given.

    Raises:
        ArgumentError: The arguments contradict each other.
        MissingError: torch does not find the GPU.

    Example:
        data = loader.to_torch("cuda", normalize=un.IMAGENET, dtype=torch.bfloat16)
        for epoch in range(90):
            for images, labels in data:
                ...
    """

    def __init__(self, loader: BaseLoader, device: str | torch.device | None = None, *,
                 normalize: Normalisation | None = None, dtype: torch.dtype | None = None,
                 channels_last: bool | None = None, names: tuple[str, ...] | None = None,
                 operations: OperationsOn | None = None, decode: DecodeOn | None = None,
                 decode_share: float | None = None) -> None:
        requested = _device_node(loader, device, operations, decode, decode_share)
        self.device = torch_device(requested["name"])
        if names is not None and (isinstance(names, str) or len({*names}) != len(loader.parts)
                                  or len(names) != len(loader.parts)):
            raise ArgumentError(f"to_torch(names): found {names!r}; expected {len(loader.parts)} different names, for "
                                f"{', '.join(loader.parts)}")
        self._names = names
        self._normalize: Normalisation | None = None
        self._operations: DeviceOperations | None = None
        if loader._mapped:
            if normalize is not None or dtype is not None or channels_last or requested["operations"] != "host":
                raise ArgumentError("to_torch(normalize, dtype, channels_last, operations) with map(): unsupported, "
                                    "its functions determine them. Convert in a function, or convert the batches.")
            self.channels_last = False
            self._whole = self._loader = loader._with_output()
        else:
            self.channels_last = loader.layout == "NHWC" if channels_last is None else channels_last
            self._loader = self._converted(loader, normalize, dtype, requested)
        self._state = self._loader.state_dict()

    # --- for accelerate's skip_first_batches, with which transformers.Trainer resumes within an epoch: it creates a
    # --- DataLoader of these attributes, which then requests batches by index

    @property
    def dataset(self) -> BatchDataset[_Batch]:
        """The batches of the current epoch by index."""
        return BatchDataset(self)

    @property
    def batch_sampler(self) -> BatchSampler:
        """The indices of the batches of an epoch, each in a list."""
        return BatchSampler(self)

    sampler = prefetch_factor = None
    num_workers = 0  # for the DataLoader; this loader has its own threads

    @staticmethod
    def collate_fn(batches: list[_Batch]) -> _Batch:
        """Returns the only element of `batches`."""
        return batches[0]

    def _converted(self, loader: BaseLoader, normalize: Normalisation | None, dtype: torch.dtype | None,
                   requested: dict[str, Any]) -> BaseLoader:
        """Returns the loader of the host's part. Sets `dtype`, `_whole` and the device's part."""
        self.dtype = _DTYPES[loader.dtype] if dtype is None else dtype
        if normalize is not None and dtype is None and self.dtype == torch.uint8:
            self.dtype = torch.float32
        if dtype == torch.uint8:
            loader._check_uint8("to_torch", normalize)
        on_host = self.device.type == "cpu"
        if self.dtype not in _NAMES and (on_host or requested["operations"] == "device"):
            raise ArgumentError(f"to_torch(dtype): found {self.dtype}; expected one of {', '.join(map(str, _NAMES))}"
                                f"{' on cpu' if on_host else ''}")
        layout = "NHWC" if self.channels_last else "NCHW"
        whole = self._whole = loader._for_device(requested)._with_output(_NAMES.get(self.dtype), layout, normalize)
        if requested["operations"] == "device":
            self._operations = DeviceOperations(whole, self.device, self.dtype, None if on_host else _pinned,
                                                2 if on_host else _DEVICE_BATCHES)
            return self._operations.host
        here = whole._for_device(None)
        if on_host:
            return here
        if self.dtype != torch.uint8:
            self._normalize = whole.normalisation
        return here._with_output("uint8", allocate=_pinned, device_bytes=(_bytes_per_value(self.dtype), 0))

    def explain(self) -> str:
        """Describes what runs, as Loader.explain, followed by the operations of the device."""
        return self._loader.explain() + ("" if self._operations is None else self._operations.explain())

    def to_yaml(self) -> str:
        """Returns the pipeline as YAML, with dtype, layout, normalisation and device of this loader.

        `un.from_yaml(text).to_torch()` creates the same loader.

        Raises:
            ArgumentError: As in Loader.to_yaml, or the dtype is not one of Pipeline.output.
        """
        if not self._loader._mapped and self.dtype not in _NAMES:
            raise ArgumentError(f"to_yaml: found dtype {self.dtype}; expected one of {', '.join(map(str, _NAMES))}")
        return super().to_yaml()

    def _position_changed(self) -> None:
        self._state = self._loader.state_dict()

    def state_dict(self) -> dict[str, Any]:
        """Returns the resume position after the last batch received; batches in transfer to a GPU do not count."""
        return dict(self._state)

    def __iter__(self) -> Iterator[_Batch]:
        batches = self._on_gpu() if self.device.type == "cuda" else self._on_host()
        if self._names is None:
            return cast("Iterator[_Batch]", batches)
        return (cast("_Batch", dict(zip(self._names, batch, strict=True))) for batch in batches)

    def _host_batches(self) -> Iterator[_Tensors]:
        """Yields the parts of a batch as tensors, zero-copy views of the loader's memory."""
        for array, *others in self._loader:
            images = torch.from_numpy(array)
            if not self._loader._mapped and self._loader.dtype == "bfloat16":
                images = images.view(torch.bfloat16)
            if self.channels_last:
                images = images.permute(0, 3, 1, 2)
            yield images, *map(torch.from_numpy, others)
            del array, others, images  # releases the batch before the next one is requested

    def _device_inputs(self) -> Iterator[_Tensors]:
        """Yields the inputs of the device's operations: images, other parts, files if the device decodes, int64 ids."""
        assert self._operations is not None
        for array, labels, ids, *more in self._loader.batches():
            files = [more.pop(0)] if self._operations.decodes else []
            yield tuple(map(torch.from_numpy, (array, labels, *more, *files, ids.view("int64"))))

    def _apply_operations(self, host: _Tensors, stream: int) -> _Tensors:
        """Returns a batch on the device with all operations applied. Keep `host` until `stream` has finished."""
        assert self._operations is not None
        images, *others, ids = host
        files = others.pop() if self._operations.decodes else None
        output = self._operations(images, files, ids, self._loader._run.given_epoch, stream)
        return output, *(part.to(self.device, non_blocking=True) for part in others)

    def _on_host(self) -> Iterator[_Tensors]:
        batches = self._host_batches() if self._operations is None else (
            self._apply_operations(host, 0) for host in self._device_inputs())
        for batch in batches:
            self._state = self._loader.state_dict()
            yield batch
            del batch

    def _on_gpu(self) -> Iterator[_Tensors]:
        copies = torch.cuda.Stream(self.device)
        mean, inverse = self._constants()
        copies.wait_stream(torch.cuda.current_stream(self.device))  # for the constants
        batches = self._host_batches() if self._operations is None else self._device_inputs()
        pending: _Sent | None = None
        failure: Exception | None = None
        while failure is None:
            try:
                host = next(batches, None)
                following = self._send(host, copies, mean, inverse) if host is not None else None
            except Exception as error:
                following, failure = None, error  # after the good batches before it
            if pending is not None:
                yield self._receive(*pending)
            if following is None:
                break
            pending, host, following = following, None, None
        if failure is not None:
            raise failure

    def _send(self, host: _Tensors, copies: torch.cuda.Stream, mean: torch.Tensor, inverse: torch.Tensor) -> _Sent:
        """Starts the copy of a batch to the device."""
        with torch.cuda.stream(copies):
            if self._operations is not None:
                output = self._apply_operations(host, copies.cuda_stream)
                return output, copies.record_event(), host, self._loader.state_dict()
            there, *others = (part.to(self.device, non_blocking=True) for part in host)
            if self._normalize is not None:
                there = there.to(torch.float32).sub_(mean).mul_(inverse).to(self.dtype)
            return (there, *others), copies.record_event(), host, self._loader.state_dict()

    def _receive(self, there: _Tensors, done: torch.cuda.Event, host: _Tensors | None,
                 state: dict[str, Any]) -> _Tensors:
        current = torch.cuda.current_stream(self.device)
        current.wait_event(done)
        for part in there:
            part.record_stream(current)
        # Returns the host memory to the loader when its copy is complete.
        done.synchronize()
        del host
        self._state = state
        return there

    def _constants(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns mean and 1 / std for pixel values of 0..255, of shape (1, 3, 1, 1)."""
        means, stds = self._normalize or ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
        shape = (1, 3, 1, 1)
        mean = torch.tensor(means, dtype=torch.float32, device=self.device).mul(255).reshape(shape)
        return mean, torch.tensor(stds, dtype=torch.float32, device=self.device).mul(255).reciprocal().reshape(shape)


def _device_node(loader: BaseLoader, device: str | torch.device | None, operations: str | None, decode: str | None,
                 share: float | None) -> dict[str, Any]:
    """Merges the arguments of to_torch() into the `device` node of the pipeline. Raises ArgumentError."""
    own = loader.device if loader.device["name"] else {"name": "cpu"}
    if device is not None:
        target = torch_device(device)
        if target.type not in ("cpu", "cuda"):
            raise ArgumentError(f"to_torch(device): found '{target}'; expected 'cpu', 'cuda' or 'cuda:N'. Use 'cpu' "
                                f"and move the batches with .to('{target}').")
        if torch.device(own["name"]).type != target.type:
            own = {}
        own["name"] = "cpu" if target.type == "cpu" else str(target)
    given = {"operations": operations, "decode": decode,
             "decode_share": None if share is None else check_nonnegative("to_torch(decode_share)", share)}
    if operations is not None and operations != "device":
        own.pop("decode", None)
    if operations is not None and operations != "device" or decode is not None:
        own.pop("decode_share", None)
    node = {"operations": "host", **own, **{key: value for key, value in given.items() if value is not None}}
    _core.check(json.dumps({"device": node}))
    return node


class BatchDataset(Generic[_Batch]):
    """The batches of one epoch of a TorchLoader by index.

    The first request may have any index at no extra cost; later ones must follow in order. With errors("skip"), which
    may omit batches, the batches before the first request are loaded and discarded.
    """

    def __init__(self, loader: TorchLoader[_Batch]) -> None:
        self._loader = loader
        self._next: tuple[int, Iterator[_Batch]] | None = None

    def __len__(self) -> int:
        """Samples per epoch."""
        return cast("int", self._loader.samples)

    def __getitems__(self, numbers: list[int]) -> list[_Batch]:
        """Returns the batch of a list of one index, in a list."""
        number, = numbers
        if self._next is None or self._next[0] != number:
            self._next = (number, self._from(number))
        self._next = (number + 1, self._next[1])
        return [next(self._next[1])]

    def _from(self, number: int) -> Iterator[_Batch]:
        self._loader.set_epoch(self._loader.epoch, number)
        if not self._loader._loader._may_omit_batches:
            return iter(self._loader)
        self._loader.set_epoch(self._loader.epoch)
        batches = iter(self._loader)
        for _ in itertools.islice(batches, number):
            pass
        return batches


class BatchSampler:
    """Yields the indices of the batches of a TorchLoader's epoch, each in a list."""

    def __init__(self, loader: TorchLoader[Any]) -> None:
        self._loader = loader

    def __len__(self) -> int:
        """Batches per epoch."""
        return len(self._loader)

    def __iter__(self) -> Iterator[list[int]]:
        return ([number] for number in range(len(self)))

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the loader's next loop."""
        self._loader.set_epoch(epoch)


def _bytes_per_value(dtype: torch.dtype) -> int:
    """Returns the GPU memory of all batches per value, including the temporary uint8 and float32 of the one sent."""
    temporary = 0 if dtype == torch.uint8 else 1 if dtype == torch.float32 else 5
    return _DEVICE_BATCHES * dtype.itemsize + temporary


def _pinned(size: int) -> tuple[int, object]:
    """Allocates page-locked memory with torch's allocator; an engine.Allocate."""
    buffer = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    return buffer.data_ptr(), buffer
