"""One function for each operation of the library. Written by unstarve.functions.stubs; do not edit."""

import inspect
from typing import Literal, overload

import torch

from unstarve.functions.draws import Generator, Seed
from unstarve.functions.image_arguments import Array, ArrayLike
from unstarve.steps.image_operations import Choices

__all__ = [
    "affine",
    "alternating_flip",
    "aug_mix",
    "auto_augment",
    "auto_augment_cifar10",
    "auto_augment_imagenet",
    "auto_augment_svhn",
    "auto_contrast",
    "brightness",
    "center_crop",
    "color_jitter",
    "contrast",
    "cutout",
    "equalize",
    "erasing",
    "flip",
    "gaussian_blur",
    "grayscale",
    "horizontal_flip",
    "hue",
    "invert",
    "lighting",
    "one_of",
    "pad_crop",
    "perspective",
    "posterize",
    "rand_augment",
    "random_channel_permutation",
    "random_crop",
    "random_erasing",
    "random_resized_crop",
    "random_rotation",
    "resize",
    "rotation",
    "saturation",
    "sharpness",
    "solarize",
    "trivial_augment",
    "vertical_flip",
]

NAMES: tuple[str, ...]

def is_random(name: str) -> bool: ...
def signature_of(name: str) -> inspect.Signature: ...

@overload
def affine(image: ArrayLike, *, degrees: float | tuple[float, float] = ..., translate_x: float = ...,
           translate_y: float = ..., scale: float | tuple[float, float] = ...,
           shear_x: float | tuple[float, float] = ..., shear_y: float | tuple[float, float] = ..., p: float = ...,
           interpolation: Literal["nearest", "bilinear"] = ...,
           fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
           generator: Generator | None = ...) -> Array: ...
@overload
def affine(image: torch.Tensor, *, degrees: float | tuple[float, float] = ..., translate_x: float = ...,
           translate_y: float = ..., scale: float | tuple[float, float] = ...,
           shear_x: float | tuple[float, float] = ..., shear_y: float | tuple[float, float] = ..., p: float = ...,
           interpolation: Literal["nearest", "bilinear"] = ...,
           fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
           generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def alternating_flip(image: ArrayLike, *, seed: Seed | None = ..., generator: Generator | None = ...) -> Array: ...
@overload
def alternating_flip(image: torch.Tensor, *, seed: Seed | None = ...,
                     generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def aug_mix(image: ArrayLike, *, severity: int = ..., mixture_width: int = ..., chain_depth: int = ...,
            alpha: float = ..., all_ops: bool = ..., interpolation: Literal["nearest", "bilinear"] = ...,
            fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
            generator: Generator | None = ...) -> Array: ...
@overload
def aug_mix(image: torch.Tensor, *, severity: int = ..., mixture_width: int = ..., chain_depth: int = ...,
            alpha: float = ..., all_ops: bool = ..., interpolation: Literal["nearest", "bilinear"] = ...,
            fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
            generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def auto_augment(image: ArrayLike, policy: Literal["imagenet", "cifar10", "svhn"] = ..., *,
                 interpolation: Literal["nearest", "bilinear"] = ...,
                 fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
                 generator: Generator | None = ...) -> Array: ...
@overload
def auto_augment(image: torch.Tensor, policy: Literal["imagenet", "cifar10", "svhn"] = ..., *,
                 interpolation: Literal["nearest", "bilinear"] = ...,
                 fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
                 generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def auto_augment_cifar10(image: ArrayLike, *, interpolation: Literal["nearest", "bilinear"] = ...,
                         fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
                         generator: Generator | None = ...) -> Array: ...
@overload
def auto_augment_cifar10(image: torch.Tensor, *, interpolation: Literal["nearest", "bilinear"] = ...,
                         fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
                         generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def auto_augment_imagenet(image: ArrayLike, *, interpolation: Literal["nearest", "bilinear"] = ...,
                          fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
                          generator: Generator | None = ...) -> Array: ...
@overload
def auto_augment_imagenet(image: torch.Tensor, *, interpolation: Literal["nearest", "bilinear"] = ...,
                          fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
                          generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def auto_augment_svhn(image: ArrayLike, *, interpolation: Literal["nearest", "bilinear"] = ...,
                      fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
                      generator: Generator | None = ...) -> Array: ...
@overload
def auto_augment_svhn(image: torch.Tensor, *, interpolation: Literal["nearest", "bilinear"] = ...,
                      fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
                      generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def auto_contrast(image: ArrayLike, *, p: float = ..., seed: Seed | None = ...,
                  generator: Generator | None = ...) -> Array: ...
@overload
def auto_contrast(image: torch.Tensor, *, p: float = ..., seed: Seed | None = ...,
                  generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def brightness(image: ArrayLike, *, factor: float | tuple[float, float] = ..., p: float = ..., seed: Seed | None = ...,
               generator: Generator | None = ...) -> Array: ...
@overload
def brightness(image: torch.Tensor, *, factor: float | tuple[float, float] = ..., p: float = ...,
               seed: Seed | None = ..., generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def center_crop(image: ArrayLike, size: int | tuple[int, int]) -> Array: ...
@overload
def center_crop(image: torch.Tensor, size: int | tuple[int, int]) -> torch.Tensor: ...

@overload
def color_jitter(image: ArrayLike, *, brightness: float = ..., contrast: float = ..., saturation: float = ...,
                 hue: float = ..., p: float = ..., seed: Seed | None = ...,
                 generator: Generator | None = ...) -> Array: ...
@overload
def color_jitter(image: torch.Tensor, *, brightness: float = ..., contrast: float = ..., saturation: float = ...,
                 hue: float = ..., p: float = ..., seed: Seed | None = ...,
                 generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def contrast(image: ArrayLike, *, factor: float | tuple[float, float] = ..., p: float = ..., seed: Seed | None = ...,
             generator: Generator | None = ...) -> Array: ...
@overload
def contrast(image: torch.Tensor, *, factor: float | tuple[float, float] = ..., p: float = ..., seed: Seed | None = ...,
             generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def cutout(image: ArrayLike, size: int | tuple[int, int], *, holes: int = ..., p: float = ...,
           value: int | tuple[int, int, int] | Literal["mean", "random"] = ..., seed: Seed | None = ...,
           generator: Generator | None = ...) -> Array: ...
@overload
def cutout(image: torch.Tensor, size: int | tuple[int, int], *, holes: int = ..., p: float = ...,
           value: int | tuple[int, int, int] | Literal["mean", "random"] = ..., seed: Seed | None = ...,
           generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def equalize(image: ArrayLike, *, p: float = ..., seed: Seed | None = ...,
             generator: Generator | None = ...) -> Array: ...
@overload
def equalize(image: torch.Tensor, *, p: float = ..., seed: Seed | None = ...,
             generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def erasing(image: ArrayLike, *, p: float = ..., scale: tuple[float, float] = ..., ratio: tuple[float, float] = ...,
            value: int | tuple[int, int, int] | Literal["mean", "random"] = ..., seed: Seed | None = ...,
            generator: Generator | None = ...) -> Array: ...
@overload
def erasing(image: torch.Tensor, *, p: float = ..., scale: tuple[float, float] = ..., ratio: tuple[float, float] = ...,
            value: int | tuple[int, int, int] | Literal["mean", "random"] = ..., seed: Seed | None = ...,
            generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def flip(image: ArrayLike, *, p: float = ..., seed: Seed | None = ..., generator: Generator | None = ...) -> Array: ...
@overload
def flip(image: torch.Tensor, *, p: float = ..., seed: Seed | None = ...,
         generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def gaussian_blur(image: ArrayLike, *, sigma: float | tuple[float, float] = ..., radius: int = ..., p: float = ...,
                  seed: Seed | None = ..., generator: Generator | None = ...) -> Array: ...
@overload
def gaussian_blur(image: torch.Tensor, *, sigma: float | tuple[float, float] = ..., radius: int = ..., p: float = ...,
                  seed: Seed | None = ..., generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def grayscale(image: ArrayLike, *, p: float = ..., seed: Seed | None = ...,
              generator: Generator | None = ...) -> Array: ...
@overload
def grayscale(image: torch.Tensor, *, p: float = ..., seed: Seed | None = ...,
              generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def horizontal_flip(image: ArrayLike, *, p: float = ..., seed: Seed | None = ...,
                    generator: Generator | None = ...) -> Array: ...
@overload
def horizontal_flip(image: torch.Tensor, *, p: float = ..., seed: Seed | None = ...,
                    generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def hue(image: ArrayLike, *, shift: float | tuple[float, float] = ..., p: float = ..., seed: Seed | None = ...,
        generator: Generator | None = ...) -> Array: ...
@overload
def hue(image: torch.Tensor, *, shift: float | tuple[float, float] = ..., p: float = ..., seed: Seed | None = ...,
        generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def invert(image: ArrayLike, *, p: float = ..., seed: Seed | None = ...,
           generator: Generator | None = ...) -> Array: ...
@overload
def invert(image: torch.Tensor, *, p: float = ..., seed: Seed | None = ...,
           generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def lighting(image: ArrayLike, *, std: float = ..., p: float = ..., seed: Seed | None = ...,
             generator: Generator | None = ...) -> Array: ...
@overload
def lighting(image: torch.Tensor, *, std: float = ..., p: float = ..., seed: Seed | None = ...,
             generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def one_of(image: ArrayLike, choices: str | Choices, *, seed: Seed | None = ...,
           generator: Generator | None = ...) -> Array: ...
@overload
def one_of(image: torch.Tensor, choices: str | Choices, *, seed: Seed | None = ...,
           generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def pad_crop(image: ArrayLike, size: int | tuple[int, int], *,
             padding: int | tuple[int, int] | tuple[int, int, int, int] = ...,
             padding_mode: Literal["constant", "edge", "reflect", "symmetric"] = ...,
             fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
             generator: Generator | None = ...) -> Array: ...
@overload
def pad_crop(image: torch.Tensor, size: int | tuple[int, int], *,
             padding: int | tuple[int, int] | tuple[int, int, int, int] = ...,
             padding_mode: Literal["constant", "edge", "reflect", "symmetric"] = ...,
             fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
             generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def perspective(image: ArrayLike, *, distortion: float = ..., p: float = ...,
                interpolation: Literal["nearest", "bilinear"] = ...,
                fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
                generator: Generator | None = ...) -> Array: ...
@overload
def perspective(image: torch.Tensor, *, distortion: float = ..., p: float = ...,
                interpolation: Literal["nearest", "bilinear"] = ...,
                fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
                generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def posterize(image: ArrayLike, *, bits: int = ..., p: float = ..., seed: Seed | None = ...,
              generator: Generator | None = ...) -> Array: ...
@overload
def posterize(image: torch.Tensor, *, bits: int = ..., p: float = ..., seed: Seed | None = ...,
              generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def rand_augment(image: ArrayLike, *, changes: int = ..., magnitude: int = ..., num_magnitude_bins: int = ...,
                 interpolation: Literal["nearest", "bilinear"] = ...,
                 fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
                 generator: Generator | None = ...) -> Array: ...
@overload
def rand_augment(image: torch.Tensor, *, changes: int = ..., magnitude: int = ..., num_magnitude_bins: int = ...,
                 interpolation: Literal["nearest", "bilinear"] = ...,
                 fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
                 generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def random_channel_permutation(image: ArrayLike, *, p: float = ..., seed: Seed | None = ...,
                               generator: Generator | None = ...) -> Array: ...
@overload
def random_channel_permutation(image: torch.Tensor, *, p: float = ..., seed: Seed | None = ...,
                               generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def random_crop(image: ArrayLike, size: int | tuple[int, int], *,
                padding: int | tuple[int, int] | tuple[int, int, int, int] = ...,
                padding_mode: Literal["constant", "edge", "reflect", "symmetric"] = ...,
                fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
                generator: Generator | None = ...) -> Array: ...
@overload
def random_crop(image: torch.Tensor, size: int | tuple[int, int], *,
                padding: int | tuple[int, int] | tuple[int, int, int, int] = ...,
                padding_mode: Literal["constant", "edge", "reflect", "symmetric"] = ...,
                fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
                generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def random_erasing(image: ArrayLike, *, p: float = ..., scale: tuple[float, float] = ...,
                   ratio: tuple[float, float] = ...,
                   value: int | tuple[int, int, int] | Literal["mean", "random"] = ..., seed: Seed | None = ...,
                   generator: Generator | None = ...) -> Array: ...
@overload
def random_erasing(image: torch.Tensor, *, p: float = ..., scale: tuple[float, float] = ...,
                   ratio: tuple[float, float] = ...,
                   value: int | tuple[int, int, int] | Literal["mean", "random"] = ..., seed: Seed | None = ...,
                   generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def random_resized_crop(image: ArrayLike, size: int | tuple[int, int], *, scale: tuple[float, float] = ...,
                        ratio: tuple[float, float] = ...,
                        interpolation: Literal["nearest", "bilinear", "bicubic", "box", "area", "lanczos"] = ...,
                        antialias: bool = ..., seed: Seed | None = ..., generator: Generator | None = ...) -> Array: ...
@overload
def random_resized_crop(image: torch.Tensor, size: int | tuple[int, int], *, scale: tuple[float, float] = ...,
                        ratio: tuple[float, float] = ...,
                        interpolation: Literal["nearest", "bilinear", "bicubic", "box", "area", "lanczos"] = ...,
                        antialias: bool = ..., seed: Seed | None = ...,
                        generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def random_rotation(image: ArrayLike, degrees: float | tuple[float, float], *, p: float = ...,
                    interpolation: Literal["nearest", "bilinear"] = ...,
                    fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
                    generator: Generator | None = ...) -> Array: ...
@overload
def random_rotation(image: torch.Tensor, degrees: float | tuple[float, float], *, p: float = ...,
                    interpolation: Literal["nearest", "bilinear"] = ...,
                    fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
                    generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def resize(image: ArrayLike, size: int | tuple[int, int], *, max_size: int = ...,
           interpolation: Literal["nearest", "bilinear", "bicubic", "box", "area", "lanczos"] = ...,
           antialias: bool = ...) -> Array: ...
@overload
def resize(image: torch.Tensor, size: int | tuple[int, int], *, max_size: int = ...,
           interpolation: Literal["nearest", "bilinear", "bicubic", "box", "area", "lanczos"] = ...,
           antialias: bool = ...) -> torch.Tensor: ...

@overload
def rotation(image: ArrayLike, *, degrees: float | tuple[float, float] = ..., p: float = ...,
             interpolation: Literal["nearest", "bilinear"] = ...,
             fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
             generator: Generator | None = ...) -> Array: ...
@overload
def rotation(image: torch.Tensor, *, degrees: float | tuple[float, float] = ..., p: float = ...,
             interpolation: Literal["nearest", "bilinear"] = ...,
             fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
             generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def saturation(image: ArrayLike, *, factor: float | tuple[float, float] = ..., p: float = ..., seed: Seed | None = ...,
               generator: Generator | None = ...) -> Array: ...
@overload
def saturation(image: torch.Tensor, *, factor: float | tuple[float, float] = ..., p: float = ...,
               seed: Seed | None = ..., generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def sharpness(image: ArrayLike, *, factor: float | tuple[float, float] = ..., p: float = ..., seed: Seed | None = ...,
              generator: Generator | None = ...) -> Array: ...
@overload
def sharpness(image: torch.Tensor, *, factor: float | tuple[float, float] = ..., p: float = ...,
              seed: Seed | None = ..., generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def solarize(image: ArrayLike, *, threshold: int = ..., p: float = ..., seed: Seed | None = ...,
             generator: Generator | None = ...) -> Array: ...
@overload
def solarize(image: torch.Tensor, *, threshold: int = ..., p: float = ..., seed: Seed | None = ...,
             generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def trivial_augment(image: ArrayLike, *, num_magnitude_bins: int = ...,
                    interpolation: Literal["nearest", "bilinear"] = ...,
                    fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
                    generator: Generator | None = ...) -> Array: ...
@overload
def trivial_augment(image: torch.Tensor, *, num_magnitude_bins: int = ...,
                    interpolation: Literal["nearest", "bilinear"] = ...,
                    fill: int | tuple[int, int, int] | Literal["mean"] = ..., seed: Seed | None = ...,
                    generator: Generator | None = ...) -> torch.Tensor: ...

@overload
def vertical_flip(image: ArrayLike, *, p: float = ..., seed: Seed | None = ...,
                  generator: Generator | None = ...) -> Array: ...
@overload
def vertical_flip(image: torch.Tensor, *, p: float = ..., seed: Seed | None = ...,
                  generator: Generator | None = ...) -> torch.Tensor: ...
