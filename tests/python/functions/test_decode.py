"""un.decode, un.image_info and un.encode_jpeg, compared with Pillow."""

import io
import mmap
import os
import random

import numpy as np
import pytest
from PIL import Image

import unstarve as un
from image_support import decoded, encoded, pixels

IMAGE = pixels()
FILES = {
    "baseline": encoded(IMAGE, quality=90), "444": encoded(IMAGE, quality=80, subsampling=0),
    "progressive": encoded(IMAGE, progressive=True), "png": encoded(IMAGE, "PNG"),
    "webp": encoded(IMAGE, "WEBP", lossless=True), "grey": encoded(IMAGE[..., 0]),
}


@pytest.mark.parametrize("kind", FILES)
def test_the_pixels_are_pillow_s(kind):
    whole = un.decode(FILES[kind])
    assert whole.dtype == np.uint8 and whole.shape == (60, 90, 3) and whole.flags.c_contiguous
    assert whole.flags.writeable and np.array_equal(whole, decoded(FILES[kind]))
    assert np.array_equal(un.decode(FILES[kind], mode="L"), decoded(FILES[kind], "L"))


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("region", [(0, 0, 60, 90), (7, 11, 30, 41), (59, 89, 1, 1), (0, 80, 60, 10)])
def test_a_region_is_cropped_before_it_is_resized(kind, region):
    top, left, height, width = region
    crop = decoded(FILES[kind])[top:top + height, left:left + width]
    assert np.array_equal(un.decode(FILES[kind], region=region), crop)
    for size in ((20, 33), 25, (80, 100)):
        for more in ({}, {"interpolation": "bicubic"}, {"antialias": False}):
            made = un.decode(FILES[kind], region=region, size=size, **more)
            assert np.array_equal(made, un.resize(crop, size, **more))
    grey = un.decode(FILES[kind], region=region, size=(20, 33), mode="L")
    assert np.array_equal(grey, np.asarray(Image.fromarray(un.resize(crop, (20, 33))).convert("L")))


def test_the_exif_orientation_is_applied_before_the_region():
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded(IMAGE, exif=exif)
    upright = np.rot90(decoded(data), -1)
    info = un.image_info(data)
    assert info == ("jpeg", 90, 60, 3, 6, "baseline") and (info.height, info.width) == (90, 60)
    assert np.array_equal(un.decode(data), upright)
    assert np.array_equal(un.decode(data, region=(10, 5, 40, 20)), upright[10:50, 5:25])
    assert np.array_equal(un.decode(data, region=(10, 5, 40, 20), size=(7, 9)),
                          un.resize(upright[10:50, 5:25], (7, 9)))


def test_approximate_decoding_is_close_and_off_by_default():
    image = pixels(400, 600)
    data = encoded(image, quality=95)
    exact, near = (un.decode(data, size=(50, 75), approximate=choice).astype(int) for choice in (False, True))
    assert np.array_equal(exact, un.resize(decoded(data), (50, 75)))
    assert not np.array_equal(exact, near) and np.abs(exact - near).mean() < 3


def test_every_kind_of_source_gives_the_same_pixels(tmp_path):
    torch = pytest.importorskip("torch")
    data = FILES["baseline"]
    path = tmp_path / os.fsdecode(b"na\xffme.jpg")
    path.write_bytes(data)
    expected = decoded(data)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        for source in (data, bytearray(data), memoryview(data), mapped, str(path), path, np.frombuffer(data, np.uint8)):
            assert np.array_equal(un.decode(source), expected)
            assert un.image_info(source)[:3] == ("jpeg", 60, 90)
    tensor = un.decode(torch.frombuffer(bytearray(data), dtype=torch.uint8))
    assert tensor.shape == (3, 60, 90) and tensor.is_contiguous()
    assert np.array_equal(tensor.permute(1, 2, 0).numpy(), expected)
    assert un.decode(torch.frombuffer(bytearray(data), dtype=torch.uint8), mode="L").shape == (1, 60, 90)


def test_image_info_reads_format_kind_and_channels():
    kinds = {"baseline": "baseline", "444": "baseline", "progressive": "progressive", "png": "", "webp": "",
             "grey": "baseline"}
    alpha = io.BytesIO()
    Image.fromarray(IMAGE).convert("LA").save(alpha, "png")
    assert un.image_info(alpha.getvalue()).channels == 2
    for name, kind in kinds.items():
        info = un.image_info(FILES[name])
        assert info.kind == kind and info.channels == (1 if name == "grey" else 3)
        assert info.format == (name if name in ("png", "webp") else "jpeg")


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: un.decode(b""), un.errors.InputError, "^decode image: empty file: 0 bytes; expected a JPEG"),
    (lambda: un.decode(b"GIF89a" + bytes(99)), un.errors.InputError, "^decode image: not a JPEG, PNG or WebP image"),
    (lambda: un.image_info(b"x"), un.errors.InputError, "^image_info image: not a JPEG"),
    (lambda: un.decode("/nowhere/x.jpg"), un.errors.IoError, "^decode open /nowhere/x.jpg: No such file"),
    (lambda: un.decode("/x.jpg\0.png"), un.errors.ArgumentError, r"^decode image: found '/x.jpg\\x00.png'; expected a"),
    (lambda: un.decode("/"), un.errors.IoError, "/: Is a directory"),
    (lambda: un.decode(3), un.errors.ArgumentError, "^decode image: found int; expected an encoded image"),
    (lambda: un.decode(IMAGE), un.errors.ArgumentError, r"found pixels; .* Use un.resize\(\)"),
    (lambda: un.image_info(IMAGE), un.errors.ArgumentError, "found pixels"),
    (lambda: un.decode(np.zeros(9)), un.errors.ArgumentError, r"found float64 \(9,\); expected"),
    (lambda: un.decode(FILES["png"], approximate="no"), un.errors.ArgumentError,
     r"^decode\(approximate\): found 'no'; expected True or False"),
    (lambda: un.decode(FILES["png"], mode="CMYK"), un.errors.ArgumentError, "'CMYK'; expected 'RGB' or 'L'"),
    (lambda: un.decode(FILES["png"], region=(0, 0, 61, 90)), un.errors.ArgumentError,
     r"^decode image: region: found \(top 0, left 0, height 61, width 90\) in an image of height 60 and width 90"),
    (lambda: un.decode(FILES["png"], region=(0, 0, 0, 9)), un.errors.ArgumentError, "height: found 0; expected 1"),
    (lambda: un.decode(FILES["png"], region=(0, -1, 5, 9)), un.errors.ArgumentError, "left: found -1; expected 0"),
    (lambda: un.decode(FILES["png"], region=(0, 2**31 - 1, 2**31 - 1, 9)), un.errors.ArgumentError, "a part of the im"),
    (lambda: un.decode(FILES["png"], region=7), un.errors.ArgumentError, r"7; expected \(top, left, height, width\)"),
    (lambda: un.decode(FILES["png"], size=0), un.errors.ArgumentError, "parameter 'size'"),
    (lambda: un.decode(FILES["png"], size=9, interpolation="cubic"), un.errors.ArgumentError, "expected one of"),
    (lambda: un.decode(np.zeros(99, np.uint8)[::2]), un.errors.ArgumentError, "expected contiguous"),
    (lambda: un.image_info(memoryview(bytes(99))[::2]), un.errors.ArgumentError, "contiguous"),
    (lambda: un.decode(FILES["png"], interpolation="cubic"), un.errors.ArgumentError, "expected one of near"),
    (lambda: un.decode(FILES["png"], max_pixels=60 * 90 - 1), un.errors.InputError, "decode.max_pixels is 5399"),
    (lambda: un.encode_jpeg(IMAGE, quality=101), un.errors.ArgumentError, "quality.: found 101; expected 1 to 100"),
    (lambda: un.encode_jpeg(IMAGE, subsampling="4:1:1"), un.errors.ArgumentError, "'4:1:1'; expected '4:4:4'"),
    (lambda: un.encode_jpeg(FILES["png"]), un.errors.ArgumentError, r"encoded image; .* Use un.decode\(\)"),
    (lambda: un.decode("https://host/x.jpg"), un.errors.ArgumentError,
     r"^decode image: found the URL https://host/x\.jpg; expected a path .* pass its bytes"),
    (lambda: un.encode_jpeg(IMAGE[..., 0].astype(np.float32)), un.errors.ArgumentError, r"found float32 \(60, 90\)"),
    (lambda: un.encode_jpeg(IMAGE[:0]), un.errors.ArgumentError, "0"),
])
def test_invalid_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("kind", FILES)
def test_truncated_and_changed_files_are_errors_or_images(kind):
    data, whole = FILES[kind], decoded(FILES[kind])
    rng = random.Random(3)
    for cut in sorted({0, 1, 2, len(data) - 1, *(rng.randrange(len(data)) for _ in range(60))}):
        try:
            made = un.decode(data[:cut], size=(32, 32))
        except un.errors.InputError as error:
            assert str(error).startswith("decode image: ")
        else:
            assert made.shape == (32, 32, 3) and cut > len(data) // 2  # only an end without pixels may be missing
    for _ in range(200):
        changed = bytearray(data)
        for _ in range(rng.randrange(1, 8)):
            changed[rng.randrange(len(data))] = rng.randrange(256)
        try:
            made = un.decode(changed, max_pixels=1 << 20)
            assert made.dtype == np.uint8 and made.ndim == 3
        except un.errors.InputError:
            pass
    assert np.array_equal(un.decode(data), whole)  # the memory of the thread stays usable


def test_a_header_that_declares_a_huge_image_allocates_nothing():
    data = bytearray(FILES["baseline"])
    at = data.index(b"\xff\xc0") + 5
    for side in (65_500, 65_535):
        data[at:at + 4] = side.to_bytes(2, "big") * 2
        with pytest.raises(un.errors.InputError, match="too large|Maximum supported image dimension"):
            un.decode(data)
    data[at:at + 4] = (16_000).to_bytes(2, "big") * 2  # within the limits, but the file is too short for it
    with pytest.raises(un.errors.InputError):
        un.decode(data, size=(8, 8))


@pytest.mark.parametrize(("subsampling", "theirs"), [("4:4:4", 0), ("4:2:2", 1), ("4:2:0", 2)])
def test_encoded_files_are_pillow_s(subsampling, theirs):
    file = un.encode_jpeg(IMAGE, quality=83, subsampling=subsampling)
    assert np.array_equal(decoded(file), decoded(encoded(IMAGE, quality=83, subsampling=theirs)))
    assert un.encode_jpeg(IMAGE) == un.encode_jpeg(IMAGE, quality=75, subsampling="4:2:0")
    strided = np.repeat(IMAGE, 2, 1)[::-1, ::2][::-1]
    assert not strided.flags.c_contiguous and un.encode_jpeg(strided) == un.encode_jpeg(IMAGE)
    assert un.encode_jpeg(Image.fromarray(IMAGE)) == un.encode_jpeg(IMAGE)


def test_photographs_equal_pillow_s(photographs):
    for path in sorted(photographs.glob("*/*"))[:25]:
        image = Image.open(io.BytesIO(path.read_bytes()))
        expected = np.asarray(image.convert("RGB"))
        assert np.array_equal(un.decode(path), expected)
        height, width = expected.shape[0] // 2, expected.shape[1] // 3
        made = un.decode(path, region=(height // 3, width // 2, height, width), size=(96, 64))
        assert np.array_equal(made, un.resize(expected[height // 3:][:height, width // 2:][:, :width], (96, 64)))


def test_grey_pixels_become_pillow_s_grey_file():
    torch = pytest.importorskip("torch")
    grey = un.decode(FILES["png"], mode="L")
    file = un.encode_jpeg(grey, quality=83)
    with Image.open(io.BytesIO(file)) as theirs:
        assert theirs.mode == "L"
    expected = io.BytesIO()
    Image.fromarray(grey).save(expected, "JPEG", quality=83)
    assert np.array_equal(un.decode(file, mode="L"), un.decode(expected.getvalue(), mode="L"))
    tensor = un.decode(torch.frombuffer(bytearray(FILES["png"]), dtype=torch.uint8), mode="L")
    assert tensor.shape == (1, *grey.shape) and un.encode_jpeg(tensor, quality=83) == file
