"""Rotation, affine, perspective, filters and policies compared with Pillow and torch."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance
from test_ops_golden import PROGRAM, apply, differences, make_policies, pictures

GOLDEN = json.loads(make_policies.GOLDEN.read_text())

pytestmark = pytest.mark.skipif(not PROGRAM, reason="UNSTARVE_APPLY_OP does not name the program apply_op")


def mostly(difference: np.ndarray, most: int, share: float) -> None:
    """Values differ by at most `most`, except for a share of them, where rounding decides which pixel is nearest."""
    assert (difference > most).mean() <= share, (difference.max(), (difference > most).mean())


def smooth(width: int, height: int, edge: int = 100) -> np.ndarray:
    """An image that changes by at most two steps per pixel, with a border of `edge`: continuous at its edges."""
    y, x = (np.mgrid[:height, :width] + 0.5) / np.array([height, width])[:, None, None]
    hill = np.sin(np.pi * x) * np.sin(np.pi * y)
    return np.stack([edge + height * size * hill for size in (0.5, -0.4, 0.3)], axis=2).round().astype(np.uint8)


@pytest.mark.parametrize("interpolation,most", [("nearest", 3), ("bilinear", 1)])
def test_rotation_of_a_smooth_image_is_close_to_pillow(interpolation: str, most: int) -> None:
    for width, height in ((160, 120), (121, 120)):
        pixels = smooth(width, height)
        for degrees in (-170, -45, -7.5, 3, 30, 90, 133.3):
            ours, _ = apply(pixels, f"rotation:degrees={degrees}:interpolation={interpolation}:fill=100")
            theirs = np.asarray(Image.fromarray(pixels).rotate(
                degrees, resample=Image.Resampling[interpolation.upper()], fillcolor=(100, 100, 100)))
            assert differences(ours, theirs).max() <= most, (width, degrees)


@pytest.mark.parametrize("interpolation,most", [("nearest", 3), ("bilinear", 1)])
def test_perspective_of_a_smooth_image_is_close_to_pillow(interpolation: str, most: int) -> None:
    width, height = 160, 120
    pixels = smooth(width, height)
    for given in GOLDEN["affine"]:
        a, b, _, d, e, _ = given["matrix"]
        ours, _ = apply(pixels, f"affine:degrees={given['angle']}:translate_x=0:translate_y=0:scale={given['scale']}:"
                                f"shear_x={given['shear'][0]}:shear_y={given['shear'][1]}:"
                                f"interpolation={interpolation}:"
                                "fill=100")
        # The matrix was made for another size and a translation; here it is about the centre, without translation.
        c, f = width / 2 - a * width / 2 - b * height / 2, height / 2 - d * width / 2 - e * height / 2
        theirs = np.asarray(Image.fromarray(pixels).transform(
            (width, height), Image.Transform.AFFINE, (a, b, c, d, e, f), Image.Resampling[interpolation.upper()],
            fillcolor=(100, 100, 100)))
        assert differences(ours, theirs).max() <= most, given


@pytest.mark.parametrize("degrees", [-170, -45, -7.5, 0, 3, 30, 90])
@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
def test_rotation_is_pillows(degrees: float, interpolation: str) -> None:
    how = Image.Resampling[interpolation.upper()]
    for pixels in pictures(3):
        ours, _ = apply(pixels, f"rotation:degrees={degrees}:interpolation={interpolation}:fill=9,130,250")
        theirs = np.asarray(Image.fromarray(pixels).rotate(degrees, resample=how, fillcolor=(9, 130, 250)))
        # Pillow accumulates the position of the nearest pixel along a row in units of 1/65536 pixel.
        mostly(differences(ours, theirs), 1, 0.002 if interpolation == "bilinear" else 0.01)


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
def test_affine_equals_the_definition_of_torch(interpolation: str) -> None:
    """torchvision's affine() as a sampling grid, in float64."""
    for pixels in pictures(2):
        height, width, _ = pixels.shape
        ours, _ = apply(pixels, f"affine:degrees=20:translate_x=0:translate_y=0:scale=1.2:shear_x=11:shear_y=-4:"
                                f"interpolation={interpolation}")
        turn, shear_x, shear_y = np.radians(20), np.radians(11), np.radians(-4)
        there = 1.2 * (np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
                       @ np.array([[1, 0], [-np.tan(shear_y), 1]]) @ np.array([[1, -np.tan(shear_x)], [0, 1]]))
        back = np.linalg.inv(there)
        y, x = np.mgrid[:height, :width] + 0.5
        coordinates = np.stack([x - width / 2, y - height / 2], axis=-1) @ back.T
        grid = torch.from_numpy(coordinates / [width / 2, height / 2])[None]
        planes = torch.from_numpy(pixels.copy()).permute(2, 0, 1)[None].double()
        theirs = torch.nn.functional.grid_sample(planes, grid, mode=interpolation,
                                                 padding_mode="border", align_corners=False)
        theirs = theirs[0].permute(1, 2, 0).numpy()
        outside = (np.abs(coordinates) >= [width / 2, height / 2]).any(axis=-1)
        theirs[outside] = 0
        difference = np.abs(ours - theirs)
        assert (difference > 1).mean() <= 0.002, (difference > 1).mean()


@pytest.mark.parametrize("given", GOLDEN["affine"], ids=lambda given: f"{given['angle']}-{given['shear']}")
@pytest.mark.parametrize("interpolation,fill", [("nearest", (0,)), ("bilinear", (77, 5, 210))])
def test_affine_equals_pillow_with_the_matrix_of_torchvision(given: dict, interpolation: str, fill: tuple) -> None:
    """Finds the transform of torchvision that matches the one drawn."""
    width, height = GOLDEN["size"]
    (move_x, move_y), (a, b, c, d, e, f) = given["translate"], given["matrix"]
    pixels = make_policies.picture()
    for sample in range(3):
        ours, _ = apply(pixels,
                        f"affine:degrees={given['angle']}:translate_x=0.1:translate_y=0.15:scale={given['scale']}:"
                                f"shear_x={given['shear'][0]}:shear_y={given['shear'][1]}:"
                                f"interpolation={interpolation}:"
                                f"fill={','.join(map(str, fill))}", sample=sample)
        shares = {}
        for x in range(-round(0.1 * width), round(0.1 * width) + 1):
            for y in range(-round(0.15 * height), round(0.15 * height) + 1):
                more_x, more_y = x - move_x, y - move_y  # a size other than that of the matrix
                theirs = np.asarray(Image.fromarray(pixels).transform(
                    (width, height), Image.Transform.AFFINE,
                    (a, b, c - a * more_x - b * more_y, d, e, f - d * more_x - e * more_y),
                    Image.Resampling[interpolation.upper()], fillcolor=(fill * 3)[:3]))
                shares[x, y] = (differences(ours, theirs) > 1).mean()
        least = sorted(shares.values())
        assert least[0] <= (0.01 if interpolation == "nearest" else 0.002), (sample, least[0])
        assert least[1] > 0.02  # no other transform is as close


def test_affine_translates_by_up_to_its_fraction_of_the_sides() -> None:
    pixels = make_policies.picture()
    height, width, _ = pixels.shape
    windows = {}
    for x in range(-13, 14):
        for y in range(-5, 6):
            moved = np.full_like(pixels, 5)
            moved[max(0, y) : height + min(0, y), max(0, x) : width + min(0, x)] = pixels[
                max(0, -y) : height - max(0, y), max(0, -x) : width - max(0, x)]
            windows[moved.tobytes()] = x, y
    seen = [windows[apply(pixels,
                          "affine:degrees=0:scale=1:translate_x=0.2:translate_y=0.1:fill=5:interpolation=nearest",
                          sample=sample)[0].tobytes()] for sample in range(50)]
    for i, most in enumerate((13, 5)):
        moves = [move[i] for move in seen]
        assert min(moves) < -most / 2 and max(moves) > most / 2
        assert len(set(moves)) > most


def test_perspective_moves_corners_inwards_and_keeps_the_rest() -> None:
    pixels = np.full((100, 140, 3), 200, np.uint8)
    shares = []
    for sample in range(30):
        ours, _ = apply(pixels, "perspective:distortion=0.5:probability=1:fill=10:interpolation=nearest", sample=sample)
        kept = (ours == 200).all(axis=2)
        assert (kept | (ours == 10).all(axis=2)).all()
        shares.append(kept.mean())
        # The centre is always visible, and a convex picture has one run in every row.
        assert kept[50, 70]
        assert all(np.count_nonzero(np.diff(np.concatenate(([0], row.astype(int), [0])))) <= 2 for row in kept)
    assert 0.5 < np.mean(shares) < 0.9
    same, _ = apply(pictures(0)[4], "perspective:distortion=0:probability=1")
    assert np.array_equal(same, pictures(0)[4])


@pytest.mark.parametrize("factor", [0, 0.3, 1, 1.9, 8])
def test_sharpness_is_within_one_step_of_pillow(factor: float) -> None:
    for pixels in pictures(4):
        ours, _ = apply(pixels, f"sharpness:factor={factor}")
        theirs = np.asarray(ImageEnhance.Sharpness(Image.fromarray(pixels)).enhance(factor))
        difference = differences(ours, theirs)
        assert difference.max() <= 1
        assert (difference > 0).mean() < 0.002


@pytest.mark.parametrize("sigma,radius", [(0.3, 1), (1.0, 2), (2.0, 11), (5.0, 11)])
def test_gaussian_blur_is_torchs_definition(sigma: float, radius: int) -> None:
    weights = torch.exp(-0.5 * (torch.arange(-radius, radius + 1, dtype=torch.float64) / sigma) ** 2)
    weights /= weights.sum()
    for pixels in pictures(2):
        ours, _ = apply(pixels, f"gaussian_blur:sigma={sigma}:radius={radius}:probability=1")
        planes = torch.from_numpy(pixels.copy()).permute(2, 0, 1)[:, None].double()
        padded = torch.nn.functional.pad(planes, [radius] * 4, mode="reflect")
        rows = torch.nn.functional.conv2d(padded, weights[None, None, None, :])
        exact = torch.nn.functional.conv2d(rows, weights[None, None, :, None])[:, 0].permute(1, 2, 0)
        assert np.abs(ours - exact.numpy()).max() < 0.53


@pytest.mark.parametrize("policy", ["rand_augment", "rand_augment:changes=3:magnitude=30", "trivial_augment",
                                    "auto_augment_imagenet", "auto_augment_cifar10", "auto_augment_svhn"])
def test_policies_change_most_samples_each_in_its_own_way(policy: str) -> None:
    pixels = pictures(0)[4]
    seen = {apply(pixels, policy, sample=sample)[0].tobytes() for sample in range(40)}
    assert len(seen) >= 15
    again = apply(pixels, policy, sample=7)[0]
    assert np.array_equal(again, apply(pixels, policy, sample=7)[0])


def test_rand_augment_without_changes_changes_nothing() -> None:
    pixels = pictures(0)[4]
    assert np.array_equal(apply(pixels, "rand_augment:changes=0")[0], pixels)
