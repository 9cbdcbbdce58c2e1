"""Steps that select the samples of a pipeline and their order."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from unstarve import _core
from unstarve.arguments import check_int, check_nonnegative, check_shuffle_seed, reject_repeated, shard_arguments
from unstarve.errors import ArgumentError
from unstarve.facts import Predicate
from unstarve.spec_json import spec_json
from unstarve.steps.base import Steps
from unstarve.steps.subsets import part_lengths, subset_text
from unstarve.suggestions import suggesting_methods

# One or several classes by name or number.
Labels: TypeAlias = "str | int | Iterable[str | int]"


@suggesting_methods
class SelectionSteps(Steps):
    """Part of unstarve.Pipeline: filter, take, shuffle, shard and other steps on samples as a whole."""

    # --- which samples ----------------------------------------------------------------------------------------------

    def subset(self, indices: Iterable[int] | npt.NDArray[Any]) -> Self:
        """Keeps the records with these indices, each once and in storage order unless they are shuffled.

        Args:
            indices: Indices of records, 0 to `records` - 1.

        Raises:
            ArgumentError: An index is out of range or occurs twice.

        Example:
            un.open("photos").subset(range(100))
        """
        return self._with("subset", source={"subset": subset_text(indices, self.records)})

    def random_split(self, lengths: Sequence[float], *, seed: int = 0) -> list[Self]:
        """Splits the records at random into parts without common records, as torch's random_split.

        Args:
            lengths: Numbers of records that sum up to all of them, or fractions that sum up to 1.
            seed: Seed of the split. The parts do not depend on the seed of shuffle().

        Returns:
            A pipeline for each part.

        Raises:
            ArgumentError: The lengths do not sum up to the number of records.

        Example:
            train, val = un.open("photos").random_split([0.9, 0.1])
        """
        number = check_int("random_split(seed)", seed, 0)
        parts, begin = [], 0
        for length in part_lengths(lengths, self._listed()):
            parts.append(self._with("random_split", source={
                "part": {"from": begin, "to": begin + length, "seed": number}}))
            begin += length
        return parts

    def _listed(self) -> int:
        """Returns the number of records after subset()."""
        return len(_core.choose(spec_json({"source": self._spec["source"]}), self._dataset, [None]))

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
        return self._with("shuffle", order={"shuffle": True, "seed": check_shuffle_seed(seed),
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
            epoch: Samples per epoch; by default, the number of selected samples.

        Raises:
            ArgumentError: `weights` is not a dict, or a weight is invalid.
        """
        if weights is not None and not isinstance(weights, Mapping):
            raise ArgumentError(f"balance(weights): found {weights!r}; expected a dict from class to share")
        if self._users.weights is not None:
            raise ArgumentError("balance: found after weights(); expected one of them")
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

    def weights(self, weights: Iterable[float] | str | os.PathLike[str], *, epoch: int | None = None) -> Self:
        """Draws samples in proportion to weights, with replacement and with new augmentation for each occurrence.

        In an epoch of n samples, a sample occurs n * weight / sum(weights) times, rounded up or down at random. The
        draws depend on (seed, epoch) only.

        Args:
            weights: A weight for each record, 0 or more; only the ratios matter. Alternatively a file of them, which
                YAML can represent: a text with one number per line, or .npy with float32 or float64.
            epoch: Samples per epoch; by default, the number of selected samples.

        Raises:
            ArgumentError: The weights are not one number of 0 or more per record.

        Example:
            un.open("photos").weights(1 / counts[labels]).shuffle(seed=0)
        """
        order: dict[str, Any] = {} if epoch is None else {"epoch": check_int("weights(epoch)", epoch, 1)}
        if isinstance(weights, str | os.PathLike):
            return self._with("weights", order={**order, "sample_weights": os.fsdecode(weights)})
        try:
            values = np.array(weights if isinstance(weights, np.ndarray) else list(weights), np.float64)
        except (TypeError, ValueError):
            raise ArgumentError("weights: found values that are not numbers; expected one number per record") from None
        if values.shape != (self.records,):
            raise ArgumentError(f"weights: found shape {values.shape}; expected ({self.records},), one per record")
        if not (np.isfinite(values).all() and (values >= 0).all() and values.any()):
            raise ArgumentError("weights: found negative or infinite numbers, or zeros only; expected numbers of 0 or "
                                "more")
        if self._users.weights is not None or "balance" in self._spec.get("order", {}):
            raise ArgumentError("weights: found a second time or with balance(); expected one of them, once")
        result = self._with("weights", order=order)
        result._users = dataclasses.replace(self._users, weights=values)
        return result

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
