"""The steps of un.from_torch() that change samples: operations of the library, normalisation, the user's functions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias, TypeGuard

from unstarve.errors import ArgumentError, Error
from unstarve.functions.image_arguments import read_image
from unstarve.functions.single_image import Chain, compiled, renamed, run
from unstarve.user_code.functions import Function
from unstarve.workers import torch_job

Normalisation: TypeAlias = "tuple[tuple[float, ...], tuple[float, ...]]"


class Operation(NamedTuple):
    """An operation in hashable form, as in single_image.Chain."""

    name: str
    parameters: tuple[tuple[str, Any], ...]


class Key(NamedTuple):
    """What the random numbers of a sample depend on, in addition to the position of an operation."""

    seed: int
    epoch: int
    sample: int


@dataclasses.dataclass(frozen=True)
class OperationRun:
    """Consecutive operations, which run as one chain on the image of a sample.

    The image is the sample itself, the first element of a tuple or list, or the value "image" of a dict.

    Args:
        chain: The operations.
        first: Index of the first one among all operations of the pipeline.
        normalisation: (mean, std) of the pipeline, or None.
        form: "same" as the dataset's images, "CHW" for uint8 (3, height, width), or "normalised" for float32.
    """

    chain: Chain
    first: int
    normalisation: Normalisation | None
    form: str

    def __call__(self, key: Key, sample: Any) -> Any:
        """Returns the sample with its image changed. Raises Error that names the sample."""
        try:
            if isinstance(sample, Mapping):
                if "image" not in sample:
                    raise ArgumentError(f"found a dict of {list(sample)}; expected the key 'image'")
                return {**sample, "image": self._image(key, sample["image"])}
            if isinstance(sample, tuple | list):
                changed = [self._image(key, sample[0]), *sample[1:]]
                return type(sample)(*changed) if hasattr(sample, "_fields") else type(sample)(changed)
            return self._image(key, sample)
        except Error as error:
            raise renamed(f"from_torch sample {key.sample}:", error) from error

    def _image(self, key: Key, image: Any) -> Any:
        what = self.chain[0][0] if self.chain else "normalize"
        given = read_image(what, image)
        form = ("CHW" if given.tensor else "HWC") if self.form == "same" else self.form
        function = compiled(self.chain, form, self.normalisation)
        return run(what, function, given, (key.seed, key.epoch, key.sample, self.first))


CHANNELS_FIRST = "channels first"  # the step that makes images uint8 (3, height, width)
Step: TypeAlias = "Operation | Function | Normalisation | str"
Run: TypeAlias = "OperationRun | Function"


def is_normalisation(step: Step) -> TypeGuard[Normalisation]:
    """Returns whether the step is the (mean, std) of normalize()."""
    return not isinstance(step, Operation | Function | str)


def runs_of(steps: tuple[Step, ...], means: Normalisation | None = None) -> tuple[Run, ...]:
    """Returns the steps with consecutive operations joined, and the form of their images joined to them.

    `means` is the normalisation that a device applies later; operations may fill with its mean.
    """
    normalisation = next(filter(is_normalisation, steps), means)
    runs: list[Run] = []
    pending: list[Operation] = []
    first = 0

    def end(form: str) -> None:
        nonlocal first
        if pending or form != "same":
            runs.append(OperationRun(tuple((one.name, one.parameters) for one in pending), first, normalisation, form))
            first += len(pending)
            pending.clear()

    for step in steps:
        if isinstance(step, Operation):
            pending.append(step)
        elif isinstance(step, Function):
            end("same")
            runs.append(step)
        else:
            end("CHW" if step == CHANNELS_FIRST else "normalised")
    end("same")
    return tuple(runs)


class SteppedDataset:
    """A dataset with steps applied to its samples, in the workers. `epoch` is set at the beginning of each."""

    def __init__(self, dataset: Any, runs: tuple[Run, ...], seed: int) -> None:
        self._dataset, self.functions, self._seed = dataset, runs, seed
        self.epoch = 0

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: int) -> Any:
        return self._apply(index, self._dataset[index])

    def _apply(self, index: int, sample: Any) -> Any:
        for run in self.functions:
            if isinstance(run, OperationRun):
                sample = run(Key(self._seed, self.epoch, index), sample)
            else:
                sample = run(torch_job.epoch_seed(), index, sample)
        return sample


class BulkSteppedDataset(SteppedDataset):
    """The same for a dataset with __getitems__."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        samples = self._dataset.__getitems__(indices)
        return [self._apply(index, sample) for index, sample in zip(indices, samples, strict=True)]
