"""The steps of a pipeline that say which samples take part, and which comes when."""

from __future__ import annotations

import abc
import dataclasses
import os
from collections.abc import Iterable, Mapping
from typing import Any, Self, TypeAlias

import numpy as np

from unstarve.arguments import number, refuse_again, shard_arguments, whole
from unstarve.errors import ArgumentError
from unstarve.facts import Predicate
from unstarve.users import UserCode

# Classes by name or number: one of them, or several.
Labels: TypeAlias = "str | int | Iterable[str | int]"


class Choosing(abc.ABC):
    """Part of unstarve.Pipeline."""

    _spec: dict[str, Any]
    _users: UserCode

    @abc.abstractmethod
    def _with(self, step: str | None, name: str | None = None, **nodes: dict[str, Any]) -> Self:
        """The pipeline with these nodes of the spec, behind `step`; ArgumentError where that may not stand here."""

    # --- which samples take part ------------------------------------------------------------------------------------

    def filter(self, labels: Labels | Predicate | None = None, *, drop_labels: Labels | None = None,
               min_side: int | None = None, max_side: int | None = None, max_aspect: float | None = None) -> Self:
        """The samples that pass every bound that is given. Decided once, when the loader is made, not per epoch.

        labels: may be a function of your own instead, of unstarve.facts.Facts (label, class_name, width, height,
            size_bytes, location, id), that says whether the sample takes part: filter(lambda facts: facts.width > 64).
            It is called once for each sample, some million times a second at best, in this process; several such
            filters all have to pass. No YAML can hold it.
        labels, drop_labels: class names or numbers that are kept, that are left out. Told by the index of folders and
            arrays and shards; else the records are read once.
        min_side, max_side: of the shorter side at least, of the longer side at most, in pixels; max_aspect: longer side
            / shorter side at most. Told by the index of shards; else every image's header is read once, in parallel.

        A sample whose header cannot be read passes: `errors` says what it does when its turn comes. ArgumentError for a
        bound that was given before, or that makes no sense.
        """
        if callable(labels):
            return self._asking(labels, drop_labels, min_side, max_side, max_aspect)
        given: dict[str, Any] = {"labels": labels, "drop_labels": drop_labels, "min_side": min_side,
                                 "max_side": max_side,
                 "max_aspect": max_aspect}
        bounds = {key: value for key, value in given.items() if value is not None}
        for key in ("labels", "drop_labels"):
            if key in bounds:
                values = bounds[key].tolist() if isinstance(bounds[key], np.ndarray) else bounds[key]
                many = isinstance(values, Iterable) and not isinstance(values, str | bytes)
                bounds[key] = [_class(key, one) for one in (values if many else [values])]
        if not bounds or not all(bounds.get(key, [0]) for key in ("labels", "drop_labels")):
            raise ArgumentError("filter: nothing to filter by, expected labels, drop_labels, min_side, max_side or "
                                "max_aspect")
        for key in {"min_side", "max_side"} & bounds.keys():
            bounds[key] = whole(f"filter({key})", bounds[key], 1)
        if max_aspect is not None:
            bounds["max_aspect"] = number("filter(max_aspect)", max_aspect)
        return self._with("filter", source={"filter": bounds})

    def _asking(self, predicate: Predicate, *bounds: object) -> Self:
        if any(bound is not None for bound in bounds):
            raise ArgumentError("filter: a function and bounds, expected them in filters of their own")
        made = self._with("filter", source={})
        some, = self._users.predicates
        made._users = dataclasses.replace(self._users, predicates=((*some, predicate),))
        return made

    def take(self, n: int) -> Self:
        """The first `n` samples, as stored, that pass the filter; all of them where there are fewer."""
        return self._with("take", source={"take": whole("take(n)", n, 1)})

    # --- order ------------------------------------------------------------------------------------------------------

    def shuffle(self, seed: int = 0, *, window: int = 0) -> Self:
        """All samples in an order that depends on (seed, epoch) alone: another one every epoch, no list in memory.

        window: shuffled in windows of so many samples, made of runs of 64 as they are stored, in random order; for
            disks and servers that read runs much faster than samples one by one. 0 shuffles all.
        """
        return self._with("shuffle", order={"shuffle": True, "seed": whole("shuffle(seed)", seed, 0),
                                            "window": whole("shuffle(window)", window, 0)})

    def sequential(self) -> Self:
        """The samples in the order in which they are stored."""
        return self._with("sequential", order={"shuffle": False, "window": 0})

    def repeat(self, n: int) -> Self:
        """`n` passes in one epoch, each in another order and augmented anew; batches may cross from one to the next."""
        return self._with("repeat", order={"repeat": whole("repeat(n)", n, 1)})

    def balance(self, weights: Mapping[str | int, float] | None = None, *, epoch: int | None = None) -> Self:
        """Every class equally often, whatever it has of samples: those of small classes come again, augmented anew.

        weights: {class name or number: share} for classes that are to come more or less often than the others, whose
            share is 1; 0 leaves a class out.
        epoch: samples of an epoch; as many as take part where it is left out.

        Raises ArgumentError for weights that are no dict.
        """
        if weights is not None and not isinstance(weights, Mapping):
            raise ArgumentError(f"balance(weights): found {weights!r}, expected a dict of classes and their shares")
        order: dict[str, Any] = {"balance": True}
        if weights:
            shares = order["class_weights"] = {}
            for key, value in weights.items():
                name = _class("weights", key, "balance")
                if name in shares:
                    refuse_again(f"balance(weights[{key!r}])", f"the share of class {name}", shares[name], "balance")
                shares[name] = number(f"balance(weights[{key!r}])", value)
        if epoch is not None:
            order["epoch"] = whole("balance(epoch)", epoch, 1)
        return self._with("balance", order=order)

    def shard(self, rank: int | None = None, world: int | None = None) -> Self:
        """This process's part: rank of `world`. Every rank gets equally many batches.

        Without this step, or without arguments, RANK and WORLD_SIZE of the environment count, as torchrun sets them.
        """
        rank, world = shard_arguments(rank, world)
        return self._with("shard", order={"rank": rank, "world": world})


def _class(argument: str, value: object, step: str = "filter") -> str:
    """A class by name or number, as a spec has it. ArgumentError for anything else, bytes of a name among it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        raise ArgumentError(f"{step}({argument}): found {value!r}, expected a class by name or number")
    if isinstance(value, bytes):
        raise ArgumentError(f"{step}({argument}): found {value!r}, expected the name as `classes` has it, "
                            f"{os.fsdecode(value)!r}, or the number")
    return str(whole(f"{step}({argument})", value, 0))
