"""The global random generators of a process, seeded for one sample at a time: random's, numpy.random's, and torch's
where that is imported."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np

_MASK = (1 << 64) - 1


def mix(base_seed: int, key: int) -> int:
    """64 bits of the pair; neighbouring keys give unrelated ones (splitmix64)."""
    value = (base_seed + (key + 1) * 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def seed_sample(base_seed: int, key: int) -> None:
    """Seeds the global generators by (base_seed, key). About 9 us."""
    value = mix(base_seed, key)
    random.seed(value)
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.manual_seed(value)  # torch.manual_seed would queue a call for every device, each time
    np.random.seed(value & 0xFFFFFFFF)


class kept_generators:  # noqa: N801  (a context manager, named as it reads)
    """A block that may seed the global generators: they are afterwards as they were before."""

    def __enter__(self) -> None:
        torch: Any = sys.modules.get("torch")
        self._states = random.getstate(), np.random.get_state(legacy=False), torch and torch.get_rng_state()

    def __exit__(self, *_: object) -> None:
        random.setstate(self._states[0])
        np.random.set_state(self._states[1])
        if self._states[2] is not None:
            sys.modules["torch"].set_rng_state(self._states[2])
