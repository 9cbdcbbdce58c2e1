"""batch(): last batches, and images of different sizes."""

import io

import numpy as np
import pytest

import unstarve as un
from unstarve.errors import ArgumentError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """45 PNG files of three classes and different sizes, whose pixels must be preserved."""
    image = pytest.importorskip("PIL.Image")
    path = tmp_path_factory.mktemp("photographs")
    random = np.random.default_rng(1)
    for number in range(45):
        sizes = (40 + number, 90 - number) if number % 2 else (90 - number, 41 + number)
        (path / f"class{number % 3}").mkdir(exist_ok=True)
        pixels = random.integers(0, 256, (*sizes, 3), np.uint8)
        image.fromarray(pixels).save(path / f"class{number % 3}/{number:02}.png")
    return path


def varied(folder):
    return un.open(folder).shuffle(seed=3).output("uint8", "NHWC")


def images_of(batches, padding=0):
    """Every image by its id, without its padding, whose values must all be `padding`."""
    found = {}
    for images, _, ids, sizes, *valid in batches:
        for image, sample, (height, width), real in zip(images, ids, sizes, valid[0] if valid else ids >= 0,
                                                        strict=True):
            if not real:
                continue
            assert int(sample) not in found
            found[int(sample)] = image[:height, :width].copy()
            assert (image[height:] == padding).all() and (image[:, width:] == padding).all()
    return found


def test_a_padded_last_batch_is_full_and_marks_valid_samples(folder):
    pipeline = un.open(folder).shuffle(seed=3).center_crop(32)
    kept, padded = pipeline.batch(20, drop_last=False), pipeline.batch(20, last="pad")
    assert "`valid` marks its own samples" in padded.explain()
    assert padded.parts == ("images", "labels", "valid") and len(padded) == len(kept) == 3
    seen = []
    for (images, labels, ids), (full, same, numbers, valid) in zip(kept.batches(), padded.batches(), strict=True):
        assert full.shape == (20, 3, 32, 32) and valid.dtype == bool and valid.shape == (20,)
        assert valid.sum() == len(ids) and not valid[len(ids):].any()
        for all_of, part in ((images, full), (labels, same), (ids, numbers)):
            np.testing.assert_array_equal(part[:len(ids)], all_of)
            np.testing.assert_array_equal(part, part[np.arange(20) % len(ids)])
        seen += list(numbers[valid])
    assert sorted(seen) == list(range(45))


@pytest.mark.parametrize("order", ["exact", "relaxed"])
def test_every_sample_is_real_once_over_all_ranks(folder, order):
    for world in (2, 3, 7):
        seen = []
        for rank in range(world):
            pipeline = un.open(folder).shuffle(1).shard(rank, world).center_crop(8).options(order=order)
            loader = pipeline.batch(4, last="pad")
            for _, _, ids, valid in loader.batches():
                assert len(ids) == 4
                seen += list(ids[valid])
        assert sorted(seen) == list(range(45))


def test_images_of_different_sizes_are_padded_and_their_sizes_returned(folder):
    image = pytest.importorskip("PIL.Image")
    loader = varied(folder).batch(8, last="keep", pad=True, pad_value=7)
    assert loader.parts == ("images", "labels", "sizes") and loader.shapes == ((None, None, 3), ())
    found = images_of(loader.batches(), 7)
    assert len(found) == 45
    for images, _, sizes in loader:
        assert sizes.dtype == np.int32 and images.shape[1:3] == tuple(sizes.max(0))
    for number in (0, 22, 44):
        original = image.open(io.BytesIO(un.open(folder).read(number)["image"]))
        np.testing.assert_array_equal(found[number], np.asarray(original))
    fixed = varied(folder).batch(8, last="pad", pad=(96, 100))
    for images, _, _, _ in fixed:
        assert images.shape == (8, 96, 100, 3)
    again = images_of(fixed.batches())
    assert again.keys() == found.keys() and all((again[key] == found[key]).all() for key in found)


def test_buckets_pad_less_and_resume_with_other_ranks_and_batches(folder):
    plain, grouped = varied(folder).batch(5, pad=True), varied(folder).batch(5, pad=True, bucket=45)
    assert images_of(grouped.batches()).keys() == images_of(plain.batches()).keys()
    grouped.set_epoch(0)
    whole = [(images.copy(), *rest) for images, *rest in grouped.batches()]
    assert sum(batch[0].size for batch in whole) < 0.8 * sum(images.size for images, *_ in plain)
    plain.close()

    begun = varied(folder).batch(5, pad=True, bucket=45)
    batches = begun.batches()
    for _ in range(4):
        next(batches)
    state = begun.state_dict()
    assert state["order"] == {"bucket": [45, 5]} and len(str(state)) < 1000
    resumed = varied(folder).batch(5, pad=True, bucket=45)
    resumed.load_state_dict(state)
    for ours, theirs in zip(resumed.batches(), whole[4:], strict=True):
        for mine, yours in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(mine, yours)
    left = {}
    for rank in (0, 1):
        part = (un.open(folder).shuffle(3).shard(rank, 2).output("uint8", "NHWC")
                .batch(4, last="pad", pad=True, bucket=45))
        part.load_state_dict(state)
        assert part.state_dict()["order"] == {"bucket": [45, 5]}
        left |= images_of(part.batches())
    assert sorted(left) == sorted(int(sample) for _, _, ids, _ in whole[4:] for sample in ids)
    with pytest.raises(ArgumentError, match=r"state: bucket \[45,5\], but this loader has \[40,5\]"):
        varied(folder).batch(5, pad=True, bucket=40).load_state_dict(state)
    with pytest.raises(ArgumentError, match="state: bucket"):
        plain.load_state_dict(state)


def test_all_parts_reach_torch(folder):
    loader = varied(folder).batch(10, last="pad", pad=True, bucket=20)
    expected = [[part.copy() for part in batch] for batch in loader]
    loader.set_epoch(0)

    torch = pytest.importorskip("torch")
    for batch, parts in zip(loader.to_torch(), expected, strict=True):
        assert [part.dtype for part in batch] == [torch.uint8, torch.int64, torch.int32, torch.bool]
        np.testing.assert_array_equal(batch[0].numpy(), np.moveaxis(parts[0], 3, 1))
        for ours, theirs in zip(batch[1:], parts[1:], strict=True):
            np.testing.assert_array_equal(ours.numpy(), theirs)
    named = next(iter(loader.to_torch(names=("pixels", "labels", "sizes", "real"))))
    np.testing.assert_array_equal(named["real"].numpy(), expected[0][3])
    with pytest.raises(ArgumentError, match="expected 4 different names, for images, labels, sizes, valid"):
        loader.to_torch(names=("pixels", "labels"))


@pytest.mark.frameworks
def test_all_parts_reach_jax(folder):
    pytest.importorskip("jax", reason="JAX is not installed: make test-frameworks")
    loader = varied(folder).batch(10, last="pad", pad=True, bucket=20)
    expected = [[part.copy() for part in batch] for batch in loader]
    loader.set_epoch(0)
    for batch, parts in zip(loader.to_jax(), expected, strict=True):
        for ours, theirs in zip(batch, parts, strict=True):
            np.testing.assert_array_equal(np.asarray(ours), theirs)


def test_invalid_arguments_are_rejected(folder):
    pipeline = un.open(folder).shuffle(0)
    for arguments, text in [({"last": "full"}, r"batch\(last\)"),
                            ({"last": "drop", "drop_last": True}, "both last and drop"),
                            ({"pad": (0, 3)}, r"batch\(pad\)"), ({"pad": (3, 3), "bucket": 9}, "batch.pad.to: largest"),
                            ({"pad": True, "pad_value": 300}, r"batch\(pad_value\): 300; expected 0 to 255"),
                            ({"bucket": 64}, r"batch\(bucket\)"), ({"pad": (1, 2, 3)}, r"batch\(pad\)"),
                            ({"pad": True, "bucket": 7}, "at least the 8 samples")]:
        with pytest.raises((ArgumentError, un.errors.InputError), match=text):
            pipeline.batch(8, **arguments)
    with pytest.raises(ArgumentError, match="expected execution.order: exact"):
        pipeline.options(order="relaxed").batch(8, pad=True, bucket=16)
    with pytest.raises(un.errors.InputError, match=r"pad the images with batch\(pad=True\)"):
        list(pipeline.batch(8))
