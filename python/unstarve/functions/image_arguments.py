"""The images that the functions accept, and the results that they return. Private.

| argument                                        | is                    | result              |
|-------------------------------------------------|-----------------------|---------------------|
| str, os.PathLike                                | path of an image file | NumPy array         |
| bytes, bytearray, memoryview, mmap              | an encoded image      | NumPy array         |
| NumPy uint8 (n,), torch uint8 (n,)              | an encoded image      | of the same library |
| NumPy uint8 (height, width, 3), any strides     | pixels                | NumPy array         |
| torch uint8 (3, height, width), any strides     | pixels                | CPU tensor          |
| PIL.Image.Image                                 | pixels                | NumPy array         |
"""

from __future__ import annotations

import mmap
import os
import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from unstarve.arguments import check_no_null
from unstarve.errors import ArgumentError

if TYPE_CHECKING:
    import PIL.Image

Array: TypeAlias = "npt.NDArray[np.uint8]"
Encoded: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | mmap.mmap"
ArrayLike: TypeAlias = "Encoded | Array | PIL.Image.Image"

_KINDS = ("an encoded image (bytes, or the path of a file), a NumPy array uint8 (height, width, 3) or a torch tensor "
          "uint8 (3, height, width) on the CPU")


class Given(NamedTuple):
    """An image argument: `value` is a path (str), bytes-like, or, if `pixels`, an array (height, width, 3)."""

    value: Any
    pixels: bool
    tensor: bool  # the result is a torch tensor, channels first


def read_image(what: str, image: Any) -> Given:
    """Classifies an image argument, without copying its pixels.

    Args:
        what: Name of the function for messages.
        image: The argument.

    Raises:
        ArgumentError: It is none of the kinds in the table above.
    """
    if isinstance(image, np.ndarray):
        return Given(image, _has_pixels(what, image, image.ndim, image.dtype == np.uint8, image.shape[-1:]), False)
    if isinstance(image, bytes | bytearray | memoryview | mmap.mmap):
        return Given(image, False, False)
    if isinstance(image, str | os.PathLike):
        path = os.fsdecode(image)
        check_no_null(f"{what} image", path)
        if _URL.match(path):
            raise ArgumentError(f"{what} image: found the URL {path}; expected a path or an encoded image. Read it "
                                "first and pass its bytes; un.open() reads URLs.")
        return Given(path, False, False)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(image, torch.Tensor):
        if image.device.type != "cpu":
            raise ArgumentError(f"{what} image: found a tensor on {image.device}; expected one on the CPU. "
                                "Call .cpu().")
        pixels = _has_pixels(what, image, image.dim(), image.dtype == torch.uint8, tuple(image.shape[:1]))
        array = image.detach().numpy()
        return Given(array.transpose(1, 2, 0) if pixels else array, pixels, True)
    if type(image).__module__.startswith("PIL."):
        return Given(np.asarray(image.convert("RGB")), True, False)
    raise ArgumentError(f"{what} image: found {type(image).__name__}; expected {_KINDS}")


def grey_as_colours(image: Any) -> Array | None:
    """Returns grey pixels, uint8 (height, width) or a tensor (1, height, width), with equal channels; None for others.

    No pixels are copied.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(image, torch.Tensor) and image.device.type == "cpu" and image.dim() == 3:
        array = image.detach()[0].numpy() if image.shape[0] == 1 and image.dtype == torch.uint8 else None
    else:
        array = image if isinstance(image, np.ndarray) and image.ndim == 2 and image.dtype == np.uint8 else None
    return None if array is None else np.broadcast_to(array[..., None], (*array.shape, 3))


def _has_pixels(what: str, image: Any, dimensions: int, bytes_: bool, channels: tuple[int, ...]) -> bool:
    """Returns whether an array or a tensor has pixels rather than an encoded image."""
    if not bytes_ or dimensions not in (1, 3) or dimensions == 3 and channels != (3,):
        raise ArgumentError(f"{what} image: found {str(image.dtype).removeprefix('torch.')} {tuple(image.shape)}; "
                            f"expected {_KINDS}. Convert it, and repeat a grey channel three times.")
    return dimensions == 3


_URL = re.compile("[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def result(given: Given, array: npt.NDArray[Any]) -> Any:
    """Returns a result in the library of the argument."""
    return sys.modules["torch"].from_numpy(array) if given.tensor else array
