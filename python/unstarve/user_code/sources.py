"""Sources of a pipeline: files, or an object of the user. Each worker process opens them again."""

from __future__ import annotations

import atexit
import dataclasses
import threading
import weakref
from collections.abc import Sequence
from typing import Any, TypeAlias

from unstarve import _core
from unstarve.errors import CancelledError

# Datasets that hold Python objects. They may form reference cycles through C++, which the garbage collector does not
# see, so they release their objects when the interpreter exits.
_object_datasets: weakref.WeakSet[_core.Dataset] = weakref.WeakSet()




class _Openings:
    """Counts calls of Python that open datasets of objects; they must end before the interpreter exits."""

    LONGEST = 10.0  # seconds

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open = 0
        self._exiting = False

    def __enter__(self) -> None:
        with self._changed:
            if self._exiting:
                raise CancelledError("from_source: the interpreter is exiting")
            self._open += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._open -= 1
            self._changed.notify_all()

    def end(self) -> None:
        """Waits for those in progress and permits no other."""
        with self._changed:
            self._exiting = True
            self._changed.wait_for(lambda: self._open == 0, self.LONGEST)


_openings = _Openings()


@atexit.register
def _release_objects() -> None:
    _openings.end()
    for dataset in list(_object_datasets):
        _core.end_source(dataset)


@dataclasses.dataclass(frozen=True)
class FileSource:
    """The arguments of un.open()."""

    path: str
    split: str = ""
    labels: str = ""
    index: str = ""

    @property
    def name(self) -> str:
        """The path, for messages."""
        return self.path

    @property
    def spec_path(self) -> str:
        """The path as a spec stores it: bytes that are not UTF-8 become U+FFFD."""
        return self.path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    def open(self) -> _core.Dataset:
        """Opens the dataset."""
        return _core.open(self.path, self.split, self.labels, self.index == "next_to_data")


@dataclasses.dataclass(frozen=True)
class ObjectSource:
    """The arguments of un.from_source()."""

    holder: Any
    classes: tuple[str, ...]
    concurrency: int
    labelled: bool = True

    @property
    def name(self) -> str:
        """The type of the object, for messages."""
        return type(self.holder).__name__

    def open(self) -> _core.Dataset:
        """Opens a dataset over the same object."""
        with _openings:
            dataset = _core.python_source(self.holder, self.name, self.classes, self.concurrency, self.labelled)
            _object_datasets.add(dataset)
        return dataset


Source: TypeAlias = "FileSource | ObjectSource"


def concatenate(sources: Sequence[Source], datasets: Sequence[_core.Dataset]) -> _core.Dataset:
    """Returns one dataset of all `datasets`, which `sources` opened. Classes of the same name are merged."""
    if len(datasets) == 1:
        return datasets[0]
    return _core.concatenate(datasets, [source.name for source in sources])
