"""Writes operations.pyi: `python -m unstarve.functions.stubs > python/unstarve/functions/operations.pyi`.

A function has two declarations: arrays and encoded images return an array, tensors a tensor.
"""

from __future__ import annotations

import inspect

from unstarve.functions import operations
from unstarve.steps.operation_names import FAMILIAR

_WIDTH = 120
_HEAD = '''"""One function for each operation of the library. Written by unstarve.functions.stubs; do not edit."""

import inspect
from typing import Literal, overload

import torch

from unstarve.functions.draws import Generator, Seed
from unstarve.functions.image_arguments import Array, ArrayLike
from unstarve.steps.image_operations import Choices

__all__ = [
{names}]

NAMES: tuple[str, ...]

def is_random(name: str) -> bool: ...
def signature_of(name: str) -> inspect.Signature: ...
'''


def _declaration(name: str, signature: inspect.Signature, image: str, returned: str) -> str:
    parts = []
    keyword_only = False
    for key, parameter in signature.parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            parts.append("*")
        type_ = image if key == "image" else parameter.annotation
        parts.append(f"{key}: {type_}" + ("" if parameter.default is parameter.empty else " = ..."))
    lines, indent = [f"def {name}("], " " * len(f"def {name}(")
    for part in [*(f"{part}, " for part in parts[:-1]), f"{parts[-1]}) -> {returned}: ..."]:
        if len(lines[-1] + part.rstrip()) > _WIDTH:
            lines[-1] = lines[-1].rstrip()
            lines.append(indent)
        lines[-1] += part
    return "@overload\n" + "\n".join(lines)


def stub() -> str:
    """Returns the text of operations.pyi."""
    names = sorted([*operations.NAMES, *FAMILIAR])
    text = _HEAD.replace("{names}", "".join(f'    "{name}",\n' for name in names))
    for name in names:
        signature = operations.signature_of(name)
        text += "\n" + _declaration(name, signature, "ArrayLike", "Array")
        text += "\n" + _declaration(name, signature, "torch.Tensor", "torch.Tensor") + "\n"
    return text


if __name__ == "__main__":
    print(stub(), end="")
