"""Collects the errors of several arguments."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from unstarve.errors import ArgumentError


class Faults:
    """Errors of arguments, raised as one error with a line for each."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def add(self, text: str) -> None:
        self._texts.append(text)

    @contextlib.contextmanager
    def collected(self) -> Iterator[None]:
        """Keeps an ArgumentError of its block. Other exceptions pass."""
        try:
            yield
        except ArgumentError as error:
            self.add(str(error))

    def raise_if_any(self) -> None:
        """Raises ArgumentError with all texts, if there are any."""
        if self._texts:
            raise ArgumentError("\n".join(self._texts))
