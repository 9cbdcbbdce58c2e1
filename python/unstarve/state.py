"""Where a run stands, as the dict that users keep: made and read by the library (pipeline/order/run_state.h).

Bits are bytes, the first bit the lowest of the first byte; in a dict they are base64, so that it can be JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from unstarve import _core
from unstarve.errors import ArgumentError

# epoch and batch that come next; samples of the epoch used before its batch 0, and the bits of those used behind
At: TypeAlias = "tuple[int, int, int, bytes]"
# of one rank: epoch, samples and bits as of At, its own samples used without a gap, the bits of those behind
Progress: TypeAlias = "tuple[int, int, bytes, int, bytes]"
# Of a mixture, from, given, weights: from which sample of the run on which weights hold, and what each source gave
# before
Stretch: TypeAlias = "tuple[int, list[int], list[float]]"


def beginning(epoch: int) -> At:
    """The position before an epoch's first batch."""
    return (epoch, 0, 0, b"")


START = beginning(0)


def to_dict(run: _core.RunState, progress: Progress, stretches: Sequence[Stretch]) -> dict[str, Any]:
    """The state of a run that has come so far."""
    return cast("dict[str, Any]", json.loads(run.text(progress, stretches)))


def listed(given: object) -> list[Mapping[str, Any]]:
    """What load_state_dict() takes, a state or a list of them, as a list; ArgumentError for anything else."""
    if isinstance(given, Mapping):
        return [given]
    if not isinstance(given, list | tuple):
        raise ArgumentError(f"load_state_dict: found {type(given).__name__}, expected what state_dict() gave, or a "
                            "list of that")
    return [*given]


def from_dicts(run: _core.RunState, states: Sequence[Mapping[str, Any]]) -> tuple[At, list[Stretch], int]:
    """Where the run of all ranks goes on, the weights of its mixture, and the samples of a bucket of the run that began
    the epoch; 0 where they are those of this one."""
    texts = []
    for state in states:
        try:
            texts.append(json.dumps(dict(state), allow_nan=False))
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"state: {error}; expected what state_dict() gave, or a list of that") from None
    epoch, samples, used, stretches, bucket_run = run.start(texts)
    return (epoch, 0, samples, used), stretches, bucket_run
