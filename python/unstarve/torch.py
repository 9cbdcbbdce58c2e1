"""Batches as torch tensors, on the processor without a copy, on a GPU copied while the one before is computed on.

    for images, labels in loader.to_torch("cuda", normalize=un.IMAGENET, channels_last=True):
        ...

On a GPU uint8 pixels cross the bus, a quarter of float32's bytes, out of page-locked memory, on a stream of their own,
and are normalised there; the batch is ready when the current stream gets to it.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any, Generic, TypeAlias, TypeVar, cast

from unstarve.frameworks import needed

with needed("torch", "to_torch"):
    import torch

from unstarve import _core
from unstarve.arguments import number
from unstarve.converted import ConvertedLoader
from unstarve.errors import ArgumentError, MissingError
from unstarve.loader import Loader
from unstarve.on_device import DeviceOperations
from unstarve.running import Normalisation

_Batch = TypeVar("_Batch")  # a tuple, or a dict
_Tensors: TypeAlias = "tuple[torch.Tensor, ...]"

_DTYPES = {"uint8": torch.uint8, "float32": torch.float32, "bfloat16": torch.bfloat16,
           "float16": torch.float16}
# images and all else, event of their copies, what must live until it, the loader's state
_Sent: TypeAlias = "tuple[_Tensors, torch.cuda.Event, _Tensors, dict[str, Any]]"
# The batch that the loop has, the one that comes next, and the one that is being sent.
_SENT_AT_ONCE = 3
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


class TorchLoader(ConvertedLoader, Generic[_Batch]):
    """An iterable of (images, labels) like the Loader it is made of, with `len`, `set_epoch` and torch's state_dict.

    device: "cpu", "cuda", "cuda:1", or a torch.device; None is the pipeline's own device(), else "cpu".
    normalize: (mean, std) per channel over 0..1; un.IMAGENET. None keeps the pipeline's own normalize().
    dtype: torch.uint8, float32, bfloat16, float16; None keeps the pipeline's.
    channels_last: images in torch.channels_last memory format; always of logical shape (batch, 3, height, width). None:
        where the pipeline's output() says "NHWC".

    names: gives dicts of these names instead of tuples, ("pixel_values", "labels") as Hugging Face's models take them.
    operations, decode, decode_share: as Pipeline.device has them, whose values these are where they are left out; but
        for another kind of device than it names, and for what depends on an argument that is given (decode on
        operations, decode_share on decode): then "host", "host" and None.

    images: (batch, 3, height, width) of dtype; labels: int64 (batch,), or with batch operations float32 (batch,
    classes); and what else the loader's batches have (`Loader.parts`). On a GPU a batch's memory belongs to torch. Of a
    pipeline with map() both are what its functions make, and normalize, dtype and channels_last are refused.

    Raises ArgumentError for what does not go together, MissingError for a device that is not here, when it
    is first needed: the first batch at the latest.
    """

    def __init__(self, loader: Loader, device: str | torch.device | None = None, *,
                 normalize: Normalisation | None = None, dtype: torch.dtype | None = None,
                 channels_last: bool | None = None, names: tuple[str, ...] | None = None, operations: str | None = None,
                 decode: str | None = None, decode_share: float | None = None) -> None:
        asked = _asked(loader, device, operations, decode, decode_share)
        self.device = torch.device(asked["name"])
        if names is not None and (isinstance(names, str) or len({*names}) != len(loader.parts)
                                  or len(names) != len(loader.parts)):
            raise ArgumentError(f"to_torch: names {names!r}, expected {len(loader.parts)} that differ, of the "
                                f"{', '.join(loader.parts)}")
        self._names = names
        self._normalize: Normalisation | None = None
        self._operations: DeviceOperations | None = None
        if loader.mapped:
            if normalize is not None or dtype is not None or channels_last or asked["operations"] != "host":
                raise ArgumentError("to_torch: normalize, dtype, channels_last and operations of a pipeline with "
                                    "map(), whose functions' images stay as they are; do it in a function, or with "
                                    "the batches")
            self.channels_last = False
            self._whole = self._loader = loader.with_output()
        else:
            self.channels_last = loader.layout == "NHWC" if channels_last is None else channels_last
            self._loader = self._converted(loader, normalize, dtype, asked)
        self._state = self._loader.state_dict()

    # --- for accelerate's skip_first_batches, by which transformers.Trainer goes on in mid-epoch: it makes a DataLoader
    # of
    # --- these, which then asks for batches by number

    @property
    def dataset(self) -> NumberedBatches[_Batch]:
        """The batches of the epoch at hand, by number."""
        return NumberedBatches(self)

    @property
    def batch_sampler(self) -> BatchNumbers:
        """The numbers of an epoch's batches, each alone."""
        return BatchNumbers(self)

    sampler = prefetch_factor = None
    num_workers = 0  # of the DataLoader: this loader has threads of its own

    @staticmethod
    def collate_fn(batches: list[_Batch]) -> _Batch:
        """The batch that was asked for, alone in `batches`."""
        return batches[0]

    def _converted(self, loader: Loader, normalize: Normalisation | None, dtype: torch.dtype | None,
                   asked: dict[str, Any]) -> Loader:
        """The loader of what this process makes. Sets `dtype`, `_whole`, and what the device does of it."""
        self.dtype = _DTYPES[loader.dtype] if dtype is None else dtype
        if normalize is not None and dtype is None and self.dtype == torch.uint8:
            self.dtype = torch.float32
        if self.dtype == torch.uint8 and normalize is not None:
            raise ArgumentError("to_torch: normalize with dtype torch.uint8; normalised values are floating")
        on_host = self.device.type == "cpu"
        if self.dtype not in _NAMES and (on_host or asked["operations"] == "device"):
            raise ArgumentError(f"to_torch: dtype {self.dtype}, expected one of {', '.join(map(str, _NAMES))}"
                                f"{' on cpu' if on_host else ''}")
        layout = "NHWC" if self.channels_last else "NCHW"
        whole = self._whole = loader.for_device(asked).with_output(_NAMES.get(self.dtype), layout, normalize)
        if asked["operations"] == "device":
            self._operations = DeviceOperations(whole, self.device, self.dtype, None if on_host else _pinned,
                                                2 if on_host else _SENT_AT_ONCE)
            return self._operations.host
        here = whole.for_device(None)
        if on_host:
            return here
        if self.dtype != torch.uint8:
            self._normalize = whole.normalisation
        return here.with_output("uint8", allocate=_pinned, on_device=(_sent_bytes(self.dtype), 0))

    def explain(self) -> str:
        """What will run, as Loader.explain; where operations run on the device, these behind the host's."""
        return self._loader.explain() + ("" if self._operations is None else self._operations.explain())

    def to_yaml(self) -> str:
        """The whole pipeline, as the program takes it: with the dtype, the layout and the normalisation of these
        tensors, and their device. `un.from_yaml(text).to_torch()` gives the same. ArgumentError as Loader.to_yaml, and
        for a dtype that no pipeline's output has."""
        if not self._loader.mapped and self.dtype not in _NAMES:
            raise ArgumentError(f"to_yaml: dtype {self.dtype}, expected one of {', '.join(map(str, _NAMES))}")
        return super().to_yaml()

    def _moved(self) -> None:
        self._state = self._loader.state_dict()

    def state_dict(self) -> dict[str, Any]:
        """Where the run stands, after the last batch that was given; on a GPU the loader itself is further."""
        return dict(self._state)

    def __iter__(self) -> Iterator[_Batch]:
        if self.device.type == "cuda":
            _require(self.device)
        batches = self._on_gpu() if self.device.type == "cuda" else self._on_host()
        if self._names is None:
            return cast("Iterator[_Batch]", batches)
        return (cast("_Batch", dict(zip(self._names, batch, strict=True))) for batch in batches)

    def _host(self) -> Iterator[_Tensors]:
        """The parts of a batch as tensors over the loader's own memory."""
        for array, *others in self._loader:
            images = torch.from_numpy(array)
            if not self._loader.mapped and self._loader.dtype == "bfloat16":
                images = images.view(torch.bfloat16)
            if self.channels_last:
                images = images.permute(0, 3, 1, 2)
            yield images, *map(torch.from_numpy, others)
            del array, others, images  # what the loop let go of is free before the next batch is asked for

    def _before_operations(self) -> Iterator[_Tensors]:
        """Images as the device's operations take them, and all else, the ids last, as int64; before them, where the
        device decodes, the files."""
        assert self._operations is not None
        for array, labels, ids, *more in self._loader.batches():
            files = [more.pop(0)] if self._operations.decodes else []
            yield tuple(map(torch.from_numpy, (array, labels, *more, *files, ids.view("int64"))))

    def _operated(self, host: _Tensors, stream: int) -> _Tensors:
        """Images that went through the operations, and all else, on the device; `host` stays until the stream is."""
        assert self._operations is not None
        images, *others, ids = host
        files = others.pop() if self._operations.decodes else None
        made = self._operations(images, files, ids, self._loader.given_epoch, stream)
        return made, *(part.to(self.device, non_blocking=True) for part in others)

    def _on_host(self) -> Iterator[_Tensors]:
        batches = self._host() if self._operations is None else (
            self._operated(host, 0) for host in self._before_operations())
        for batch in batches:
            self._state = self._loader.state_dict()
            yield batch
            del batch

    def _on_gpu(self) -> Iterator[_Tensors]:
        copies = torch.cuda.Stream(self.device)
        mean, inverse = self._constants()
        copies.wait_stream(torch.cuda.current_stream(self.device))  # for the constants
        batches = self._host() if self._operations is None else self._before_operations()
        ahead: _Sent | None = None
        failure: Exception | None = None
        while failure is None:
            try:
                host = next(batches, None)
                following = self._send(host, copies, mean, inverse) if host is not None else None
            except Exception as error:
                following, failure = None, error  # the good batches before it come first
            if ahead is not None:
                yield self._give(*ahead)
            if following is None:
                break
            ahead, host, following = following, None, None
        if failure is not None:
            raise failure

    def _send(self, host: _Tensors, copies: torch.cuda.Stream, mean: torch.Tensor, inverse: torch.Tensor) -> _Sent:
        """Begins a batch's way over the bus: (images and all else, event, what must live until the event, state)."""
        with torch.cuda.stream(copies):
            if self._operations is not None:
                made = self._operated(host, copies.cuda_stream)
                return made, copies.record_event(), host, self._loader.state_dict()
            there, *others = (part.to(self.device, non_blocking=True) for part in host)
            if self._normalize is not None:
                there = there.to(torch.float32).sub_(mean).mul_(inverse).to(self.dtype)
            return (there, *others), copies.record_event(), host, self._loader.state_dict()

    def _give(self, there: _Tensors, done: torch.cuda.Event, host: _Tensors | None, state: dict[str, Any]) -> _Tensors:
        current = torch.cuda.current_stream(self.device)
        current.wait_event(done)
        for part in there:
            part.record_stream(current)
        # The host's memory is the loader's again once its copy is done.
        done.synchronize()
        del host
        self._state = state
        return there

    def _constants(self) -> tuple[torch.Tensor, torch.Tensor]:
        """mean and 1 / std in units of the pixels, for (batch, 3, height, width)."""
        means, stds = self._normalize or ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
        shape = (1, 3, 1, 1)
        mean = torch.tensor(means, dtype=torch.float32, device=self.device).mul(255).reshape(shape)
        return mean, torch.tensor(stds, dtype=torch.float32, device=self.device).mul(255).reciprocal().reshape(shape)


def _asked(loader: Loader, device: str | torch.device | None, operations: str | None, decode: str | None,
           share: float | None) -> dict[str, Any]:
    """What the device is to do: the pipeline's own, to_torch()'s arguments on top. ArgumentError for what cannot be."""
    own = loader.device if loader.device["name"] else {"name": "cpu"}
    if device is not None:
        place = torch.device(device)
        if torch.device(own["name"]).type != place.type:
            own = {}
        own["name"] = "cpu" if place.type == "cpu" else str(place)
    given = {"operations": operations, "decode": decode,
             "decode_share": None if share is None else number("to_torch(decode_share)", share)}
    if operations is not None and operations != "device":
        own.pop("decode", None)
    if operations is not None and operations != "device" or decode is not None:
        own.pop("decode_share", None)
    asked = {"operations": "host", **own, **{key: value for key, value in given.items() if value is not None}}
    _core.check(json.dumps({"device": asked}))
    return asked


def _require(device: torch.device) -> None:
    """MissingError for a GPU that torch does not find."""
    found = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if (device.index or 0) >= found:
        raise MissingError(f"to_torch: device {device}: torch {torch.__version__} finds {found} GPUs, expected one "
                           "that is here, or cpu")


class NumberedBatches(Generic[_Batch]):
    """The batches of one epoch of a TorchLoader by their numbers: the first that is asked for, whichever, costs no more
    than any other; those after it in their order.

    They are counted as a loop counts them. Where errors("skip") may leave some out, only reading tells which: those
    before the first are then made again, unseen."""

    def __init__(self, loader: TorchLoader[_Batch]) -> None:
        self._loader = loader
        self._next: tuple[int, Iterator[_Batch]] | None = None

    def __len__(self) -> int:
        """Samples."""
        return cast("int", self._loader.samples)

    def __getitems__(self, numbers: list[int]) -> list[_Batch]:
        """The batch of a list of one number."""
        number, = numbers
        if self._next is None or self._next[0] != number:
            self._next = (number, self._from(number))
        self._next = (number + 1, self._next[1])
        return [next(self._next[1])]

    def _from(self, number: int) -> Iterator[_Batch]:
        self._loader.set_epoch(self._loader.epoch, number)
        if not self._loader.leaves_out:
            return iter(self._loader)
        self._loader.set_epoch(self._loader.epoch)
        batches = iter(self._loader)
        for _ in itertools.islice(batches, number):
            pass
        return batches


class BatchNumbers:
    """The numbers of an epoch's batches of a TorchLoader, each in a list of its own."""

    def __init__(self, loader: TorchLoader[Any]) -> None:
        self._loader = loader

    def __len__(self) -> int:
        """Batches of an epoch."""
        return len(self._loader)

    def __iter__(self) -> Iterator[list[int]]:
        return ([number] for number in range(len(self)))

    def set_epoch(self, epoch: int) -> None:
        """The loader's next loop runs this epoch."""
        self._loader.set_epoch(epoch)


def _sent_bytes(dtype: torch.dtype) -> int:
    """What the batches on a GPU take there, for each value: as they are given, and what one that is sent takes besides:
    uint8 and, on its way to another dtype, float32."""
    beside = 0 if dtype == torch.uint8 else 1 if dtype == torch.float32 else 5
    return _SENT_AT_ONCE * dtype.itemsize + beside


def _pinned(size: int) -> tuple[int, object]:
    """Page-locked memory by torch's allocator, as _core.Loader takes it."""
    buffer = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    return buffer.data_ptr(), buffer
