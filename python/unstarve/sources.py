"""What a pipeline's data are opened from, again in every helper process: paths, and objects of users."""

from __future__ import annotations

import atexit
import dataclasses
import weakref
from collections.abc import Sequence
from typing import Any, TypeAlias

from unstarve import _core


# They lead to Python, and from there perhaps back to themselves, which no collector sees.
_of_objects: weakref.WeakSet[_core.Dataset] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    for dataset in list(_of_objects):
        _core.end_source(dataset)


@dataclasses.dataclass(frozen=True)
class Files:
    """As un.open takes them."""

    path: str
    split: str = ""

    @property
    def name(self) -> str:
        """For people."""
        return self.path

    @property
    def written(self) -> str:
        """The path in a spec, which is text: with U+FFFD for what of it is no UTF-8."""
        return self.path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    def open(self) -> _core.Dataset:
        """The data set, anew."""
        return _core.open(self.path, self.split)


@dataclasses.dataclass(frozen=True)
class Object:
    """As un.from_source takes it."""

    holder: Any
    classes: tuple[str, ...]
    at_once: int

    @property
    def name(self) -> str:
        """For people."""
        return type(self.holder).__name__

    def open(self) -> _core.Dataset:
        """The data set, over the same object."""
        dataset = _core.python_source(self.holder, self.name, self.classes, self.at_once)
        _of_objects.add(dataset)
        return dataset


Source: TypeAlias = "Files | Object"


def joined(sources: Sequence[Source], datasets: Sequence[_core.Dataset]) -> _core.Dataset:
    """One data set of several, their classes merged by name; a lone one as it is."""
    if len(datasets) == 1:
        return datasets[0]
    return _core.concatenate(datasets, [source.name for source in sources])
