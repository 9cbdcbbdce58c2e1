"""WebP files written by Pillow decode to the same pixels: whole images, crops, sizes, packed files."""

import io
import json
import os
import subprocess

import numpy as np
import pytest

import unstarve as un

Image = pytest.importorskip("PIL.Image")
ImageOps = pytest.importorskip("PIL.ImageOps")

KINDS = [{"quality": 30, "method": 0}, {"quality": 80, "method": 4}, {"quality": 100, "method": 2}, {"lossless": True},
         {"lossless": True, "exact": True, "alpha": True}, {"quality": 60, "alpha": True}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """32 files of six kinds and different sizes, with every orientation, and two animations."""
    path = tmp_path_factory.mktemp("webp")
    (path / "one").mkdir()
    random = np.random.default_rng(4)
    for number in range(32):
        width, height = 50 + number, 90 - 2 * number
        y, x = np.mgrid[0:height, 0:width]
        smooth = np.stack([x * 3, y * 3, x + 2 * y], 2) + random.integers(-20, 20, (height, width, 3))
        image = Image.fromarray(smooth.clip(0, 255).astype(np.uint8))
        kind = dict(KINDS[number % len(KINDS)])
        if kind.pop("alpha", False):
            image.putalpha(Image.fromarray((x * 4).clip(0, 255).astype(np.uint8)))
        exif = Image.Exif()
        exif[0x0112] = 1 + number % 8
        more = {"save_all": True, "append_images": [image.rotate(180)], "duration": 40} if number % 16 == 15 else {}
        image.save(path / f"one/{number:02}.webp", exif=exif, **kind, **more)
    return path


def pillows(folder):
    return [np.asarray(ImageOps.exif_transpose(Image.open(file)).convert("RGB")) for file in sorted(folder.glob("*/*"))]


def test_pixels_equal_those_of_pillow(folder):
    expected = pillows(folder)
    seen = 0
    for images, _, ids, sizes in un.open(folder).output("uint8", "NHWC").batch(5, pad=True, last="keep").batches():
        for image, number, (height, width) in zip(images, ids, sizes, strict=True):
            np.testing.assert_array_equal(image[:height, :width], expected[int(number)])
            seen += 1
    assert seen == 32


def test_decoding_only_the_crop_gives_the_same_pixels(folder):
    def batches(crop_only):
        pipeline = un.open(folder).shuffle(seed=2).passes(crop_into_decode=crop_only).random_resized_crop(24)
        return [images.copy() for images, _, _ in pipeline.output("uint8", "NHWC").batch(8).batches()]

    for alone, whole in zip(batches(True), batches(False), strict=True):
        np.testing.assert_array_equal(alone, whole)


def test_filters_and_inspect_read_sizes_from_headers(folder):
    expected = sum(min(image.shape[:2]) >= 60 for image in pillows(folder))
    assert 0 < expected < 32
    assert len(un.open(folder).filter(min_side=60).center_crop(32).batch(1)) == expected
    report = json.loads(subprocess.run([os.environ["UNSTARVE"], "inspect", folder, "--json"], capture_output=True,
                                     check=True).stdout)
    assert report["samples"] == 32 and report["encodings"] == {"webp": 32} and not report["corrupt"]


@pytest.mark.parametrize("format", ["webdataset", "tfrecord"])
def test_packed_files_are_read_back(folder, tmp_path, format):
    subprocess.run([os.environ["UNSTARVE"], "pack", folder, tmp_path / "dst", "--format", format], check=True,
                   capture_output=True)
    [shard] = [file for file in (tmp_path / "dst").iterdir() if file.name.startswith("data-")]
    expected = pillows(folder)
    loader = un.open(shard).filter(max_side=80).output("uint8", "NHWC").batch(1, pad=True)
    sizes = sorted(images.shape[1:3] for images, *_ in loader.batches())
    assert sizes == sorted(image.shape[:2] for image in expected if max(image.shape) <= 80)


def test_truncated_files_are_named(folder, tmp_path):
    whole = (folder / "one/00.webp").read_bytes()
    (tmp_path / "a").mkdir()
    (tmp_path / "a/cut.webp").write_bytes(whole[:len(whole) // 2])
    with pytest.raises(un.errors.InputError, match=r"cut\.webp.*WebP: truncated"):
        list(un.open(tmp_path).center_crop(16).batch(1))
    with pytest.raises(Exception, match="."):
        Image.open(io.BytesIO(whole[:len(whole) // 2])).load()
