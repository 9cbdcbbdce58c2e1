"""Loader.to_tf: a tf.data.Dataset with the shapes and the length of the loader. Skipped without TensorFlow."""

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: pip install tensorflow-cpu")

import unstarve as un  # noqa: E402

SMALL = "synthetic:classes=10,images=50,size=16,seed=1"


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
