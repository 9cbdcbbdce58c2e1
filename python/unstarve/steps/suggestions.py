"""Suggestions for names of other libraries and for misspelled names."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

# What to use instead of an argument of torch's DataLoader or of torchvision.
_ARGUMENTS = {
    "num_workers": "options(threads=N), which is autotuned by default",
    "workers": "options(threads=N), or options(workers=N) with map()",
    "pin_memory": "to_torch('cuda'), which uses page-locked memory",
    "non_blocking": "to_torch('cuda'), which copies asynchronously",
    "shuffle": "the step shuffle(seed) or sequential()",
    "sampler": "shuffle(), shard(), balance(), weights() or subset()",
    "batch_sampler": "shuffle(), balance() or weights(), and batch(size)",
    "batch_size": "batch(size)",
    "collate_fn": "map(function), or un.DataLoader",
    "prefetch_factor": "options(prefetch=N)",
    "persistent_workers": "no argument: threads continue from epoch to epoch",
    "worker_init_fn": "map(function) with an argument rng",
    "generator": "shuffle(seed)",
    "transform": "the steps of a pipeline, or map(function)",
    "target_transform": "map(function)",
    "seed": "shuffle(seed)",
}
# What to use instead of a name of torch or torchvision.
_NAMES = {
    "ImageFolder": "un.open(folder)",
    "Compose": "the steps of a pipeline: un.open(path).resize(256).center_crop(224)",
    "transforms": "the steps of a pipeline, or the functions un.resize, un.decode, ...",
    "Subset": "the step subset(indices)",
    "random_split": "the step random_split(lengths)",
    "WeightedRandomSampler": "the step weights(weights)",
    "DistributedSampler": "the step shard()",
    "random_horizontal_flip": "horizontal_flip()",
    "random_vertical_flip": "vertical_flip()",
    "random_crop": "pad_crop(size, padding=0)",
    "random_rotation": "rotation()",
    "random_erasing": "erasing()",
    "random_affine": "affine()",
    "random_perspective": "perspective()",
    "random_grayscale": "grayscale()",
    "to_tensor": "nothing: batches are float32 by default; see output()",
    "ToTensor": "nothing: batches are float32 by default; see output()",
    "Normalize": "normalize(mean, std)",
}


def suggestion(name: str, known: Iterable[str]) -> str:
    """Returns the end of a message about an unknown name: what to use instead, or ""."""
    if name in _NAMES:
        return f". Use {_NAMES[name]}."
    by_lower = {one.lower(): one for one in known if not one.startswith("_")}
    close = difflib.get_close_matches(name.lower(), by_lower, 1, 0.6)
    return f". Did you mean {by_lower[close[0]]!r}?" if close else ""


def suggesting(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Decorates a function: its TypeError for an unknown keyword says what to use instead."""
    known = [name for name in inspect.signature(function).parameters if name != "self"]

    @functools.wraps(function)
    def checked(*args: _Arguments.args, **given: _Arguments.kwargs) -> _Result:
        for name in given:
            if name not in known:
                raise TypeError(f"{function.__name__}(): found {_shown(name, given[name])}; "
                                f"expected {', '.join(known)}" + _instead(name, known))
        return function(*args, **given)

    return checked


def _shown(name: str, value: Any) -> str:
    return f"{name}={value!r}" if isinstance(value, bool | int | float | str) else name


def _instead(name: str, known: list[str]) -> str:
    return f". Use {_ARGUMENTS[name]}." if name in _ARGUMENTS else suggestion(name, known)
