"""Base of the classes that define the steps of a pipeline."""

from __future__ import annotations

import abc
from typing import Any, Self

from unstarve import _core
from unstarve.user_code.user_code import UserCode

# Position of each step in the chain. A step may follow steps of the same or a lower position.
STEP_ORDER = {"subset": 0, "random_split": 0, "filter": 1, "take": 2, "shuffle": 3, "sequential": 3, "shard": 3,
              "repeat": 3, "balance": 3, "weights": 3, "decode": 4, "operation": 5, "normalize": 6, "output": 6,
              "map": 7, "batch_operation": 7}


class Steps(abc.ABC):
    """The state that all steps modify; `Pipeline` implements it."""

    _spec: dict[str, Any]
    _dataset: _core.Dataset
    _users: UserCode

    @property
    @abc.abstractmethod
    def records(self) -> int:
        """Number of records of the dataset, before any step."""

    @abc.abstractmethod
    def _with(self, step: str | None, name: str | None = None, **nodes: dict[str, Any]) -> Self:
        """Returns a copy of the pipeline with `nodes` added to its spec.

        Args:
            step: Key of STEP_ORDER; None for a step that may follow any other.
            name: The method that was called, for messages; `step` by default.
            nodes: Values by node of the spec.

        Raises:
            ArgumentError: The step is out of order, sets a value again, or has an invalid value.
        """
