"""Loaders of the same batches in another form: dtype, layout, or the host's part of a device pipeline."""

from __future__ import annotations

import abc
import json
from typing import Any, Self

from unstarve import _core, nvjpeg
from unstarve.arguments import check_normalisation
from unstarve.loaders.batch_form import BatchForm
from unstarve.loaders.device_part import DevicePart
from unstarve.loaders.engine import Allocate, DeviceBytes, Normalisation


class LoaderConversions(abc.ABC):
    """Part of unstarve.Loader. Every method returns a new loader that begins at this loader's resume position."""

    _spec: str
    _dataset: _core.Dataset
    _form: BatchForm
    _device_part: DevicePart

    @abc.abstractmethod
    def _continue_with(self, spec: dict[str, Any], device_part: DevicePart) -> Self:
        """Returns a loader of another spec at this loader's resume position."""

    def _with_output(self, dtype: str | None = None, layout: str | None = None, normalize: Normalisation | None = None,
                    allocate: Allocate | None = None, device_bytes: DeviceBytes = (0, 0)) -> Self:
        """Returns a loader with another dtype, layout or normalisation.

        Args:
            dtype: As in Pipeline.output; None keeps the dtype.
            layout: "NCHW" or "NHWC"; None keeps the layout.
            normalize: (mean, std) per channel, for pixel values scaled to 0..1; None keeps the normalisation.
            allocate: As in DevicePart.
            device_bytes: As in DevicePart.
        """
        spec = json.loads(self._spec)
        output = spec.setdefault("output", {})
        if dtype is not None:
            output["type"] = dtype
        if layout is not None:
            output["layout"] = layout
        if normalize is not None:
            output["mean"], output["std"] = check_normalisation(normalize)
        return self._continue_with(spec, DevicePart(allocate, device_bytes))

    def _for_device(self, device: dict[str, Any] | None) -> Self:
        """Returns a loader with another `device` node in its spec, or none."""
        spec = json.loads(self._spec)
        spec.pop("device", None)
        if device is not None:
            spec["device"] = device
        return self._continue_with(spec, self._device_part)

    def _host_part(self, operations: int, allocate: Allocate | None = None, device_bytes: DeviceBytes = (0, 0),
                  decode: _core.DecodeBalance | None = None) -> Self:
        """Returns the loader of the host's part of a device pipeline: uint8 NHWC images.

        Args:
            operations: Number of operations to apply on the host.
            allocate: As in DevicePart.
            device_bytes: As in DevicePart.
            decode: As in DevicePart. batches() then yields one more array before the parts that batch() requested:
                files, int32 of shape (batch, 3), with the bytes of the file (0 for pixels), height and width of each
                sample.
        """
        spec = json.loads(self._spec)
        spec["operations"] = spec.get("operations", [])[:operations]
        # The normalisation is kept: erasing fills with its mean.
        spec["output"] = spec.get("output", {}) | {"type": "uint8", "layout": "NHWC"}
        spec.pop("device", None)
        return self._continue_with(spec, DevicePart(allocate, device_bytes, decode))

    def _device_operations(self, device: str, decode: _core.DecodeBalance | None) -> _core.DeviceOperations:
        """Returns the operations that follow _host_part(), for `device`; `decode` as in _host_part()."""
        decoding = None if decode is None else _core.DeviceDecoding(decode, self._dataset, nvjpeg.libraries())
        return _core.DeviceOperations(self._spec, self._form.dtype, device, decoding)
