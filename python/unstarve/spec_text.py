"""Pipelines as the text that the library reads."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from unstarve.errors import ArgumentError


def spec_text(spec: dict[str, Any]) -> str:
    """`spec` as JSON, with names of classes as os.fsdecode() gives them, also of bytes that are no UTF-8; NumPy's
    numbers and arrays are numbers and lists. ArgumentError for a text that is none, and for other objects."""
    text = json.dumps(spec, ensure_ascii=False, default=_plain)
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ArgumentError(f"found {text[error.start]!r} in {text[max(error.start - 20, 0):error.end]!r}, which is no "
                            "text; expected UTF-8, or other bytes as os.fsdecode() gives them") from None
    return text


def _plain(value: object) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise ArgumentError(f"found {value!r}, a {type(value).__name__}; expected a number, a text, or a list of numbers")
