"""unstarve keeps the accelerator busy: a loader that reads what you have, in place, and feeds it without being tuned.

    import unstarve as un

    loader = un.open("photos/train").shuffle(seed=0).decode().random_resized_crop(224).flip().batch(256)
    for images, labels in loader.to_torch("cuda", normalize=un.IMAGENET):
        ...

`un.open` begins a pipeline (unstarve.pipeline), `un.from_source` one over an object of yours that gives encoded images;
`batch` ends it with a Loader (unstarve.loader): NumPy arrays, or torch tensors by `to_torch`. `un.from_torch` takes
your own torch dataset instead, `un.DataLoader` replaces torch's. Importing unstarve imports NumPy and no framework.
Failures are unstarve.errors.
"""

__version__ = "0.1.0"

import importlib
from typing import TYPE_CHECKING, Any

from unstarve import errors
from unstarve._core import batch_operations, operations
from unstarve.errors import DataWarning, Error
from unstarve.loader import Loader
from unstarve.opening import from_source, from_yaml, mix, open, schema
from unstarve.pipeline import CIFAR10, IMAGENET, Pipeline
from unstarve.schedules import schedule

if TYPE_CHECKING:
    from unstarve.dataloader import DataLoader as DataLoader
    from unstarve.torch_dataset import from_torch as from_torch

# Their modules import torch: loaded when they are asked for.
_OF_TORCH = {"DataLoader": "dataloader", "from_torch": "torch_dataset"}


def __getattr__(name: str) -> Any:
    if name not in _OF_TORCH:
        raise AttributeError(f"module 'unstarve' has no attribute {name!r}")
    return getattr(importlib.import_module(f"unstarve.{_OF_TORCH[name]}"), name)


__all__ = ["CIFAR10", "IMAGENET", "DataWarning", "Error", "Loader", "Pipeline", "__version__",
           "batch_operations", "errors", "from_source", "from_yaml", "mix", "open",
           "operations", "schedule", "schema"]
