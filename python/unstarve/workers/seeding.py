"""Seeds the global random generators for one sample at a time: random, numpy.random, and torch if it is imported."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np

_MASK = (1 << 64) - 1


def mix(base_seed: int, key: int) -> int:
    """Returns 64 pseudo-random bits for the pair (splitmix64)."""
    value = (base_seed + (key + 1) * 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def seed_sample(base_seed: int, key: int) -> None:
    """Seeds the global generators with (base_seed, key). Takes about 9 us."""
    value = mix(base_seed, key) >> 1  # as torch's seeds, it fits into a signed integer of 64 bits
    random.seed(value)
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.manual_seed(value)  # torch.manual_seed queues a call for every device
    np.random.seed(value & 0xFFFFFFFF)


class preserved_generators:  # noqa: N801  (a context manager)
    """Restores the states of the global generators at the end of the block."""

    def __enter__(self) -> None:
        torch: Any = sys.modules.get("torch")
        self._states = random.getstate(), np.random.get_state(legacy=False), torch and torch.get_rng_state()

    def __exit__(self, *_: object) -> None:
        random.setstate(self._states[0])
        np.random.set_state(self._states[1])
        if self._states[2] is not None:
            sys.modules["torch"].set_rng_state(self._states[2])
