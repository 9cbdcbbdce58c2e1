"""Validation of arguments. Every error names the argument, the value found and the value expected."""

from __future__ import annotations

import json
import math
import operator
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np

from unstarve import _core
from unstarve.errors import ArgumentError

MAX_EPOCH = 2**31 - 1  # epochs are 32-bit numbers in the library; half of the range leaves room to continue the run


def check_int(what: str, value: object, least: int, most: int | None = None) -> int:
    """Returns `value` as an int in [least, most].

    Args:
        what: The argument, as error messages name it: "batch(size)".
        value: Anything that converts to an int without loss, but no bool.
        least: Smallest value allowed.
        most: Largest value allowed; None for no limit.

    Raises:
        ArgumentError: `value` is not an integer or is out of range.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(f"{what}: found {value!r}; expected an integer") from None
    if number < least:
        raise ArgumentError(f"{what}: found {number}; expected {least} or more")
    if most is not None and number > most:
        raise ArgumentError(f"{what}: found {number}; expected {least} to {most}")
    return number


def check_path(what: str, value: object) -> str:
    """Returns a path as text, "" for None. Raises ArgumentError for anything but a str or a path."""
    if value is None:
        return ""
    if not isinstance(value, str | bytes | os.PathLike):
        raise ArgumentError(f"{what}: found {value!r}; expected a path")
    path = os.fsdecode(value)
    check_no_null(what, path)
    return path


def check_no_null(what: str, path: str) -> None:
    """Raises ArgumentError for a path with a null character, at which the system would end it."""
    if "\0" in path:
        raise ArgumentError(f"{what}: found {path!r}; expected a path without null characters")


def check_shuffle_seed(seed: object) -> int:
    """Returns the argument of shuffle(). Raises ArgumentError for anything but an integer of 0 or more."""
    if isinstance(seed, bool):
        use = "Omit the argument." if seed else "Use sequential() for the storage order."
        raise ArgumentError(f"shuffle(seed): found {seed}; expected an integer. {use}")
    return check_int("shuffle(seed)", seed, 0)


def check_number(what: str, value: Any) -> float:
    """Returns `value` as a finite float. Raises ArgumentError for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ArgumentError(f"{what}: found {value!r}; expected a number")
    return number


def check_nonnegative(what: str, value: Any) -> float:
    """Returns `value` as a finite float of 0 or more. Raises ArgumentError for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise ArgumentError(f"{what}: found {value!r}; expected a number of 0 or more")
    return number


def check_size(what: str, value: object) -> int:
    """Returns a number of bytes, from an integer or a text with a unit: "500MB", "1.5GB", "2GiB".

    Raises:
        ArgumentError: It is neither, or less than 10^6 bytes.
    """
    if not isinstance(value, str):
        return check_int(what + " in bytes", value, 1_000_000)
    found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+) ?([MGT])(i?)B", value)
    size = float(found[1]) * (1024 if found[3] else 1000) ** ("MGT".index(found[2]) + 2) if found else 0
    if size < 1_000_000:
        raise ArgumentError(f"{what}: found {value!r}; expected a size of 1MB or more with its unit, such as '500MB', "
                            "'1.5GB' or '2GiB', or a number of bytes")
    return int(size)


def check_bool(what: str, value: object) -> bool:
    """Returns `value` (True, False, 1 or 0) as a bool. Raises ArgumentError for anything else."""
    if isinstance(value, bool | int | np.bool_) and value in (0, 1):
        return bool(value)
    raise ArgumentError(f"{what}: found {value!r}; expected True or False")


def check_channels(what: str, values: Iterable[float]) -> list[float]:
    """Returns `values` as three finite floats, one per channel. Raises ArgumentError for anything else."""
    try:
        found = list(values)
    except TypeError:
        raise ArgumentError(f"{what}: found {values!r}; expected three numbers, one per channel") from None
    if len(found) != 3:
        raise ArgumentError(f"{what}: found {list(found)!r}; expected three numbers, one per channel")
    try:
        numbers = [float(value) for value in found]
    except (TypeError, ValueError):
        numbers = [math.nan]
    if not all(map(math.isfinite, numbers)):
        raise ArgumentError(f"{what}: found {found!r}; expected three finite numbers, one per channel")
    return numbers


def check_normalisation(values: Any) -> tuple[list[float], list[float]]:
    """Returns `values` as (mean, std), three floats each for pixel values of 0 to 1.

    Raises ArgumentError for anything else.
    """
    try:
        mean, std = values
    except (TypeError, ValueError):
        raise ArgumentError(f"normalize: found {values!r}; expected (mean, std) of three numbers each") from None
    checked = check_channels("normalize: mean", mean), check_channels("normalize: std", std)
    _core.check(json.dumps({"output": {"mean": checked[0], "std": checked[1]}}))
    return checked


def check_state(state: object, version: int) -> None:
    """Raises ArgumentError unless `state` is a mapping of this version, as state_dict() returns it."""
    if not isinstance(state, Mapping):
        raise ArgumentError(f"state: found {state!r}; expected the result of state_dict()")
    if "version" not in state:
        raise ArgumentError("state: found no version; expected the result of state_dict()")
    if state["version"] != version:
        raise ArgumentError(f"state: found version {state['version']!r}; expected {version}")


def reject_repeated(step: str, what: str, value: object, by: str, expected: str = "it once") -> NoReturn:
    """Raises ArgumentError: `step` would replace `value`, which the earlier step `by` set for `what`."""
    raise ArgumentError(f"{step}: {what} was already set to {value!r} by {by}(); expected {expected}")


def last_batch(last: str | None, drop_last: bool | None) -> str:
    """Returns the policy for the last batch from the two arguments of batch() that set it; the default is "drop".

    Raises ArgumentError if both are given.
    """
    if last is None:
        return "drop" if drop_last is None or check_bool("batch(drop_last)", drop_last) else "keep"
    if drop_last is not None:
        raise ArgumentError("batch: found both last and drop_last; expected one of them")
    return last


def rank_and_world() -> tuple[int, int]:
    """Returns RANK and WORLD_SIZE of the environment, or (0, 1) if either is not set."""
    rank, world = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
    if rank is None or world is None:
        return 0, 1
    try:
        return int(rank), int(world)
    except ValueError:
        raise ArgumentError(f"environment: found RANK={rank!r}, WORLD_SIZE={world!r}; expected integers") from None


def shard_arguments(rank: int | None, world: int | None) -> tuple[int, int]:
    """Returns the rank and the world size given to shard(), or those of the environment if neither is given."""
    if (rank is None) != (world is None):
        raise ArgumentError("shard: found only one of rank and world; expected both or neither")
    if rank is None or world is None:
        rank, world = rank_and_world()
    return check_int("shard(rank)", rank, 0), check_int("shard(world)", world, 1)
