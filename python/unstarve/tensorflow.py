"""Batches as a tf.data.Dataset, for `model.fit` and further steps of tf.data.

    model.fit(loader.to_tf(normalize=un.IMAGENET), epochs=3)

TensorFlow copies every batch once into its own memory. The default layout is channels last, as Keras expects.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unstarve.optional_packages import require_package

with require_package("tensorflow", "to_tf"):
    import tensorflow as tf

from unstarve.errors import ArgumentError
from unstarve.loaders.base_loader import BaseLoader
from unstarve.loaders.engine import Normalisation

_DTYPES = ("uint8", "float32", "bfloat16", "float16")


def dataset(loader: BaseLoader, *, normalize: Normalisation | None = None, dtype: Any = None,
            layout: str = "NHWC") -> Any:
    """Returns a tf.data.Dataset of (images, labels, ...) with known element_spec and cardinality.

    Each iterator runs one epoch after the previous one; a new iterator ends older ones. The first begins at the
    position of `loader`. The dataset has no state of its own, because tf.data prefetches. With map() its functions
    determine images and labels; the first sample is made to find their shapes.

    Args:
        loader: The loader of the batches.
        normalize: (mean, std) per channel for pixel values scaled to 0..1, such as un.IMAGENET. None keeps the
            pipeline's normalize().
        dtype: "uint8", "float32", "bfloat16", "float16", or the tf dtypes of these names. None keeps the pipeline's,
            or is float32 if `normalize` is given for uint8.
        layout: "NHWC" or "NCHW".

    Returns:
        A dataset of images of shape (None, height, width, 3) or (None, 3, height, width), labels int64 (None,), or with
        batch operations float32 (None, classes), and further parts as in Loader.

    Raises:
        ArgumentError: Another dtype, or arguments that contradict each other.
    """
    if loader._mapped:
        if (normalize, dtype) != (None, None):
            raise ArgumentError("to_tf(normalize, dtype) with map(): unsupported, its functions determine them. "
                                "Convert in a function, or by a map of tf.data.")
        own = loader._with_output()
        return _from_loader(own, own.dtype)
    name = tf.dtypes.as_dtype(dtype).name if dtype is not None else "float32" if normalize is not None and (
        loader.dtype == "uint8") else loader.dtype
    if name not in _DTYPES:
        raise ArgumentError(f"to_tf(dtype): found {name}; expected one of {', '.join(_DTYPES)}")
    if name == "uint8":
        loader._check_uint8("to_tf", normalize)
    return _from_loader(loader._with_output(name, layout, normalize), name)


def _from_loader(loader: BaseLoader, dtype: str) -> Any:
    numpy_dtype = tf.dtypes.as_dtype(dtype).as_numpy_dtype

    def epoch() -> Iterator[Any]:
        for images, *others in loader:
            yield images.view(numpy_dtype), *others

    images_shape, labels_shape = loader.shapes
    more = {"sizes": tf.TensorSpec((None, 2), tf.int32), "valid": tf.TensorSpec((None,), tf.bool)}
    result = tf.data.Dataset.from_generator(epoch, output_signature=(
        tf.TensorSpec((None, *images_shape), dtype), tf.TensorSpec((None, *labels_shape), loader.label_dtype),
        *(more[part] for part in loader.parts[2:])))
    batches = tf.data.experimental.UNKNOWN_CARDINALITY if loader._may_omit_batches else len(loader)
    return result.apply(tf.data.experimental.assert_cardinality(batches))
