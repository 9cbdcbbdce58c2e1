"""The random generators that an epoch's order is drawn from: their states, kept and brought back."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from unstarve.dataloader import DataLoader


def of(loader: DataLoader[Any]) -> list[torch.Generator]:
    """The torch.Generators that the loader and its samplers hold, each once, in a fixed order."""
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
    """Of torch's, random's and numpy.random's global generators, as plain data and a tensor."""
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
    """A block that draws an epoch's beginning once more, as `resume` has it; nothing special where that is None.

    The loader's own generators go on from there; the global ones are afterwards as they were before.
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
