"""Runs a chain of operations on one image: compiled once per set of parameters. Private."""

from __future__ import annotations

import atexit
import functools
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from unstarve import _core
from unstarve.errors import ArgumentError, Error
from unstarve.functions.draws import NO_DRAWS, Draws, Generator, Seed, draws_of
from unstarve.functions.image_arguments import Given, read_image, result

# (name, parameters) of each operation, hashable
Chain: TypeAlias = "tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]"
Region: TypeAlias = "tuple[int, int, int, int]"  # top, left, height, width
MAX_PIXELS = 1 << 28


def frozen(name: str, parameters: Mapping[str, Any]) -> tuple[str, tuple[tuple[str, Any], ...]]:
    """Returns an operation in hashable form; sequences and arrays become tuples, NumPy's numbers Python's.

    Raises:
        ArgumentError: A parameter is neither hashable nor a sequence, or a sequence of Booleans.
    """
    made = []
    for key, value in parameters.items():
        given = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        try:
            if isinstance(given, Sequence) and not isinstance(given, str | bytes):
                given = tuple(given)
                if any(isinstance(one, bool | np.bool_) for one in given):
                    raise TypeError
            hash(given)
        except TypeError:
            raise ArgumentError(f"{name}({key}): found {value!r}; expected a number, several numbers, a word or a "
                                "Boolean") from None
        made.append((key, given))
    return name, tuple(made)


def _types(value: Any) -> Any:
    """Returns the types of the values in nested tuples. As keys, 1, 1.0 and True are equal; as parameters, not."""
    return tuple(map(_types, value)) if isinstance(value, tuple) else type(value)


def compiled(chain: Chain, form: str, normalisation: Any = None, reduce: bool = False,
             max_pixels: int = MAX_PIXELS) -> _core.ImageFunction:
    """Returns the chain for results of `form`: "HWC", "CHW", "L" for one channel, or "normalised": float32 CHW.

    The word "mean" in parameters is the mean of `normalisation`, which is black if it is None.

    Raises:
        ArgumentError: Unknown operation or invalid parameter.
    """
    return _compiled(_types(chain), chain, form, normalisation, reduce, max_pixels)


@functools.lru_cache(256)
def _compiled(types: Any, chain: Chain, form: str, normalisation: Any, reduce: bool,
              max_pixels: int) -> _core.ImageFunction:
    operations = [(name, {key: list(value) if isinstance(value, tuple) else value for key, value in parameters})
                  for name, parameters in chain]
    return _core.ImageFunction(operations, form, normalisation, reduce, max_pixels)


atexit.register(_compiled.cache_clear)  # nanobind reports objects that outlive the interpreter


def run(what: str, function: _core.ImageFunction, given: Given, draws: Draws, region: Region | None = None) -> Any:
    """Returns the result for one image in the library of the image.

    Args:
        what: Name of the function for messages.
        function: A result of compiled().
        given: The image.
        draws: The random numbers.
        region: Part of an encoded image, (top, left, height, width).

    Raises:
        Error: The image is invalid; the message begins with `what`.
    """
    try:
        made = function.apply(given.value, draws) if given.pixels else function.decode(given.value, region, draws)
    except Error as error:
        raise renamed(what, error) from None
    return result(given, made)


def header(what: str, given: Given) -> tuple[str, int, int, int, int, str]:
    """Returns the fields of functions.ImageInfo for an encoded image. Raises errors as run() does."""
    try:
        return _core.image_info(given.value)
    except Error as error:
        raise renamed(what, error) from None


def renamed(what: str, error: Error) -> Error:
    """Returns an error of the same class whose message begins with `what`."""
    return type(error)(f"{what} {error}")


def apply(name: str, image: Any, parameters: Mapping[str, Any], seed: Seed | None = None,
          generator: Generator | None = None) -> Any:
    """Returns the result of one operation; see unstarve.functions.

    Raises:
        ArgumentError: Invalid image, parameter, seed or generator.
        InputError: The encoded image is damaged.
    """
    given = read_image(name, image)
    function = compiled((frozen(name, parameters),), "CHW" if given.tensor else "HWC")
    draws = draws_of(name, seed, generator) if function.random or seed is not None else NO_DRAWS
    return run(name, function, given, draws)
