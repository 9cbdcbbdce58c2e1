"""The names of operations and of their parameters that Python accepts in addition to the library's own names.

Specs accept the same names (unstarve/ops/familiar_names.h).

| in Python                                    | in a spec                                                 |
|----------------------------------------------|-----------------------------------------------------------|
| `p`                                          | `probability`, which Python accepts too                   |
| `flip`, `random_erasing`                     | `horizontal_flip`, `erasing`                              |
| `random_crop`                                | `pad_crop` with padding 0, also for None                  |
| `random_rotation` with degrees d or (a, b)   | `rotation` with (-d, d) or (a, b), interpolation nearest  |
| `auto_augment` with a policy                 | `auto_augment_imagenet`, ...                              |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from unstarve import _core
from unstarve.errors import ArgumentError
from unstarve.suggestions import suggestion

_SAME = {"flip": "horizontal_flip", "random_erasing": "erasing", "random_crop": "pad_crop",
         "random_rotation": "rotation"}
# Each name that is accepted in addition, and the operation with its parameters.
FAMILIAR = {**_SAME, "auto_augment": "auto_augment_imagenet"}


def spec_operation(name: str, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Returns an operation and its parameters as a spec names them.

    Raises:
        ArgumentError: An unknown operation or parameter; the message suggests the nearest name.
    """
    made = _with_probability(name, parameters)
    if name == "random_crop":
        made["padding"] = made["padding"] if made.get("padding") is not None else 0
    elif name == "random_rotation":
        made = {"interpolation": "nearest", **made}
        degrees = made.get("degrees")
        if isinstance(degrees, int | float | np.number):
            made["degrees"] = (-degrees, degrees)
        elif degrees is None:
            raise ArgumentError("operation random_rotation: found no degrees; expected a number or (low, high)")
    elif name == "auto_augment":
        name = f"auto_augment_{made.pop('policy', 'imagenet')}"
    name = _SAME.get(name, name)
    names = [known for known, _ in _core.operations()]
    if name not in names:
        raise _unknown("operation", name, [*names, *_SAME])
    known = [row[0] for row in _core.operation_parameters(name)]
    for key in made:
        if key not in known:
            raise ArgumentError(f"operation {name}: unknown parameter {key!r}; expected {', '.join(known)}"
                                + suggestion(key, known))
    return name, made


def spec_batch_operation(name: str, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The same for an operation on batches; the library checks its parameters."""
    names = [known for known, _ in _core.batch_operations()]
    if name not in names:
        raise _unknown("batch operation", name, names)
    return name, _with_probability(name, parameters)


def _with_probability(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    if "p" in parameters and "probability" in parameters:
        raise ArgumentError(f"operation {name}: found both p and probability; expected one of them")
    return {("probability" if key == "p" else key): value for key, value in parameters.items()}


def _unknown(kind: str, name: str, known: list[str]) -> ArgumentError:
    instead = suggestion(name, known)
    return ArgumentError(f"unknown {kind} {name!r}" + (instead or f"; known: {', '.join(known)}"))
