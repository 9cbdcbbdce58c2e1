"""What a worker's exception becomes on its way to the consumer: its class, and its traceback as text."""

from __future__ import annotations

import pickle
import sys
import traceback
from typing import Any

_CHARACTERS = 16 << 10  # of a traceback: it must fit into a message


class _Verbatim(str):
    """A KeyError shows the repr of its key: this one's is the text itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Caught:
    """Made while an exception is handled. where: "in worker process 3"."""

    def __init__(self, where: str) -> None:
        kind = sys.exc_info()[0]
        assert kind is not None
        story = traceback.format_exc()
        if len(story) > _CHARACTERS:
            story = f"{story[:_CHARACTERS // 2]}\n[...]\n{story[-_CHARACTERS // 2:]}"
        self.kind, self.text = kind, f"Caught {kind.__name__} {where}.\nOriginal {story}"

    def reraise(self) -> None:
        """Raises an exception of the same class with the traceback as its text; RuntimeError where the class cannot be
        made of a text."""
        text = _Verbatim(self.text) if issubclass(self.kind, KeyError) else self.text
        try:
            kind: Any = self.kind  # one with an attribute of that name may want it by name
            error = kind(message=text) if hasattr(kind, "message") else kind(text)
        except Exception:
            error = RuntimeError(self.text)
        raise error from None

    def pickled(self) -> tuple[bytes, str]:
        """(this, pickled, or nothing where its class is of a function; its text), for reraise_pickled()."""
        try:
            return pickle.dumps(self, 5), self.text
        except Exception:
            return b"", self.text


def reraise_pickled(caught: bytes, text: str) -> None:
    """As Caught.reraise() of what pickled() gave; a RuntimeError of its text where its class is not known here."""
    try:
        error = pickle.loads(caught)
    except Exception:
        raise RuntimeError(text) from None
    error.reraise()
