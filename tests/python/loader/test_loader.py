"""Batches follow the steps of the pipeline, for any threads, passes, ranks and specs."""

import itertools

import numpy as np
import pytest

import unstarve as un
from loader_support import SMALL, copies, equal, photos


def test_batches_follow_the_steps_of_the_pipeline(tmp_path):
    pipeline = un.open(photos(tmp_path))
    assert len(pipeline) == 24 and pipeline.classes == ["cat", "dog"]
    loader = pipeline.shuffle(seed=3).decode().random_resized_crop(48).flip().batch(5, drop_last=False)
    assert len(loader) == 5 and loader.samples == 24
    seen = copies(loader)
    assert [len(labels) for _, labels, _ in seen] == [5, 5, 5, 5, 4]
    assert all(images.shape[1:] == (3, 48, 48) and images.dtype == np.float32 for images, _, _ in seen)
    assert sorted(np.concatenate([ids for _, _, ids in seen])) == list(range(24))
    for _, labels, ids in seen:
        for label, sample in zip(labels, ids, strict=True):
            assert pipeline.classes[label] in pipeline.location(int(sample))
            assert pipeline.read(int(sample))["label"] == label


def test_any_number_of_threads_is_bit_equal(tmp_path):
    pipeline = un.open(photos(tmp_path)).shuffle(1).random_resized_crop(32).flip()
    expected = copies(pipeline.options(threads=1, prefetch=0).batch(6))
    for threads in (2, 5):
        for read_ahead in (0, 7):
            assert equal(copies(pipeline.options(threads=threads, read_ahead=read_ahead).batch(6)), expected)


def test_passes_can_be_switched_off(tmp_path):
    pipeline = un.open(photos(tmp_path)).shuffle(1).random_resized_crop(32)
    without = pipeline.passes(crop_into_decode=False).batch(6)
    assert "switched off by passes.crop_into_decode" in without.explain()
    assert equal(copies(without), copies(pipeline.batch(6)))
    with pytest.raises(un.errors.ArgumentError, match="unknown pass; expected one of .*cache"):
        pipeline.passes(faster=True).batch(6).explain()


def test_values_equal_those_of_pillow(tmp_path):
    from PIL import Image

    pipeline = un.open(photos(tmp_path)).sequential().resize((30, 20))
    images, _, ids = next(pipeline.output("uint8", "NHWC").batch(24).batches())
    for image, sample in zip(images, ids, strict=True):
        with Image.open(pipeline.location(int(sample))) as stored:
            theirs = np.asarray(stored.convert("RGB").resize((20, 30), Image.Resampling.BILINEAR), np.int16)
        assert np.abs(image.astype(np.int16) - theirs).max() <= 1
    normalised, _, _ = next(pipeline.normalize(*un.IMAGENET).batch(24).batches())
    mean, std = (np.array(values, np.float32).reshape(1, 3, 1, 1) for values in un.IMAGENET)
    np.testing.assert_allclose(normalised, (images.transpose(0, 3, 1, 2) / 255 - mean) / std, atol=2e-6)


def test_batch_operations_give_targets(tmp_path):
    pipeline = un.open(SMALL).shuffle(2)
    plain = copies(pipeline.batch(20))
    hot = copies(pipeline.one_hot().batch(20))
    for (images, labels, ids), (same, targets, again) in zip(plain, hot, strict=True):
        assert np.array_equal(images, same) and np.array_equal(ids, again)
        assert targets.dtype == np.float32 and np.array_equal(targets, np.eye(10, dtype=np.float32)[labels])
    mixed = copies(pipeline.label_smoothing(0.2).mixup(alpha=1).batch(20))
    for (images, labels, _), (blended, targets, _) in zip(plain, mixed, strict=True):
        smooth = np.eye(10)[labels] * 0.8 + 0.02
        # Targets and pixels have the same weight.
        two = next(i for i in range(20) if labels[i] != labels[i - 1])
        weight = (targets[two, labels[two]] - 0.02) / 0.8
        np.testing.assert_allclose(targets, weight * smooth + (1 - weight) * np.roll(smooth, 1, 0), atol=1e-5)
        np.testing.assert_allclose(blended, weight * images + (1 - weight) * np.roll(images, 1, 0), atol=2e-5)
    assert not equal(mixed, copies(pipeline.cutmix().batch(20)))
    with pytest.raises(un.errors.ArgumentError, match=r"flip\(\) after mixup\(\)"):
        pipeline.mixup().flip()
    with pytest.raises(un.errors.ArgumentError, match="alpha"):
        pipeline.mixup(alpha=-1)


def test_methods_equal_the_operations_of_their_names():
    start = un.open(SMALL).shuffle(0).resize(30, max_size=31)
    made = (start.center_crop(24).alternating_flip().vertical_flip(0.3).color_jitter(0.2, hue=0).grayscale(0.5)
            .rotation(12, p=0.5).affine(5, (0.2, 0), shear_x=(-3, 3), fill="mean").perspective(0.3, 1, 7, "nearest")
            .random_channel_permutation(0.7).gaussian_blur(1.5, radius=2).erasing(1, scale=(0.1, 0.2))
            .rand_augment(1, 5, 10, "bilinear", (1, 2, 3)).trivial_augment(5, fill=9)
            .auto_augment("cifar10", fill="mean").aug_mix(2, interpolation="nearest", fill=(3, 2, 1)))
    named = start.operation("center_crop", size=24)
    for name, values in {
        "alternating_flip": {}, "vertical_flip": {"probability": 0.3}, "color_jitter": {"brightness": 0.2, "hue": 0},
        "grayscale": {"probability": 0.5},
        "rotation": {"degrees": 12, "probability": 0.5},
        "affine": {"degrees": 5, "translate_x": 0.2, "translate_y": 0, "shear_x": [-3, 3], "fill": "mean"},
        "perspective": {"distortion": 0.3, "probability": 1, "fill": 7, "interpolation": "nearest"},
        "random_channel_permutation": {"probability": 0.7},
        "gaussian_blur": {"sigma": 1.5, "probability": 0.5, "radius": 2},
        "erasing": {"probability": 1, "scale": [0.1, 0.2]}, "rand_augment": {
            "changes": 1, "magnitude": 5, "num_magnitude_bins": 10, "interpolation": "bilinear", "fill": (1, 2, 3)},
        "trivial_augment": {"num_magnitude_bins": 5, "fill": 9}, "auto_augment_cifar10": {"fill": "mean"},
        "aug_mix": {"severity": 2, "interpolation": "nearest", "fill": (3, 2, 1)},
    }.items():
        named = named.operation(name, **values)
    ours, theirs = made.output("uint8").batch(8), named.output("uint8").batch(8)
    with ours, theirs:
        for a, b in zip(ours, theirs, strict=True):
            assert np.array_equal(a[0], b[0]) and np.array_equal(a[1], b[1])
    with pytest.raises(un.errors.ArgumentError, match="auto_augment_mars"):
        start.auto_augment("mars")


def test_pixels_covered_by_erasing_and_cutout_are_normalised_to_zero() -> None:
    """As torchvision's RandomErasing(value=0) after Normalize; the device's part begins with the same pixels."""
    start = un.open(SMALL).shuffle(0).resize((32, 32)).erasing(1, (0.3, 0.3), (1, 1)).cutout(6)
    mean, std = (0.485, 0.456, 0.1), (0.229, 0.224, 0.225)
    images, _ = next(iter(start.normalize(mean, std).batch(8)))
    near = (np.abs(images) <= 0.5 / 255 / np.array(std).reshape(3, 1, 1) + 1e-6).all(axis=1)
    assert (near.sum(axis=(1, 2)) >= 17 * 17).all()  # an area of 0.3
    pixels, _ = next(iter(start.normalize(mean, std).batch(8)._host_part(3)))
    assert (pixels[near] == [124, 116, 26]).all()
    # Without a normalisation it is black.
    pixels, _ = next(iter(start.output("uint8", "NHWC").batch(8)))
    assert (pixels[near] == 0).all()
    pixels, _ = next(iter(un.open(SMALL).resize((32, 32)).cutout(80, value=(1, 2, 3)).output("uint8", "NHWC").batch(8)))
    assert {tuple(pixel) for pixel in pixels[:, 16, 16]} == {(1, 2, 3)}


@pytest.mark.parametrize("operation", [
    {"name": "rotation", "degrees": 45}, {"name": "affine", "degrees": 45, "scale": 0.5},
    {"name": "perspective", "distortion": 0.9, "probability": 1}, {"name": "pad_crop", "size": 32, "padding": 30}])
def test_pixels_filled_with_the_mean_are_normalised_to_zero(operation: dict) -> None:
    start = un.open(SMALL).shuffle(0).resize((32, 32))
    mean, std = (0.485, 0.456, 0.1), (0.229, 0.224, 0.225)

    def batch(fill):
        pipeline = start.operation(fill=fill, **operation) if fill is not None else start.operation(**operation)
        return next(iter(pipeline.normalize(mean, std).batch(8)))[0].copy()

    meant, written, black, default = batch("mean"), batch((124, 116, 26)), batch(0), batch(None)
    assert np.array_equal(meant, written) and np.array_equal(black, default)
    filled = (meant != black).any(axis=1)
    assert filled.mean() > 0.02
    near = np.abs(meant) <= 0.5 / 255 / np.array(std).reshape(3, 1, 1) + 1e-6
    assert near.all(axis=1)[filled].all()


def test_ranks_share_an_epoch(monkeypatch):
    whole = un.open(SMALL).shuffle(2).batch(40)
    parts = [copies(un.open(SMALL).shuffle(2).shard(rank, 4).batch(10)) for rank in range(4)]
    for number, (_, _, ids) in enumerate(whole.batches()):
        assert np.array_equal(ids, np.concatenate([part[number][2] for part in parts]))
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert equal(copies(un.open(SMALL).shuffle(2).batch(10)), parts[3])
    text = un.open(SMALL).shuffle(2).batch(10).to_yaml()
    monkeypatch.setenv("RANK", "1")
    assert equal(copies(un.from_yaml(text)), parts[1])
    monkeypatch.setenv("RANK", "4")
    with pytest.raises(un.Error, match="rank 4 of world 4"):
        un.open(SMALL).batch(10)


def test_yaml_makes_the_same_loader(tmp_path):
    pipeline = un.open(photos(tmp_path)).shuffle(4).random_resized_crop(32, scale=(0.3, 1))
    loader = pipeline.normalize(*un.CIFAR10).batch(7)
    again = un.from_yaml(loader.to_yaml())
    assert again.to_yaml() == loader.to_yaml()
    assert equal(copies(again), copies(loader))


def test_alternating_flip_mirrors_every_image_in_one_of_two_consecutive_epochs():
    pipeline = un.open(SMALL).shuffle(7).alternating_flip().output("uint8", "NHWC")
    plain = un.open(SMALL).shuffle(7).output("uint8", "NHWC")
    mirrored = []
    with pipeline.batch(10) as flips, plain.batch(10) as images:
        for _ in range(4):
            epoch = {}
            for (flipped, _, ids), (original, _, same) in zip(flips.batches(), images.batches(), strict=True):
                assert np.array_equal(ids, same)
                for i, sample in enumerate(ids.tolist()):
                    epoch[sample] = np.array_equal(flipped[i], original[i, :, ::-1])
                    assert epoch[sample] or np.array_equal(flipped[i], original[i])
            mirrored.append(epoch)
    assert 0.25 < np.mean(list(mirrored[0].values())) < 0.75
    for before, after in itertools.pairwise(mirrored):
        assert all(after[sample] != flip for sample, flip in before.items() if sample in after)
