"""Batches as a tf.data.Dataset, for `model.fit` and further steps of tf.data.

    model.fit(loader.to_tf(normalize=un.IMAGENET), epochs=3)

TensorFlow copies every batch once into memory of its own. Keras wants channels last, which is the default here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from unstarve.frameworks import needed

with needed("tensorflow", "to_tf"):
    import tensorflow as tf

from unstarve.errors import ArgumentError

if TYPE_CHECKING:
    from unstarve.loader import Loader
    from unstarve.running import Normalisation
    from unstarve.mapped import MappedLoader


def dataset(loader: Loader, *, normalize: Normalisation | None = None, dtype: Any = None, layout: str = "NHWC") -> Any:
    """A tf.data.Dataset of (images, labels), its element_spec and cardinality known, of a loader of its own.

    Every iterator of it runs one epoch, the next one after the other. One at a time, as with the loader: a newer one
    ends those before it. The first begins where `loader` stands now, after load_state_dict() or set_epoch(); it has no
    state of its own, since tf.data fetches ahead of what was seen.

    images: (None, height, width, 3) of dtype, or (None, 3, height, width) with layout "NCHW"; labels: int64 (None,), or
    with batch operations float32 (None, classes); and what else the loader's batches have (`Loader.parts`). dtype:
    "uint8", "float32", "bfloat16", "float16", or tf's; None keeps the pipeline's, but for uint8 with normalize,
    which gives float32.

    Of a pipeline with map() both are what its functions make; the first sample is made at once, to know their shapes.

    Raises ArgumentError for another dtype.
    """
    if loader.mapped:
        if (normalize, dtype) != (None, None):
            raise ArgumentError("to_tf: normalize and dtype of a pipeline with map(), whose functions' images stay as "
                                "they are; do it in a function, or by a map of tf.data")
        own, label_type = loader.with_output(), cast("MappedLoader", loader).label_dtype
        return _of(own, own.dtype, label_type)
    name = tf.dtypes.as_dtype(dtype).name if dtype is not None else "float32" if normalize is not None and (
        loader.dtype == "uint8") else loader.dtype
    if name not in ("uint8", "float32", "bfloat16", "float16"):
        raise ArgumentError(f"to_tf: dtype {name}, expected one of uint8, float32, bfloat16, float16")
    if name == "uint8" and normalize is not None:
        raise ArgumentError("to_tf: normalize with dtype uint8; normalised values are floating")
    own = loader.with_output(name, layout, normalize)
    labels_shape = own.shapes[1]
    return _of(own, name, "float32" if labels_shape else "int64")


def _of(own: Loader, name: str, label_type: str) -> Any:
    of_numpy = tf.dtypes.as_dtype(name).as_numpy_dtype

    def epoch() -> Iterator[Any]:
        for images, *others in own:
            yield images.view(of_numpy), *others

    images_shape, labels_shape = own.shapes
    more = {"sizes": tf.TensorSpec((None, 2), tf.int32), "valid": tf.TensorSpec((None,), tf.bool)}
    made = tf.data.Dataset.from_generator(epoch, output_signature=(
        tf.TensorSpec((None, *images_shape), name), tf.TensorSpec((None, *labels_shape), label_type),
        *(more[part] for part in own.parts[2:])))
    batches = tf.data.experimental.UNKNOWN_CARDINALITY if own.leaves_out else len(own)
    return made.apply(tf.data.experimental.assert_cardinality(batches))
