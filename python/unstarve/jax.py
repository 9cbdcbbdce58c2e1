"""Batches as JAX arrays: on the host over the loader's memory, elsewhere sent as uint8 and normalised there.

    for images, labels in loader.to_jax(normalize=un.IMAGENET, layout="NHWC"):
        ...

JAX dispatches what it computes; while it runs, this loop sends the next batch. A sharded step takes one rank's batches
by `.shard(jax.process_index(), jax.process_count())`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from unstarve.frameworks import needed

with needed("jax", "to_jax"):
    import jax
    import jax.numpy as jnp

from unstarve.converted import ConvertedLoader
from unstarve.errors import ArgumentError

if TYPE_CHECKING:
    from unstarve.loader import Loader
    from unstarve.running import Normalisation

_SENT_AT_ONCE = 2  # the batch that the loop has, and the one that is sent, whose uint8 it is made of is there besides
_DTYPES = ("uint8", "float32", "bfloat16", "float16")


class JaxLoader(ConvertedLoader):
    """An iterable of (images, labels) like the Loader it is made of, with `len`, `set_epoch` and state dicts.

    device: a jax.Device; None is JAX's default one.
    normalize: (mean, std) per channel over 0..1; un.IMAGENET. None keeps the pipeline's own normalize().
    dtype: "uint8", "float32", "bfloat16", "float16", or what jnp has by these names; None keeps the
        pipeline's.
    layout: "NCHW", or "NHWC" as JAX's convolutions like it; None keeps the pipeline's.

    images: (batch, 3, height, width) or (batch, height, width, 3) of dtype; labels: int32 (batch,), int64 where
    jax_enable_x64 is set, or with batch operations float32 (batch, classes); and what else the loader's batches have
    (`Loader.parts`). On the host uint8, float32 and float16 images are the loader's own memory (DLPack), which lives as
    long as they do; bfloat16 is copied once. Of a pipeline with map() both are what its functions make, and normalize,
    dtype and layout are refused.

    Raises ArgumentError for what does not go together.
    """

    def __init__(self, loader: Loader, device: Any = None, *, normalize: Normalisation | None = None,
                 dtype: Any = None, layout: str | None = None) -> None:
        self.device = jnp.zeros(()).devices().pop() if device is None else device
        if loader.mapped:
            if (normalize, dtype, layout) != (None,) * 3:
                raise ArgumentError("to_jax: normalize, dtype and layout of a pipeline with map(), whose functions' "
                                    "images stay as they are; do it in a function, or with the batches")
            self._whole = self._loader = loader.with_output()
            return
        name = jnp.dtype(dtype).name if dtype is not None else "float32" if normalize is not None and (
            loader.dtype == "uint8") else loader.dtype
        on_host = self.device == jax.devices("cpu")[0]
        if name not in _DTYPES:
            raise ArgumentError(f"to_jax: dtype {name}, expected one of {', '.join(_DTYPES)}")
        if name == "uint8" and normalize is not None:
            raise ArgumentError("to_jax: normalize with dtype uint8; normalised values are floating")
        self.dtype = jnp.dtype(name)
        self._on_host = on_host
        self._whole = self._loader = loader.with_output(name, layout, normalize)
        if not on_host:
            self._loader = self._whole.with_output("uint8", on_device=(_SENT_AT_ONCE * self.dtype.itemsize + 1, 0))
            self._constants = self._make_constants(self._whole.normalisation)
            self._finish = jax.jit(_normalised, static_argnames="dtype")

    def __iter__(self) -> Iterator[tuple[jax.Array, ...]]:
        for images, labels, *more in self._loader:
            if self._loader.mapped:
                yield jax.device_put((images, labels), self.device)
                continue
            if self._on_host:
                made = jnp.from_dlpack(images)
                if self.dtype == jnp.bfloat16:
                    made = jax.lax.bitcast_convert_type(made, jnp.bfloat16)
                yield made, jnp.from_dlpack(labels), *map(jnp.asarray, more)
                continue
            # JAX keeps the host's arrays until they are sent.
            there, *others = jax.device_put((images, labels, *more), self.device)
            if self.dtype != jnp.uint8:
                there = self._finish(there, *self._constants, dtype=self.dtype)
            yield there, *others

    def _make_constants(self, normalize: Normalisation) -> tuple[jax.Array, jax.Array]:
        """mean and 1 / std in units of the pixels, along the channels' axis."""
        shape = (1, 3, 1, 1) if self._loader.layout == "NCHW" else (1, 1, 1, 3)
        mean, std = (jnp.array(values, jnp.float32).reshape(shape) * 255 for values in normalize)
        there: tuple[jax.Array, jax.Array] = jax.device_put((mean, 1 / std), self.device)
        return there


def _normalised(pixels: jax.Array, mean: jax.Array, inverse: jax.Array, dtype: Any) -> jax.Array:
    return ((pixels.astype(jnp.float32) - mean) * inverse).astype(dtype)
