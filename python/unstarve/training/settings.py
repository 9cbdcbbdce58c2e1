"""Names and types of the training settings. The library has their defaults, ranges and meaning, as `unstarve train`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from unstarve import _core
from unstarve.errors import ArgumentError
from unstarve.suggestions import suggestion

Precision: TypeAlias = Literal["float32", "bfloat16", "float16"]
Optimiser: TypeAlias = Literal["sgd", "adamw", "lars", "lamb"]
Update: TypeAlias = Literal["each", "foreach", "fused"]
Schedule: TypeAlias = Literal["constant", "linear", "cosine", "polynomial", "step", "one_cycle"]
Graph: TypeAlias = Literal["auto", "on", "off"]
TestAugmentation: TypeAlias = Literal["none", "mirror", "mirror_translate"]

# What to use instead of an argument of torch's optimisers and of other trainers.
_INSTEAD = {"lr": "learning_rate", "optimizer": "optimiser", "betas": "beta1 and beta2", "eps": "epsilon",
            "max_epochs": "epochs", "val": "validation", "ema": "average", "gradient_clip_val": "clip_norm",
            "accumulate_grad_batches": "accumulate", "scheduler": "schedule", "criterion": "loss", "loss_fn": "loss",
            "batch_size": "the loader",
            "model": "the first argument"}


class Settings(TypedDict, total=False):
    """Training settings of un.Trainer; docs/reference/training.md describes them."""

    learning_rate: float
    optimiser: Optimiser
    update: Update
    momentum: float
    nesterov: bool
    beta1: float
    beta2: float
    epsilon: float
    trust: float
    weight_decay: float
    decay_all: bool
    schedule: Schedule
    warmup: float
    initial_share: float
    final_share: float
    power: float
    step_at: Sequence[float]
    step_factor: float
    clip_norm: float
    accumulate: int
    average: float
    lookahead: int
    lookahead_decay: float
    prune: float
    prune_pattern: str
    prune_ramp: Sequence[float]
    prune_every: int
    label_smoothing: float
    test_augmentation: TestAugmentation
    precision: Precision
    channels_last: bool
    graph: Graph
    operator_threads: int
    interop_threads: int


def check_names(given: Iterable[str], arguments: Iterable[str]) -> None:
    """Raises TypeError for a name that is no training setting.

    Args:
        given: The names.
        arguments: The other arguments of un.Trainer, for suggestions.
    """
    known = [*arguments, *Settings.__annotations__]
    for name in given:
        if name not in Settings.__annotations__:
            instead = f". Use {_INSTEAD[name]}." if name in _INSTEAD else suggestion(name, known)
            raise TypeError(f"Trainer: found the argument {name}; expected {', '.join(known)}{instead}")


def check_settings(given: dict[str, Any]) -> _core.TrainSettings:
    """Returns checked settings, from training settings and `classes`, `device` and `seed`.

    Raises:
        ArgumentError: A value has another type or is out of range; the message names all of these.
    """
    return _core.TrainSettings(given)


def check_seconds(what: str, value: float | str) -> float:
    """Returns a time in seconds, from a number of seconds or a text such as "30s", "5min" or "1h".

    Raises:
        ArgumentError: It is no such time, or less than 0.1 s.
    """
    number, text = -1.0, str(value)
    for unit, seconds in (("min", 60), ("s", 1), ("h", 3600), ("", 1)):
        if text.endswith(unit) and (unit or not isinstance(value, str)):
            try:
                number = float(text.removesuffix(unit)) * seconds
            except ValueError:
                pass
            break
    if not 0.1 <= number <= 1e9:
        raise ArgumentError(f"{what}: found {value!r}; expected a time of 0.1 s or more: a number of seconds, or "
                            "'30s', '5min', '1h'")
    return number
