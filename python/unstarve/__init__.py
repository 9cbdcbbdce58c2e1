"""unstarve: a data loader for deep-learning training that reads datasets in place and autotunes its threads.

    import unstarve as un

    loader = un.open("photos/train").shuffle(seed=0).decode().random_resized_crop(224).flip().batch(256)
    for images, labels in loader.to_torch("cuda", normalize=un.IMAGENET):
        ...

| to                                             | use                                                     |
|------------------------------------------------|---------------------------------------------------------|
| load files in any supported format             | `un.open`, then the steps of unstarve.pipeline          |
| load images from an object, e.g. a database    | `un.from_source`                                        |
| iterate over batches                           | `batch` returns a Loader (unstarve.loader)              |
| load a torch dataset                           | `un.from_torch`, or `un.DataLoader` in place of torch's |
| decode or change single images                 | `un.decode`, `un.resize`, ...: unstarve.functions       |
| train a torch.nn.Module                        | `un.Trainer`                                            |
| mark steps for `unstarve watch`                | `un.step`                                               |
| handle failures                                | unstarve.errors                                         |

Importing unstarve imports NumPy but no framework.
"""

__version__ = "0.1.0"

import importlib
import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Any

try:
    importlib.import_module("unstarve._core")
except ImportError as error:
    if importlib.util.find_spec("unstarve._core"):
        raise
    raise ImportError("unstarve: found no extension module unstarve/_core*.so for this Python. In the source tree, run "
                      "make python; otherwise, install the wheel") from error

from unstarve import errors, functions
from unstarve._core import batch_operations, operations
from unstarve._core import set_package_path as _set_package_path
from unstarve._core import set_python_interpreter as _set_python_interpreter
from unstarve.constructors import from_source, from_yaml, mix, open, schema
from unstarve.errors import DataWarning, Error
from unstarve.functions import ImageInfo, decode, encode_jpeg, image_info
from unstarve.functions import operations as operation_functions
from unstarve.loader import Loader
from unstarve.pipeline import CIFAR10, IMAGENET, Pipeline
from unstarve.schedules import schedule
from unstarve.step_log import step
from unstarve.steps.operation_names import FAMILIAR
from unstarve.suggestions import suggestion

if TYPE_CHECKING:
    from unstarve.dataloader import DataLoader as DataLoader
    from unstarve.functions.operations import *  # noqa: F403
    from unstarve.torch_datasets.from_torch import from_torch as from_torch
    from unstarve.training.trainer import Trainer as Trainer

_set_package_path([str(folder) for folder in sys.path])  # where Arrow is taken from, when a Parquet file is opened
if sys.executable and "UNSTARVE_PYTHON" not in os.environ:
    _set_python_interpreter(sys.executable)  # obtains credentials of object stores

# Names whose modules import torch; they are imported on first access.
_TORCH_MODULES = {"DataLoader": "dataloader", "Trainer": "training.trainer", "from_torch": "torch_datasets.from_torch"}


def __getattr__(name: str) -> Any:
    if name in _TORCH_MODULES:
        return getattr(importlib.import_module(f"unstarve.{_TORCH_MODULES[name]}"), name)
    if name in operation_functions.NAMES or name in FAMILIAR:
        return getattr(operation_functions, name)
    raise AttributeError(f"module 'unstarve' has no attribute {name!r}" + suggestion(name, __dir__()))


def __dir__() -> list[str]:
    return sorted({*__all__, *_TORCH_MODULES, *operation_functions.NAMES})


__all__ = ["CIFAR10", "IMAGENET", "DataWarning", "Error", "ImageInfo", "Loader", "Pipeline", "__version__",
           "batch_operations", "decode", "encode_jpeg", "errors", "from_source", "from_yaml", "functions", "image_info",
           "mix", "open", "operations", "schedule", "schema", "step"]
