"""Suggestions for names of other libraries and for misspelled names."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Class = TypeVar("_Class", bound=type)

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
    "probability": "p",
    "filter.classes": "labels, with class names or numbers",
}
# What to use instead of a name of torch or torchvision; "": nothing, as batches are float32 tensors by default.
_NAMES = {
    "ImageFolder": "un.open(folder)",
    "image_folder": "un.open(folder)",
    "from_folder": "un.open(folder)",
    "load": "un.open(path)",
    "read": "un.open(path)",
    "load_dataset": "un.open(path)",
    "Dataset": "un.open(path), or un.from_torch(dataset) for a Dataset of your own",
    "imread": "un.decode(path)",
    "decode_image": "un.decode(path)",
    "decode_jpeg": "un.decode(path)",
    "Compose": "the steps of a pipeline: un.open(path).resize(256).center_crop(224)",
    "transforms": "the steps of a pipeline, or the functions un.resize, un.decode, ...",
    "Subset": "the step subset(indices)",
    "random_split": "the step random_split(lengths)",
    "WeightedRandomSampler": "the step weights(weights)",
    "DistributedSampler": "the step shard()",
    "hflip": "horizontal_flip()",
    "random_flip": "horizontal_flip()",
    "vflip": "vertical_flip()",
    "random_horizontal_flip": "horizontal_flip()",
    "random_vertical_flip": "vertical_flip()",
    "random_affine": "affine()",
    "random_perspective": "perspective()",
    "random_grayscale": "grayscale()",
    "random_choice": "one_of(...)",
    "random_apply": "the argument p of an operation",
    "transform": "the steps of a pipeline, or map(function)",
    "with_transform": "the steps of a pipeline, or map(function)",
    "prefetch": "options(prefetch=N), which is autotuned by default",
    "num_workers": "options(threads=N), which is autotuned by default",
    "pin_memory": "to_torch('cuda') after batch(), which uses page-locked memory",
    "loader": "batch(size), which returns a loader to iterate over",
    "dataloader": "batch(size), which returns a loader to iterate over",
    "as_numpy_iterator": "batch(size), which returns a loader to iterate over",
    "to": "to_torch(device), after batch()",
    "cuda": "to_torch('cuda'), after batch()",
    "to_tensor": "",
    "ToTensor": "",
    "Normalize": "normalize(mean, std)",
}
# Classes whose objects the library creates.
_CREATED = {"BaseLoader": "un.Loader() is called by batch(). Use un.open(path).batch(size).",
            "Pipeline": "un.Pipeline() is called by open(). Use un.open(path)."}


def suggestion(name: str, known: Iterable[str]) -> str:
    """Returns the end of a message about an unknown name: what to use instead, or ""."""
    if name in _NAMES:
        use = _NAMES[name]
        return f". Use {use}." if use else ". Leave it out: batches are float32 by default; see output()."
    by_lower = {one.lower(): one for one in known if not one.startswith("_")}
    close = difflib.get_close_matches(name.lower(), by_lower, 1, 0.6)
    return f". Did you mean {by_lower[close[0]]!r}?" if close else ""


def suggesting(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Decorates a function without **arguments: its TypeError for an unknown keyword says what to use instead."""
    signature = inspect.signature(function)
    known = [name for name in signature.parameters if name != "self"]
    shown = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

    @functools.wraps(function)
    def checked(*args: _Arguments.args, **given: _Arguments.kwargs) -> _Result:
        if shown in _CREATED and not _fits(signature, args, given):
            raise TypeError(_CREATED[shown])
        for name in given:
            if name not in known:
                raise unknown_argument(shown, name, given[name], known)
        try:
            return function(*args, **given)
        except TypeError:
            try:
                signature.bind(*args, **given)
            except TypeError as error:  # of the call itself, whose message would name an internal class
                raise TypeError(f"{shown}(): {error}; expected {', '.join(known)}") from None
            raise

    return checked


def _fits(signature: inspect.Signature, args: tuple[Any, ...], given: dict[str, Any]) -> bool:
    try:
        signature.bind(*args, **given)
    except TypeError:
        return False
    return True


def suggesting_methods(class_: _Class) -> _Class:
    """Decorates a class: its public methods and its constructor are `suggesting`, except those with **arguments."""
    for name, method in list(vars(class_).items()):
        if inspect.isfunction(method) and (name == "__init__" or not name.startswith("_")):
            kinds = {parameter.kind for parameter in inspect.signature(method).parameters.values()}
            if inspect.Parameter.VAR_KEYWORD not in kinds:
                setattr(class_, name, suggesting(method))
    return class_


def unknown_argument(function: str, name: str, value: Any, known: list[str],
                     others: Mapping[str, str] = _ARGUMENTS) -> TypeError:
    """Returns the error of `function` for an unknown argument.

    Args:
        function: Its name.
        name: The unknown argument.
        value: Its value.
        known: The arguments of the function.
        others: What to use instead of arguments of other libraries.
    """
    use = others.get(f"{function}.{name}", others.get(name))
    instead = suggestion(name, known) if use is None else f". Use {use}."
    return TypeError(f"{function}(): found {shown_value(name, value)}; expected {', '.join(known)}{instead}")


def shown_value(name: str, value: Any) -> str:
    """Returns an argument as a call has it, or its name if the value is long."""
    return f"{name}={value!r}" if isinstance(value, bool | int | float | str | tuple | None) else name
