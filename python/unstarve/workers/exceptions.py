"""Sends the exception of a worker to the consumer: its class, and its traceback as text."""

from __future__ import annotations

import pickle
import sys
import traceback
from typing import Any

_MAX_BYTES = 16 << 10  # of a traceback, which is twice in a message (worker_processes._MESSAGE_BYTES)


class _Verbatim(str):
    """The text of a KeyError, which otherwise shows the repr of its key."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """The exception that is being handled when this object is created. `where`: "in worker process 3"."""

    def __init__(self, where: str) -> None:
        kind = sys.exc_info()[0]
        assert kind is not None
        text = _shortened(traceback.format_exc())
        self.kind, self.text = kind, f"Caught {kind.__name__} {where}.\nOriginal {text}"

    def reraise(self) -> None:
        """Raises an exception of the same class whose text is the traceback.

        Raises a RuntimeError if the class cannot be created from a text, or would end the program, such as SystemExit.
        """
        if not issubclass(self.kind, Exception):
            raise RuntimeError(self.text)
        text = _Verbatim(self.text) if issubclass(self.kind, KeyError) else self.text
        try:
            kind: Any = self.kind  # a class with this attribute may require the text by keyword
            error = kind(message=text) if hasattr(kind, "message") else kind(text)
        except Exception:
            error = RuntimeError(self.text)
        raise error from None

    def pickled(self) -> tuple[bytes, str]:
        """Returns (pickle, text) for reraise_pickled(). The pickle is empty if the class cannot be pickled."""
        try:
            return pickle.dumps(self, 5), self.text
        except Exception:
            return b"", self.text


def _shortened(text: str) -> str:
    """Returns `text` without its middle if it has more than _MAX_BYTES bytes in UTF-8."""
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= _MAX_BYTES:
        return text
    begin, end = encoded[:_MAX_BYTES // 2], encoded[-_MAX_BYTES // 2:]
    return f"{begin.decode('utf-8', 'ignore')}\n[...]\n{end.decode('utf-8', 'ignore')}"


def reraise_pickled(pickled: bytes, text: str) -> None:
    """Raises the exception that pickled() returned, or a RuntimeError if its class is unknown in this process."""
    try:
        error = pickle.loads(pickled)
    except Exception:
        raise RuntimeError(text) from None
    error.reraise()
