"""What is known of samples before they are decoded, as the functions that filter() takes are told it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeAlias

from unstarve import _core


class _Unknown(Exception):
    """The record cannot be read: the run meets it again, and `errors` says what it does then."""


class _Stretch:
    """Some thousand neighbours, whose facts are fetched together, in parallel, when the first of them is asked for."""

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
    """A sample that may take part. Made by unstarve; what is not asked for is not read.

    id, location: cost nothing. label, class_name: come from the index of folders, manifests and arrays; of shards every
    record is read once. width, height, size_bytes: read every image's header once.
    """

    __slots__ = ("_place", "_stretch")

    def __init__(self, stretch: _Stretch, place: int) -> None:
        self._stretch, self._place = stretch, place

    @property
    def id(self) -> int:
        """Its number in the data set, as stored."""
        return self._stretch.ids[self._place]

    @property
    def location(self) -> str:
        """Where its record lies: file and offset or member."""
        return self._stretch.dataset.location(self.id)

    @property
    def label(self) -> int:
        """Number of its class."""
        label = self._stretch.labels[self._place]
        if label is None:
            raise _Unknown
        return label

    @property
    def class_name(self) -> str:
        """Name of its class; "" where the format has none."""
        classes = self._stretch.classes
        return classes[self.label] if 0 <= self.label < len(classes) else ""

    @property
    def width(self) -> int:
        """Pixels of the upright image."""
        return self._image()[0]

    @property
    def height(self) -> int:
        """Pixels of the upright image."""
        return self._image()[1]

    @property
    def size_bytes(self) -> int:
        """Of the image as it is stored."""
        return self._image()[2]

    def _image(self) -> tuple[int, int, int]:
        image = self._stretch.images[self._place]
        if image is None:
            raise _Unknown
        return image


Predicate: TypeAlias = "Callable[[Facts], bool]"


def asking(predicates: Sequence[Predicate], dataset: _core.Dataset) -> Callable[[list[int]], list[bool]]:
    """A function of ids of `dataset`: whether each passes all `predicates`; one of whose facts a predicate asks in vain
    passes that."""

    def ask(ids: list[int]) -> list[bool]:
        stretch = _Stretch(dataset, ids)
        return [all(_passes(predicate, Facts(stretch, place)) for predicate in predicates)
                for place in range(len(ids))]

    return ask


def _passes(predicate: Predicate, facts: Facts) -> bool:
    try:
        return bool(predicate(facts))
    except _Unknown:
        return True
    except Exception as error:
        error.add_note(f"in the function given to filter(), of sample {facts.id} ({facts.location})")
        raise
