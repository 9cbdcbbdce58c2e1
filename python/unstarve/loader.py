"""Batches of a pipeline, epoch by epoch, as NumPy arrays or as arrays of a framework."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from unstarve.loaders.base_loader import BaseLoader
from unstarve.loaders.engine import Normalisation
from unstarve.steps.literals import DecodeOn, Layout, OperationsOn
from unstarve.suggestions import suggesting_methods

if TYPE_CHECKING:
    import torch

    from unstarve.jax import JaxLoader
    from unstarve.torch import TorchLoader


@suggesting_methods
class Loader(BaseLoader):
    """An iterable over the batches of one epoch after another. `Pipeline.batch` creates it.

    Iteration yields (images, labels, ...), named by `parts`:

    | part   | shape                                                      | dtype                                     |
    |--------|------------------------------------------------------------|-------------------------------------------|
    | images | (batch, 3, height, width) or (batch, height, width, 3)     | dtype of the pipeline                     |
    | labels | (batch,); with batch operations (batch, classes)           | int64 (-1 for labels=None); then float32  |
    | sizes  | (batch, 2): height and width before padding; with `pad`    | int32                                     |
    | valid  | (batch,): False for copies; with last="pad"                | bool                                      |

    The arrays are zero-copy views of the loader's memory. They remain valid as long as they are referenced; memory
    grows with the number of batches that you hold.

    Each `for` loop runs one epoch. After a loop that was left early, the next one begins the next epoch, or the
    position of load_state_dict(). A loader has one position: the first batch of a newer loop ends the older one, whose
    next batch raises CancelledError. Create a second loader by batch() for a second loop. Under errors("skip") batches
    may be shorter, and a batch without good samples is omitted. A loader is not thread-safe.

    Example:
        loader = un.open("photos").resize((64, 64)).batch(32)
        for epoch in range(3):
            for images, labels in loader:
                ...
    """

    @overload
    def to_torch(self, device: str | torch.device | None = None, *, normalize: Normalisation | None = None,
                 dtype: torch.dtype | None = None, channels_last: bool | None = None, names: None = None,
                 operations: OperationsOn | None = None, decode: DecodeOn | None = None,
                 decode_share: float | None = None) -> TorchLoader[tuple[torch.Tensor, ...]]: ...

    @overload
    def to_torch(self, device: str | torch.device | None = None, *, normalize: Normalisation | None = None,
                 dtype: torch.dtype | None = None, channels_last: bool | None = None, names: tuple[str, ...],
                 operations: OperationsOn | None = None, decode: DecodeOn | None = None,
                 decode_share: float | None = None) -> TorchLoader[dict[str, torch.Tensor]]: ...

    def to_torch(self, device: str | torch.device | None = None, *, normalize: Normalisation | None = None,
                 dtype: torch.dtype | None = None, channels_last: bool | None = None,
                 names: tuple[str, ...] | None = None,
                 operations: OperationsOn | None = None, decode: DecodeOn | None = None,
                 decode_share: float | None = None) -> TorchLoader[Any]:
        """Returns a new loader of the same batches as torch tensors on `device`; see unstarve.torch.TorchLoader.

        The new loader begins at the position of this one. Call this method once, before the loop over epochs. The
        defaults of the arguments come from the pipeline: `Pipeline.device`, normalize() and output().
        """
        from unstarve.torch import TorchLoader

        self._warn_if_repeated("to_torch()")
        return TorchLoader(self, device, normalize=normalize, dtype=dtype, channels_last=channels_last, names=names,
                           operations=operations, decode=decode, decode_share=decode_share)

    def to_jax(self, device: Any = None, *, normalize: Normalisation | None = None, dtype: Any = None,
               layout: Layout | None = None) -> JaxLoader:
        """Returns a new loader of the same batches as JAX arrays on `device`; see unstarve.jax.JaxLoader."""
        from unstarve.jax import JaxLoader

        self._warn_if_repeated("to_jax()")
        return JaxLoader(self, device, normalize=normalize, dtype=dtype, layout=layout)

    def to_tf(self, *, normalize: Normalisation | None = None, dtype: Any = None, layout: Layout = "NHWC") -> Any:
        """Returns the same batches as a tf.data.Dataset; see unstarve.tensorflow.dataset."""
        from unstarve.tensorflow import dataset

        self._warn_if_repeated("to_tf()")
        return dataset(self, normalize=normalize, dtype=dtype, layout=layout)
