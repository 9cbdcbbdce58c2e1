"""Loader.to_tf: a tf.data.Dataset with the shapes and the length of the loader. Skipped without TensorFlow."""

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: make test-frameworks")

import unstarve as un  # noqa: E402

SMALL = "synthetic:classes=10,images=50,size=16,seed=1"
pytestmark = pytest.mark.frameworks


def test_a_dataset_of_the_same_batches_epoch_by_epoch():
    loader = un.open(SMALL).shuffle(2).output("float32", "NHWC").batch(12, drop_last=False)
    expected = [[(images.copy(), labels.copy()) for images, labels in loader] for _ in range(2)]
    loader.set_epoch(0)
    data = loader.to_tf()
    assert data.element_spec == (tf.TensorSpec((None, 16, 16, 3), tf.float32), tf.TensorSpec((None,), tf.int64))
    assert int(data.cardinality()) == len(data) == 5
    for epoch in expected:
        for (images, labels), (theirs, their_labels) in zip(data, epoch, strict=True):
            np.testing.assert_array_equal(images.numpy(), theirs)
            np.testing.assert_array_equal(labels.numpy(), their_labels)


@pytest.mark.parametrize(("dtype", "layout"), [("uint8", "NCHW"), (tf.bfloat16, "NHWC"), ("float16", "NHWC"),
                                                 (None, "NCHW")])
def test_every_dtype_and_layout(dtype, layout):
    pipeline = un.open(SMALL).shuffle(2)
    plain = next(iter(pipeline.output("uint8", layout).batch(10)))[0].astype(np.float32)
    data = pipeline.one_hot().batch(10).to_tf(dtype=dtype, layout=layout)
    images, targets = next(iter(data))
    assert images.dtype == (dtype or tf.float32) and targets.shape == (10, 10) and targets.dtype == tf.float32
    scale = 1 if dtype == "uint8" else 255
    np.testing.assert_allclose(tf.cast(images, tf.float32).numpy() * scale, plain, atol=1.1)
    with pytest.raises(un.errors.ArgumentError, match="expected one of uint8, float32, bfloat16"):
        pipeline.batch(10).to_tf(dtype="float64")


def test_keras_fits_on_it():
    loader = un.open(SMALL).shuffle(0).batch(10)
    model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    history = model.fit(loader.to_tf(normalize=un.CIFAR10), epochs=3, verbose=0)
    assert len(history.history["loss"]) == 3 and np.isfinite(history.history["loss"]).all()


def same(data, loader):
    """Whether every part of every batch of the dataset's epoch equals the loader's next epoch."""
    for given, made in zip(data, loader, strict=True):
        for ours, theirs in zip(given, made, strict=True):
            np.testing.assert_array_equal(ours.numpy(), theirs)


def halved(image, label):
    return image[::2, ::2].astype(np.float32) / 255, label + 1


def test_functions_of_the_user_determine_shapes_and_dtypes():
    def mapped():
        return un.open(SMALL).shuffle(2).map(halved).options(workers=0).batch(12, drop_last=False)

    data = mapped().to_tf()
    assert data.element_spec == (tf.TensorSpec((None, 8, 8, 3), tf.float32), tf.TensorSpec((None,), tf.int64))
    same(data, mapped())
    with pytest.raises(un.errors.ArgumentError, match="normalize, dtype. with map..: unsupported"):
        mapped().to_tf(dtype="float32")


@pytest.mark.parametrize(("pad", "sides"), [(True, (None, None)), ((40, 48), (40, 48))])
def test_padded_batches_come_with_the_sizes_of_their_images(tmp_path, pad, sides):
    from PIL import Image

    rng = np.random.default_rng(0)
    for i in range(9):
        (tmp_path / "a").mkdir(exist_ok=True)
        pixels = rng.integers(0, 256, (*rng.integers(20, 40, 2), 3), np.uint8)
        Image.fromarray(pixels).save(tmp_path / "a" / f"{i}.png")

    def padded():
        return un.open(tmp_path).shuffle(2).output("float32", "NHWC").batch(4, pad=pad, last="pad")

    data = padded().to_tf()
    assert data.element_spec == (tf.TensorSpec((None, *sides, 3), tf.float32), tf.TensorSpec((None,), tf.int64),
                                 tf.TensorSpec((None, 2), tf.int32), tf.TensorSpec((None,), tf.bool))
    same(data, padded())


def test_sizes_may_follow_a_schedule():
    data = un.open(SMALL).random_resized_crop(un.schedule({0: 16, 1: 24})).batch(10).to_tf()
    assert data.element_spec[0] == tf.TensorSpec((None, None, None, 3), tf.float32)
    for side in (16, 24):
        assert {tuple(images.shape) for images, _ in data} == {(10, side, side, 3)}
