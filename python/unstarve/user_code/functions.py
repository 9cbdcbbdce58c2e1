"""Functions of the user on samples: their names in messages, and their random numbers."""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from unstarve.errors import ArgumentError
from unstarve.workers.seeding import mix


def describe(function: Any) -> str:
    """Returns the name and the source line of a function for messages: "augment (transforms.py:12)"."""
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    code = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
    return f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})" if code else name


@dataclasses.dataclass(frozen=True)
class Function:
    """A function given to map(). `number` is its index among the functions of the pipeline."""

    call: Callable[..., Any]
    number: int
    takes_rng: bool

    @classmethod
    def of(cls, call: Any, number: int) -> Function:
        """Wraps `call`. Raises ArgumentError if it is not callable."""
        if not callable(call):
            raise ArgumentError(f"map: found {call!r}; expected a callable")
        try:
            takes_rng = "rng" in inspect.signature(call).parameters
        except (TypeError, ValueError):  # a builtin has no signature, and no such argument
            takes_rng = False
        return cls(call, number, takes_rng)

    @property
    def name(self) -> str:
        """Name and source line for messages."""
        return describe(self.call)

    def __call__(self, base_seed: int, key: int, *sample: Any) -> Any:
        """Applies the function to a sample. Its `rng` is seeded with (base_seed, key) and its number."""
        if not self.takes_rng:
            return self.call(*sample)
        bits = np.random.Philox(key=np.array([mix(base_seed, key), self.number], np.uint64))
        return self.call(*sample, rng=np.random.Generator(bits))
