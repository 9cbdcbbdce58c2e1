"""Converts the spec of a pipeline to the JSON text that the library reads."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from unstarve import _core
from unstarve.errors import ArgumentError, Error

# A message of the library about one node: the path, the line in the JSON of it, and what was found.
_NODE = re.compile(r"(?:pipeline\.)?(?P<node>\w+(?:\.\w+)+)(?:\[\d+\])*(?:: line \d+)?: (?P<what>.*)", re.DOTALL)
# Names of arguments that differ from the last part of the path.
_ARGUMENTS = {"output.type": "dtype", "execution.memory_limit_mb": "memory_limit", "batch.pad.value": "pad_value",
              "batch.pad.size": "pad", "batch.pad.to": "pad", "batch.bucket.window": "bucket"}


def spec_json(spec: dict[str, Any]) -> str:
    """Returns `spec` as JSON. NumPy numbers and arrays become numbers and lists.

    File and class names that are not UTF-8 are represented as os.fsdecode() returns them.

    Raises:
        ArgumentError: A text that cannot be encoded, or an object of another type.
    """
    text = json.dumps(spec, ensure_ascii=False, default=_to_plain)
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ArgumentError(f"spec: found {text[error.start]!r} in {text[max(error.start - 20, 0):error.end]!r}; "
                            "expected UTF-8 text, or other bytes as os.fsdecode() returns them") from None
    return text


def check_argument(step: str, spec: dict[str, Any]) -> None:
    """Checks the nodes of `spec`, which the arguments of the method `step` set.

    Raises:
        Error: As the library, with the argument in place of the path and line of the node.
    """
    try:
        _core.check(spec_json(spec))
    except Error as error:
        found = _NODE.fullmatch(str(error))
        if found is None:
            raise type(error)(re.sub(r"^pipeline\.(.*?): line \d+: ", r"\1: ", str(error))) from None
        argument = _ARGUMENTS.get(found["node"], found["node"].rpartition(".")[2])
        what = found["what"].replace("order.shuffle: true", "shuffle(seed)")
        raise type(error)(f"{step}({'' if argument == step else argument}): {what}") from None


def _to_plain(value: object) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise ArgumentError(f"spec: found {value!r} ({type(value).__name__}); expected a number, text or list of numbers")
