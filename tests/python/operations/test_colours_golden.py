"""Colour operations compared with Pillow and torch, on synthetic images and on photographs if available.

Pillow computes in floating point and truncates; we use integer arithmetic, equal on all machines. Values may differ by
1 if the exact product is within 0.004 of an integer.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps
from test_ops_golden import PROGRAM, apply, differences, noise, pictures

pytestmark = pytest.mark.skipif(not PROGRAM, reason="UNSTARVE_APPLY_OP does not name the program apply_op")


def compare(operation: str, pillow, most_different: float = 0.0) -> None:
    """Every picture, also after a mirror and a crop, so that colour operations receive a window of an image."""
    for pixels in pictures(6):
        for before in ((), ("horizontal_flip:probability=1",)):
            ours, _ = apply(pixels, *before, operation)
            source = pixels[:, ::-1] if before else pixels
            theirs = np.asarray(pillow(Image.fromarray(np.ascontiguousarray(source))))
            difference = differences(ours, theirs)
            assert difference.max() <= (1 if most_different else 0), operation
            assert (difference > 0).mean() <= most_different, operation


@pytest.mark.parametrize("factor", [0, 0.3, 0.75, 1, 1.4, 3, 50])
@pytest.mark.parametrize("name,enhancer", [("brightness", ImageEnhance.Brightness), ("contrast", ImageEnhance.Contrast),
                                           ("saturation", ImageEnhance.Color)])
def test_enhancers_are_within_one_step_of_pillow(name: str, enhancer, factor: float) -> None:
    compare(f"{name}:factor={factor}", lambda image: enhancer(image).enhance(factor), 0.002)


def test_grayscale_is_pillows() -> None:
    compare("grayscale:probability=1", lambda image: image.convert("L").convert("RGB"))


@pytest.mark.parametrize("bits", [1, 3, 4, 7, 8])
def test_posterize_is_pillows(bits: int) -> None:
    compare(f"posterize:bits={bits}:probability=1", lambda image: ImageOps.posterize(image, bits))


@pytest.mark.parametrize("threshold", [0, 1, 100, 255, 256])
def test_solarize_is_pillows(threshold: int) -> None:
    compare(f"solarize:threshold={threshold}:probability=1", lambda image: ImageOps.solarize(image, threshold))


def test_invert_is_pillows() -> None:
    compare("invert:probability=1", ImageOps.invert)


def test_equalize_is_pillows() -> None:
    compare("equalize:probability=1", ImageOps.equalize)


def test_auto_contrast_is_within_one_step_of_pillow() -> None:
    dull = [pixels // 3 + 40 for pixels in pictures(3)]
    for pixels in [*pictures(3), *dull]:
        ours, _ = apply(pixels, "auto_contrast:probability=1")
        difference = differences(ours, np.asarray(ImageOps.autocontrast(Image.fromarray(pixels))))
        assert difference.max() <= 1


def test_vertical_flip_reverses_rows() -> None:
    for pixels in pictures(2):
        ours, _ = apply(pixels, "vertical_flip:probability=1")
        assert np.array_equal(ours, pixels[::-1])


def hue_of_tensor(pixels: np.ndarray, shift: float) -> np.ndarray:
    """The definition in float64: RGB to HSV, the hue shifted, and back (torchvision's adjust_hue of float tensors)."""
    r, g, b = (torch.from_numpy(pixels[..., c].astype(np.float64) / 255) for c in range(3))
    most, least = torch.maximum(r, torch.maximum(g, b)), torch.minimum(r, torch.minimum(g, b))
    chroma = most - least
    safe = torch.where(chroma == 0, torch.ones_like(chroma), chroma)
    sector = torch.where(most == r, (g - b) / safe, torch.where(most == g, 2 + (b - r) / safe, 4 + (r - g) / safe))
    hue = (sector / 6 + shift) % 1
    channels = []
    for n in (5, 3, 1):
        offset = (n + 6 * hue) % 6
        channels.append(most - chroma * torch.clamp(torch.minimum(offset, 4 - offset), 0, 1))
    return (255 * torch.stack(channels, dim=2)).numpy()


@pytest.mark.parametrize("shift", [-0.5, -0.2, 0, 0.07, 0.3, 0.5])
def test_hue_is_within_one_step_of_its_definition(shift: float) -> None:
    for pixels in pictures(4):
        ours, _ = apply(pixels, f"hue:shift={shift}")
        assert np.abs(ours - hue_of_tensor(pixels, shift)).max() <= 1
        if shift == 0:
            assert np.array_equal(ours, pixels)


def test_random_channel_permutation_makes_every_order_of_the_channels() -> None:
    pixels = noise(75, 40)
    expected = {pixels[..., order].tobytes() for order in itertools.permutations(range(3))}
    made = {apply(pixels, "random_channel_permutation", sample=sample)[0].tobytes() for sample in range(40)}
    assert made == expected
    unchanged, _ = apply(pixels, "random_channel_permutation:probability=0")
    assert np.array_equal(unchanged, pixels)


def test_lighting_adds_the_same_colour_everywhere() -> None:
    pixels = np.full((40, 50, 3), 128, np.uint8)
    seen = set()
    for sample in range(40):
        ours, _ = apply(pixels, "lighting", sample=sample)
        assert (ours == ours[0, 0]).all()
        seen.add(tuple(int(v) for v in ours[0, 0]))
    # The first principal component is lightness: it adds nearly the same to all channels.
    added = np.array(sorted(seen)) - 128
    assert len(seen) > 20
    assert np.abs(added.mean(axis=1)).std() > np.abs(added - added.mean(axis=1, keepdims=True)).std()


def test_erasing_covers_a_rectangle_within_its_ranges() -> None:
    pixels = np.full((120, 160, 3), 200, np.uint8)
    erased = 0
    for sample in range(60):
        ours, _ = apply(pixels, "erasing:probability=0.7:scale=0.05,0.2:ratio=0.5,2:value=7", sample=sample)
        hidden = (ours == 7).all(axis=2)
        assert ((ours == 200).all(axis=2) | hidden).all()
        if not hidden.any():
            continue
        erased += 1
        rows, columns = np.flatnonzero(hidden.any(axis=1)), np.flatnonzero(hidden.any(axis=0))
        height, width = rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1
        assert hidden.sum() == height * width
        assert 0.04 <= hidden.mean() <= 0.22
        assert 0.45 <= height / width <= 2.2
    assert 25 <= erased <= 55


def test_erasing_and_cutout_take_a_colour_or_noise() -> None:
    pixels = np.full((60, 80, 3), 200, np.uint8)
    for operation in ("erasing:probability=1:scale=0.2,0.3", "cutout:size=24"):
        ours, _ = apply(pixels, f"{operation}:value=10,20,30", sample=3)
        hidden = (ours == [10, 20, 30]).all(axis=2)
        assert hidden.any()
        assert (ours[~hidden] == 200).all()
        # Noise covers the same rectangle, and its values are uniform.
        seen = []
        for sample in range(40):
            hidden = (apply(pixels, f"{operation}:value=0", sample=sample)[0] == 0).all(axis=2)
            noise, _ = apply(pixels, f"{operation}:value=random", sample=sample)
            assert (noise[~hidden] == 200).all()
            seen.append(noise[hidden])
        values = np.concatenate(seen)
        counts = np.stack([np.bincount(values[:, c], minlength=256) for c in range(3)])
        expected = len(values) / 256
        assert ((counts - expected) ** 2 / expected).sum(axis=1).max() < 256 + 6 * np.sqrt(2 * 255)
        # Values are independent: between channels, neighbours and samples.
        between = np.corrcoef(np.concatenate([values[:-1], values[1:]], axis=1).T) - np.eye(6)
        assert np.abs(between).max() < 6 / np.sqrt(len(values))


def test_cutout_equals_the_code_of_the_paper() -> None:
    """uoguelph-mlrg/Cutout: a centre anywhere, `length` // 2 to either side, clipped at the edges."""
    height, width, length = 9, 12, 6
    windows = {}
    for y in range(height):
        for x in range(width):
            pixels = np.full((height, width, 3), 77, np.uint8)
            pixels[max(y - length // 2, 0) : min(y + length // 2, height),
                   max(x - length // 2, 0) : min(x + length // 2, width)] = 5
            windows[pixels.tobytes()] = x, y
    plain = np.full((height, width, 3), 77, np.uint8)
    seen = {windows[apply(plain, f"cutout:size={length}:value=5", sample=sample)[0].tobytes()] for sample in range(300)}
    assert {x for x, _ in seen} == set(range(width))
    assert {y for _, y in seen} == set(range(height))
    # Odd sides have the given length; those of the paper's code are a pixel shorter.
    odd = [(apply(plain, "cutout:size=5:value=5", sample=sample)[0][..., 0] == 5).sum() for sample in range(60)]
    assert max(odd) == 25
    # Several rectangles of other sides, and none.
    ours = [(apply(plain, "cutout:size=1,3:holes=2:value=5", sample=sample)[0][..., 0] == 5).sum()
            for sample in range(60)]
    assert max(ours) == 6 and min(ours) >= 2
    assert np.array_equal(apply(plain, "cutout:size=3:probability=0")[0], plain)


def test_color_jitter_is_its_four_operations_in_some_order() -> None:
    pixels = pictures(0)[4]
    one = apply(pixels, "color_jitter:brightness=0:contrast=0:saturation=0:hue=0")[0]
    assert np.array_equal(one, pixels)
    seen = {apply(pixels, "color_jitter", sample=sample)[0].tobytes() for sample in range(12)}
    assert len(seen) == 12
    # Brightness alone: a multiple of the picture within 0.6 .. 1.4.
    light = apply(pixels, "color_jitter:contrast=0:saturation=0:hue=0", sample=3)[0]
    factor = light[pixels > 100].astype(float).mean() / pixels[pixels > 100].mean()
    assert 0.5 < factor < 1.4
