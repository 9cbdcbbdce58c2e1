"""resize with every interpolation, compared with Pillow, torch and the definition of OpenCV's area filter."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image
from test_ops_golden import PROGRAM, SIZES, apply, differences, noise, pictures, pillows

pytestmark = pytest.mark.skipif(not PROGRAM, reason="UNSTARVE_APPLY_OP does not name the program apply_op")


def resized(pixels: np.ndarray, size: tuple[int, int], *options: str) -> np.ndarray:
    return apply(pixels, ":".join([f"resize:size={size[0]},{size[1]}", *options]))[0]


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[1]}x{s[0]}")
@pytest.mark.parametrize("name", ["nearest", "bicubic", "box", "lanczos"])
def test_interpolations_equal_those_of_pillow(name: str, size: tuple[int, int]) -> None:
    # Our weights have 14 bits and more, Pillow's 22. Those of a box are all equal, so sums often end in one half.
    most, share = {"nearest": (0, 0.0), "box": (1, 0.16), "bicubic": (2, 0.01), "lanczos": (2, 0.015)}[name]
    for i, pixels in enumerate([*pictures(4), noise(1, 40), noise(17, 5)]):
        difference = differences(resized(pixels, size, f"interpolation={name}"), pillows(pixels, size, name))
        assert difference.max() <= most
        assert (difference > 1).mean() <= 0.0002
        if (3 <= i < 6 or 9 <= i < 13) and min(size) > 1:  # noise and photographs: a pattern has few different sums
            assert (difference > 0).mean() <= share


@pytest.mark.parametrize("antialias", [True, False], ids=["antialiased", "plain"])
@pytest.mark.parametrize("name", ["bilinear", "bicubic"])
def test_resize_equals_torch_on_uint8(name: str, antialias: bool) -> None:
    for pixels in pictures(4):
        planes = torch.from_numpy(pixels.copy()).permute(2, 0, 1)[None]
        for size in [(224, 224), (160, 96), (500, 700), (5, 3)]:
            ours = resized(pixels, size, f"interpolation={name}", f"antialias={str(antialias).lower()}")
            options = dict(size=size, mode=name, align_corners=False, antialias=antialias)
            theirs = torch.nn.functional.interpolate(planes, **options)[0].permute(1, 2, 0).numpy()
            kernel = torch.backends.cpu.get_cpu_capability().startswith("AVX")  # its other kernels round elsewhere
            assert differences(ours, theirs).max() <= (0 if kernel else 1)
            # The definition, with nothing rounded or clipped between the passes.
            exact = torch.nn.functional.interpolate(planes.double(), **options)[0].permute(1, 2, 0).numpy()
            if name == "bilinear":
                assert np.abs(ours - exact).max() <= 1.05


def area_weights(into: int, out: int) -> np.ndarray:
    """The share of each of `into` samples in each of `out` equal parts of the axis."""
    edges = np.arange(out + 1) * (into / out)
    at = np.arange(into)
    covered = np.minimum(edges[1:, None], at + 1) - np.maximum(edges[:-1, None], at)
    return np.clip(covered, 0, None) * (out / into)


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[1]}x{s[0]}")
def test_area_is_the_mean_of_what_a_pixel_covers(size: tuple[int, int]) -> None:
    """OpenCV's definition of INTER_AREA for reducing."""
    for pixels in [*pictures(4), noise(1, 40), noise(17, 5)]:
        vertical, horizontal = area_weights(pixels.shape[0], size[0]), area_weights(pixels.shape[1], size[1])
        exact = np.einsum("yv,vuc,xu->yxc", vertical, pixels, horizontal, optimize=True)
        assert np.abs(resized(pixels, size, "interpolation=area") - exact).max() <= 1.05


def test_random_resized_crop_takes_an_interpolation() -> None:
    for sample, pixels in enumerate(pictures(4)):
        ours, [(x, y, w, h)] = apply(pixels, "random_resized_crop:size=96:interpolation=bicubic", sample=sample)
        assert differences(ours, pillows(pixels[y:y + h, x:x + w], (96, 96), "bicubic")).max() <= 2
