"""Pipelines over a torch dataset: any object with __len__ and __getitem__.

    loader = un.from_torch(dataset).shuffle(seed=0).map(augment).batch(256)
    for images, labels in loader:
        ...

The conventions are those of unstarve.loader.Loader. The order is a function of (seed, epoch). Augmentation is a
function of (seed, epoch, sample) if it draws from the argument `rng` of a function, or in helper processes from the
global generators of random, numpy.random and torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from unstarve.optional_packages import require_package

with require_package("torch", "from_torch"):
    import torch

from unstarve import _core
from unstarve.arguments import MAX_EPOCH, check_int, last_batch, rank_and_world, reject_repeated, shard_arguments
from unstarve.dataloader import DataLoader
from unstarve.errors import ArgumentError, CancelledError
from unstarve.user_functions import Function
from unstarve.workers import torch_job
from unstarve.workers.order import Order

STATE_VERSION = 1


def from_torch(dataset: Any) -> DatasetPipeline:
    """Returns a pipeline over all samples of a map-style dataset, in shuffled order.

    Args:
        dataset: An object with __len__ and __getitem__, or __getitems__ (maps a list of indices to a list of samples).
            It must be picklable for helper processes.

    Raises:
        ArgumentError: `dataset` has no such methods.

    Example:
        loader = un.from_torch(dataset).shuffle(seed=0).options(workers=4).batch(64)
    """
    if not hasattr(dataset, "__len__") or not (hasattr(dataset, "__getitem__") or hasattr(dataset, "__getitems__")):
        raise ArgumentError(f"from_torch: found {type(dataset).__name__}; expected an object with __len__ and "
                            "__getitem__. Pass iterable datasets to un.DataLoader.")
    return DatasetPipeline(dataset)


class DatasetPipeline:
    """A torch dataset and the steps to its batches; `from_torch` creates it.

    It is immutable: every step returns a new one. Functions of map() accumulate; other settings may be set once.
    """

    def __init__(self, dataset: Any, set_by: Mapping[str, str] | None = None, **settings: Any) -> None:
        self._dataset = dataset
        self._set_by = set_by or {}  # setting -> step that set it
        self._settings = {"seed": 0, "shuffle": True, "rank": None, "world": None, "functions": (), "workers": None,
                          "kind": None, "prefetch": None, **settings}

    def __len__(self) -> int:
        """Number of samples of the dataset."""
        return len(self._dataset)

    def __repr__(self) -> str:
        return f"<unstarve.DatasetPipeline: {type(self._dataset).__name__}, {len(self)} samples>"

    def shuffle(self, seed: int = 0) -> DatasetPipeline:
        """Shuffles all samples, in a new order every epoch that depends on (seed, epoch) only."""
        return self._with("shuffle", shuffle=True, seed=check_int("shuffle(seed)", seed, 0))

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
        before = self._settings["functions"]
        functions = (*before, Function.of(function, len(before)))
        return DatasetPipeline(self._dataset, self._set_by, **{**self._settings, "functions": functions})

    def options(self, *, workers: int | None = None, kind: str | None = None,
                prefetch: int | None = None) -> DatasetPipeline:
        """Configures the workers.

        Args:
            workers: Number of workers (all usable cores); 0 makes the samples in the calling thread.
            kind: "processes" or "threads"; see unstarve.DataLoader.
            prefetch: Batches per worker prepared before they are requested (2).
        """
        given = {"workers": workers, "kind": kind, "prefetch": prefetch}
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

    def _with(self, step: str, **settings: Any) -> DatasetPipeline:
        for key in settings:
            if key in self._set_by:
                reject_repeated(step, key, self._settings[key], self._set_by[key])
        return DatasetPipeline(self._dataset, {**self._set_by, **dict.fromkeys(settings, step)},
                               **{**self._settings, **settings})


class DatasetLoader:
    """An iterable over the batches of one epoch after another. `DatasetPipeline.batch` creates it.

    Each `for` loop runs one epoch. After a loop that was left early, the next one begins the next epoch, or the
    position of load_state_dict(). Workers are kept for the next epoch and then receive the dataset again. A loader is
    not thread-safe.
    """

    def __init__(self, dataset: Any, size: int, drop_last: bool, collate: Callable[[list[Any]], Any] | None,
                 settings: dict[str, Any]) -> None:
        self._seed, self._shuffle = settings["seed"], settings["shuffle"]
        self._size, self._world = size, settings["world"]
        self._dataset_size = len(dataset)
        self._order = Order(self._dataset_size, size, drop_last, settings["rank"], settings["world"], self._seed,
                            self._shuffle)
        self._generator = torch.Generator()
        if settings["functions"]:
            mapped = _BulkMappedDataset if getattr(dataset, "__getitems__", None) else _MappedDataset
            dataset = mapped(dataset, settings["functions"])
        workers = _core.usable_cores() if settings["workers"] is None else settings["workers"]
        self._loader = DataLoader(dataset, batch_sampler=self._order, num_workers=workers, collate_fn=collate,
                                  generator=self._generator, workers=settings["kind"],
                                  prefetch_factor=settings["prefetch"] if workers else None)
        self._loader._by_index = True
        self._position = (0, 0, 0)  # of the next batch; see Order.at
        self._begun = False  # a loop has run in the epoch of _position
        self._iteration = 0  # number of the newest iterator

    def __len__(self) -> int:
        """Batches per epoch of this rank."""
        return len(self._order)

    def __repr__(self) -> str:
        return f"<unstarve.DatasetLoader: {len(self)} batches of {self._size}>"

    @property
    def samples(self) -> int:
        """Samples per epoch of this rank."""
        return self._order.samples

    @property
    def epoch(self) -> int:
        """Epoch of the next batch."""
        return self._position[0]

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch, 0 or more, of the next loop."""
        self._position = (check_int("set_epoch(epoch)", epoch, 0, MAX_EPOCH), 0, 0)
        self._begun = False

    def __iter__(self) -> Iterator[Any]:
        self._iteration += 1
        iteration = self._iteration
        if self._begun:
            self._position = (self._position[0] + 1, 0, 0)
        self._begun = True
        epoch, batch, offset = self._order.at = self._position
        self._loader._first_position = self._order.position
        self._generator.manual_seed(self._order.seed_of(epoch))
        for made in self._loader:
            batch += 1
            last = batch == self._order.batches(offset)
            self._position = (epoch + 1, 0, 0) if last else (epoch, batch, offset)
            if last:
                self._begun = False
            yield made
            if iteration != self._iteration:
                raise CancelledError("this loop was ended by close() or by a newer loop over the same loader")

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
        epoch, batch, offset = self._position
        return {"version": STATE_VERSION, "epoch": epoch, "samples": offset + batch * self._size * self._world,
                "seed": self._seed, "shuffle": self._shuffle, "dataset": self._dataset_size}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues from `state`, a result of state_dict(), in the next loop.

        Raises:
            ArgumentError: It is no such dict, or of another dataset or order.
        """
        if not isinstance(state, Mapping):
            raise ArgumentError(f"state: found {state!r}; expected the result of state_dict()")
        if state.get("version") != STATE_VERSION:
            raise ArgumentError(f"state: found version {state.get('version')!r}; expected {STATE_VERSION}")
        for key, mine in (("seed", self._seed), ("shuffle", self._shuffle), ("dataset", self._dataset_size)):
            if state.get(key) != mine:
                raise ArgumentError(f"state: found {key} {state.get(key)!r}; expected {mine!r}, as in this loader")
        epoch = check_int("state: epoch", state.get("epoch"), 0, MAX_EPOCH)
        samples = check_int("state: samples", state.get("samples"), 0, self._dataset_size)
        self._position = (epoch, 0, samples) if self._order.batches(samples) else (epoch + 1, 0, 0)
        self._begun = False


class _MappedDataset:
    """A dataset with functions applied to its samples."""

    def __init__(self, dataset: Any, functions: Sequence[Function]) -> None:
        self._dataset, self.functions = dataset, functions

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: int) -> Any:
        return self._apply(index, self._dataset[index])

    def _apply(self, index: int, sample: Any) -> Any:
        for function in self.functions:
            sample = function(torch_job.epoch_seed(), index, sample)
        return sample


class _BulkMappedDataset(_MappedDataset):
    def __getitems__(self, indices: list[int]) -> list[Any]:
        samples = self._dataset.__getitems__(indices)
        return [self._apply(index, sample) for index, sample in zip(indices, samples, strict=True)]
