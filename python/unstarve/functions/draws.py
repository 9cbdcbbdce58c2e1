"""The random numbers of a function that is called outside of a pipeline. Private."""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unstarve.arguments import check_int
from unstarve.errors import ArgumentError

if TYPE_CHECKING:
    import torch

Seed: TypeAlias = "int | tuple[int, int, int]"
Generator: TypeAlias = "random.Random | np.random.Generator | torch.Generator"
Draws: TypeAlias = "tuple[int, int, int, int]"  # seed, epoch, sample, index of the operation

NO_DRAWS: Draws = (0, 0, 0, 0)
_MAX_64, _MAX_32 = 2**64 - 1, 2**32 - 1


def draws_of(what: str, seed: Seed | None, generator: Generator | None) -> Draws:
    """Returns the draws of one call.

    Args:
        what: Name of the function for messages.
        seed: A number, or (seed, epoch, sample) of a pipeline. The call then is a function of its arguments.
        generator: Generator from which 64 bits are drawn. None: that of the module `random`, which torch's DataLoader
            seeds in every worker, and un.DataLoader for every sample.

    Raises:
        ArgumentError: Both are given, or one has another type.
    """
    if seed is not None:
        if generator is not None:
            raise ArgumentError(f"{what}: found both seed and generator; expected one of them")
        if not isinstance(seed, tuple):
            return check_int(f"{what}(seed)", seed, 0, _MAX_64), 0, 0, 0
        if len(seed) != 3:
            raise ArgumentError(f"{what}(seed): found {seed!r}; expected a number, or (seed, epoch, sample)")
        names = ("seed", "epoch", "sample")
        first, epoch, sample = (check_int(f"{what}(seed): {name}", value, 0, most) for name, value, most in
                                zip(names, seed, (_MAX_64, _MAX_32, _MAX_64), strict=True))
        return first, epoch, sample, 0
    return _bits(what, generator), 0, 0, 0


def _bits(what: str, generator: Any) -> int:
    if generator is None:
        return random.getrandbits(64)
    if isinstance(generator, random.Random):
        return generator.getrandbits(64)
    if isinstance(generator, np.random.Generator):
        return int(generator.integers(0, _MAX_64, dtype=np.uint64, endpoint=True))
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(generator, torch.Generator):
        return int(torch.empty((), dtype=torch.int64).random_(generator=generator))
    raise ArgumentError(f"{what}(generator): found {type(generator).__name__}; expected a random.Random, a "
                        "numpy.random.Generator or a torch.Generator on the CPU")
