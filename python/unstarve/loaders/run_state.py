"""The state of a run as a dict for checkpoints. The library creates and reads it (pipeline/order/run_state.h).

Bit sets are bytes, first bit in the lowest bit of the first byte; the dict contains them as base64, so that it can be
stored as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from unstarve import _core
from unstarve.errors import ArgumentError

# Resume position: (epoch, batch, samples of the epoch used before its batch 0, bits of later samples that were used).
Position: TypeAlias = "tuple[int, int, int, bytes]"
# Progress of one rank: (epoch, samples, bits) as in Position, the number of its own samples used without a gap, and the
# bits of its own later samples that were used.
Progress: TypeAlias = "tuple[int, int, bytes, int, bytes]"
# Weights of a mixture: (first sample of the run to which they apply, samples drawn from each source before, weights).
MixtureStretch: TypeAlias = "tuple[int, list[int], list[float]]"


def epoch_start(epoch: int) -> Position:
    """Returns the position before the first batch of an epoch."""
    return (epoch, 0, 0, b"")


START = epoch_start(0)


def to_dict(run: _core.RunState, progress: Progress, stretches: Sequence[MixtureStretch]) -> dict[str, Any]:
    """Returns the state of a run with this progress."""
    return cast("dict[str, Any]", json.loads(run.text(progress, stretches)))


def as_list(given: object) -> list[Mapping[str, Any]]:
    """Returns the argument of load_state_dict(), one state or several, as a list. Raises ArgumentError."""
    if isinstance(given, Mapping):
        return [given]
    if not isinstance(given, list | tuple):
        raise ArgumentError(f"load_state_dict: found {type(given).__name__}; expected the result of state_dict(), or a "
                            "list of them")
    return [*given]


def from_dicts(run: _core.RunState,
               states: Sequence[Mapping[str, Any]]) -> tuple[Position, list[MixtureStretch], int]:
    """Combines the states of all ranks.

    Returns:
        The resume position, the weights of the mixture, and the number of samples per bucket of the run that began the
        epoch (0 if it is that of this run).

    Raises:
        ArgumentError: A state is not a result of state_dict(), or does not fit the run.
    """
    texts = []
    for state in states:
        try:
            texts.append(json.dumps(dict(state), allow_nan=False))
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"state: {error}; expected the result of state_dict(), or a list of them") from None
    epoch, samples, used, stretches, bucket_run = run.start(texts)
    return (epoch, 0, samples, used), stretches, bucket_run
