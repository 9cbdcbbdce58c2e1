"""Lists of records as a spec stores them, and the lengths of random parts."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from unstarve.arguments import check_nonnegative
from unstarve.errors import ArgumentError

_MOST_RANGES = 1000  # longer lists are bits


def subset_text(indices: Iterable[int] | Any, records: int) -> str:
    """Returns the records `indices` as a text of ranges or bits. Raises ArgumentError."""
    try:
        given = np.asarray(indices if isinstance(indices, np.ndarray) else list(indices))
    except (TypeError, ValueError):  # the latter for nested lists of several lengths
        raise ArgumentError(f"subset(indices): found {indices!r}; expected a list of integers") from None
    if given.dtype == bool:
        raise ArgumentError("subset(indices): found Booleans; expected one or more integers. Use "
                            "numpy.flatnonzero(mask) for a mask.")
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iu":
        raise ArgumentError(f"subset(indices): found {given.dtype} of shape {given.shape}; expected one or more "
                            "integers")
    wrong = given[(given < 0) | (given >= records)]
    if wrong.size:
        raise ArgumentError(f"subset(indices): found {wrong[0]}; expected 0 to {records - 1}")
    ordered = np.unique(given)
    if ordered.size != given.size:
        raise ArgumentError("subset(indices): found an index twice; expected each once. Use weights() to draw samples "
                            "more often.")
    begins = np.flatnonzero(np.diff(ordered, prepend=-2) != 1)
    if begins.size > _MOST_RANGES:
        bits = np.zeros(int(ordered[-1]) + 1, np.uint8)
        bits[ordered] = 1
        return "bits:" + base64.b64encode(np.packbits(bits, bitorder="little").tobytes()).decode()
    ends = [*(begins[1:] - 1), ordered.size - 1]
    return ",".join(f"{ordered[begin]}-{ordered[end]}" if end > begin else str(ordered[begin])
                    for begin, end in zip(begins, ends, strict=True))


def part_lengths(lengths: Sequence[float], records: int) -> list[int]:
    """Returns the lengths of parts, given as numbers of records or as fractions, as torch's random_split does.

    Raises ArgumentError.
    """
    if not isinstance(lengths, Iterable):
        raise ArgumentError(f"random_split(lengths): found {lengths!r}; expected a list of lengths, such as [0.9, 0.1]")
    lengths = list(lengths)
    numbers = [check_nonnegative(f"random_split(lengths[{i}])", one) for i, one in enumerate(lengths)]
    if not numbers or not all(numbers):
        raise ArgumentError(f"random_split(lengths): found {lengths!r}; expected one or more lengths above 0")
    if math.isclose(sum(numbers), 1):
        parts = [math.floor(records * one) for one in numbers]
        for i in range(records - sum(parts)):
            parts[i % len(parts)] += 1
    else:
        parts = [int(one) for one in numbers]
    if sum(parts) != records or parts != numbers and not math.isclose(sum(numbers), 1) or not all(parts):
        raise ArgumentError(f"random_split(lengths): found {lengths!r}; expected fractions whose sum is 1, or "
                            f"integers whose sum is {records}, for parts that are not empty")
    return parts
