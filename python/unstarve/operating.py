"""The steps of a pipeline that make samples of records: decoding, operations, the batch's type, whole batches."""

from __future__ import annotations

import abc
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, TypeAlias

import numpy as np

from unstarve import _core
from unstarve.arguments import channels, flag, refuse_again
from unstarve.schedules import Schedule
from unstarve.spec_text import spec_text

# 0..255, (red, green, blue), or a word.
Colour: TypeAlias = "int | tuple[int, int, int] | str"


def _unless(**parameters: tuple[Any, Any]) -> dict[str, Any]:
    """Of (value, usual value) the values that are not the usual ones: a spec tells what was chosen."""
    return {name: value for name, (value, usual) in parameters.items()
            if isinstance(value, np.ndarray) or value != usual}


def _resampling(interpolation: str, antialias: bool) -> dict[str, Any]:
    return _unless(interpolation=(interpolation, "bilinear"), antialias=(antialias, True))


class Operating(abc.ABC):
    """Part of unstarve.Pipeline."""

    _spec: dict[str, Any]

    @abc.abstractmethod
    def _with(self, step: str | None, name: str | None = None, **nodes: dict[str, Any]) -> Self:
        """The pipeline with these nodes of the spec, behind `step`; ArgumentError where that may not stand here."""

    # --- decoding and operations ------------------------------------------------------------------------------------

    def decode(self, *, crop_only: bool = True, reduced_scale: bool = False, max_pixels: int = 1 << 28) -> Self:
        """JPEG, PNG and WebP to upright RGB. May be left out: encoded images are decoded anyway.

        crop_only: decode only the part that the first operation reads; exact.
        reduced_scale: decode at 1/2, 1/4 or 1/8 where that is still at least the target size; approximate.
        max_pixels: an image whose header claims more is an error of its sample, found before memory is taken for it.
        """
        return self._with("decode", decode={"crop_only": flag("decode(crop_only)", crop_only),
                                            "reduced_scale": flag("decode(reduced_scale)", reduced_scale),
                                            "max_pixels": max_pixels})

    def random_resized_crop(self, size: int | tuple[int, int] | Schedule, *, scale: tuple[float, float] = (0.08, 1.0),
                            ratio: tuple[float, float] = (3 / 4, 4 / 3), interpolation: str = "bilinear",
                            antialias: bool = True) -> Self:
        """A random part, resized to size x size, or (height, width), as torchvision's RandomResizedCrop draws it.

        scale: part of the area, least and most. ratio: width / height, least and most. interpolation, antialias: as
        resize().
        """
        return self.operation("random_resized_crop", size=size, scale=scale, ratio=ratio,
                              **_resampling(interpolation, antialias))

    def resize(self, size: int | tuple[int, int] | Schedule, *, interpolation: str = "bilinear",
               antialias: bool = True, max_size: int | Schedule | None = None) -> Self:
        """To a short side of `size`, or to (height, width) exactly.

        max_size: most that a long side may have; where it would be longer, it is that and the short side shorter, as
        torchvision's Resize has it.
        interpolation: "nearest", "bilinear", "bicubic", "box" or "lanczos", as Pillow's of these names; "area",
        OpenCV's INTER_AREA where it reduces. antialias=False, of bilinear and bicubic alone: as torch's interpolate().
        """
        return self.operation("resize", size=size, **({} if max_size is None else {"max_size": max_size}),
                              **_resampling(interpolation, antialias))

    def center_crop(self, size: int | tuple[int, int] | Schedule) -> Self:
        """The middle `size` x `size`, or (height, width), with black around where the image is smaller."""
        return self.operation("center_crop", size=size)

    def pad_crop(self, size: int | tuple[int, int] | Schedule, padding: int | Sequence[int] | Schedule = 4,
                 fill: Colour = 0, padding_mode: str = "constant") -> Self:
        """A random size x size part, or (height, width), of the image with a border, as CIFAR training uses.

        padding: pixels on every side, or (left and right, top and bottom), or (left, top, right, bottom). fill: 0..255
        or (red, green, blue) of the border, or "mean": what is normalised to about 0. padding_mode: "constant" for
        that, or "edge", "reflect" or "symmetric": the image's own pixels, as torchvision's RandomCrop has them.
        """
        return self.operation("pad_crop", size=size, padding=padding,
                              **_unless(fill=(fill, 0), padding_mode=(padding_mode, "constant")))

    def flip(self, p: float = 0.5) -> Self:
        """Mirrors left and right with probability `p`."""
        return self.operation("horizontal_flip", probability=p)

    def vertical_flip(self, p: float = 0.5) -> Self:
        """Mirrors top and bottom with probability `p`."""
        return self.operation("vertical_flip", probability=p)

    def color_jitter(self, brightness: float = 0.4, contrast: float = 0.4, saturation: float = 0.4, hue: float = 0.1,
                     p: float = 1.0) -> Self:
        """Brightness, contrast, saturation and hue changed in random order, as by torchvision's ColorJitter, with
        probability `p`.

        brightness, contrast, saturation: 0.4 draws factors of 0.6 to 1.4. hue: the largest hue shift, of the circle.
        """
        return self.operation("color_jitter", brightness=brightness, contrast=contrast, saturation=saturation, hue=hue,
                              probability=p)

    def grayscale(self, p: float = 0.1) -> Self:
        """Grey in all three channels with probability `p`."""
        return self.operation("grayscale", probability=p)

    def rotation(self, degrees: float | tuple[float, float] = (-30, 30), fill: Colour = 0,
                 interpolation: str = "bilinear", p: float = 1.0) -> Self:
        """Turned about the middle with probability `p`.

        degrees: counter-clockwise, drawn between two numbers; one number turns all alike. fill: where nothing is, as
        pad_crop(). interpolation: "nearest" or "bilinear".
        """
        return self.operation("rotation", degrees=degrees, fill=fill,
                              **_unless(interpolation=(interpolation, "bilinear"), probability=(p, 1.0)))

    def affine(self, degrees: float | tuple[float, float] = (-15, 15), translate: tuple[float, float] = (0.1, 0.1),
               scale: float | tuple[float, float] = (0.9, 1.1), shear_x: float | tuple[float, float] = 0,
               shear_y: float | tuple[float, float] = 0, fill: Colour = 0, interpolation: str = "bilinear",
               p: float = 1.0) -> Self:
        """Turned, moved, scaled and sheared about the middle with probability `p`, as torchvision's RandomAffine.

        degrees, scale, shear_x, shear_y (degrees): drawn between two numbers; one number is for all. translate: moved
        by up to these parts of width and height, either way. fill, interpolation: as rotation().
        """
        return self.operation("affine", degrees=degrees, translate_x=translate[0], translate_y=translate[1],
                              scale=scale, shear_x=shear_x, shear_y=shear_y, fill=fill,
                              **_unless(interpolation=(interpolation, "bilinear"), probability=(p, 1.0)))

    def perspective(self, distortion: float = 0.5, p: float = 0.5, fill: Colour = 0,
                    interpolation: str = "bilinear") -> Self:
        """Seen from another side with probability `p`, as torchvision's RandomPerspective.

        distortion: each corner moves inwards by up to this part of half a side. fill, interpolation: as rotation().
        """
        return self.operation("perspective", distortion=distortion, probability=p, fill=fill,
                              **_unless(interpolation=(interpolation, "bilinear")))

    def gaussian_blur(self, sigma: float | tuple[float, float] = (0.1, 2.0), p: float = 0.5,
                      radius: int | Schedule = 0) -> Self:
        """Out of focus by `sigma` pixels, drawn where it is two numbers, with probability `p`.

        radius: neighbours on each side that count, so that torchvision's kernel_size is 2 * radius + 1; 0: three sigma.
        """
        return self.operation("gaussian_blur", sigma=sigma, probability=p, **_unless(radius=(radius, 0)))

    def erasing(self, p: float = 0.5, scale: tuple[float, float] = (0.02, 0.33),
                ratio: tuple[float, float] = (0.3, 3.3), value: Colour = "mean") -> Self:
        """A random rectangle covered with probability `p`, as by torchvision's RandomErasing, but before normalising.

        scale: part of the area, least and most. ratio: height / width, least and most.
        value: "mean" is what is normalised to about 0, torchvision's value=0 behind Normalize, and black where nothing
        is normalised; 0..255, or (red, green, blue); "random": noise, every value drawn.
        """
        return self.operation("erasing", probability=p, scale=scale, ratio=ratio, **_unless(value=(value, "mean")))

    def cutout(self, size: int | tuple[int, int] | Schedule, holes: int = 1, p: float = 1.0,
               value: Colour = "mean") -> Self:
        """`holes` squares of `size` pixels, or rectangles of (height, width), covered with probability `p`.

        The middle of each is drawn evenly over all pixels, and what lies beyond the edges is cut off, as in the code of
        the Cutout paper. value: as erasing().
        """
        return self.operation("cutout", size=size, holes=holes, probability=p, **_unless(value=(value, "mean")))

    def rand_augment(self, changes: int = 2, magnitude: int | Schedule = 9, num_magnitude_bins: int | Schedule = 31,
                     interpolation: str = "nearest", fill: Colour = 0) -> Self:
        """RandAugment: `changes` drawn from fourteen, of `magnitude`, as torchvision has it.

        magnitude: 0, the least, up to num_magnitude_bins - 1, always the same. interpolation: "nearest" or "bilinear".
        fill: what is left free, as pad_crop().
        """
        return self.operation("rand_augment", changes=changes, magnitude=magnitude,
                              **_unless(num_magnitude_bins=(num_magnitude_bins, 31),
                                        interpolation=(interpolation, "nearest"), fill=(fill, 0)))

    def trivial_augment(self, num_magnitude_bins: int | Schedule = 31, interpolation: str = "nearest",
                        fill: Colour = 0) -> Self:
        """TrivialAugment's wide space: one change drawn from fourteen, by a magnitude drawn from num_magnitude_bins.

        interpolation: "nearest" or "bilinear". fill: what is left free, as pad_crop().
        """
        return self.operation("trivial_augment", **_unless(
            num_magnitude_bins=(num_magnitude_bins, 31), interpolation=(interpolation, "nearest"), fill=(fill, 0)))

    def aug_mix(self, severity: int = 3, mixture_width: int = 3, chain_depth: int = -1, alpha: float = 1.0,
                all_ops: bool = True, interpolation: str = "bilinear", fill: Colour = 0) -> Self:
        """AugMix: the image blended with `mixture_width` chains of changes of magnitude 0 to `severity` - 1 of 9.

        chain_depth: changes in a chain; -1: one to three, drawn. alpha: of the Dirichlet distribution of the weights.
        all_ops: with brightness, contrast, saturation and sharpness. interpolation: "nearest" or "bilinear". fill: what
        is left free, as pad_crop().
        """
        return self.operation("aug_mix", severity=severity, mixture_width=mixture_width, chain_depth=chain_depth,
                              alpha=alpha, all_ops=all_ops,
                              **_unless(interpolation=(interpolation, "bilinear"), fill=(fill, 0)))

    def auto_augment(self, policy: str = "imagenet", interpolation: str = "nearest", fill: Colour = 0) -> Self:
        """AutoAugment by the policy that was found for "imagenet", "cifar10" or "svhn".

        interpolation: "nearest" or "bilinear". fill: what is left free, as pad_crop().
        """
        return self.operation(f"auto_augment_{policy}",
                              **_unless(interpolation=(interpolation, "nearest"), fill=(fill, 0)))

    def operation(self, name: str, **parameters: float | str | Sequence[float] | Schedule) -> Self:
        """Any operation by its name, as `unstarve.operations()` lists them; numbers may be an `unstarve.schedule()`.

        ArgumentError when it makes no sense.
        """
        return self._add_step("operation", name, parameters)

    def normalize(self, mean: Iterable[float], std: Iterable[float]) -> Self:
        """float32 values (pixel / 255 - mean) / std per channel, made while the sample is written into its batch. Of
        another dtype by output() behind it."""
        given = self._spec.get("output", {}).get("type", "float32")
        if given != "float32":
            refuse_again("normalize", "output.type", given, "output",
                         "output() behind normalize(), which makes float32 without it")
        made = self._with("normalize", output={"mean": channels("mean", mean), "std": channels("std", std)})
        made._spec["output"].setdefault("type", "float32")
        return made

    def output(self, dtype: str = "float32", layout: str = "NCHW") -> Self:
        """How batches lie in memory.

        dtype: "uint8", "float32", "bfloat16" or "float16". layout: "NCHW" or "NHWC".
        """
        return self._with("output", output={"type": dtype, "layout": layout})

    # --- on whole batches: labels become targets, float32 of shape (batch, classes) ---------------------------------

    def one_hot(self) -> Self:
        """Targets of zeros with a one at the label, instead of labels."""
        return self.batch_operation("one_hot")

    def label_smoothing(self, epsilon: float | Schedule = 0.1) -> Self:
        """Targets of which a part `epsilon` is spread over all classes."""
        return self.batch_operation("label_smoothing", epsilon=epsilon)

    def mixup(self, alpha: float | Schedule = 0.2, p: float | Schedule = 1.0) -> Self:
        """Each sample and its target blended with the one before it in the batch, by one draw of Beta(alpha, alpha); a
        batch with probability `p`."""
        return self.batch_operation("mixup", alpha=alpha, probability=p)

    def cutmix(self, alpha: float | Schedule = 1.0, p: float | Schedule = 1.0) -> Self:
        """A box of each sample from the one before it in the batch, whose part of the area is drawn of Beta(alpha,
        alpha); the targets follow its area. A batch with probability `p`."""
        return self.batch_operation("cutmix", alpha=alpha, probability=p)

    def batch_operation(self, name: str, **parameters: float | Schedule) -> Self:
        """Any operation on whole batches by its name, as `unstarve.batch_operations()` lists them; numbers may be an
        `unstarve.schedule()`."""
        return self._add_step("batch_operation", name, parameters)

    def _add_step(self, step: str, name: str, parameters: Mapping[str, Any]) -> Self:
        values = {key: list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
                  for key, value in parameters.items()}
        key = f"{step}s"
        added = spec_text({key: [{name: values}]})
        _core.check(added)
        made = self._with(step, name)
        # As it was checked, whatever becomes of the caller's lists and arrays.
        made._spec[key] = [*made._spec.get(key, []), *json.loads(added)[key]]
        return made
