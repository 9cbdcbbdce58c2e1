"""Steps that select the samples of a pipeline and their order."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from typing import Any, Self, TypeAlias

import numpy as np

from unstarve.arguments import check_int, check_nonnegative, reject_repeated, shard_arguments
from unstarve.errors import ArgumentError
from unstarve.facts import Predicate
from unstarve.steps.base import Steps

# One or several classes by name or number.
Labels: TypeAlias = "str | int | Iterable[str | int]"


class SelectionSteps(Steps):
    """Part of unstarve.Pipeline: filter, take, shuffle, shard and other steps on samples as a whole."""

    # --- which samples ----------------------------------------------------------------------------------------------

    def filter(self, labels: Labels | Predicate | None = None, *, drop_labels: Labels | None = None,
               min_side: int | None = None, max_side: int | None = None, max_aspect: float | None = None) -> Self:
        """Keeps the samples that satisfy every given condition. Evaluated once, when the loader is created.

        Labels are read from the index of folders, arrays and shards; without an index, every record is read once.
        Sizes are read from the index of shards; otherwise the header of every image is read once, in parallel.
        A sample whose header cannot be read passes; `errors` applies when the sample is loaded.

        Args:
            labels: Class names or numbers to keep. Alternatively a function from unstarve.facts.Facts to bool, which
                is called once per sample in this process (about a million calls per second) and which YAML cannot
                represent; with several such filters, all must return True.
            drop_labels: Class names or numbers to drop.
            min_side: Smallest length of the shorter side, in pixels.
            max_side: Largest length of the longer side, in pixels.
            max_aspect: Largest ratio of the longer side to the shorter side.

        Raises:
            ArgumentError: A condition is invalid or was already given.

        Example:
            un.open("photos").filter(["cat", "dog"], min_side=64)
            un.open("photos").filter(lambda facts: facts.size_bytes < 1_000_000)
        """
        if callable(labels):
            return self._filter_by(labels, drop_labels, min_side, max_side, max_aspect)
        given: dict[str, Any] = {"labels": labels, "drop_labels": drop_labels, "min_side": min_side,
                                 "max_side": max_side, "max_aspect": max_aspect}
        bounds = {key: value for key, value in given.items() if value is not None}
        for key in ("labels", "drop_labels"):
            if key in bounds:
                values = bounds[key].tolist() if isinstance(bounds[key], np.ndarray) else bounds[key]
                many = isinstance(values, Iterable) and not isinstance(values, str | bytes)
                bounds[key] = [_class_key(key, one) for one in (values if many else [values])]
        if not bounds or not all(bounds.get(key, [0]) for key in ("labels", "drop_labels")):
            raise ArgumentError("filter: found no condition; expected labels, drop_labels, min_side, max_side or "
                                "max_aspect")
        for key in {"min_side", "max_side"} & bounds.keys():
            bounds[key] = check_int(f"filter({key})", bounds[key], 1)
        if max_aspect is not None:
            bounds["max_aspect"] = check_nonnegative("filter(max_aspect)", max_aspect)
        return self._with("filter", source={"filter": bounds})

    def _filter_by(self, predicate: Predicate, *bounds: object) -> Self:
        if any(bound is not None for bound in bounds):
            raise ArgumentError("filter: found a function and other conditions; expected one of them. "
                                "Call filter() twice.")
        result = self._with("filter", source={})
        some, = self._users.predicates
        result._users = dataclasses.replace(self._users, predicates=((*some, predicate),))
        return result

    def take(self, n: int) -> Self:
        """Keeps the first `n` samples, in storage order, that pass the filter (all of them if there are fewer)."""
        return self._with("take", source={"take": check_int("take(n)", n, 1)})

    # --- order ------------------------------------------------------------------------------------------------------

    def shuffle(self, seed: int = 0, *, window: int = 0) -> Self:
        """Shuffles all samples, in a new order every epoch. The order depends on (seed, epoch) only.

        Args:
            seed: Seed of the order and of the augmentation, 0 or more.
            window: 0 shuffles all samples. N shuffles within windows of N samples, each made of runs of 64 consecutive
                samples taken in random order: for disks and servers that read runs much faster than single records.
        """
        return self._with("shuffle", order={"shuffle": True, "seed": check_int("shuffle(seed)", seed, 0),
                                            "window": check_int("shuffle(window)", window, 0)})

    def sequential(self) -> Self:
        """Loads the samples in storage order."""
        return self._with("sequential", order={"shuffle": False, "window": 0})

    def repeat(self, n: int) -> Self:
        """Makes an epoch of `n` passes over the data, each in another order and with new augmentation.

        A batch may contain samples of two passes.
        """
        return self._with("repeat", order={"repeat": check_int("repeat(n)", n, 1)})

    def balance(self, weights: Mapping[str | int, float] | None = None, *, epoch: int | None = None) -> Self:
        """Draws every class equally often. Samples of small classes are repeated, with new augmentation.

        Args:
            weights: {class name or number: share} for classes that should be drawn more or less often. The share of
                the others is 1; 0 excludes a class.
            epoch: Samples per epoch; by default, the number of samples that take part.

        Raises:
            ArgumentError: `weights` is not a dict, or a weight is invalid.
        """
        if weights is not None and not isinstance(weights, Mapping):
            raise ArgumentError(f"balance(weights): found {weights!r}; expected a dict from class to share")
        order: dict[str, Any] = {"balance": True}
        if weights:
            shares = order["class_weights"] = {}
            for key, value in weights.items():
                name = _class_key("weights", key, "balance")
                if name in shares:
                    reject_repeated(f"balance(weights[{key!r}])", f"the share of class {name}", shares[name], "balance")
                shares[name] = check_nonnegative(f"balance(weights[{key!r}])", value)
        if epoch is not None:
            order["epoch"] = check_int("balance(epoch)", epoch, 1)
        return self._with("balance", order=order)

    def shard(self, rank: int | None = None, world: int | None = None) -> Self:
        """Loads this process's part of the samples. All ranks get the same number of batches.

        Without this step or its arguments, RANK and WORLD_SIZE of the environment apply, as torchrun sets them.

        Args:
            rank: Index of this process, 0 to world - 1.
            world: Number of processes.
        """
        rank, world = shard_arguments(rank, world)
        return self._with("shard", order={"rank": rank, "world": world})


def _class_key(argument: str, value: object, step: str = "filter") -> str:
    """Returns a class name or number as a spec stores it. Raises ArgumentError for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        raise ArgumentError(f"{step}({argument}): found {value!r}; expected a class name or number")
    if isinstance(value, bytes):
        raise ArgumentError(f"{step}({argument}): found {value!r}; expected a class number, or the name as in "
                            f"`classes`: {os.fsdecode(value)!r}")
    return str(check_int(f"{step}({argument})", value, 0))
