"""The form of a loader's batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

from unstarve import _core


@dataclasses.dataclass(frozen=True)
class BatchForm:
    """Dtype ("uint8", "float32", ...) and layout ("NCHW" or "NHWC") of the images, and the names of a batch's arrays.

    `varied`: height and width differ between batches.
    """

    dtype: str
    layout: str
    parts: tuple[str, ...]
    varied: bool

    @classmethod
    def of_spec(cls, spec: Mapping[str, Any], text: str) -> Self:
        """Returns the form that a spec requests.

        Args:
            spec: The spec.
            text: The spec as JSON.
        """
        output, batch = spec.get("output", {}), spec["batch"]
        pad = batch.get("pad", {}).get("to", "nothing")
        parts = ("images", "labels", *(("sizes",) if pad != "nothing" else ()),
                 *(("valid",) if batch.get("last") == "pad" else ()))
        return cls(output.get("type", "float32"), output.get("layout", "NCHW"), parts,
                   pad == "largest" or pad == "nothing" and _core.size_changes(text))

    def image_shape(self, height: int, width: int) -> tuple[int | None, ...]:
        """Returns the shape of one image, given the size of the first one; None for sides that differ."""
        sides = (None, None) if self.varied else (height, width)
        return (3, *sides) if self.layout == "NCHW" else (*sides, 3)
