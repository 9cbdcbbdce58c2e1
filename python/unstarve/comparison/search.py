"""The fastest settings of a loader, found by measuring candidates in child processes."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from . import compare
from .child import Child, Failed

Settings = dict[str, Any]


def measure(start: Callable[[Settings], Child], candidates: Iterable[Settings], seconds: float, blocks: int,
            say: Callable[[str], None]) -> tuple[list[tuple[float, Settings]], list[str]]:
    """Measures each candidate in a child of its own.

    Args:
        start: Starts a child with settings.
        candidates: Settings to measure.
        seconds: Length of a block; one more is the warm-up.
        blocks: Blocks per candidate; their median counts.
        say: Receives a line per candidate.

    Returns:
        (rate, settings), fastest first, and the reasons of those that failed.
    """
    tried, failures = [], []
    for settings in candidates:
        try:
            with start(settings) as child:
                child.rate(seconds)
                rate = statistics.median([child.rate(seconds) for _ in range(blocks)])
        except Failed as failure:
            say(f"{settings}: {failure}")
            failures.append(str(failure))
            continue
        say(f"{settings}: {rate:.1f}/s")
        tried.append((rate, settings))
    return sorted(tried, key=lambda item: -item[0]), failures


def faster(start: Callable[[Settings], Child], tried: Sequence[tuple[float, Settings]], seconds: float) -> Settings:
    """The faster one of the first two of `tried`, compared again, interleaved: the speed of the machine may have
    changed between their blocks."""
    with start(tried[0][1]) as first, start(tried[1][1]) as second:
        ratio, _, _ = compare.ratio_interval(*compare.interleave((first, second), 4, seconds))
    return tried[0 if ratio >= 1 else 1][1]


def other_workers(settings: Settings, cores: int) -> list[Settings]:
    """The settings with other numbers of workers: half of the cores to three times the cores; none on one core."""
    numbers = {max(1, cores // 2), cores, cores + max(1, cores // 2), 2 * cores, 3 * cores}
    if cores == 1:
        numbers.add(0)
    return [{**settings, "workers": number} for number in sorted(numbers - {settings["workers"]})]
