"""The batches of un.from_torch() as tensors on a device.

    data = un.from_torch(dataset).random_resized_crop(224).batch(256).to_torch("cuda", normalize=un.IMAGENET)
    for images, labels in data:
        ...
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, Self

import torch

from unstarve.loaders.representation import Rows, as_html, as_text
from unstarve.torch_datasets.steps import Normalisation


class Batches(Protocol):
    """What a TensorLoader requires of the loader of the host's batches."""

    @property
    def samples(self) -> int:
        """Samples per epoch of this rank."""

    @property
    def epoch(self) -> int:
        """Epoch of the next batch."""

    def __len__(self) -> int: ...
    def _rows(self) -> Rows: ...
    def __iter__(self) -> Iterator[Any]: ...
    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next loop."""

    def state_dict(self) -> dict[str, Any]:
        """Returns the resume position."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Sets the resume position to `state`."""

    def close(self) -> None:
        """Stops the workers."""


class TensorLoader:
    """An iterable over batches on a device, one epoch per loop; to_torch() of a DatasetLoader creates it.

    Batches have the structure of the dataset's samples, with every tensor on the device. The images are the batch, the
    first element of a tuple or list, or the value "image" of a dict. Those of operations or of normalize() are (batch,
    3, height, width), uint8 or float32; others are only moved.

    Args:
        loader: The loader of the host's batches, page-locked for a GPU.
        device: Where the tensors go. A GPU receives them while the host continues.
        normalisation: (mean, std) per channel to apply on the device to uint8 images, or None.
        channels_last: The images, of operations or of normalize(), get the memory format torch.channels_last.
    """

    def __init__(self, loader: Batches, device: torch.device, normalisation: Normalisation | None,
                 channels_last: bool) -> None:
        self.device = device
        self._loader = loader
        self._constants: tuple[torch.Tensor, torch.Tensor] | None = None
        if normalisation is not None:
            mean, std = (torch.tensor(part, dtype=torch.float32, device=device).mul(255).reshape(1, 3, 1, 1)
                         for part in normalisation)
            self._constants = mean, std.reciprocal()
        self._channels_last = channels_last

    def __iter__(self) -> Iterator[Any]:
        for batch in self._loader:
            yield self._moved(batch)

    def _moved(self, batch: Any) -> Any:
        if isinstance(batch, Mapping):
            return {key: self._image(value) if key == "image" else self._move(value) for key, value in batch.items()}
        if isinstance(batch, tuple | list):
            parts = [self._image(batch[0]), *map(self._move, batch[1:])]
            return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
        return self._image(batch)

    def _move(self, part: Any) -> Any:
        return part.to(self.device, non_blocking=True) if isinstance(part, torch.Tensor) else part

    def _image(self, images: Any) -> Any:
        images = self._move(images)
        if self._constants is not None:
            mean, inverse = self._constants
            images = images.to(torch.float32).sub_(mean).mul_(inverse)
        return images.contiguous(memory_format=torch.channels_last) if self._channels_last else images

    # --- as DatasetLoader -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Batches per epoch of this rank."""
        return len(self._loader)

    def __repr__(self) -> str:
        return as_text("TensorLoader", self._rows())

    def _repr_html_(self) -> str:
        return as_html("TensorLoader", self._rows())

    def _rows(self) -> Rows:
        normalised = "normalised on the device" if self._constants is not None else ""
        return [("device", f"on {self.device}"), *self._loader._rows(), ("normalisation", normalised)]

    @property
    def samples(self) -> int:
        """Samples per epoch of this rank."""
        return self._loader.samples

    @property
    def epoch(self) -> int:
        """Epoch of the next batch."""
        return self._loader.epoch

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch, 0 or more, of the next loop."""
        self._loader.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Returns the resume position after the last batch received; see DatasetLoader.state_dict."""
        return self._loader.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues from `state`, a result of state_dict(), in the next loop."""
        self._loader.load_state_dict(state)

    def close(self) -> None:
        """Stops the workers. The end of a `with` block does the same; iterating restarts them."""
        self._loader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
