"""Operations compared with Pillow and torch, pixel by pixel, on synthetic images and on photographs if available.

torchvision.transforms.v2 resizes tensors with torch.nn.functional.interpolate(antialias=True).
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "golden"))
import make_policies  # noqa: E402

GOLDEN = json.loads(make_policies.GOLDEN.read_text())
PROGRAM = os.environ.get("UNSTARVE_APPLY_OP")
DATA = Path(os.environ.get("UNSTARVE_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))

pytestmark = pytest.mark.skipif(not PROGRAM, reason="UNSTARVE_APPLY_OP does not name the program apply_op")


def apply(pixels: np.ndarray, *operations: str, output: str = "uint8-nhwc", sample: int = 0) -> tuple[np.ndarray, list]:
    """Runs the chain on uint8 pixels (height, width, 3); returns the stored sample and the selected (x, y, w, h)s."""
    height, width, _ = pixels.shape
    done = subprocess.run(
        [PROGRAM, str(width), str(height), output, str(sample), *operations],
        input=pixels.tobytes(), capture_output=True, timeout=120, check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    head, body = done.stdout.split(b"\n", 1)
    facts = json.loads(head)
    kind, layout = output.split("-")
    values = np.frombuffer(body, {"uint8": np.uint8, "float32": np.float32, "bfloat16": np.uint16,
                                  "float16": np.float16}[kind])
    size = (facts["height"], facts["width"])
    shape = (*size, 3) if layout == "nhwc" else (3, *size)
    return values.reshape(shape), list(zip(*[iter(facts["selected"])] * 4))


def checkerboard(width: int, height: int) -> np.ndarray:
    y, x = np.mgrid[:height, :width]
    return np.repeat((((x // 2 + y // 3) % 2) * 255).astype(np.uint8)[..., None], 3, axis=2)


def noise(width: int, height: int) -> np.ndarray:
    return np.random.default_rng(width * 7919 + height).integers(0, 256, (height, width, 3), dtype=np.uint8)


def gradient(width: int, height: int) -> np.ndarray:
    y, x = np.mgrid[:height, :width]
    channels = [x * 255 // max(1, width - 1), y * 255 // max(1, height - 1), (x + y) % 256]
    return np.stack(channels, axis=2).astype(np.uint8)


@cache
def photographs() -> list[np.ndarray]:
    archive = DATA / "imagenet160.tar"
    if not archive.exists():
        return []
    pictures = []
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.name.lower().endswith((".jpg", ".jpeg")):
                file = tar.extractfile(member)
                assert file is not None
                pictures.append(np.asarray(Image.open(io.BytesIO(file.read())).convert("RGB")))
            if len(pictures) == 40:
                break
    return pictures


def pictures(count: int) -> list[np.ndarray]:
    made_up = [make(w, h) for make in (checkerboard, noise, gradient) for w, h in ((300, 260), (101, 57), (640, 427))]
    return made_up + photographs()[:count]


def pillows(pixels: np.ndarray, size: tuple[int, int], name: str = "bilinear") -> np.ndarray:
    """Pillow's resize of that name to (height, width), horizontally first. Pillow 13 by itself goes vertically first
    where that is less work, which rounds other values in between; of one pass alone there is one order."""
    resample = Image.Resampling[name.upper()]
    across = Image.fromarray(pixels).resize((size[1], pixels.shape[0]), resample)
    return np.asarray(across.resize((size[1], size[0]), resample))


def differences(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    assert ours.shape == theirs.shape
    return np.abs(ours.astype(int) - theirs.astype(int))


SIZES = [(224, 224), (160, 96), (64, 200), (33, 17), (500, 700), (1, 1)]  # height, width


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[1]}x{s[0]}")
def test_resize_is_within_one_step_of_pillow(size: tuple[int, int]) -> None:
    for i, pixels in enumerate(pictures(12)):
        difference = differences(apply(pixels, f"resize:size={size[0]},{size[1]}")[0], pillows(pixels, size))
        assert difference.max() <= 1
        pattern = i < 3 or 6 <= i < 9  # few different sums: if one ends in a half, many do
        enlarged = size[0] > pixels.shape[0] and size[1] > pixels.shape[1]
        if not pattern and min(size) > 1:
            assert (difference > 0).mean() <= (0.045 if enlarged else 0.012)


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[1]}x{s[0]}")
def test_resize_equals_torch_on_uint8_and_is_close_on_floats(size: tuple[int, int]) -> None:
    for pixels in pictures(6):
        ours, _ = apply(pixels, f"resize:size={size[0]},{size[1]}")
        planes = torch.from_numpy(pixels.copy()).permute(2, 0, 1)[None]
        options = dict(size=size, mode="bilinear", antialias=True, align_corners=False)
        # In float32 nothing is rounded between the passes, so this is the definition itself; torch's own uint8 kernel
        # rounds its weights to 16 bits as ours does.
        exact = torch.nn.functional.interpolate(planes.float(), **options)[0].permute(1, 2, 0).numpy()
        assert np.abs(ours - exact).max() <= 1.05
        if torch.backends.cpu.get_cpu_capability().startswith("AVX"):  # its other kernels round elsewhere
            rounded = torch.nn.functional.interpolate(planes, **options)[0].permute(1, 2, 0).numpy()
            assert differences(ours, rounded).max() == 0


@pytest.mark.parametrize("width,height", [(1, 1), (1, 40), (40, 1), (2, 3), (15, 16), (17, 5)])
def test_tiny_images_resize_as_in_pillow(width: int, height: int) -> None:
    pixels = noise(width, height)
    for size in [(1, 1), (5, 3), (37, 41), (224, 224)]:
        ours, _ = apply(pixels, f"resize:size={size[0]},{size[1]}")
        assert differences(ours, pillows(pixels, size)).max() <= 1


def test_random_resized_crop_is_pillows_crop_and_resize() -> None:
    for sample, pixels in enumerate(pictures(20)):
        ours, [(x, y, w, h)] = apply(pixels, "random_resized_crop:size=224", sample=sample)
        assert differences(ours, pillows(pixels[y:y + h, x:x + w], (224, 224))).max() <= 1


def test_short_side_resize_gives_torchvisions_size() -> None:
    # torchvision: new_short, new_long = size, int(size * long / short)
    for width, height in [(500, 375), (375, 500), (333, 500), (1024, 768), (100, 100), (7, 1000)]:
        ours, _ = apply(noise(width, height), "resize:size=256")
        short, long = sorted((width, height))
        expected_long = int(256 * long / short)
        assert ours.shape[:2] == ((256, expected_long) if height <= width else (expected_long, 256))


def test_resize_with_max_size_equals_torchvision() -> None:
    """Equal to the recorded results of Resize(size, max_size); see tests/golden/make_policies.py."""
    for given in GOLDEN["bounded"]:
        pixels = make_policies.picture(*given["size"])
        ours, _ = apply(pixels, f"resize:size={given['short']}:max_size={given['max_size']}")
        assert list(ours.shape[:2]) == given["made"], given
        assert make_policies.digest(ours) == given["digest"], given


def torchvision_center_crop(pixels: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """The arithmetic of torchvision.transforms.functional.center_crop, in NumPy."""
    height, width = pixels.shape[:2]
    crop_height, crop_width = size
    if crop_width > width or crop_height > height:
        left = (crop_width - width) // 2 if crop_width > width else 0
        top = (crop_height - height) // 2 if crop_height > height else 0
        right = (crop_width - width + 1) // 2 if crop_width > width else 0
        bottom = (crop_height - height + 1) // 2 if crop_height > height else 0
        pixels = np.pad(pixels, ((top, bottom), (left, right), (0, 0)))
        height, width = pixels.shape[:2]
    top, left = int(round((height - crop_height) / 2.0)), int(round((width - crop_width) / 2.0))
    return pixels[top : top + crop_height, left : left + crop_width]


@pytest.mark.parametrize("size", [(224, 224), (31, 64), (100, 20), (1, 1)])
def test_center_crop_is_torchvisions(size: tuple[int, int]) -> None:
    for width, height in [(300, 260), (225, 227), (223, 500), (64, 31), (30, 30), (1, 1)]:
        pixels = noise(width, height)
        ours, _ = apply(pixels, f"center_crop:size={size[0]},{size[1]}")
        assert np.array_equal(ours, torchvision_center_crop(pixels, size))


def test_pad_crop_is_a_crop_of_the_padded_image() -> None:
    pixels = noise(32, 32)
    padded = np.pad(pixels, ((4, 4), (4, 4), (0, 0)))
    windows = {padded[y : y + 32, x : x + 32].tobytes(): (x, y) for y in range(9) for x in range(9)}
    seen = {windows[apply(pixels, "pad_crop:size=32", sample=sample)[0].tobytes()] for sample in range(60)}
    assert len(seen) > 30


@pytest.mark.parametrize("padding", [(3,), (5, 2), (1, 4, 2, 0), (30, 25)])
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
def test_pad_crop_pads_as_torchvision_does(mode: str, padding: tuple[int, ...]) -> None:
    """Whose pad() of Pillow's images is numpy's: left, top, right, bottom."""
    left, top, right, bottom = (padding * 4)[:4]
    pixels = noise(12, 9)
    if mode == "constant":
        padded = np.stack([np.pad(pixels[..., c], ((top, bottom), (left, right)), constant_values=fill)
                           for c, fill in enumerate((7, 8, 9))], axis=2)
    else:
        padded = np.pad(pixels, ((top, bottom), (left, right), (0, 0)), mode)
    operation = f"pad_crop:size=6,8:padding={','.join(map(str, padding))}:padding_mode={mode}:fill=7,8,9"
    windows = {padded[y : y + 6, x : x + 8].tobytes(): (x, y)
               for y in range(len(padded) - 5) for x in range(padded.shape[1] - 7)}
    seen = {windows[apply(pixels, operation, sample=sample)[0].tobytes()] for sample in range(30)}
    assert len(seen) > (1 if mode == "constant" and left == 30 else 10)  # mostly of one colour
    # After a mirror and a colour change, the border uses the changed pixels.
    mirrored, _ = apply(pixels, "horizontal_flip:probability=1", "invert:probability=1", operation, sample=2)
    inverted = np.ascontiguousarray(255 - pixels[:, ::-1])
    chained = [apply(inverted, "horizontal_flip:probability=0", "invert:probability=0", operation, sample=2)[0]]
    assert np.array_equal(mirrored, chained[0])


def test_a_crop_beyond_the_image_keeps_the_border() -> None:
    pixels = noise(8, 8)
    ours, _ = apply(pixels, "pad_crop:size=12:padding=2:fill=200", "center_crop:size=16")
    expected = np.pad(np.pad(pixels, ((2, 2), (2, 2), (0, 0)), constant_values=200), ((2, 2), (2, 2), (0, 0)))
    assert np.array_equal(ours, expected)


def test_horizontal_flip_mirrors() -> None:
    pixels = gradient(45, 31)
    ours, _ = apply(pixels, "horizontal_flip:probability=1")
    assert np.array_equal(ours, pixels[:, ::-1])


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_stored_floats_are_torchs_normalised_ones(layout: str) -> None:
    pixels = noise(113, 47)
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    # Computed in float64 and rounded once: within two ulps of float32 operations in any order.
    expected = (torch.from_numpy(pixels).double() / 255 - mean.double()) / std.double()
    if layout == "nchw":
        expected = expected.permute(2, 0, 1)
    floats, _ = apply(pixels, output=f"float32-{layout}")
    np.testing.assert_allclose(floats, expected.numpy(), rtol=0, atol=5e-7)
    halves, _ = apply(pixels, output=f"bfloat16-{layout}")
    assert np.array_equal(halves, torch.from_numpy(floats.copy()).bfloat16().view(torch.uint16).numpy())
    halves, _ = apply(pixels, output=f"float16-{layout}")
    assert np.array_equal(halves, floats.astype(np.float16))


def test_a_training_chain_resizes_flips_and_normalises() -> None:
    pixels = gradient(320, 240)
    chain = ("random_resized_crop:size=64", "horizontal_flip:probability=1")
    bytes_, _ = apply(pixels, *chain, sample=3)
    floats, _ = apply(pixels, *chain, sample=3, output="float32-nchw")
    mean, std = np.float64([0.485, 0.456, 0.406]), np.float64([0.229, 0.224, 0.225])
    np.testing.assert_allclose(floats.transpose(1, 2, 0), (bytes_ / 255 - mean) / std, rtol=0, atol=5e-7)


def test_an_evaluation_pipeline_equals_torchvision() -> None:
    """Equal to the recorded results of torchvision; see tests/golden/make_policies.py."""
    for given in GOLDEN["resizes"]:
        pixels = make_policies.picture(*given["size"])
        ours, _ = apply(pixels, f"resize:size={given['short']}", f"center_crop:size={given['crop']}")
        assert make_policies.digest(ours) == given["digest"], given
