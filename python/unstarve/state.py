"""Where a run stands, as the dict that users keep: made of the loader's position, and read back.

Bits are bytes, the first bit the lowest of the first byte; in a dict they are base64, so that it can be JSON.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from unstarve import _core
from unstarve.arguments import MOST_EPOCH, whole
from unstarve.errors import ArgumentError

VERSION = 1

# epoch and batch that come next; samples of the epoch used before its batch 0, and the bits of those used behind
At: TypeAlias = "tuple[int, int, int, bytes]"
# of one rank: epoch, samples and bits as of At, its own samples used without a gap, the bits of those behind
Progress: TypeAlias = "tuple[int, int, bytes, int, bytes]"
# Of a mixture, from, given, weights: from which sample of the run on which weights hold, and what each source gave
# before
Stretch: TypeAlias = "tuple[int, list[int], list[float]]"

# Settings of the order that a state belongs to, with what they usually are.
_UNUSUAL: dict[str, Any] = {"window": 0, "repeat": 1, "epoch": 0, "balance": False, "class_weights": {}, "set": "",
                            "bucket": None}


def beginning(epoch: int) -> At:
    """The position before an epoch's first batch."""
    return (epoch, 0, 0, b"")


START = beginning(0)


@dataclass(frozen=True)
class Run:
    """What a state must agree with, and what the samples' order follows from."""

    seed: int
    shuffle: bool
    rank: int
    world: int
    batch: int
    drop_last: bool
    relaxed: bool
    samples: int  # of the data set
    length: int  # of an epoch, in samples of all ranks
    unusual: dict[str, Any] = field(default_factory=dict)  # settings where the order is not all samples once an epoch
    weights: list[float] = field(default_factory=list)  # of the sources of a mixture

    @classmethod
    def of(cls, spec: Mapping[str, Any], samples: int, chosen: _core.SampleSet, length: int) -> Run:
        """Of a pipeline's spec over so many samples, of which those `chosen` take part."""
        order, batch = spec.get("order", {}), spec["batch"]
        return cls(order.get("seed", 0), order.get("shuffle", True), order.get("rank", 0), order.get("world", 1),
                   batch["size"], batch.get("last", "drop") == "drop",
                   spec.get("execution", {}).get("order") == "relaxed", samples, length, _unusual(spec, chosen),
                   [] if order.get("balance") else chosen.weights)


def _unusual(spec: Mapping[str, Any], chosen: _core.SampleSet) -> dict[str, Any]:
    order, batch = spec.get("order", {}), spec["batch"]
    settings = {key: value for key, value in order.items() if value != _UNUSUAL.get(key, value)}
    if "class_weights" in settings:  # there may be thousands
        text = json.dumps({key: float(value) for key, value in settings["class_weights"].items()}, sort_keys=True)
        settings["class_weights"] = hashlib.sha256(text.encode()).hexdigest()[:16]
    if not chosen.everything or chosen.weights:
        settings["set"] = f"{chosen.fingerprint():016x}"
    if window := batch.get("bucket", {}).get("window", 0):
        settings["bucket"] = [window, batch["bucket"].get("run", 0) or batch["size"] * order.get("world", 1)]
    return settings


def bucket_run(run: Run, states: Sequence[Mapping[str, Any]]) -> int | None:
    """Samples of a bucket in the run of `states`, where that had other ones than `run` and is else the same."""
    theirs = states[0].get("order", {}).get("bucket") if states else None
    mine = run.unusual.get("bucket")
    return int(theirs[1]) if theirs and mine and theirs[0] == mine[0] and theirs[1] != mine[1] else None


def first_stretches(run: Run) -> list[Stretch]:
    """Of a run from its beginning: its weights, and nothing given yet; none where nothing is mixed."""
    return [(0, [0] * len(run.weights), run.weights)] if run.weights else []


def to_dict(run: Run, at: At, progress: Progress | None, stretches: Sequence[Stretch] = ()) -> dict[str, Any]:
    """The state at a position; `progress` up to there in the middle of an epoch in relaxed order."""
    state = _position(run, at, progress)
    if run.unusual:
        state["order"] = run.unusual
    if stretches:
        here = state["epoch"] * run.length + state["samples"]
        running = max((i for i, stretch in enumerate(stretches) if stretch[0] <= here), default=0)
        state["mix"] = [list(stretch) for stretch in stretches[running:]]
    return state


def _position(run: Run, at: At, progress: Progress | None) -> dict[str, Any]:
    epoch, batch, offset, used = at
    common: dict[str, Any] = {"version": VERSION, "epoch": epoch, "seed": run.seed, "shuffle": run.shuffle,
                              "dataset": run.samples}
    if progress is not None and run.world > 1:
        epoch, offset, used, samples, ahead = progress
        return (common | {"samples": offset, "rank": run.rank, "world": run.world, "batch": run.batch,
                          "drop_last": run.drop_last, "rank_samples": samples}
                | _entry("window", used) | _entry("rank_window", ahead))
    if progress is not None:
        epoch, samples, used = _after(run.batch, run.drop_last, run.length, [progress])
    elif used and batch:  # all ranks in step
        rank = (epoch, offset, used, batch * run.batch, b"")
        epoch, samples, used = _after(run.batch, run.drop_last, run.length, [rank] * run.world)
    else:
        samples = min(offset + batch * run.batch * run.world, run.length)
    return common | {"epoch": epoch, "samples": samples} | _entry("window", used)


def from_dicts(run: Run, states: Sequence[Mapping[str, Any]]) -> tuple[int, int, bytes]:
    """(epoch, samples used, bits of those behind) where the run of all ranks goes on."""
    if not states:
        raise ArgumentError("state: found an empty list, expected the states of all ranks")
    for state in states:
        if state.get("version") != VERSION:
            raise ArgumentError(f"state: version {state.get('version')!r}, expected {VERSION}")
        for key, most in (("epoch", MOST_EPOCH), ("samples", run.length)):
            whole(f"state: {key}", state.get(key), 0, most)
        for key, mine in (("seed", run.seed), ("shuffle", run.shuffle), ("dataset", run.samples)):
            if state.get(key) != mine:
                raise ArgumentError(f"state: {key} {state.get(key)!r}, but this loader has {mine!r}")
        theirs = {**_UNUSUAL, **state.get("order", {})}
        for key, mine in {**_UNUSUAL, **run.unusual}.items():
            if theirs[key] == mine:
                continue
            if key == "set":
                raise ArgumentError("state: other samples took part in it than in this loader; expected the same data, "
                                    "filter, take and sources")
            raise ArgumentError(f"state: {key} {theirs[key]!r}, but this loader has {mine!r}")
    first = states[0]
    if all("rank" not in state for state in states):
        if any(state != first for state in states):
            raise ArgumentError("state: the ranks' states differ, expected those of one batch")
        return first["epoch"], first["samples"], _bits(first, "window")
    states = sorted(states, key=lambda state: state.get("rank", -1))
    world = states[-1]["world"]
    ranks = [state.get("rank") for state in states]
    if ranks != list(range(world)):
        raise ArgumentError(f"state: of ranks {ranks}, expected a list of all {world} ranks' states: in relaxed order each "
                            "rank knows only what it gave itself")
    progress = [(state["epoch"], state["samples"], _bits(state, "window"), state["rank_samples"],
                 _bits(state, "rank_window")) for state in states]
    return _after(first["batch"], first["drop_last"], run.length, progress)


def stretches_from(run: Run, states: Sequence[Mapping[str, Any]], epoch: int, samples: int, used: bytes
                   ) -> list[Stretch]:
    """Those of a run that goes on where from_dicts says, from the next block on with the weights of `run`."""
    if not run.weights:
        return []
    *before, (start, given, weights) = states[0]["mix"]
    # Relaxed order may have given samples of blocks further on.
    position = epoch * run.length + samples + int.from_bytes(used, "little").bit_length()
    return [*((begin, one, share) for begin, one, share in before),
            *_core.continue_mixture((start, given, weights), run.weights, position)]


def _after(batch: int, drop_last: bool, samples: int, ranks: list[Progress]) -> tuple[int, int, bytes]:
    return _core.position_after(json.dumps({"batch": {"size": batch, "last": "drop" if drop_last else "keep"}}), samples, ranks)


def _entry(key: str, bits: bytes) -> dict[str, str]:
    """An entry of a state, none where no bit is set."""
    return {key: base64.b64encode(bits).decode()} if bits else {}


def _bits(state: Mapping[str, Any], key: str) -> bytes:
    return base64.b64decode(state.get(key, ""))
