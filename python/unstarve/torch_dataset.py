"""Your own torch dataset in a chain of steps: any object with __len__ and __getitem__, as it is.

    loader = un.from_torch(dataset).shuffle(seed=0).map(augment).batch(256)
    for images, labels in loader:
        ...

Conventions are those of unstarve.loader.Loader. Order is a function of (seed, epoch), not of timing; so is augmentation
that draws from random, numpy.random or torch's global generators, which are seeded by (seed, epoch, sample), unless
worker threads share them; a function's own `rng` is so everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from unstarve.frameworks import needed

with needed("torch", "from_torch"):
    import torch

from unstarve import _core
from unstarve.arguments import MOST_EPOCH, last_batch, rank_and_world, refuse_again, shard_arguments, whole
from unstarve.dataloader import DataLoader
from unstarve.errors import ArgumentError, CancelledError
from unstarve.functions import Function
from unstarve.workers import tasks
from unstarve.workers.order import Order

STATE_VERSION = 1


def from_torch(dataset: Any) -> DatasetPipeline:
    """Begins a chain over a map-style dataset, all its samples in shuffled order.

    dataset: has __len__ and __getitem__, or __getitems__ (a list of indices to a list of samples). With helper
        processes it must be picklable.

    Raises ArgumentError for anything else.
    """
    if not hasattr(dataset, "__len__") or not (hasattr(dataset, "__getitem__") or hasattr(dataset, "__getitems__")):
        raise ArgumentError(f"from_torch: {type(dataset).__name__} has no __len__ and __getitem__; an iterable dataset "
                            "goes to unstarve.DataLoader")
    return DatasetPipeline(dataset)


class DatasetPipeline:
    """A dataset and the steps to batches; it never changes, every step gives a new one. Functions of map() add to those
    before; what any other step says is said once. Made by `from_torch`."""

    def __init__(self, dataset: Any, given: Mapping[str, str] | None = None, **settings: Any) -> None:
        self._dataset = dataset
        self._given = given or {}  # for each setting that a step has set, the step
        self._settings = {"seed": 0, "shuffle": True, "rank": None, "world": None, "functions": (), "workers": None,
                          "kind": None, "prefetch": None, **settings}

    def __len__(self) -> int:
        """Samples of the dataset."""
        return len(self._dataset)

    def __repr__(self) -> str:
        return f"<unstarve.DatasetPipeline: {type(self._dataset).__name__}, {len(self)} samples>"

    def shuffle(self, seed: int = 0) -> DatasetPipeline:
        """All samples in an order that depends on (seed, epoch) alone: another one every epoch."""
        return self._with("shuffle", shuffle=True, seed=whole("shuffle(seed)", seed, 0))

    def sequential(self) -> DatasetPipeline:
        """The samples in the dataset's order."""
        return self._with("sequential", shuffle=False)

    def shard(self, rank: int | None = None, world: int | None = None) -> DatasetPipeline:
        """This process's part: rank of `world`. Every rank gets equally many batches, of equally many samples.

        Without this step, or without arguments, RANK and WORLD_SIZE of the environment count, as torchrun sets them.
        ArgumentError for a rank that is not of this world.
        """
        rank, world = shard_arguments(rank, world)
        if rank >= world:
            raise ArgumentError(f"shard: rank {rank} of world {world}, expected a rank below it")
        return self._with("shard", rank=rank, world=world)

    def map(self, function: Callable[..., Any]) -> DatasetPipeline:
        """function(sample) instead of every sample, made by the workers. Several are applied one after the other.

        rng: a function with an argument of this name gets a numpy.random.Generator that follows from (seed, epoch,
            sample), in threads too.
        """
        before = self._settings["functions"]
        functions = (*before, Function.of(function, len(before)))
        return DatasetPipeline(self._dataset, self._given, **{**self._settings, "functions": functions})

    def options(self, *, workers: int | None = None, kind: str | None = None,
                prefetch: int | None = None) -> DatasetPipeline:
        """workers: how many make the samples (all usable cores); 0 makes them where they are asked for. kind:
        "processes" or "threads" (see unstarve.DataLoader). prefetch: batches per worker made ahead (2)."""
        given = {"workers": workers, "kind": kind, "prefetch": prefetch}
        return self._with("options", **{key: value for key, value in given.items() if value is not None})

    def batch(self, size: int, *, last: str | None = None, drop_last: bool | None = None,
              collate: Callable[[list[Any]], Any] | None = None) -> DatasetLoader:
        """The loader of batches of `size` samples.

        last: what the last batch of an epoch does, for which fewer samples are left: "drop" (as usual) or "keep" it
            shorter. drop_last, as torch says it: True is "drop", False is "keep". A batch is what `collate` makes of
            its samples, so that nothing could tell copies apart which filled it up: there is no "pad".
        collate: a list of samples to a batch; torch's default_collate, which stacks arrays and tensors, otherwise.

        ArgumentError for arguments that make no sense.
        """
        settings = dict(self._settings)
        if settings["world"] is None:
            settings["rank"], settings["world"] = rank_and_world()
            if settings["rank"] >= settings["world"]:
                raise ArgumentError(f"batch: rank {settings['rank']} of world {settings['world']}")
        last = last_batch(last, drop_last)
        if last not in ("drop", "keep"):
            raise ArgumentError(f"batch(last): found {last!r}, expected 'drop' or 'keep'")
        return DatasetLoader(self._dataset, whole("batch(size)", size, 1), last == "drop", collate, settings)

    def _with(self, step: str, **settings: Any) -> DatasetPipeline:
        for key in settings:
            if key in self._given:
                refuse_again(step, key, self._settings[key], self._given[key])
        return DatasetPipeline(self._dataset, {**self._given, **dict.fromkeys(settings, step)},
                               **{**self._settings, **settings})


class DatasetLoader:
    """An iterable over the batches of one epoch after the other. Made by `DatasetPipeline.batch`.

    Every `for` loop runs one epoch. One that was left early is over: the next loop begins the next epoch, or where
    `load_state_dict` says. Not for several threads at once. Workers stay for the next epoch; they get the dataset as it
    is by then.
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
            mapped = _MappedMany if getattr(dataset, "__getitems__", None) else _Mapped
            dataset = mapped(dataset, settings["functions"])
        workers = _core.usable_cores() if settings["workers"] is None else settings["workers"]
        self._loader = DataLoader(dataset, batch_sampler=self._order, num_workers=workers, collate_fn=collate,
                                  generator=self._generator, workers=settings["kind"],
                                  prefetch_factor=settings["prefetch"] if workers else None)
        self._loader._by_index = True
        self._at = (0, 0, 0)  # epoch, batch and samples of the epoch before its batch 0, as the order has it
        self._begun = False  # a loop was in the epoch of _at
        self._turn = 0  # of the newest iterator

    def __len__(self) -> int:
        """Batches per epoch, of this rank."""
        return len(self._order)

    def __repr__(self) -> str:
        return f"<unstarve.DatasetLoader: {len(self)} batches of {self._size}>"

    @property
    def samples(self) -> int:
        """Samples per epoch, of this rank."""
        return self._order.samples

    @property
    def epoch(self) -> int:
        """The epoch that the next batch belongs to."""
        return self._at[0]

    def set_epoch(self, epoch: int) -> None:
        """The next loop runs this epoch, 0 or more, from its beginning."""
        self._at = (whole("set_epoch(epoch)", epoch, 0, MOST_EPOCH), 0, 0)
        self._begun = False

    def __iter__(self) -> Iterator[Any]:
        self._turn += 1
        turn = self._turn
        if self._begun:
            self._at = (self._at[0] + 1, 0, 0)
        self._begun = True
        epoch, batch, offset = self._order.at = self._at
        self._loader._first_position = self._order.position
        self._generator.manual_seed(self._order.seed_of(epoch))
        for made in self._loader:
            batch += 1
            last = batch == self._order.batches(offset)
            self._at = (epoch + 1, 0, 0) if last else (epoch, batch, offset)
            if last:
                self._begun = False
            yield made
            if turn != self._turn:
                raise CancelledError("this loop was ended by close() or by a newer loop over the same loader")

    def close(self) -> None:
        """Ends the workers; iterating starts them again. Also the end of a `with` block."""
        self._turn += 1
        self._loader.close()

    def __enter__(self) -> DatasetLoader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def state_dict(self) -> dict[str, Any]:
        """Where the run stands, after the last batch that was given: a dict of a few numbers, torch's convention.

        It may be taken at any batch, and loaded by loaders with any number of workers and ranks and any batch size:
        what was left of the epoch, over all ranks, is what they give.
        """
        epoch, batch, offset = self._at
        return {"version": STATE_VERSION, "epoch": epoch, "samples": offset + batch * self._size * self._world,
                "seed": self._seed, "shuffle": self._shuffle, "dataset": self._dataset_size}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next loop goes on where `state` was taken. ArgumentError when it was another dataset or order."""
        if not isinstance(state, Mapping):
            raise ArgumentError(f"state: found {state!r}, expected the dict that state_dict() gave")
        if state.get("version") != STATE_VERSION:
            raise ArgumentError(f"state: version {state.get('version')!r}, expected {STATE_VERSION}")
        for key, mine in (("seed", self._seed), ("shuffle", self._shuffle), ("dataset", self._dataset_size)):
            if state.get(key) != mine:
                raise ArgumentError(f"state: {key} {state.get(key)!r}, but this loader has {mine!r}")
        epoch = whole("state: epoch", state.get("epoch"), 0, MOST_EPOCH)
        samples = whole("state: samples", state.get("samples"), 0, self._dataset_size)
        self._at = (epoch, 0, samples) if self._order.batches(samples) else (epoch + 1, 0, 0)
        self._begun = False


class _Mapped:
    """A dataset with functions applied to its samples."""

    def __init__(self, dataset: Any, functions: Sequence[Function]) -> None:
        self._dataset, self.functions = dataset, functions

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: int) -> Any:
        return self._apply(index, self._dataset[index])

    def _apply(self, index: int, sample: Any) -> Any:
        for function in self.functions:
            sample = function(tasks.epoch_seed(), index, sample)
        return sample


class _MappedMany(_Mapped):
    def __getitems__(self, indices: list[int]) -> list[Any]:
        samples = self._dataset.__getitems__(indices)
        return [self._apply(index, sample) for index, sample in zip(indices, samples, strict=True)]
