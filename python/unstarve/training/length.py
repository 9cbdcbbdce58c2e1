"""The length of a training run and the steps at which it evaluates."""

from __future__ import annotations

import math

from unstarve import _core
from unstarve.arguments import check_nonnegative
from unstarve.loaders.representation import counted
from unstarve.training.data import TrainingData
from unstarve.training.faults import Faults

_MOST_STEPS_PER_REPORT = 50


def steps_of(epochs: float, per_epoch: int) -> int:
    """Returns the number of steps of `epochs`, of which the last one may be a part; rounded up, as EpochSteps does."""
    whole = math.floor(epochs)
    rounding = 1e-12 * max(1.0, epochs) * per_epoch  # 0.07 * 100 is a little more than 7
    return whole * per_epoch + math.ceil((epochs - whole) * per_epoch - rounding)


class RunLength:
    """What ends a run, and when it evaluates and reports. Arguments are those of un.Trainer.

    Args:
        data: The data of the run.
        faults: Receives the errors of the other arguments.
    """

    def __init__(self, data: TrainingData, faults: Faults, *, epochs: float | None, minutes: float | None,
                 target: float | None, evaluate_every: float | None) -> None:
        def number(name: str, value: float | None, default: float) -> float:
            if value is None:
                return default
            with faults.collected():
                return check_nonnegative(f"Trainer({name})", value)
            return default

        self._epochs = None if epochs is None else number("epochs", epochs, 1.0)
        self._minutes = number("minutes", minutes, 0.0)
        self._target = number("target", target, 0.0)
        self._evaluate_every = number("evaluate_every", evaluate_every, 1.0 if minutes is None else 0.0)
        self._per_epoch = data.per_epoch
        if not self._epochs and not self._minutes:
            faults.add("Trainer: found neither epochs nor minutes above 0; expected one of them")
        if self._per_epoch == 0:
            faults.add("Trainer(loader): found a loader of length 0; expected at least one batch per epoch")
        if self._per_epoch is None and (self._epochs or evaluate_every is not None and self._evaluate_every):
            faults.add(f"Trainer({'epochs' if self._epochs else 'evaluate_every'}): {type(data.loader).__name__} has "
                       "no length, by which epochs are counted; expected a loader with len(). Use minutes=.")
        if self._target and data.validation is None:
            faults.add("Trainer(target): found no validation data; expected both")
        if self._target > 1:
            faults.add(f"Trainer(target): found {self._target}; expected an accuracy from 0 to 1")

    def apply_to(self, plan: _core.TrainPlan) -> None:
        """Sets the steps of a plan, whose `first_step` is known."""
        per_epoch = self._per_epoch or 0
        if self._epochs:
            plan.steps = plan.first_step + steps_of(self._epochs, per_epoch)
        plan.minutes = self._minutes
        plan.target = self._target
        plan.evaluate_every = max(1, round(self._evaluate_every * per_epoch)) if self._evaluate_every else 0
        plan.report_every = max(1, min(per_epoch // 10 if per_epoch else _MOST_STEPS_PER_REPORT,
                                       _MOST_STEPS_PER_REPORT))

    def __str__(self) -> str:
        return " or ".join([counted(float(self._epochs or 0), "epoch", "epochs")] * bool(self._epochs)
                           + [counted(float(self._minutes or 0), "minute", "minutes")] * bool(self._minutes))
