"""Augmentation policies and perspective: every result is one that the definition allows.

The reference operations are Pillow's, as in torchvision; tests/golden/policies.json records torchvision's tables.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps
from test_geometry_golden import smooth as smooth_picture
from test_ops_golden import PROGRAM, apply, gradient, make_policies, photographs

GOLDEN = json.loads(make_policies.GOLDEN.read_text())

pytestmark = pytest.mark.skipif(not PROGRAM, reason="UNSTARVE_APPLY_OP does not name the program apply_op")

WIDTH, HEIGHT = 64, 48
FILL = tuple(make_policies.FILL)
FILLED = f"fill={','.join(map(str, FILL))}"
SIGNED = ["ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness"]
UNSIGNED = ["Posterize", "Solarize"]
PLAIN = ["Identity", "AutoContrast", "Equalize"]


def picture() -> np.ndarray:
    """A small image with edges and without equal areas."""
    if photographs():
        return np.asarray(Image.fromarray(photographs()[3]).resize((WIDTH, HEIGHT), Image.Resampling.BOX))
    pixels = gradient(WIDTH, HEIGHT).copy()
    pixels[10:35, 20:50] = 255 - pixels[10:35, 20:50] // 2
    return pixels


def changed(image: Image.Image, name: str, magnitude: float, fill: tuple[int, ...] = (0, 0, 0)) -> Image.Image:
    """The change of this name by torchvision's policies, for an image of Pillow."""
    def affine(*coefficients: float) -> Image.Image:
        return image.transform(image.size, Image.Transform.AFFINE, coefficients, Image.Resampling.NEAREST,
                               fillcolor=fill)

    enhancers = {"Brightness": ImageEnhance.Brightness, "Color": ImageEnhance.Color,
                 "Contrast": ImageEnhance.Contrast, "Sharpness": ImageEnhance.Sharpness}
    if name in enhancers:
        return enhancers[name](image).enhance(1 + magnitude)
    makers = {
        "Identity": lambda: image,
        "ShearX": lambda: affine(1, magnitude, 0, 0, 1, 0),
        "ShearY": lambda: affine(1, 0, 0, magnitude, 1, 0),
        "TranslateX": lambda: affine(1, 0, int(magnitude), 0, 1, 0),
        "TranslateY": lambda: affine(1, 0, 0, 0, 1, int(magnitude)),
        "Rotate": lambda: image.rotate(magnitude, fillcolor=fill),
        "Posterize": lambda: ImageOps.posterize(image, int(magnitude)),
        "Solarize": lambda: ImageOps.solarize(image, magnitude),
        "AutoContrast": lambda: ImageOps.autocontrast(image),
        "Equalize": lambda: ImageOps.equalize(image),
        "Invert": lambda: ImageOps.invert(image),
    }
    return makers[name]()


def results(pixels: np.ndarray, magnitudes: dict[str, list[float]],
            fill: tuple[int, ...] = (0, 0, 0)) -> dict[tuple[str, float], np.ndarray]:
    """Returns all possible results of one operation; `magnitudes` have no signs."""
    image = Image.fromarray(pixels)
    made = {(name, 0.0): np.asarray(changed(image, name, 0)) for name in PLAIN}
    for name, values in magnitudes.items():
        for value in values:
            for sign in (1, -1) if name in SIGNED else (1,):
                made[name, sign * value] = np.asarray(changed(image, name, sign * value, fill))
    return made


def nearest(ours: np.ndarray, made: dict[tuple[str, float], np.ndarray]) -> tuple[tuple[str, float], float]:
    """The candidate that is closest to our result, and the share of values that differ by more than 2."""
    shares = {key: (np.abs(ours.astype(int) - theirs) > 2).mean() for key, theirs in made.items()}
    best = min(shares, key=shares.__getitem__)
    return best, shares[best]


def spaced(most: float, bins: int = 31) -> list[float]:
    return [most * i / (bins - 1) for i in range(bins)]


def wide_space(bins: int = 31) -> dict[str, list[float]]:
    """TrivialAugmentWide's."""
    space = {name: spaced(0.99, bins) for name in SIGNED}
    space |= {"TranslateX": spaced(32, bins), "TranslateY": spaced(32, bins), "Rotate": spaced(135, bins)}
    space["Posterize"] = [8 - round(6 * i / (bins - 1)) for i in range(bins)]
    space["Solarize"] = [255 - value for value in spaced(255, bins)]
    return space


def default_space(width: int, height: int, bins: int = 31) -> dict[str, list[float]]:
    """RandAugment's."""
    space = {name: spaced(0.9, bins) for name in SIGNED}
    space |= {"ShearX": spaced(0.3, bins), "ShearY": spaced(0.3, bins), "Rotate": spaced(30, bins)}
    space |= {"TranslateX": spaced(150 / 331 * width, bins), "TranslateY": spaced(150 / 331 * height, bins)}
    space["Posterize"] = [8 - round(4 * i / (bins - 1)) for i in range(bins)]
    space["Solarize"] = [255 - value for value in spaced(255, bins)]
    return space


def test_trivial_augment_follows_its_definition() -> None:
    pixels = picture()
    made = results(pixels, wide_space())
    seen = set()
    for sample in range(70):
        key, share = nearest(apply(pixels, "trivial_augment", sample=sample)[0], made)
        assert share <= 0.03, (sample, key)
        seen.add(key[0])
    assert len(seen) >= 11


def test_policies_with_other_magnitudes_and_fill_follow_their_definitions() -> None:
    pixels = picture()
    made = results(pixels, wide_space(6), FILL), results(
        pixels, {name: [values[40]] for name, values in default_space(WIDTH, HEIGHT, 50).items()}, FILL)
    for options, candidates in zip((f"trivial_augment:num_magnitude_bins=6:{FILLED}",
                                    f"rand_augment:changes=1:magnitude=40:num_magnitude_bins=50:{FILLED}"), made):
        seen = set()
        for sample in range(60):
            key, share = nearest(apply(pixels, options, sample=sample)[0], candidates)
            assert share <= 0.03, (options, sample, key)
            seen.add(key[0])
        assert len(seen) >= 11


def test_uncovered_pixels_keep_the_fill_colour() -> None:
    """The border added by pad_crop is part of the image; the policy fills around it."""
    pixels = picture()
    padded = np.full((HEIGHT + 8, WIDTH + 8, 3), 200, np.uint8)
    padded[4:-4, 4:-4] = pixels
    made = results(padded, {name: [values[30]] for name, values in default_space(WIDTH + 8, HEIGHT + 8).items()}, FILL)
    moved = 0
    for sample in range(60):
        ours, _ = apply(pixels, f"pad_crop:size={HEIGHT + 8},{WIDTH + 8}:padding=4:fill=200",
                        f"rand_augment:changes=1:magnitude=30:{FILLED}", sample=sample)
        key, share = nearest(ours, made)
        assert share <= 0.03, (sample, key)
        moved += key[0].startswith("Translate")
    assert moved > 2


@pytest.mark.parametrize("magnitude", [9, 30])
def test_rand_augment_follows_its_definition(magnitude: int) -> None:
    pixels = picture()
    made = results(pixels, {name: [values[magnitude]] for name, values in default_space(WIDTH, HEIGHT).items()})
    seen = set()
    for sample in range(60):
        key, share = nearest(apply(pixels, f"rand_augment:changes=1:magnitude={magnitude}", sample=sample)[0], made)
        assert share <= 0.03, (sample, key)
        seen.add(key[0])
    assert len(seen) >= 11


def test_two_operations_of_rand_augment_are_applied_in_sequence() -> None:
    pixels = picture()
    space = {name: [values[9]] for name, values in default_space(WIDTH, HEIGHT).items()}
    both = {}
    for first, image in results(pixels, space).items():
        for second, result in results(image, space).items():
            both[str(first), hash(second)] = result
    for sample in range(30):
        _, share = nearest(apply(pixels, "rand_augment", sample=sample)[0], both)
        assert share <= 0.05, sample


def test_the_reference_operations_equal_torchvision() -> None:
    image = Image.fromarray(make_policies.picture())
    for name, magnitude, expected in GOLDEN["changes"]:
        made = {make_policies.digest(np.asarray(changed(image, name, each)))
                for each in ((magnitude, -magnitude) if name in SIGNED else (magnitude,))}
        assert expected in made, (name, magnitude)
    assert {make_policies.digest(np.asarray(changed(image, name, sign * magnitude, FILL))) for sign in (1, -1)
            for name, magnitude, _ in GOLDEN["filled"]} >= {expected for _, _, expected in GOLDEN["filled"]}
    # The magnitudes of all of them are compared by unstarve/ops/policy/policies_golden_test.cpp; these are the same.
    for space, golden in ((wide_space(), "TrivialAugmentWide"), (default_space(WIDTH, HEIGHT), "RandAugment")):
        for name, theirs in GOLDEN["spaces"][golden].items():
            assert theirs["signed"] == (name in SIGNED)
            assert np.allclose(theirs["values"], space.get(name, []), atol=1e-3), name


@pytest.mark.parametrize("policy", ["imagenet", "cifar10", "svhn"])
def test_auto_augment_produces_images_of_torchvisions_tables(policy: str) -> None:
    pixels = picture()

    def after(pixels: np.ndarray, name: str, probability: float, bin_: int | None) -> list[np.ndarray]:
        """The possible results of the change."""
        image = Image.fromarray(pixels)
        space = GOLDEN["spaces"]["AutoAugment"][name]
        value = space["values"][bin_] if bin_ is not None else 0.0
        left = [np.asarray(changed(image, name, each, FILL))
                for each in ((value, -value) if space["signed"] else (value,))]
        return left + ([pixels] if probability < 1 else [])

    made = {}
    for number, (first, second) in enumerate(GOLDEN["policies"][policy]):
        for i, image in enumerate(after(pixels, *first)):
            for k, result in enumerate(after(image, *second)):
                made[str(number), 10 * i + k] = result
    for sample in range(50):
        _, share = nearest(apply(pixels, f"auto_augment_{policy}:{FILLED}", sample=sample)[0], made)
        assert share <= 0.05, sample


def test_perspective_equals_pillow_with_the_same_corners() -> None:
    """Measures the mapping with an image of positions. It must be a perspective; Pillow's transform must equal ours."""
    width, height, distortion = 140, 100, 0.5
    y, x = np.mgrid[:height, :width]
    coordinates = np.stack([x, y, np.full_like(x, 200)], axis=-1).astype(np.uint8)
    smooth = gradient(width, height)
    smooth[..., 2] = 128 + 80 * np.sin(x / 9) * np.cos(y / 7)
    for sample in range(12):
        options = f"perspective:distortion={distortion}:probability=1"
        seen, _ = apply(coordinates, options + ":interpolation=nearest", sample=sample)
        inside = seen[..., 2] == 200
        u, v = (seen[inside][:, channel] + 0.5 for channel in (0, 1))
        px, py = x[inside] + 0.5, y[inside] + 0.5
        # u (g x + h y + 1) = a x + b y + c, likewise v: linear in a .. h. Each position is off by at most half a pixel.
        zeros, ones = np.zeros_like(px), np.ones_like(px)
        rows = np.concatenate([np.stack([px, py, ones, zeros, zeros, zeros, -u * px, -u * py], axis=1),
                               np.stack([zeros, zeros, zeros, px, py, ones, -v * px, -v * py], axis=1)])
        coefficients = np.linalg.lstsq(rows, np.concatenate([u, v]), rcond=None)[0]
        a, b, c, d, e, f, g, h = coefficients
        scale = g * px + h * py + 1
        assert np.abs((a * px + b * py + c) / scale - u).max() < 0.65
        assert np.abs((d * px + e * py + f) / scale - v).max() < 0.65
        # Where the corners of the input are in the output: each moved inwards by at most a part of the sides.
        back = np.linalg.inv(np.array([[a, b, c], [d, e, f], [g, h, 1]]))
        for corner in ((0, 0), (width, 0), (width, height), (0, height)):
            at = back @ [*corner, 1]
            inwards = np.abs(at[:2] / at[2] - corner) / (width, height)
            assert (inwards <= distortion / 2 + 0.02).all(), (sample, corner, inwards)
        for pixels, fill in ((smooth, (10, 0, 200)), (smooth_picture(width, height), (100, 100, 100))):
            ours, _ = apply(pixels, options + f":interpolation=bilinear:fill={','.join(map(str, fill))}", sample=sample)
            theirs = np.asarray(Image.fromarray(pixels).transform(
                (width, height), Image.Transform.PERSPECTIVE, coefficients, Image.Resampling.BILINEAR,
                fillcolor=fill))
            difference = np.abs(ours.astype(int) - theirs)
            # The fitted mapping is off by a small part of a pixel, which is visible only at the edges of the picture.
            assert (difference > 1).mean() < 0.005
            if fill[0] == 100:  # like its edges
                assert difference.max() <= 1
