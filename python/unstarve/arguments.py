"""Checks what users give: every refusal names the argument, what was found and what was expected."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from unstarve.errors import ArgumentError

MOST_EPOCH = 2**31 - 1  # the library counts epochs in 32 bits; half of them can be set, so that a run may go on


def whole(what: str, value: object, least: int, most: int | None = None) -> int:
    """`value` as a whole number of `least` or more, up to `most`; ArgumentError, beginning with `what`, for anything
    else."""
    try:
        whole = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(f"{what}: found {value!r}, expected a whole number") from None
    if whole < least:
        raise ArgumentError(f"{what}: found {whole}, expected {least} or more")
    if most is not None and whole > most:
        raise ArgumentError(f"{what}: found {whole}, expected {least} to {most}")
    return whole


def number(what: str, value: Any) -> float:
    """`value` as a number of 0 or more; ArgumentError as whole()'s."""
    try:
        weight = float(value)
    except (TypeError, ValueError):
        weight = math.nan
    if not math.isfinite(weight) or weight < 0:
        raise ArgumentError(f"{what}: found {value!r}, expected a number of 0 or more")
    return weight


def flag(what: str, value: object) -> bool:
    """`value` as a truth: True, False, 1 or 0; ArgumentError as whole()'s."""
    if isinstance(value, bool | int | np.bool_) and value in (0, 1):
        return bool(value)
    raise ArgumentError(f"{what}: found {value!r}, expected True or False")


def channels(what: str, values: Iterable[float]) -> list[float]:
    """`values` as three numbers, one per channel; ArgumentError as whole()'s."""
    try:
        found = list(values)
    except TypeError:
        raise ArgumentError(f"{what}: found {values!r}, expected three numbers, one per channel") from None
    if len(found) != 3:
        raise ArgumentError(f"{what}: found {len(found)} numbers, expected three, one per channel")
    try:
        numbers = [float(value) for value in found]
    except (TypeError, ValueError):
        numbers = [math.nan]
    if not all(map(math.isfinite, numbers)):
        raise ArgumentError(f"{what}: found {found!r}, expected three numbers, one per channel")
    return numbers


def normalisation(values: Any) -> tuple[list[float], list[float]]:
    """`values` as mean and standard deviation per channel; ArgumentError as whole()'s."""
    try:
        mean, std = values
    except (TypeError, ValueError):
        raise ArgumentError(f"normalize: found {values!r}, expected (mean, std) of three numbers each") from None
    return channels("normalize: mean", mean), channels("normalize: std", std)


def refuse_again(step: str, what: str, value: object, by: str, expected: str = "it once") -> NoReturn:
    """ArgumentError of a step that would replace `value`, which step `by` gave for `what`."""
    raise ArgumentError(f"{step}: {what} was given before, as {value!r} by {by}(); expected {expected}")


def last_batch(last: str | None, drop_last: bool | None) -> str:
    """What batch() is to do with the last one, said in either way; "drop" where it is not said."""
    if last is None:
        return "drop" if drop_last is None or flag("batch(drop_last)", drop_last) else "keep"
    if drop_last is not None:
        raise ArgumentError("batch: found both last and drop_last, expected one of them")
    return last


def rank_and_world() -> tuple[int, int]:
    """RANK and WORLD_SIZE of the environment, (0, 1) without them."""
    rank, world = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
    if rank is None or world is None:
        return 0, 1
    try:
        return int(rank), int(world)
    except ValueError:
        raise ArgumentError(f"RANK={rank!r}, WORLD_SIZE={world!r} in the environment: expected whole numbers") from None


def shard_arguments(rank: int | None, world: int | None) -> tuple[int, int]:
    """What shard() is given: both, or neither, and then rank_and_world()'s."""
    if (rank is None) != (world is None):
        raise ArgumentError("shard: give both rank and world, or neither")
    if rank is None or world is None:
        rank, world = rank_and_world()
    return whole("shard(rank)", rank, 0), whole("shard(world)", world, 1)
