"""Batches as JAX arrays: zero-copy views on the host; on other devices sent as uint8 and normalised there.

    for images, labels in loader.to_jax(normalize=un.IMAGENET, layout="NHWC"):
        ...

JAX dispatches computations asynchronously: while one runs, the loop sends the next batch. For a sharded step, load one
rank's batches with `.shard(jax.process_index(), jax.process_count())`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unstarve.optional_packages import require_package

with require_package("jax", "to_jax"):
    import jax
    import jax.numpy as jnp

from unstarve.errors import ArgumentError
from unstarve.loaders.base_loader import BaseLoader
from unstarve.loaders.engine import Normalisation
from unstarve.loaders.framework_loader import FrameworkLoader

_DEVICE_BATCHES = 2  # on the device: the consumer's, and the one that is being sent (its uint8 form not counted)
_DTYPES = ("uint8", "float32", "bfloat16", "float16")


class JaxLoader(FrameworkLoader):
    """An iterable of (images, labels, ...) with the methods of Loader; `Loader.to_jax` creates it.

    images: (batch, 3, height, width) or (batch, height, width, 3) of `dtype`. labels: int32 (batch,), int64 with
    jax_enable_x64, or with batch operations float32 (batch, classes). Further parts as in Loader. On the host, uint8,
    float32 and float16 images are zero-copy views (DLPack) of the loader's memory, which remains valid as long as they
    are referenced; bfloat16 is copied once. With map(), the functions determine images and labels, and normalize, dtype
    and layout are rejected.

    Args:
        loader: The loader of the batches.
        device: A jax.Device; None is JAX's default.
        normalize: (mean, std) per channel for pixel values scaled to 0..1, such as un.IMAGENET. None keeps the
            pipeline's normalize().
        dtype: "uint8", "float32", "bfloat16", "float16", or the jnp dtypes of these names. None keeps the pipeline's,
            or is float32 if `normalize` is given for uint8.
        layout: "NCHW" or "NHWC"; None keeps the pipeline's.

    Raises:
        ArgumentError: The arguments contradict each other.
    """

    def __init__(self, loader: BaseLoader, device: Any = None, *, normalize: Normalisation | None = None,
                 dtype: Any = None, layout: str | None = None) -> None:
        if device is not None and not isinstance(device, jax.Device):
            raise ArgumentError(f"to_jax(device): found {device!r}; expected a jax.Device, such as jax.devices()[0]")
        self.device = jnp.zeros(()).devices().pop() if device is None else device
        if loader._mapped:
            if (normalize, dtype, layout) != (None,) * 3:
                raise ArgumentError("to_jax(normalize, dtype, layout) with map(): unsupported, its functions determine "
                                    "them. Convert in a function, or convert the batches.")
            self._whole = self._loader = loader._with_output()
            return
        name = jnp.dtype(dtype).name if dtype is not None else "float32" if normalize is not None and (
            loader.dtype == "uint8") else loader.dtype
        on_host = self.device == jax.devices("cpu")[0]
        if name not in _DTYPES:
            raise ArgumentError(f"to_jax(dtype): found {name}; expected one of {', '.join(_DTYPES)}")
        if name == "uint8":
            loader._check_uint8("to_jax", normalize)
        self.dtype = jnp.dtype(name)
        self._on_host = on_host
        self._whole = self._loader = loader._with_output(name, layout, normalize)
        if not on_host:
            self._loader = self._whole._with_output(
                "uint8", device_bytes=(_DEVICE_BATCHES * self.dtype.itemsize + 1, 0))
            self._constants = self._make_constants(self._whole.normalisation)
            self._finish = jax.jit(_normalise, static_argnames="dtype")

    def __iter__(self) -> Iterator[tuple[jax.Array, ...]]:
        for images, labels, *more in self._loader:
            if self._loader._mapped:
                yield jax.device_put((images, labels), self.device)
                continue
            if self._on_host:
                array = jnp.from_dlpack(images)
                if self.dtype == jnp.bfloat16:
                    array = jax.lax.bitcast_convert_type(array, jnp.bfloat16)
                yield array, jnp.from_dlpack(labels), *map(jnp.asarray, more)
                continue
            # JAX keeps references to the host's arrays until they are sent.
            array, *others = jax.device_put((images, labels, *more), self.device)
            if self.dtype != jnp.uint8:
                array = self._finish(array, *self._constants, dtype=self.dtype)
            yield array, *others

    def _make_constants(self, normalize: Normalisation) -> tuple[jax.Array, jax.Array]:
        """Returns mean and 1 / std for pixel values of 0..255, along the axis of the channels."""
        shape = (1, 3, 1, 1) if self._loader.layout == "NCHW" else (1, 1, 1, 3)
        mean, std = (jnp.array(values, jnp.float32).reshape(shape) * 255 for values in normalize)
        constants: tuple[jax.Array, jax.Array] = jax.device_put((mean, 1 / std), self.device)
        return constants


def _normalise(pixels: jax.Array, mean: jax.Array, inverse: jax.Array, dtype: Any) -> jax.Array:
    return ((pixels.astype(jnp.float32) - mean) * inverse).astype(dtype)
