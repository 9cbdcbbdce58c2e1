"""Functions on single images, for a Dataset or a script of your own. All are also names of the package: `un.decode`.

    class Photos(torch.utils.data.Dataset):
        def __getitem__(self, i):
            image = un.random_resized_crop(self.paths[i], 224)     # decodes only the crop
            return un.horizontal_flip(image), self.labels[i]

| function                                                 | does                                              |
|----------------------------------------------------------|---------------------------------------------------|
| `decode`                                                 | decodes an image or a part of it, also resized    |
| `image_info`                                             | reads the header only                             |
| `encode_jpeg`                                            | writes a JPEG file                                |
| `resize`, `random_resized_crop`, `solarize`, ...         | one function per name in `un.operations()`        |

An image argument is an encoded image or pixels. The result belongs to the same library:

| argument                                                                       | result                          |
|--------------------------------------------------------------------------------|---------------------------------|
| path of a file (str, os.PathLike); bytes, bytearray, memoryview; uint8 (n,)    | NumPy uint8 (height, width, 3)  |
| NumPy uint8 (height, width, 3), contiguous or not                              | the same                        |
| torch uint8 (3, height, width) on the CPU; torch uint8 (n,), an encoded image  | torch uint8 (3, height, width)  |
| PIL.Image.Image, converted to RGB                                              | NumPy uint8 (height, width, 3)  |

Results are contiguous and own their memory. Arguments are not changed; do not change them in another thread during a
call. All functions release the global interpreter lock and are thread-safe. Each thread keeps memory for intermediate
images, as large as its largest image requires.

Random operations draw from the module `random`, or as `seed` or `generator` specify. In a worker of torch's DataLoader,
`random` is seeded with the worker's seed; un.DataLoader seeds it for every sample. With `seed=(seed, epoch, sample)`
the result equals that of a pipeline whose first operation this is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, get_args, overload

from unstarve import _core
from unstarve.arguments import check_bool, check_int
from unstarve.errors import ArgumentError
from unstarve.functions import operations
from unstarve.functions.draws import NO_DRAWS
from unstarve.functions.image_arguments import grey_as_colours, read_image
from unstarve.functions.single_image import MAX_PIXELS, compiled, frozen, header, run
from unstarve.steps.literals import Interpolation, Mode, Subsampling
from unstarve.steps.operation_names import FAMILIAR
from unstarve.suggestions import suggesting

if TYPE_CHECKING:
    import torch

    from unstarve.functions.image_arguments import Array, ArrayLike, Encoded
    from unstarve.functions.operations import *  # noqa: F403


class ImageInfo(NamedTuple):
    """The header of an encoded image; sizes after its EXIF orientation was applied.

    format: "jpeg", "png" or "webp". height, width: in pixels. channels: as stored, 1 for grey, 2 for grey with alpha,
    3 for colour, 4 for CMYK or with alpha. orientation: EXIF orientation, 1 to 8. kind: of a JPEG, "baseline",
    "progressive", ..., otherwise "".
    """

    format: str
    height: int
    width: int
    channels: int
    orientation: int
    kind: str


@overload
def decode(image: Encoded | Array, *, region: tuple[int, int, int, int] | None = ...,
           size: int | tuple[int, int] | None = ..., mode: Mode = ..., interpolation: Interpolation = ...,
           antialias: bool = ..., approximate: bool = ..., max_pixels: int = ...) -> Array: ...


@overload
def decode(image: torch.Tensor, *, region: tuple[int, int, int, int] | None = ...,
           size: int | tuple[int, int] | None = ..., mode: Mode = ..., interpolation: Interpolation = ...,
           antialias: bool = ..., approximate: bool = ..., max_pixels: int = ...) -> torch.Tensor: ...


@suggesting
def decode(image: Any, *, region: tuple[int, int, int, int] | None = None,
           size: int | tuple[int, int] | None = None, mode: Mode = "RGB", interpolation: Interpolation = "bilinear",
           antialias: bool = True, approximate: bool = False, max_pixels: int = MAX_PIXELS) -> Any:
    """Decodes a JPEG, PNG or WebP image, or a part of it, upright and without alpha.

    The result is exact: the pixels are those of decoding the whole image, cropping it and resizing the crop, but only
    the region is decoded, and rows are resized as they are decoded. Pixels of a JPEG equal Pillow's.

    Args:
        image: Path, bytes-like object, or uint8 (n,), an encoded image.
        region: Part of the upright image to decode, (top, left, height, width) in pixels, as in torchvision's crop().
        size: Length of the shorter side of the result, or (height, width). None keeps the size of the region.
        mode: "RGB", or "L" for grey: Pillow's convert("L") of the resized image.
        interpolation: As in Pipeline.resize().
        antialias: As in Pipeline.resize().
        approximate: Allow a JPEG to be decoded at 1/2, 1/4 or 1/8 of its size before it is resized, which is faster
            and changes pixels.
        max_pixels: Largest number of pixels that the header may declare.

    Returns:
        uint8 (height, width, 3); (height, width) for mode "L". For a tensor uint8 (3, height, width), or (1, height,
        width) for "L".

    Raises:
        ArgumentError: An argument is invalid, or the region is not inside the image.
        InputError: The bytes are no image, or are damaged; the message has the reason.
        IoError: The file cannot be read.

    Example:
        left_half = un.decode("photo.jpg", region=(0, 0, 480, 320), size=(224, 224))
    """
    given = read_image("decode", image)
    if given.pixels:
        raise ArgumentError("decode image: found pixels; expected an encoded image. Use un.resize() for pixels.")
    if mode not in ("RGB", "L"):
        raise ArgumentError(f"decode(mode): found {mode!r}; expected 'RGB' or 'L'")
    if interpolation not in (known := get_args(Interpolation)):
        raise ArgumentError(f"decode(interpolation): found {interpolation!r}; expected one of {', '.join(known)}")
    chain = [] if size is None else [("resize", {"size": size, "interpolation": interpolation, "antialias": antialias})]
    if mode == "L":
        chain.append(("grayscale", {"probability": 1}))
    form = "L" if mode == "L" else "CHW" if given.tensor else "HWC"
    function = compiled(tuple(frozen(*step) for step in chain), form, None,
                        check_bool("decode(approximate)", approximate),
                        check_int("decode(max_pixels)", max_pixels, 1, MAX_PIXELS))
    made = run("decode", function, given, NO_DRAWS, _region(region))
    return made[None] if given.tensor and mode == "L" else made


def _region(region: Any) -> tuple[int, int, int, int] | None:
    if region is None:
        return None
    try:
        top, left, height, width = region
    except (TypeError, ValueError):
        raise ArgumentError(f"decode(region): found {region!r}; expected (top, left, height, width)") from None
    names = ("top", "left", "height", "width")
    top, left, height, width = (check_int(f"decode(region): {name}", value, low, 2**31 - 1) for name, value, low in
                                zip(names, (top, left, height, width), (0, 0, 1, 1), strict=True))
    return top, left, height, width


@suggesting
def image_info(image: Encoded | Array | torch.Tensor) -> ImageInfo:
    """Reads the header of an encoded image without decoding it.

    Args:
        image: Path, bytes-like object, or uint8 (n,).

    Raises:
        ArgumentError: The argument has pixels.
        InputError: The bytes are no image.
        IoError: The file cannot be read.

    Example:
        height, width = un.image_info("photo.jpg")[1:3]
    """
    given = read_image("image_info", image)
    if given.pixels:
        raise ArgumentError("image_info image: found pixels; expected an encoded image. Use .shape for pixels.")
    return ImageInfo(*header("image_info", given))


@suggesting
def encode_jpeg(image: ArrayLike | torch.Tensor, *, quality: int = 75, subsampling: Subsampling = "4:2:0") -> bytes:
    """Encodes pixels to a baseline JPEG file, as Pillow's save() with the same settings.

    Args:
        image: uint8 (height, width, 3), a torch tensor uint8 (3, height, width), or a PIL image. Grey pixels, as
            decode(mode="L") returns them, uint8 (height, width) or a tensor (1, height, width), become a file of one
            component.
        quality: 1 to 100.
        subsampling: Resolution of the colours: "4:4:4", "4:2:2" or "4:2:0". Grey pixels have none.

    Returns:
        The file.

    Raises:
        ArgumentError: An argument is invalid, or the image is encoded already.

    Example:
        pathlib.Path("small.jpg").write_bytes(un.encode_jpeg(un.resize("photo.jpg", 256), quality=90))
    """
    colours = grey_as_colours(image)
    given = read_image("encode_jpeg", image if colours is None else colours)
    if not given.pixels:
        raise ArgumentError("encode_jpeg image: found an encoded image; expected pixels. Use un.decode() first.")
    if subsampling not in ("4:4:4", "4:2:2", "4:2:0"):
        raise ArgumentError(f"encode_jpeg(subsampling): found {subsampling!r}; expected '4:4:4', '4:2:2' or '4:2:0'")
    return _core.encode_jpeg(given.value, check_int("encode_jpeg(quality)", quality, 1, 100),
                             subsampling if colours is None else "grey")


def __getattr__(name: str) -> Any:
    if name not in operations.NAMES and name not in FAMILIAR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(operations, name)


def __dir__() -> list[str]:
    return sorted({"decode", "image_info", "encode_jpeg", "ImageInfo", *operations.NAMES})
