"""A loader's batches in other forms: the arrays of frameworks, other types and layouts, parts for a device."""

from __future__ import annotations

import abc
import json
from typing import TYPE_CHECKING, Any, cast, overload

from unstarve import _core, nvjpeg
from unstarve.arguments import normalisation
from unstarve.running import Allocate, Normalisation, OnDevice

if TYPE_CHECKING:
    import torch

    from unstarve.jax import JaxLoader
    from unstarve.loader import Loader
    from unstarve.torch import TorchLoader


class Converting(abc.ABC):
    """Part of unstarve.Loader."""

    _spec: str
    _dataset: _core.Dataset
    _dtype: str
    _allocate: Allocate | None
    _on_device: OnDevice

    @abc.abstractmethod
    def _standing_here(self, spec: dict[str, Any], allocate: Allocate | None, on_device: OnDevice) -> Loader:
        """A loader of another spec, standing where this one stands."""

    @abc.abstractmethod
    def _warn_of_repeating(self, call: str) -> None:
        """DataWarning where an earlier copy ran the epoch that another would run again."""

    # --- frameworks -------------------------------------------------------------------------------------------------

    @overload
    def to_torch(self, device: str | torch.device | None = None, *, normalize: Normalisation | None = None,
                 dtype: torch.dtype | None = None, channels_last: bool | None = None, names: None = None,
                 operations: str | None = None, decode: str | None = None,
                 decode_share: float | None = None) -> TorchLoader[tuple[torch.Tensor, ...]]: ...

    @overload
    def to_torch(self, device: str | torch.device | None = None, *, normalize: Normalisation | None = None,
                 dtype: torch.dtype | None = None, channels_last: bool | None = None, names: tuple[str, ...],
                 operations: str | None = None, decode: str | None = None,
                 decode_share: float | None = None) -> TorchLoader[dict[str, torch.Tensor]]: ...

    def to_torch(self, device: str | torch.device | None = None, *, normalize: Normalisation | None = None,
                 dtype: torch.dtype | None = None, channels_last: bool | None = None,
                 names: tuple[str, ...] | None = None,
                 operations: str | None = None, decode: str | None = None,
                 decode_share: float | None = None) -> TorchLoader[Any]:
        """The same batches as torch tensors on `device`, by a loader of its own; see unstarve.torch.TorchLoader. It
        begins where this one stands, which stays there: call it once, before the loop over epochs. What is left out is
        as the pipeline says: `Pipeline.device`, normalize() and output()."""
        from unstarve.torch import TorchLoader

        self._warn_of_repeating("to_torch()")
        return TorchLoader(cast("Loader", self), device, normalize=normalize, dtype=dtype, channels_last=channels_last,
                           names=names, operations=operations, decode=decode, decode_share=decode_share)

    def to_jax(self, device: Any = None, *, normalize: Normalisation | None = None, dtype: Any = None,
               layout: str | None = None) -> JaxLoader:
        """The same batches as JAX arrays on `device`, by a loader of its own, with `normalize`, `dtype` and `layout`;
        see unstarve.jax.JaxLoader."""
        from unstarve.jax import JaxLoader

        self._warn_of_repeating("to_jax()")
        return JaxLoader(cast("Loader", self), device, normalize=normalize, dtype=dtype, layout=layout)

    def to_tf(self, *, normalize: Normalisation | None = None, dtype: Any = None, layout: str = "NHWC") -> Any:
        """The same batches as a tf.data.Dataset, by a loader of its own; see unstarve.tensorflow.dataset."""
        from unstarve.tensorflow import dataset

        self._warn_of_repeating("to_tf()")
        return dataset(cast("Loader", self), normalize=normalize, dtype=dtype, layout=layout)

    # --- the same batches, for those ----------------------------------------------------------------------------------

    def with_output(self, dtype: str | None = None, layout: str | None = None, normalize: Normalisation | None = None,
                    allocate: Allocate | None = None, on_device: OnDevice = (0, 0)) -> Loader:
        """This loader with another element type `dtype`, `layout` or (mean, std) `normalize`, standing where this one
        stands.

        allocate: called with a number of bytes, gives a writable buffer's address and the object that keeps it; the
            batches are made there. At most two of them may be kept then.
        on_device: what is kept of batches on a device: memory_limit counts it, and memory() tells it.
        """
        spec = json.loads(self._spec)
        output = spec.setdefault("output", {})
        if dtype is not None:
            output["type"] = dtype
        if layout is not None:
            output["layout"] = layout
        if normalize is not None:
            output["mean"], output["std"] = normalisation(normalize)
        return self._standing_here(spec, allocate, on_device)

    def for_device(self, device: dict[str, Any] | None) -> Loader:
        """This loader with another `device` of its pipeline, or none, standing where this one stands."""
        spec = json.loads(self._spec)
        spec.pop("device", None)
        if device is not None:
            spec["device"] = device
        return self._standing_here(spec, self._allocate, self._on_device)

    def host_part(self, operations: int, allocate: Allocate | None = None, on_device: OnDevice = (0, 0),
                  decode: _core.DecodeBalance | None = None) -> Loader:
        """This loader with the first so many operations alone, uint8 NHWC, standing where this one stands.

        allocate, on_device: as with_output() has them.
        decode: which samples stay files, for a device to decode, their bytes in their place in the batch. batches()
            then gives besides, in front of what batch() was asked for, files: int32 of shape (batch, 3), for each
            sample the bytes of its file, 0 where it has pixels, and the height and width of its image.
        """
        spec = json.loads(self._spec)
        spec["operations"] = spec.get("operations", [])[:operations]
        # The normalisation stays: erasing covers with its mean.
        spec["output"] = spec.get("output", {}) | {"type": "uint8", "layout": "NHWC"}
        spec.pop("device", None)
        made = self._standing_here(spec, allocate, on_device)
        made._decode = decode
        return made

    def device_operations(self, device: str, decode: _core.DecodeBalance | None) -> _core.DeviceOperations:
        """Those behind host_part(), made on `device`; decode: as there."""
        return _core.DeviceOperations(self._spec, self._dtype, device, decode, self._dataset,
                                      [] if decode is None else nvjpeg.libraries())
