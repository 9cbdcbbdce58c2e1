"""Pipelines over a torch dataset: any object with __len__ and __getitem__.

    loader = un.from_torch(dataset).shuffle(seed=0).random_resized_crop(224).flip().normalize(*un.IMAGENET).batch(256)
    for images, labels in loader.to_torch("cuda"):
        ...

The conventions are those of unstarve.loader.Loader. The order is a function of (seed, epoch). Operations draw from
(seed, epoch, sample), as in a Pipeline, so that both give the same pixels. So does augmentation of the user's own if it
draws from the argument `rng` of a function, or in worker processes from the global generators of random, numpy.random
and torch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from unstarve.optional_packages import require_package

with require_package("torch", "from_torch"):
    import torch

from unstarve import _core
from unstarve.arguments import (
    MAX_EPOCH,
    check_channels,
    check_int,
    check_normalisation,
    check_shuffle_seed,
    last_batch,
    rank_and_world,
    reject_repeated,
    shard_arguments,
)
from unstarve.dataloader import DataLoader
from unstarve.device_operations import torch_device
from unstarve.errors import ArgumentError, CancelledError
from unstarve.functions.single_image import frozen
from unstarve.loaders.base_loader import LOOP_ENDED
from unstarve.loaders.representation import Rows, as_html, as_text, counted, steps_of
from unstarve.schedules import Schedule
from unstarve.spec_json import check_argument
from unstarve.steps.image_operations import ImageOperationSteps
from unstarve.steps.operation_names import spec_operation
from unstarve.suggestions import suggesting, suggesting_methods
from unstarve.torch_datasets.run import DatasetRun
from unstarve.torch_datasets.steps import (
    CHANNELS_FIRST,
    BulkSteppedDataset,
    Normalisation,
    Operation,
    Step,
    SteppedDataset,
    is_normalisation,
    runs_of,
)
from unstarve.torch_datasets.tensors import TensorLoader
from unstarve.user_code.functions import Function
from unstarve.workers.order import Order, RankBatches


@suggesting
def from_torch(dataset: Any) -> DatasetPipeline:
    """Returns a pipeline over all samples of a map-style dataset, in shuffled order.

    Args:
        dataset: An object with __len__ and __getitem__, or __getitems__ (maps a list of indices to a list of samples).
            It must be picklable if worker processes are spawned; see unstarve.dataloader.

    Raises:
        ArgumentError: `dataset` has no such methods.

    Example:
        loader = un.from_torch(dataset).shuffle(seed=0).random_resized_crop(224).options(workers=4).batch(64)
    """
    if isinstance(dataset, str | bytes | os.PathLike):
        raise ArgumentError(f"from_torch: found {dataset!r}; expected a Dataset. Use un.open(path) for files.")
    if not hasattr(dataset, "__len__") or not (hasattr(dataset, "__getitem__") or hasattr(dataset, "__getitems__")):
        raise ArgumentError(f"from_torch: found {type(dataset).__name__}; expected an object with __len__ and "
                            "__getitem__. Pass iterable datasets to un.DataLoader.")
    return DatasetPipeline(dataset)


def _step_text(step: Step) -> str:
    if isinstance(step, Operation):
        return steps_of({"order": {"shuffle": False}, "operations": [{step.name: dict(step.parameters)}]})[14:]
    return f"map({step.name})" if isinstance(step, Function) else "normalize()"


def _steps_text(settings: Mapping[str, Any]) -> str:
    order = "shuffle()" if settings["shuffle"] else "sequential()"
    return ", ".join([order, *map(_step_text, settings["steps"])])


def _data_row(dataset: Any, samples: int) -> tuple[str, str]:
    return "data", f"{type(dataset).__name__}, {counted(samples, 'sample', 'samples')}"


@suggesting_methods
class DatasetPipeline(ImageOperationSteps):
    """A torch dataset and the steps to its batches; `from_torch` creates it.

    It is immutable: every step returns a new one. Operations and functions of map() accumulate and run in their order;
    other settings may be set once.

    Operations change the image of a sample: the sample itself, the first element of a tuple or list, or the value
    "image" of a dict. Images are as in unstarve.functions: paths or bytes of image files, of which only the necessary
    part is decoded, NumPy arrays uint8 (height, width, 3), torch tensors uint8 (3, height, width), or PIL images.
    """

    def __init__(self, dataset: Any, set_by: Mapping[str, str] | None = None, **settings: Any) -> None:
        self._dataset = dataset
        self._set_by = set_by or {}  # setting -> step that set it
        self._settings = {"seed": 0, "shuffle": True, "rank": None, "world": None, "steps": (), "workers": None,
                          "kind": None, "prefetch": None, **settings}

    def __len__(self) -> int:
        """Number of samples of the dataset."""
        return len(self._dataset)

    def _rows(self) -> Rows:
        return [_data_row(self._dataset, len(self)), ("steps", _steps_text(self._settings))]

    def __repr__(self) -> str:
        return as_text("DatasetPipeline", self._rows())

    def _repr_html_(self) -> str:
        return as_html("DatasetPipeline", self._rows())

    def shuffle(self, seed: int = 0) -> DatasetPipeline:
        """Shuffles all samples, in a new order every epoch that depends on (seed, epoch) only."""
        return self._with("shuffle", shuffle=True, seed=check_shuffle_seed(seed))

    def sequential(self) -> DatasetPipeline:
        """Loads the samples in the order of the dataset."""
        return self._with("sequential", shuffle=False)

    def shard(self, rank: int | None = None, world: int | None = None) -> DatasetPipeline:
        """Loads this process's part of the samples. All ranks get the same number of batches and samples.

        Without this step or its arguments, RANK and WORLD_SIZE of the environment apply, as torchrun sets them.

        Args:
            rank: Index of this process, 0 to world - 1.
            world: Number of processes.

        Raises:
            ArgumentError: `rank` is not below `world`.
        """
        rank, world = shard_arguments(rank, world)
        if rank >= world:
            raise ArgumentError(f"shard(rank): found {rank}; expected 0 to {world - 1}")
        return self._with("shard", rank=rank, world=world)

    def map(self, function: Callable[..., Any]) -> DatasetPipeline:
        """Applies a function to every sample, in the workers. Several functions are applied in turn.

        Args:
            function: Called as function(sample); returns the new sample. If it has an argument `rng`, it receives a
                numpy.random.Generator seeded with (seed, epoch, sample).
        """
        count = sum(isinstance(step, Function) for step in self._settings["steps"])
        return self._with_step(Function.of(function, count))

    def operation(self, name: str, **parameters: float | str | Sequence[float] | Schedule) -> Self:
        """Adds any operation by name. It runs in the workers, without Python's lock in threads.

        Args:
            name: A name that `unstarve.operations()` lists, or that of a method.
            parameters: Its parameters; `p` is the same as `probability`. A schedule is not supported.

        Raises:
            ArgumentError: Unknown operation or invalid parameter, or the images are normalised already.
        """
        name, parameters = spec_operation(name, parameters)
        if any(isinstance(value, Mapping) for value in parameters.values()):
            raise ArgumentError(f"from_torch operation {name}: found a schedule; expected constant values")
        operation = Operation(*frozen(name, parameters))
        check_argument(name, {"operations": [{name: dict(operation.parameters)}]})
        if "normalize" in self._set_by:
            raise ArgumentError(f"{name}: found after normalize(); expected operations before it")
        return self._with_step(operation)

    def normalize(self, mean: Iterable[float], std: Iterable[float]) -> Self:
        """Turns the images into float32 (3, height, width) of (pixel / 255 - mean) / std, in the workers.

        Args:
            mean: Mean per channel, for pixel values scaled to 0..1.
            std: Standard deviation per channel.

        Raises:
            ArgumentError: A value is invalid, or the images are normalised already.
        """
        values = tuple(check_channels("normalize: mean", mean)), tuple(check_channels("normalize: std", std))
        if "normalize" in self._set_by:
            raise ArgumentError("normalize: found a second time; expected it once")
        check_argument("normalize", {"output": {"mean": list(values[0]), "std": list(values[1])}})
        result = self._with_step(values)
        result._set_by = {**self._set_by, "normalize": "normalize"}
        return result

    def options(self, *, workers: int | None = None, kind: str | None = None,
                prefetch: int | None = None) -> DatasetPipeline:
        """Configures the workers.

        Args:
            workers: Number of workers (all usable cores); 0 makes the samples in the calling thread.
            kind: "processes" or "threads"; see unstarve.DataLoader.
            prefetch: Batches per worker prepared before they are requested (2); at least 1.

        Raises:
            ArgumentError: A value is invalid or was already set.
        """
        given = {"workers": None if workers is None else check_int("options(workers)", workers, 0), "kind": kind,
                 "prefetch": None if prefetch is None else check_int("options(prefetch)", prefetch, 1)}
        if kind not in (None, "processes", "threads"):
            raise ArgumentError(f"options(kind): found {kind!r}; expected 'processes' or 'threads'")
        return self._with("options", **{key: value for key, value in given.items() if value is not None})

    def batch(self, size: int, *, last: str | None = None, drop_last: bool | None = None,
              collate: Callable[[list[Any]], Any] | None = None) -> DatasetLoader:
        """Ends the pipeline: returns the loader of its batches.

        Args:
            size: Samples per batch and rank.
            last: What to do with the last, incomplete batch of an epoch: "drop" (default) omits it, "keep" makes it
                shorter. There is no "pad", because `collate` could not mark the copies.
            drop_last: PyTorch's name for it: True is "drop", False is "keep".
            collate: Maps a list of samples to a batch. Default: torch's default_collate, which stacks arrays and
                tensors.

        Raises:
            ArgumentError: An argument is invalid.
        """
        settings = dict(self._settings)
        if settings["world"] is None:
            settings["rank"], settings["world"] = rank, world = rank_and_world()
            if rank >= world:
                raise ArgumentError(f"environment: found RANK={rank}, WORLD_SIZE={world}; expected RANK below "
                                    "WORLD_SIZE")
        last = last_batch(last, drop_last)
        if last not in ("drop", "keep"):
            raise ArgumentError(f"batch(last): found {last!r}; expected 'drop' or 'keep'")
        return DatasetLoader(self._dataset, check_int("batch(size)", size, 1), last == "drop", collate, settings)

    def _with_step(self, step: Any) -> Self:
        steps = (*self._settings["steps"], step)
        return type(self)(self._dataset, self._set_by, **{**self._settings, "steps": steps})

    def _with(self, step: str, **settings: Any) -> DatasetPipeline:
        for key in settings:
            if key in self._set_by:
                reject_repeated(step, key, self._settings[key], self._set_by[key])
        return DatasetPipeline(self._dataset, {**self._set_by, **dict.fromkeys(settings, step)},
                               **{**self._settings, **settings})


@suggesting_methods
class DatasetLoader:
    """An iterable over the batches of one epoch after another. `DatasetPipeline.batch` creates it.

    Each `for` loop runs one epoch. After a loop that was left early, the next one begins the next epoch, or the
    position of load_state_dict(). Workers are kept for the next epoch and then receive the dataset again. A loader is
    not thread-safe.
    """

    def __init__(self, dataset: Any, size: int, drop_last: bool, collate: Callable[[list[Any]], Any] | None,
                 settings: dict[str, Any]) -> None:
        self._arguments = dataset, size, drop_last, collate, settings
        samples, seed, shuffle, world = len(dataset), settings["seed"], settings["shuffle"], settings["world"]
        self._order = Order(samples, RankBatches(size, drop_last, settings["rank"], world), seed, shuffle)
        self._run = DatasetRun(self._order, size * world, {"seed": seed, "shuffle": shuffle, "dataset": samples})
        self._generator = torch.Generator()
        runs = runs_of(settings["steps"], settings.get("means"))
        self._stepped: SteppedDataset | None = None
        if runs:
            stepped = BulkSteppedDataset if getattr(dataset, "__getitems__", None) else SteppedDataset
            dataset = self._stepped = stepped(dataset, runs, seed)
        workers = _core.usable_cores() if settings["workers"] is None else settings["workers"]
        self._loader = DataLoader(dataset, batch_sampler=self._order, num_workers=workers, collate_fn=collate,
                                  generator=self._generator, workers=settings["kind"],
                                  pin_memory=settings.get("pinned", False),
                                  prefetch_factor=settings["prefetch"] if workers else None)
        self._loader._by_index = True
        self._iteration = 0  # number of the newest iterator

    def __len__(self) -> int:
        """Batches per epoch of this rank."""
        return len(self._order)

    def _rows(self) -> Rows:
        dataset, size, *_, settings = self._arguments
        return [_data_row(dataset, self.samples),
                ("batches", f"{counted(len(self), 'batch', 'batches')} of {size}"),
                ("steps", _steps_text(settings)),
                ("workers", self._loader._workers_text())]

    def __repr__(self) -> str:
        return as_text("DatasetLoader", self._rows())

    def _repr_html_(self) -> str:
        return as_html("DatasetLoader", self._rows())

    @property
    def samples(self) -> int:
        """Samples per epoch of this rank."""
        return self._order.samples

    @property
    def epoch(self) -> int:
        """Epoch of the next batch."""
        return self._run.position[0]

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch, 0 or more, of the next loop."""
        self._run.continue_at((check_int("set_epoch(epoch)", epoch, 0, MAX_EPOCH), 0, 0))

    def __iter__(self) -> Iterator[Any]:
        self._iteration += 1
        iteration = self._iteration
        epoch, first, offset = self._order.at = self._run.begin_loop()
        self._loader._first_position = self._order.position
        self._generator.manual_seed(self._order.seed_of(epoch))
        if self._stepped is not None:
            self._stepped.epoch = epoch
        for batch, made in enumerate(self._loader, first):
            self._run.receive((epoch, batch, offset))
            yield made
            if iteration != self._iteration:
                raise CancelledError(LOOP_ENDED)

    def to_torch(self, device: str | torch.device = "cpu", *, normalize: Any = None,
                 channels_last: bool = False) -> TensorLoader:
        """Returns a loader of the same batches as tensors on a device, at this loader's resume position.

        Call it once, not in every epoch. See unstarve.torch_datasets.tensors.TensorLoader for its batches.

        Args:
            device: "cpu", "cuda", "cuda:1", or a torch.device.
            normalize: (mean, std) per channel for pixel values scaled to 0..1, such as un.IMAGENET; a replacement for
                normalize(). The workers normalise for the CPU; a GPU receives uint8 and normalises it.
            channels_last: Use the memory format torch.channels_last for the images.

        Raises:
            ArgumentError: The arguments contradict the pipeline, or the device is unknown.
            MissingError: torch does not find the GPU.
        """
        target = torch_device(device)
        dataset, size, drop_last, collate, settings = self._arguments
        steps: tuple[Step, ...] = settings["steps"]
        values: Normalisation | None = None
        if normalize is not None:
            if any(map(is_normalisation, steps)):
                raise ArgumentError("to_torch(normalize): found after normalize(); expected one of them")
            if steps and isinstance(steps[-1], Function):
                raise ArgumentError("to_torch(normalize): found after map(); expected images of the dataset or of an "
                                    "operation. Normalise in the function.")
            mean, std = check_normalisation(normalize)
            values = tuple(mean), tuple(std)
        made = bool(steps) and not isinstance(steps[-1], Function) or values is not None
        if channels_last and not made:
            raise ArgumentError("to_torch(channels_last): found without operations or normalize; expected images of "
                                "the library. Add an operation.")
        on_host = target.type == "cpu"
        if values is not None and on_host:
            steps = (*steps, values)
        elif made and not is_normalisation(steps[-1] if steps else CHANNELS_FIRST):
            steps = (*steps, CHANNELS_FIRST)
        loader = DatasetLoader(dataset, size, drop_last, collate,
                               {**settings, "steps": steps, "means": values, "pinned": target.type == "cuda"})
        loader._run.position = self._run.position
        return TensorLoader(loader, target, None if on_host else values, channels_last)

    def close(self) -> None:
        """Stops the workers. The end of a `with` block does the same; iterating restarts them."""
        self._iteration += 1
        self._loader.close()

    def __enter__(self) -> DatasetLoader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def state_dict(self) -> dict[str, Any]:
        """Returns the resume position after the last batch received, a dict of a few numbers.

        Loaders with any number of workers and ranks and any batch size can load it: together they load the rest of the
        epoch.
        """
        return self._run.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues from `state`, a result of state_dict(), in the next loop.

        Raises:
            ArgumentError: It is no such dict, or of another dataset or order.
        """
        self._run.load_state_dict(state)
