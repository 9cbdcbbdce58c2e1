"""Functions of users on samples: what they are called in messages, their own randomness, whether they can be sent."""

from __future__ import annotations

import dataclasses
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from unstarve.errors import ArgumentError
from unstarve.workers.seeding import mix


def described(function: Any) -> str:
    """For people: "augment (transforms.py:12)"."""
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    code = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
    return f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})" if code else name


@dataclasses.dataclass(frozen=True)
class Function:
    """A function that map() took. number: among the chain's, from 0 on."""

    call: Callable[..., Any]
    number: int
    wants_rng: bool

    @classmethod
    def of(cls, call: Any, number: int) -> Function:
        """ArgumentError for what cannot be called."""
        if not callable(call):
            raise ArgumentError(f"map: {call!r} is not callable")
        try:
            wants_rng = "rng" in inspect.signature(call).parameters
        except (TypeError, ValueError):  # of a builtin, which has no such argument
            wants_rng = False
        return cls(call, number, wants_rng)

    @property
    def name(self) -> str:
        """For people."""
        return described(self.call)

    def __call__(self, base_seed: int, key: int, *sample: Any) -> Any:
        """What the function makes of a sample, whose randomness follows from (base_seed, key)."""
        if not self.wants_rng:
            return self.call(*sample)
        bits = np.random.Philox(key=np.array([mix(base_seed, key), self.number], np.uint64))
        return self.call(*sample, rng=np.random.Generator(bits))


def check_sendable(functions: tuple[Function, ...]) -> None:
    """ArgumentError that names the first that helper processes cannot be sent."""
    from unstarve.workers import jobs

    main = sys.modules.get("__main__")
    for function in functions:
        remedy = ("define it by def or class at the top level of a module, or use .options(kind='threads'), which "
                  "share this process")
        holder = function.call if inspect.isroutine(function.call) else type(function.call)
        if getattr(holder, "__module__", None) == "__main__" and getattr(main, "__spec__", None) is None and (
                not hasattr(main, "__file__")):
            raise ArgumentError(f"map: {function.name} is defined in a notebook or at a prompt, where helper processes "
                                f"cannot find it; {remedy}")
        try:
            jobs.dumped(function)
        except Exception as error:
            raise ArgumentError(f"map: {function.name} cannot be sent to helper processes ({type(error).__name__}: "
                                f"{error}); {remedy}") from error
