"""Loader.to_jax: zero-copy views on the host, uint8 sent and normalised on other devices. Skipped without JAX."""

import os

import numpy as np
import pytest

# A second CPU device simulates an accelerator: host arrays must be sent to it.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
jax = pytest.importorskip("jax", reason="JAX is not installed: make test-frameworks")

import jax.numpy as jnp  # noqa: E402
import unstarve as un  # noqa: E402

SMALL = "synthetic:classes=10,images=48,size=16,seed=1"
pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("ignore:Explicitly requested dtype")]


def test_arrays_on_the_host_are_zero_copy_views():
    loader = un.open(SMALL).shuffle(2).normalize(*un.CIFAR10).batch(12)
    expected = [(images.copy(), labels.copy()) for images, labels in loader]
    run = loader.to_jax(jax.devices("cpu")[0])
    run.set_epoch(0)
    given = list(run)  # held batches
    assert len(run) == len(given) == 4
    for (images, labels), (theirs, their_labels) in zip(given, expected, strict=True):
        assert images.dtype == jnp.float32 and labels.dtype == jnp.int32
        np.testing.assert_array_equal(np.asarray(images), theirs)
        np.testing.assert_array_equal(np.asarray(labels), their_labels)
    loader.set_epoch(0)
    images, _ = next(iter(loader))
    assert jnp.from_dlpack(images).unsafe_buffer_pointer() == images.ctypes.data


@pytest.mark.parametrize("device", [0, 1])
@pytest.mark.parametrize(("dtype", "layout"), [("uint8", "NHWC"), ("float32", "NCHW"), ("bfloat16", "NHWC"),
                                                 ("float16", "NCHW")])
def test_every_dtype_and_layout_on_both_devices(device, dtype, layout):
    device = jax.devices("cpu")[device]
    pipeline = un.open(SMALL).shuffle(2)
    plain = [images.copy() for images, _ in pipeline.output("uint8", layout).batch(12)]
    normalize = None if dtype == "uint8" else un.CIFAR10
    run = pipeline.batch(12).to_jax(device, dtype=dtype, normalize=normalize, layout=layout)
    shape = (1, 3, 1, 1) if layout == "NCHW" else (1, 1, 1, 3)
    mean, std = (np.array(values, np.float32).reshape(shape) for values in un.CIFAR10)
    seen = 0
    for (images, labels), pixels in zip(run, plain, strict=True):
        assert images.devices() == labels.devices() == {device}
        assert images.dtype == jnp.dtype(dtype) and images.shape == pixels.shape == (12, *run.shapes[0])
        expected = pixels if dtype == "uint8" else (pixels / 255 - mean) / std
        np.testing.assert_allclose(np.asarray(images, np.float32), expected, atol=1e-5,
                                   rtol={"bfloat16": 1e-2, "float16": 1e-3}.get(dtype, 2e-5))
        seen += 1
    assert seen == 4
    # The YAML contains the whole pipeline, wherever its parts run.
    again = un.from_yaml(run.to_yaml()).to_jax(device)
    assert (again.dtype, again.layout) == (jnp.dtype(dtype), layout) == (run.dtype, run.layout)
    assert again.normalisation == run.normalisation == (normalize or ((0, 0, 0), (1, 1, 1)))
    run.set_epoch(0)
    for (images, _), (theirs, _) in zip(again, run, strict=True):
        np.testing.assert_array_equal(np.asarray(images), np.asarray(theirs))


def test_device_pipelines_resume_and_reject_invalid_arguments():
    loader = un.open(SMALL).shuffle(2).mixup().batch(12)
    run = loader.to_jax()
    given = iter(run)
    next(given)
    state = run.state_dict()
    rest = [np.asarray(images) for images, targets in given if targets.shape == (12, 10)]
    other = loader.to_jax()
    other.load_state_dict(state)
    np.testing.assert_array_equal(rest, [np.asarray(images) for images, _ in other])
    assert len(rest) == 3 and run.epoch == 1 and run.classes == loader.classes
    for device in jax.devices("cpu"):
        with pytest.raises(un.errors.ArgumentError, match="found uint8 with normalize; expected a floating"):
            loader.to_jax(device, dtype="uint8", normalize=un.IMAGENET)
    with pytest.raises(un.errors.ArgumentError, match="found int8; expected one of uint8, float32, bfloat16, float16"):
        loader.to_jax(jax.devices("cpu")[0], dtype="int8")


def test_a_jitted_step_trains_on_it():
    loader = un.open(SMALL).shuffle(0).normalize(*un.CIFAR10).batch(12).to_jax(layout="NHWC")

    @jax.jit
    def step(weights, images, labels):
        def loss(weights):
            scores = jax.nn.log_softmax(images.reshape(len(images), -1) @ weights)
            return -jnp.mean(scores[jnp.arange(len(labels)), labels])

        value, gradient = jax.value_and_grad(loss)(weights)
        return weights - 0.01 * gradient, value

    weights, losses = jnp.zeros((16 * 16 * 3, 10)), []
    for _ in range(5):
        for images, labels in loader:
            weights, loss = step(weights, images, labels)
            losses.append(float(loss))
    assert len(losses) == 20 and np.mean(losses[-4:]) < np.mean(losses[:4])
