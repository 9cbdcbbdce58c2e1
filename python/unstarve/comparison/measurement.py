"""Compares the loader of un.open with the loaders that can run here, on the same photographs.

Every loader makes normalised float32 batches of random crops of 224 pixels. The other loaders run with the settings
that are fastest here: all candidates of the loader, then the fastest of them with other numbers of workers. Then all
loaders are measured in alternating blocks.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import math
import os
import shlex
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from . import compare, search
from .child import Child, Failed
from .inputs import CROP, Job, image_files

# Activity, and the completed share.
Progress = Callable[[str, float], None]

BATCH = 64
EPOCH_BATCHES = 8  # at least; fewer photographs are repeated
MOST_INDEXED = 20_000  # photographs of which a whole epoch is read before the measurement, for the scan indexes

# An interval is wide if its ends differ by more than this factor. The recommended command measures until they differ by
# NARROW, with at most LONGEST seconds per block.
WIDE, NARROW, LONGEST = 1.25, 1.2, 30.0
RECOMMENDED_PAIRS = 10
# Seconds that a loader takes to start.
START = 2.0

# Names and modules, in the order of the table.
WITH_TORCH = (("torch's DataLoader with Pillow", "pillow", "PIL"),
              ("torch's DataLoader with torchvision", "torchvision", "torchvision"))
WITHOUT_TORCH = (("Pillow in a pool", "pillow_pool", "PIL"),)


class CannotCompare(Exception):
    """There is nothing to compare; the text says why."""


@dataclass
class Interval:
    """A ratio with its 95 % interval."""

    ratio: float
    low: float
    high: float
    pairs: int

    @classmethod
    def of(cls, ours: Sequence[float], peer: Sequence[float]) -> Interval:
        """The interval of paired rates."""
        return cls(*compare.ratio_interval(ours, peer), len(ours))

    def __str__(self) -> str:
        return f"{self.ratio:.2f} [{self.low:.2f}, {self.high:.2f}]"


@dataclass
class Row:
    """A loader: images/s, the geometric mean of its blocks, and how many times its rate ours has; None for ours."""

    name: str
    settings: str
    rate: float
    times: Interval | None = None
    times_later: Interval | None = None  # ours from the second epoch on, with scan indexes
    searched: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Comparison:
    """The result. `command` repeats the measurement. `note`: that noise leaves the ratios open, or ""."""

    headline: str
    note: str
    command: str
    setup: str
    rows: list[Row]
    left_out: list[str]

    def to_json(self) -> dict[str, Any]:
        """Plain data, with the text for terminals."""
        return {**asdict(self), "text": self.to_text()}

    def to_text(self) -> str:
        """The headline and the table."""
        cells = [("", "images/s", "unstarve is faster by", "from the second epoch on")]
        cells += [(f"{row.name}{', ' * bool(row.settings)}{row.settings}", f"{row.rate:,.0f}".replace(",", " "),
                   str(row.times or ""), str(row.times_later or "")) for row in self.rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [self.headline, *[self.note] * bool(self.note), ""]
        for first, *others in cells:
            line = first.ljust(widths[0])
            for text, width in zip(others, widths[1:], strict=True):
                line += "  " + text.rjust(width)
            lines.append(line.rstrip())
        return "\n".join([*lines, *self.left_out, self.setup, f"command: {self.command}"]) + "\n"


class _Steps:
    """Reports the completed share of steps whose durations were estimated."""

    def __init__(self, progress: Progress, seconds: float) -> None:
        self.progress, self.seconds, self.done = progress, seconds, 0.0

    def say(self, what: str, seconds: float) -> None:
        """Begins a step of this duration."""
        self.progress(what, min(1.0, self.done / self.seconds))
        self.done += seconds


def _search_seconds(module: str, job: Job, seconds: float) -> float:
    """The time of _fastest(): candidates, the best one with other numbers of workers, and the two best compared."""
    candidates = _candidates(module, job)
    return (len(candidates) + len(search.other_workers(candidates[0], job["cores"]))) * _try_seconds(seconds) + (
        2 * (START + seconds) + 8 * seconds)


def _try_seconds(seconds: float) -> float:
    return START + 3 * seconds


def _candidates(module: str, job: Job) -> list[search.Settings]:
    return list(importlib.import_module(f"{__package__}.{module}").candidates(job))


def _importable(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _start(module: str, job: Job, settings: search.Settings) -> Child:
    """Starts a loader. It does not import modules of the current folder."""
    return Child([sys.executable, "-P", "-m", f"{__package__}.serve", module, json.dumps(job), json.dumps(settings)],
                 os.sched_getaffinity(0), Path.cwd(), {"PYTHONDONTWRITEBYTECODE": "1"})


def _described(settings: search.Settings) -> str:
    words = [f"{settings['workers']} worker{'s' * (settings['workers'] != 1)}"]
    if "kind" in settings:
        words = [words[0].replace("worker", {"threads": "thread", "processes": "process"}[settings["kind"]])]
        words[0] = words[0].replace("processs", "processes")
    if settings.get("prefetch", 2) != 2:
        words.append(f"prefetch {settings['prefetch']}")
    if "normalise" in settings:
        words.append({"main": "normalised in the main process", "sample": "normalised per sample",
                      "batch": "normalised per batch"}[settings["normalise"]])
    return ", ".join(words)


def _fastest(name: str, module: str, job: Job, seconds: float, steps: _Steps) -> tuple[search.Settings, list[Any]]:
    """The fastest settings of a loader, and all that were measured. Throws Failed if none runs."""
    def start(settings: search.Settings) -> Child:
        steps.say(f"{name}, {_described(settings)}", _try_seconds(seconds))
        return _start(module, job, settings)

    def measure(candidates: list[search.Settings]) -> tuple[list[tuple[float, search.Settings]], list[str]]:
        return search.measure(start, candidates, seconds, 2, lambda _: None)

    tried, failures = measure(_candidates(module, job))
    if not tried:
        raise Failed(failures[0])
    best = tried[0][1]
    known = [settings for _, settings in tried]
    more, _ = measure([settings for settings in search.other_workers(best, job["cores"]) if settings not in known])
    tried = sorted(tried + more, key=lambda item: -item[0])
    searched = [{"settings": _described(settings), "rate": round(rate, 1)} for rate, settings in tried]
    return search.faster(start, tried, seconds) if len(tried) > 1 else best, searched


def _fastest_other(rows: Sequence[Row]) -> Row:
    return max((row for row in rows if row.times), key=lambda row: row.rate)


def _headline(rows: Sequence[Row]) -> str:
    fastest = _fastest_other(rows)
    text = f"{fastest.times} times the images per second of {fastest.name}, {fastest.settings}"
    return text + (f"; from the second epoch on {fastest.times_later} times" if fastest.times_later else "")


def _command(data: str, pairs: int, seconds: float) -> str:
    return f"python -m unstarve.comparison {shlex.quote(data)} --pairs {pairs} --seconds {seconds:g}"


def _note(rows: Sequence[Row], data: str, pairs: int, seconds: float) -> str:
    """Says that the intervals of the headline are wide, with the command that measures longer; "" if they are not."""
    fastest = _fastest_other(rows)
    intervals = [interval for interval in (fastest.times, fastest.times_later) if interval]
    width = max(math.log(one.high / one.low) for one in intervals)
    if width <= math.log(WIDE):
        return ""
    # The width falls with the square root of the time; more pairs also make the interval of the same time narrower.
    more = max(pairs, RECOMMENDED_PAIRS)
    widths = width / math.log(NARROW) * compare.student_t_975(more - 1) / compare.student_t_975(pairs - 1)
    longer = min(LONGEST, max(seconds, math.ceil(10 * seconds * widths ** 2 * pairs / more) / 10))
    doubtful = any(one.low <= 1 <= one.high for one in intervals)
    found = "to decide whether it is faster" if doubtful else "for a precise ratio"
    return f"The machine was too noisy {found}; measure longer with: {_command(data, more, longer)}"


def measure(data: str, pairs: int, seconds: float, progress: Progress) -> Comparison:
    """Measures all loaders.

    Args:
        data: A folder of photographs, one folder per class.
        pairs: Blocks per loader, 2 or more.
        seconds: Minimum length of a block.
        progress: Receives the activity and the completed share.

    Raises:
        CannotCompare: No photographs, or no other loader can run.
        Failed: Our loader failed.
    """
    if not Path(data).is_dir():
        raise CannotCompare(f"compare '{data}': not a folder; expected a folder with one folder of images per class")
    count = len(image_files(data))
    if count == 0:
        raise CannotCompare(f"compare '{data}': found no images; expected .jpg, .png or .webp files in one folder per "
                            "class")
    torch = _importable("torch")
    known = WITH_TORCH if torch else WITHOUT_TORCH
    peers = [(name, module) for name, module, package in known if _importable(package)]
    if not peers:
        raise CannotCompare("compare with Pillow: package pillow not found; expected it to be installed. "
                            "Run: pip install pillow")
    cores = len(os.sched_getaffinity(0))
    job: Job = {"job": "imagenet-train", "data": data, "batch": BATCH, "cores": cores, "seed": 0}
    sides_measured = len(peers) + 1 + (count <= MOST_INDEXED)
    before = {module: _search_seconds(module, job, seconds / 2) for _, module in peers}
    steps = _Steps(progress, sum(before.values()) + sides_measured * (START + (pairs + 1) * seconds))
    left_out = []
    chosen = []
    searched_s = 0.0
    for name, module in peers:
        try:
            settings, searched = _fastest(name, module, job, seconds / 2, steps)
            chosen.append((Row(name, _described(settings), 0, searched=searched), module, settings))
        except Failed as failure:
            left_out.append(f"{name}: not measured: {failure}")
        searched_s += before[module]
        steps.done = searched_s
    if not chosen:
        raise CannotCompare("compare with other loaders: none can run here: " + "; ".join(left_out))

    ours_job = job | {"repeat": -(-EPOCH_BATCHES * BATCH // count)}
    ours = [("unstarve", ours_job | {"indexed": False})]
    if count <= MOST_INDEXED:
        ours.append(("unstarve, from the second epoch on", ours_job | {"indexed": True}))
    with contextlib.ExitStack() as running:
        sides = []
        for name, of_ours in ours:
            steps.say(name, START)
            sides.append(running.enter_context(_start("unstarve_loader", of_ours, {"tensors": torch})))
        if len(ours) > 1:  # the first epoch writes the scan indexes
            read = 0.0
            while read < 1.5 * max(count, EPOCH_BATCHES * BATCH):
                read += sides[1].rate(seconds) * seconds
        for row, module, settings in chosen:
            steps.say(row.name, START)
            sides.append(running.enter_context(_start(module, job, settings)))
        round_s = len(sides) * seconds
        steps.say(f"round 1 of {pairs}", 2 * round_s)  # with the warm-up
        rates = compare.interleave(
            sides, pairs, seconds, lambda number: steps.say(f"round {min(number + 2, pairs)} of {pairs}", round_s))

    # The ratio of geometric means is the geometric mean of the ratios: table and headline agree.
    rows = [Row(name, "", statistics.geometric_mean(rates[index])) for index, (name, _) in enumerate(ours)]
    for (row, _, _), theirs in zip(chosen, rates[len(ours):], strict=True):
        row.rate, row.times = statistics.geometric_mean(theirs), Interval.of(rates[0], theirs)
        if len(ours) > 1:
            row.times_later = Interval.of(rates[1], theirs)
        rows.append(row)
    setup = (f"{count} photographs, random crops of {CROP} px, float32 batches of {BATCH} as "
             f"{'torch tensors' if torch else 'NumPy arrays'}; {cores} core{'s' * (cores != 1)}, "
             f"geometric means of {pairs} alternating blocks of {seconds:g} s")
    return Comparison(_headline(rows), _note(rows, data, pairs, seconds), _command(data, pairs, seconds), setup, rows,
                      left_out)
