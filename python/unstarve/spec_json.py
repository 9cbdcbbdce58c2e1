"""Converts the spec of a pipeline to the JSON text that the library reads."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from unstarve.errors import ArgumentError


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


def _to_plain(value: object) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise ArgumentError(f"spec: found {value!r} ({type(value).__name__}); expected a number, text or list of numbers")
