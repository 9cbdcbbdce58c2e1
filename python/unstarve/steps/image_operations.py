"""Steps for the operations on single images, as methods; of unstarve.Pipeline and of un.from_torch()."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeAlias

import numpy as np

from unstarve.arguments import check_int, check_nonnegative, check_number
from unstarve.errors import ArgumentError
from unstarve.schedules import Schedule
from unstarve.steps.literals import AutoAugmentPolicy, Interpolation, PaddingMode, WarpInterpolation
from unstarve.steps.operation_names import spec_operation
from unstarve.suggestions import suggesting_methods

# A grey value 0..255, (red, green, blue), or a name such as "mean".
Colour: TypeAlias = "int | tuple[int, int, int] | str"


def _non_default(**parameters: tuple[Any, Any]) -> dict[str, Any]:
    """Returns the values of {name: (value, default)} that differ from the default, so that specs stay short.

    1 differs from True, and 0 from False.
    """
    def differs(value: Any, default: Any) -> bool:
        return isinstance(value, np.ndarray) or value != default or isinstance(value, bool) != isinstance(default, bool)

    return {name: value for name, (value, default) in parameters.items() if differs(value, default)}


def _resampling(interpolation: str, antialias: bool) -> dict[str, Any]:
    return _non_default(interpolation=(interpolation, "bilinear"), antialias=(antialias, True))


def _choice_value(value: Any) -> str:
    """Returns a parameter as the text of one_of() has it."""
    if isinstance(value, bool | str):
        return str(value).lower() if isinstance(value, bool) else value
    numbers = list(value) if isinstance(value, Sequence | np.ndarray) else [value]
    return ",".join(repr(check_number("one_of", one)) for one in numbers)


Choices: TypeAlias = "Sequence[str | tuple[str, Mapping[str, Any]]]"


def choices_text(choices: Choices, weights: Sequence[float] | None = None) -> str:
    """Returns the parameter `choices` of the operation one_of: "color_jitter hue=0; 2 gaussian_blur".

    Args:
        choices: Names of operations, or (name, parameters), as operation() accepts them.
        weights: How often each is drawn, relative to the others.

    Raises:
        ArgumentError: A choice has another form, or the number of weights differs from that of choices.
    """
    if not isinstance(choices, Sequence):
        raise ArgumentError(f"one_of(choices): found {choices!r}; expected a list of operations")
    shares = [1.0] * len(choices) if weights is None else list(weights)
    if len(shares) != len(choices):
        raise ArgumentError(f"one_of(weights): found {len(shares)} for {len(choices)} operations; expected one each")
    texts = []
    for choice, share in zip(choices, shares, strict=True):
        name: str
        parameters: Mapping[str, Any] = {}
        match choice:
            case str():
                name = choice
            case (str() as name, Mapping() as parameters):
                pass
            case _:
                raise ArgumentError(f"one_of(choices): found {choice!r}; expected the name of an operation, or "
                                    "(name, {parameter: value})")
        name, parameters = spec_operation(name, parameters)
        values = "".join(f" {key}={_choice_value(value)}" for key, value in parameters.items())
        texts.append(("" if share == 1 else f"{check_nonnegative('one_of(weights)', share)!r} ") + name + values)
    return "; ".join(texts)


@suggesting_methods
class ImageOperationSteps(abc.ABC):
    """Methods that add an operation by its name, with the parameters that users know."""

    @abc.abstractmethod
    def operation(self, name: str, **parameters: float | str | Sequence[float] | Schedule) -> Self:
        """Adds any operation by name.

        Args:
            name: A name that `unstarve.operations()` lists, or the name of a method.
            parameters: Its parameters; numbers may be an `unstarve.schedule()`. `p` is the same as `probability`.

        Raises:
            ArgumentError: Unknown operation or invalid parameter.
        """

    def random_resized_crop(self, size: int | tuple[int, int] | Schedule, *, scale: tuple[float, float] = (0.08, 1.0),
                            ratio: tuple[float, float] = (3 / 4, 4 / 3), interpolation: Interpolation = "bilinear",
                            antialias: bool = True) -> Self:
        """Crops a random region and resizes it, as torchvision's RandomResizedCrop.

        Args:
            size: Side of the result in pixels, or (height, width).
            scale: Smallest and largest fraction of the image area.
            ratio: Smallest and largest width / height.
            interpolation: As in resize().
            antialias: As in resize().
        """
        return self.operation("random_resized_crop", size=size, scale=scale, ratio=ratio,
                              **_resampling(interpolation, antialias))

    def resize(self, size: int | tuple[int, int] | Schedule, *, interpolation: Interpolation = "bilinear",
               antialias: bool = True, max_size: int | Schedule | None = None) -> Self:
        """Resizes to a shorter side of `size` pixels, or to exactly (height, width).

        Args:
            size: Length of the shorter side, or (height, width).
            interpolation: "nearest", "bilinear", "bicubic", "box" or "lanczos" as in Pillow; "area" as OpenCV's
                INTER_AREA when it reduces.
            antialias: False, for bilinear and bicubic only: as torch's interpolate().
            max_size: Largest length of the longer side; the shorter side shrinks to match, as in torchvision's Resize.
        """
        return self.operation("resize", size=size, **({} if max_size is None else {"max_size": max_size}),
                              **_resampling(interpolation, antialias))

    def center_crop(self, size: int | tuple[int, int] | Schedule) -> Self:
        """Crops the central `size` x `size` pixels, or (height, width). Smaller images get a black border."""
        return self.operation("center_crop", size=size)

    def pad_crop(self, size: int | tuple[int, int] | Schedule, padding: int | Sequence[int] | Schedule = 4,
                 fill: Colour = 0, padding_mode: PaddingMode = "constant") -> Self:
        """Pads the image and crops a random region, as in CIFAR training and torchvision's RandomCrop.

        Args:
            size: Side of the crop in pixels, or (height, width).
            padding: Pixels on every side, or (left and right, top and bottom), or (left, top, right, bottom).
            fill: Colour of the border: 0..255, (red, green, blue), or "mean", the colour that normalises to about 0.
            padding_mode: "constant" uses `fill`; "edge", "reflect" and "symmetric" use pixels of the image.
        """
        return self.operation("pad_crop", size=size, padding=padding,
                              **_non_default(fill=(fill, 0), padding_mode=(padding_mode, "constant")))

    def random_crop(self, size: int | tuple[int, int] | Schedule,
                    padding: int | Sequence[int] | Schedule | None = None, fill: Colour = 0,
                    padding_mode: PaddingMode = "constant") -> Self:
        """Crops a random region without resizing it, as torchvision's RandomCrop. By default, it does not pad.

        A smaller image gets a border.

        Args:
            size: Side of the crop in pixels, or (height, width).
            padding: As in pad_crop(); None is 0.
            fill: As in pad_crop().
            padding_mode: As in pad_crop().
        """
        return self.pad_crop(size, 0 if padding is None else padding, fill, padding_mode)

    def flip(self, p: float = 0.5) -> Self:
        """Mirrors the image horizontally with probability `p`."""
        return self.operation("horizontal_flip", probability=p)

    def horizontal_flip(self, p: float = 0.5) -> Self:
        """The same as flip(): mirrors the image horizontally with probability `p`."""
        return self.flip(p)

    def alternating_flip(self) -> Self:
        """Mirrors a random half of the images horizontally, and in the next epoch the other half.

        Each image is therefore seen both ways in any two consecutive epochs, as in airbench94.
        """
        return self.operation("alternating_flip")

    def vertical_flip(self, p: float = 0.5) -> Self:
        """Mirrors the image vertically with probability `p`."""
        return self.operation("vertical_flip", probability=p)

    def color_jitter(self, brightness: float = 0.4, contrast: float = 0.4, saturation: float = 0.4, hue: float = 0.1,
                     p: float = 1.0) -> Self:
        """Changes brightness, contrast, saturation and hue in random order, as torchvision's ColorJitter.

        Args:
            brightness: 0.4 draws factors from 0.6 to 1.4.
            contrast: As brightness.
            saturation: As brightness.
            hue: Largest hue shift in either direction, 0 to 0.5, as a fraction of the colour circle.
            p: Probability that the operation is applied.
        """
        return self.operation("color_jitter", brightness=brightness, contrast=contrast, saturation=saturation, hue=hue,
                              probability=p)

    def grayscale(self, p: float = 0.1) -> Self:
        """Replaces all three channels by grey with probability `p`."""
        return self.operation("grayscale", probability=p)

    def random_channel_permutation(self, p: float = 1.0) -> Self:
        """Permutes the colour channels at random, as torchvision's RandomChannelPermutation.

        All six orders are equally frequent; one of them leaves the image unchanged.

        Args:
            p: Probability that the operation is applied.
        """
        return self.operation("random_channel_permutation", probability=p)

    def rotation(self, degrees: float | tuple[float, float] = (-30, 30), fill: Colour = 0,
                 interpolation: WarpInterpolation = "bilinear", p: float = 1.0) -> Self:
        """Rotates the image about its centre.

        Args:
            degrees: Range of the counter-clockwise angle; one number rotates all images by it.
            fill: Colour of uncovered pixels, as in pad_crop().
            interpolation: "nearest" or "bilinear".
            p: Probability that the operation is applied.
        """
        return self.operation("rotation", degrees=degrees, fill=fill,
                              **_non_default(interpolation=(interpolation, "bilinear"), probability=(p, 1.0)))

    def random_rotation(self, degrees: float | tuple[float, float], fill: Colour = 0,
                        interpolation: WarpInterpolation = "nearest", p: float = 1.0) -> Self:
        """Rotates the image by a random angle, as torchvision's RandomRotation.

        Args:
            degrees: Range of the counter-clockwise angle; a number d is (-d, d).
            fill: As in rotation().
            interpolation: As in rotation().
            p: Probability that the operation is applied.
        """
        low_high: Any = degrees
        if np.ndim(low_high) == 0:
            low_high = (-low_high, low_high)
        return self.rotation((low_high[0], low_high[1]), fill, interpolation, p)

    def affine(self, degrees: float | tuple[float, float] = (-15, 15), translate: tuple[float, float] = (0.1, 0.1),
               scale: float | tuple[float, float] = (0.9, 1.1), shear_x: float | tuple[float, float] = 0,
               shear_y: float | tuple[float, float] = 0, fill: Colour = 0,
               interpolation: WarpInterpolation = "bilinear", p: float = 1.0) -> Self:
        """Rotates, translates, scales and shears the image about its centre, as torchvision's RandomAffine.

        One value is drawn from each range for each image. A single number is the value for all images.

        Args:
            degrees: Range of the angle.
            translate: Largest shift in either direction, as fractions of width and height.
            scale: Range of the factor.
            shear_x: Range of the horizontal shear in degrees.
            shear_y: Range of the vertical shear in degrees.
            fill: As in rotation().
            interpolation: As in rotation().
            p: Probability that the operation is applied.
        """
        return self.operation("affine", degrees=degrees, translate_x=translate[0], translate_y=translate[1],
                              scale=scale, shear_x=shear_x, shear_y=shear_y, fill=fill,
                              **_non_default(interpolation=(interpolation, "bilinear"), probability=(p, 1.0)))

    def perspective(self, distortion: float = 0.5, p: float = 0.5, fill: Colour = 0,
                    interpolation: WarpInterpolation = "bilinear") -> Self:
        """Applies a random perspective transform, as torchvision's RandomPerspective.

        Args:
            distortion: Each corner moves inwards by up to this fraction of half a side.
            p: Probability that the operation is applied.
            fill: As in rotation().
            interpolation: As in rotation().
        """
        return self.operation("perspective", distortion=distortion, probability=p, fill=fill,
                              **_non_default(interpolation=(interpolation, "bilinear")))

    def gaussian_blur(self, sigma: float | tuple[float, float] = (0.1, 2.0), p: float = 0.5,
                      radius: int | Schedule = 0, *, kernel_size: int | None = None) -> Self:
        """Blurs the image with a Gaussian kernel.

        Args:
            sigma: Standard deviation in pixels, or the range from which it is drawn.
            p: Probability that the operation is applied.
            radius: Kernel radius in pixels. 0 uses three sigma.
            kernel_size: torchvision's form of the radius: 2 * radius + 1.

        Raises:
            ArgumentError: `kernel_size` is not an odd number, or `radius` is given too.
        """
        if kernel_size is not None:
            if radius != 0 or check_int("gaussian_blur(kernel_size)", kernel_size, 1) % 2 == 0:
                raise ArgumentError(f"gaussian_blur(kernel_size): found {kernel_size}; expected an odd number, and no "
                                    "radius")
            radius = kernel_size // 2
        return self.operation("gaussian_blur", sigma=sigma, probability=p, **_non_default(radius=(radius, 0)))

    def erasing(self, p: float = 0.5, scale: tuple[float, float] = (0.02, 0.33),
                ratio: tuple[float, float] = (0.3, 3.3), value: Colour = "mean") -> Self:
        """Covers a random rectangle, as torchvision's RandomErasing, but before normalisation.

        Args:
            p: Probability that the operation is applied.
            scale: Smallest and largest fraction of the image area.
            ratio: Smallest and largest height / width.
            value: 0..255, (red, green, blue), "random" for noise, or "mean": the colour that normalises to about 0
                (torchvision's value=0 after Normalize), black without normalisation.
        """
        return self.operation("erasing", probability=p, scale=scale, ratio=ratio,
                              **_non_default(value=(value, "mean")))

    def random_erasing(self, p: float = 0.5, scale: tuple[float, float] = (0.02, 0.33),
                       ratio: tuple[float, float] = (0.3, 3.3), value: Colour = "mean") -> Self:
        """The same as erasing(): covers a random rectangle, as torchvision's RandomErasing.

        Args:
            p: As in erasing().
            scale: As in erasing().
            ratio: As in erasing().
            value: As in erasing().
        """
        return self.erasing(p, scale, ratio, value)

    def cutout(self, size: int | tuple[int, int] | Schedule, holes: int = 1, p: float = 1.0,
               value: Colour = "mean") -> Self:
        """Covers squares whose centres are drawn uniformly, clipped to the image, as in the code of the Cutout paper.

        Args:
            size: Side of a square in pixels, or (height, width) of a rectangle.
            holes: Number of squares.
            p: Probability that the operation is applied.
            value: As in erasing().
        """
        return self.operation("cutout", size=size, holes=holes, probability=p,
                              **_non_default(value=(value, "mean")))

    def rand_augment(self, changes: int = 2, magnitude: int | Schedule = 9, num_magnitude_bins: int | Schedule = 31,
                     interpolation: WarpInterpolation = "nearest", fill: Colour = 0) -> Self:
        """RandAugment: `changes` operations drawn from fourteen, as in torchvision.

        Args:
            changes: Number of operations per image.
            magnitude: Strength of all operations, 0 to num_magnitude_bins - 1.
            num_magnitude_bins: Number of strengths.
            interpolation: "nearest" or "bilinear".
            fill: Colour of uncovered pixels, as in pad_crop().
        """
        return self.operation("rand_augment", changes=changes, magnitude=magnitude,
                              **_non_default(num_magnitude_bins=(num_magnitude_bins, 31),
                                             interpolation=(interpolation, "nearest"), fill=(fill, 0)))

    def trivial_augment(self, num_magnitude_bins: int | Schedule = 31, interpolation: WarpInterpolation = "nearest",
                        fill: Colour = 0) -> Self:
        """TrivialAugmentWide: one operation drawn from fourteen, with a random magnitude.

        Args:
            num_magnitude_bins: Number of magnitudes.
            interpolation: "nearest" or "bilinear".
            fill: Colour of uncovered pixels, as in pad_crop().
        """
        return self.operation("trivial_augment", **_non_default(
            num_magnitude_bins=(num_magnitude_bins, 31), interpolation=(interpolation, "nearest"), fill=(fill, 0)))

    def one_of(self, *choices: str | tuple[str, Mapping[str, Any]] | Choices,
               weights: Sequence[float] | None = None) -> Self:
        """Applies one of several operations, drawn for each sample; see RandomChoice of torchvision.

        The operations keep the size of the image. Each has its own probability, which is often 0.5 by default.

        Args:
            choices: Names of operations, or (name, parameters), as operation() accepts them; or one list of them.
            weights: How often each is drawn, relative to the others; by default equally often.

        Raises:
            ArgumentError: An operation is unknown or changes the size, or a weight is not above 0.

        Example:
            pipeline.one_of(("color_jitter", {"hue": 0}), ("gaussian_blur", {"sigma": (0.1, 2), "probability": 1}))
        """
        listed: Any = choices[0] if len(choices) == 1 and isinstance(choices[0], list) else choices
        return self.operation("one_of", choices=choices_text(listed, weights))

    def aug_mix(self, severity: int = 3, mixture_width: int = 3, chain_depth: int = -1, alpha: float = 1.0,
                all_ops: bool = True, interpolation: WarpInterpolation = "bilinear", fill: Colour = 0) -> Self:
        """AugMix: blends the image with several randomly augmented versions of it.

        Args:
            severity: Operations have a magnitude of 0 to severity - 1, of 9.
            mixture_width: Number of augmented versions.
            chain_depth: Operations per version; -1 draws 1 to 3.
            alpha: Parameter of the Dirichlet distribution of the weights.
            all_ops: Include brightness, contrast, saturation and sharpness.
            interpolation: "nearest" or "bilinear".
            fill: Colour of uncovered pixels, as in pad_crop().
        """
        return self.operation("aug_mix", severity=severity, mixture_width=mixture_width, chain_depth=chain_depth,
                              alpha=alpha, all_ops=all_ops,
                              **_non_default(interpolation=(interpolation, "bilinear"), fill=(fill, 0)))

    def auto_augment(self, policy: AutoAugmentPolicy = "imagenet", interpolation: WarpInterpolation = "nearest",
                     fill: Colour = 0) -> Self:
        """AutoAugment with a published policy.

        Args:
            policy: "imagenet", "cifar10" or "svhn".
            interpolation: "nearest" or "bilinear".
            fill: Colour of uncovered pixels, as in pad_crop().
        """
        return self.operation(f"auto_augment_{policy}",
                              **_non_default(interpolation=(interpolation, "nearest"), fill=(fill, 0)))
