"""Saves and restores the random generators from which the order of an epoch is drawn."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch


def generators_of(loader: torch.utils.data.DataLoader[Any]) -> list[torch.Generator]:
    """Returns the torch.Generators of the loader and its samplers, each once, in a fixed order."""
    batches = loader.batch_sampler
    holders = (loader, loader.sampler, batches, getattr(batches, "sampler", None))
    found: list[torch.Generator] = []
    for holder in holders:
        generator = getattr(holder, "generator", None)
        if isinstance(generator, torch.Generator) and all(generator is not other for other in found):
            found.append(generator)
    return found


def own_states(generators: list[torch.Generator]) -> list[torch.Tensor]:
    return [generator.get_state() for generator in generators]


def set_own_states(generators: list[torch.Generator], states: Any) -> None:
    for generator, state in zip(generators, states, strict=True):
        generator.set_state(state)


def global_states() -> dict[str, Any]:
    """Returns the states of the global generators of torch, random and numpy.random."""
    version, numbers, gauss = random.getstate()
    legacy = np.random.get_state(legacy=False)
    legacy = {**legacy, "state": {"key": legacy["state"]["key"].tolist(), "pos": int(legacy["state"]["pos"])}}
    return {"torch": torch.get_rng_state(), "random": [version, list(numbers), gauss], "numpy": legacy}


def set_global_states(states: Any) -> None:
    torch.set_rng_state(states["torch"])
    version, numbers, gauss = states["random"]
    random.setstate((version, tuple(numbers), gauss))
    legacy = states["numpy"]
    key = np.array(legacy["state"]["key"], np.uint32)
    np.random.set_state({**legacy, "state": {"key": key, "pos": legacy["state"]["pos"]}})


@contextlib.contextmanager
def replayed(generators: list[torch.Generator], resume: Mapping[str, Any] | None) -> Iterator[None]:
    """Sets all generators to their states at the beginning of the epoch of `resume`, if it is not None.

    At the end of the block the global generators are restored; the loader's own continue.
    """
    if resume is None:
        yield
        return
    set_own_states(generators, resume["generators"])
    before = global_states()
    set_global_states(resume["global"])
    try:
        yield
    finally:
        set_global_states(before)
