"""Describes what to load, step by step. `un.open` lists the data, `batch` checks the steps; iteration reads samples.

    loader = un.open("photos/train").shuffle(seed=0).decode().random_resized_crop(224).flip().batch(256)

A Pipeline is immutable: every step returns a new one, so several pipelines may share a beginning. Operations and
functions (map, filter) accumulate; any other setting may be set once. A pipeline without Python functions is plain
data, equal to the YAML of the command line (`to_yaml`, `un.from_yaml`).
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

import numpy as np
import numpy.typing as npt

from unstarve import _core
from unstarve.arguments import check_int, last_batch, rank_and_world, reject_repeated
from unstarve.errors import ArgumentError
from unstarve.loader import Loader
from unstarve.loaders.representation import Rows, as_html, as_text, counted, steps_of
from unstarve.spec_json import check_argument, spec_json
from unstarve.steps import PipelineSteps
from unstarve.steps.base import STEP_ORDER
from unstarve.steps.literals import LastBatch
from unstarve.suggestions import suggesting_methods, suggestion
from unstarve.user_code.user_code import UserCode

# (mean, std) per channel of the training images, for pixel values scaled to 0..1, as in torchvision's references.
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
CIFAR10 = ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))


class StepHistory(NamedTuple):
    """Which steps a pipeline has: the position (see STEP_ORDER) and name of the last one, and who set what."""

    position: int = 0
    last: str = "open"
    set_by: Mapping[str, str] = {}  # path in the spec -> step that set it


@suggesting_methods
class Pipeline(PipelineSteps):
    """A dataset and the steps from its records to samples. `un.open` creates it; `batch` turns it into a Loader."""

    def __init__(self, spec: dict[str, Any], dataset: _core.Dataset, users: UserCode,
                 history: StepHistory = StepHistory()) -> None:
        self._spec = spec
        self._dataset = dataset
        self._users = users
        self._history = history
        self._length: int | None = None  # of an epoch, once it was requested

    @property
    def records(self) -> int:
        """Number of records of the dataset, before any step."""
        return len(self._dataset)

    def __len__(self) -> int:
        """Samples per epoch of all ranks, after subset, filter, take, balance, weights and repeat.

        Evaluates the filters on first use, which may read labels, headers of images, or every record (see filter()).
        """
        if self._length is None:
            spec = {**self._spec, "batch": {"size": 1}, "order": {**self._spec.get("order", {}), "rank": 0, "world": 1}}
            text = spec_json(spec)
            self._length = _core.epoch_of(text, self._users.choose(text, self._dataset))[0]
        return self._length

    def _rows(self) -> Rows:
        sources = self._spec.get("mix") or [self._spec["source"]]
        costly = any("filter" in source for source in sources) or any(self._users.predicates) or "balance" in (
            self._spec.get("order", {}))
        evaluated = self._length is not None or not costly
        samples = counted(len(self), "sample", "samples") if evaluated else f"filtered from {self.records} records"
        own = ["weights(array)"] if self._users.weights is not None else []
        own += [f"map({function.name})" for function in self._users.functions]
        steps = steps_of(self._spec, self._users.predicate_names())
        return [("data", f"{self._dataset.format}, {samples}"), ("steps", ", ".join([steps, *own]))]

    def __repr__(self) -> str:
        return as_text("Pipeline", self._rows())

    def _repr_html_(self) -> str:
        return as_html("Pipeline", self._rows())

    if not TYPE_CHECKING:
        def __getattr__(self, name):
            if not name.startswith("_") and hasattr(Loader, name):
                raise AttributeError(f"{name}: found on a Pipeline; expected on a Loader. Call batch() first.",
                                     name=name, obj=self)
            operations = [known for known, _ in _core.operations()]
            instead = f". Use operation({name!r})." if name in operations else suggestion(name, dir(type(self)))
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}" + instead, name=name,
                                 obj=self)

    # Without __iter__, which checks of the type of a loader look for, a loop calls this method.
    def __getitem__(self, index: object) -> NoReturn:
        raise TypeError("found a Pipeline in a loop or with an index; expected a Loader. Call batch(size), which "
                        "returns a loader to iterate over, or read(i) for a record.")

    @property
    def classes(self) -> list[str]:
        """Class names by label; empty if the format has none."""
        return list(self._dataset.classes)

    def read(self, index: int) -> dict[str, int | bytes | npt.NDArray[np.uint8]]:
        """Reads a record as it is stored.

        Args:
            index: Index of the record in the dataset, 0 to `records` - 1; steps do not change it.

        Returns:
            The fields by name: encoded images as bytes, pixels as a uint8 array of shape (height, width, 3).

        Raises:
            IndexError: There is no such record.
        """
        return self._dataset.read(self._check_index(index))

    def location(self, index: int) -> str:
        """Returns the location of record `index`: file and offset, or archive member. Raises IndexError."""
        return self._dataset.location(self._check_index(index))

    def _check_index(self, index: int) -> int:
        number = operator.index(index)
        if not 0 <= number < self.records:
            raise IndexError(f"record {number}: out of range; expected 0 to {self.records - 1}")
        return number

    # A Pipeline is immutable, so a copy is the object itself.
    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("pickle: found a Pipeline, which holds open files; expected plain data. Call un.open() and the "
                        "steps in each process, or send the text of to_yaml().")

    def batch(self, size: int, *, last: LastBatch | None = None, drop_last: bool | None = None,
              pad: bool | tuple[int, int] = False, pad_value: int = 0, bucket: int = 0) -> Loader:
        """Ends the pipeline: returns the Loader of its batches.

        Args:
            size: Samples per batch and rank.
            last: What to do with the last, incomplete batch of an epoch. "drop" (default) omits it. "keep" makes it
                shorter. "pad" fills it with copies of its own samples and adds an array `valid` (bool) to all batches;
                batches that bad samples made shorter are filled too.
            drop_last: PyTorch's form of `last`: True is "drop", False is "keep".
            pad: True pads images at the right and bottom to the largest height and width of their batch; (height,
                width) pads to that size. Batches then contain an array of the original sizes. False requires images of
                one size. True requires the size of every image when the loader is created (see filter(max_side)),
                unless an operation gives all images one size.
            pad_value: Value of the padding, 0 to 255, before normalisation.
            bucket: Groups images of similar sizes to reduce padding. This many consecutive samples of the epoch's order
                are grouped by height and width; a few dozen batches of all ranks are enough. Every sample still occurs
                once per epoch. Resuming takes about 10 ms per 10,000 samples.

        Raises:
            ArgumentError: The pipeline does not fit the data: no full batch.
            InputError: The images differ in size, or have no labels.

        Example:
            un.open("photos").resize(256).batch(64, pad=True, bucket=2048, last="keep")
        """
        batch: dict[str, Any] = {"size": check_int("batch(size)", size, 1), "last": last_batch(last, drop_last)}
        if pad is not False:
            batch["pad"] = {"to": "largest", "value": pad_value}
            if pad is not True and (not isinstance(pad, Iterable) or isinstance(pad, str)):
                raise ArgumentError(f"batch(pad): found {pad!r}; expected True, False or (height, width)")
            if pad is not True:
                batch["pad"].update(to="size", size=[check_int("batch(pad)", side, 1) for side in pad])
        if bucket:
            batch["bucket"] = {"window": check_int("batch(bucket)", bucket, 1)}
        result = self._with(None, "batch", batch=batch)
        order = result._spec.setdefault("order", {})
        if "world" not in order:
            order["rank"], order["world"] = rank_and_world()
        if not self._users.functions:
            if self._users.workers is not None or self._users.kind is not None:
                raise ArgumentError("options(workers, kind): found without map(); expected options(threads=), or none")
            return Loader(result._spec, result._dataset, None, self._users)
        if "output" not in result._spec:
            result._spec["output"] = {"type": "uint8", "layout": "NHWC"}
        from unstarve.mapped_loader import MappedLoader  # imports multiprocessing, which other pipelines do not need

        return MappedLoader(result._spec, result._dataset, None, self._users)

    def to_yaml(self) -> str:
        """Returns the pipeline so far as YAML for the command line. Raises ArgumentError if it contains Python code."""
        self._users.check_yaml()
        return _core.canonical(spec_json(self._spec))

    def _with(self, step: str | None, name: str | None = None, **nodes: dict[str, Any]) -> Self:
        name = name or step
        before = self._history
        position = before.position if step is None else STEP_ORDER[step]
        if position < before.position:
            raise ArgumentError(f"{name}() after {before.last}(): expected before it; the order is filter, take, "
                                "shuffle and shard, decode, operations, normalize and output, map or batch operations, "
                                "batch")
        if "source" in nodes and "mix" in self._spec:
            raise ArgumentError(f"{name}() after mix(): expected on the pipelines that are mixed")
        spec, set_by = copy.deepcopy(self._spec), dict(before.set_by)
        for node, values in nodes.items():
            _set_once(spec.setdefault(node, {}), values, node, name or "", set_by)
        # Invalid values are rejected by the step that sets them.
        check_argument(name or "", {node: spec[node] for node in nodes})
        history = StepHistory(position, name if step and name else before.last, set_by)
        return type(self)(spec, self._dataset, self._users, history)


def _set_once(node: dict[str, Any], values: Mapping[str, Any], path: str, step: str, set_by: dict[str, str]) -> None:
    """Adds `values` to `node`, the node of the spec at `path`. Raises ArgumentError if an earlier step set one."""
    for key, value in values.items():
        here = f"{path}.{key}"
        if isinstance(value, dict):
            _set_once(node.setdefault(key, {}), value, here, step, set_by)
        elif here in set_by:
            reject_repeated(step, here, node[key], set_by[here])
        else:
            node[key], set_by[here] = value, step
