"""Facts about samples before they are decoded: the argument of the functions given to filter()."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeAlias

from unstarve import _core


class _UnreadableError(Exception):
    """The record cannot be read. The run reads it again and applies the policy of errors()."""


class _Chunk:
    """A few thousand consecutive samples whose facts are read together, in parallel, on first use."""

    def __init__(self, dataset: _core.Dataset, ids: list[int]) -> None:
        self.dataset, self.ids = dataset, ids

    @functools.cached_property
    def classes(self) -> list[str]:
        return self.dataset.classes

    @functools.cached_property
    def labels(self) -> list[int | None]:
        return _core.labels_of(self.dataset, self.ids)

    @functools.cached_property
    def images(self) -> list[tuple[int, int, int] | None]:
        return _core.images_of(self.dataset, self.ids)


class Facts:
    """Facts about one sample, read on access.

    | fact                       | cost                                                                        |
    |----------------------------|-----------------------------------------------------------------------------|
    | id, location               | none                                                                        |
    | label, class_name          | folders, manifests, arrays: none; shards: every record is read once         |
    | width, height, size_bytes  | the header of every image is read once                                      |

    Example:
        pipeline.filter(lambda facts: facts.width > 64 and facts.class_name != "dog")
    """

    __slots__ = ("_chunk", "_index")

    def __init__(self, chunk: _Chunk, index: int) -> None:
        self._chunk, self._index = chunk, index

    @property
    def id(self) -> int:
        """Index of the sample in the dataset, in storage order."""
        return self._chunk.ids[self._index]

    @property
    def location(self) -> str:
        """Location of the record: file and offset, or archive member."""
        return self._chunk.dataset.location(self.id)

    @property
    def label(self) -> int:
        """Number of the class."""
        label = self._chunk.labels[self._index]
        if label is None:
            raise _UnreadableError
        return label

    @property
    def class_name(self) -> str:
        """Name of the class; "" if the format has no class names."""
        classes = self._chunk.classes
        return classes[self.label] if 0 <= self.label < len(classes) else ""

    @property
    def width(self) -> int:
        """Width of the upright image in pixels."""
        return self._image()[0]

    @property
    def height(self) -> int:
        """Height of the upright image in pixels."""
        return self._image()[1]

    @property
    def size_bytes(self) -> int:
        """Size of the stored image in bytes."""
        return self._image()[2]

    def _image(self) -> tuple[int, int, int]:
        image = self._chunk.images[self._index]
        if image is None:
            raise _UnreadableError
        return image


Predicate: TypeAlias = "Callable[[Facts], bool]"


def all_of(predicates: Sequence[Predicate], dataset: _core.Dataset) -> Callable[[list[int]], list[bool]]:
    """Returns a function that maps ids of samples of `dataset` to whether each passes all `predicates`.

    A sample whose facts cannot be read passes.
    """

    def evaluate(ids: list[int]) -> list[bool]:
        chunk = _Chunk(dataset, ids)
        return [all(_passes(predicate, Facts(chunk, index)) for predicate in predicates) for index in range(len(ids))]

    return evaluate


def _passes(predicate: Predicate, facts: Facts) -> bool:
    try:
        return bool(predicate(facts))
    except _UnreadableError:
        return True
    except Exception as error:
        error.add_note(f"in the function given to filter(), for sample {facts.id} ({facts.location})")
        raise
