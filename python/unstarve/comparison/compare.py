"""Interleaved measurement of several sides, and the ratio of two rates with its 95 % confidence interval.

The speed of shared machines drifts by 25 % and more. The sides therefore run alternately in short blocks, A B B A A B
..., and are compared pair by pair: the ratio is the geometric mean of the ratios of the pairs, with a Student's t
interval over their logarithms (as in unstarve/core/statistics.h).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol


class Side(Protocol):
    """What is measured."""

    def rate(self, seconds: float) -> float:
        """Samples per second over one block of at least `seconds`."""


# Two-sided 95 % quantiles of Student's t for 1 to 6 degrees of freedom; the expansion below is not accurate there.
SMALL_T = (12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912)


def student_t_975(degrees: int) -> float:
    """Table up to 6 degrees of freedom, then the Cornish-Fisher expansion (Abramowitz and Stegun 26.7.5)."""
    if degrees < 1:
        raise ValueError(f"Student's t: found {degrees} degrees of freedom; expected at least 1")
    if degrees <= len(SMALL_T):
        return SMALL_T[degrees - 1]
    z = 1.959963985
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return math.fsum(term / degrees**power for power, term in enumerate(terms))


def ratio_interval(ours: Sequence[float], peer: Sequence[float]) -> tuple[float, float, float]:
    """Returns (ratio, low, high) of paired rates. Requires at least two pairs."""
    logs = [math.log(a / b) for a, b in zip(ours, peer, strict=True)]
    mean = sum(logs) / len(logs)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in logs) / (len(logs) - 1))
    half = student_t_975(len(logs) - 1) * deviation / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def interleave(sides: Sequence[Side], rounds: int, seconds: float,
               progress: Callable[[int], None] = lambda round_: None) -> list[list[float]]:
    """Returns the rates of each side, one per round. Every second round runs the sides in reverse order."""
    rates: list[list[float]] = [[] for _ in sides]
    for side in sides:
        side.rate(min(seconds, 2.0))  # warm-up
    for number in range(rounds):
        order = range(len(sides)) if number % 2 == 0 else reversed(range(len(sides)))
        for which in order:
            rates[which].append(sides[which].rate(seconds))
        progress(number)
    return rates
