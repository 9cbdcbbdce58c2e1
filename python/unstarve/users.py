"""What of a pipeline is its user's code, which no YAML can hold."""

from __future__ import annotations

import dataclasses
from typing import Any

from unstarve import _core
from unstarve.errors import ArgumentError
from unstarve.facts import Predicate, asking
from unstarve.functions import Function, described
from unstarve.sources import Files, Object, Source


@dataclasses.dataclass(frozen=True)
class UserCode:
    """predicates: of each source, those that filter() took. functions: those of map(), with how they run."""

    sources: tuple[Source, ...]
    predicates: tuple[tuple[Predicate, ...], ...]
    functions: tuple[Function, ...] = ()
    workers: int | None = None
    kind: str | None = None

    @classmethod
    def none(cls, spec: dict[str, Any]) -> UserCode:
        """Of a pipeline that was written down."""
        sources = spec.get("mix") or [spec["source"]]
        return cls(tuple(Files(source.get("path", ""), source.get("split", "")) for source in sources),
                   ((),) * len(sources))

    @property
    def python_sources(self) -> bool:
        """Whether any source is an object of the user's."""
        return any(isinstance(source, Object) for source in self.sources)

    def choose(self, spec: str, dataset: _core.Dataset) -> _core.SampleSet:
        """The samples that take part: asks the predicates, once."""
        asked = [(" and ".join(map(described, some)), asking(some, dataset)) if some else None
                 for some in self.predicates]
        return _core.choose(spec, dataset, asked)

    def refuse_yaml(self) -> None:
        """ArgumentError where there is any, or a path that is no text."""
        for source in self.sources:
            if isinstance(source, Files) and source.written != source.path:
                raise ArgumentError(f"to_yaml: the path {source.path!r} is no UTF-8, which YAML does not hold; "
                                    "expected the data under another name, or keep the program that makes the chain")
        found = [f"the source {source.name}" for source in self.sources if isinstance(source, Object)]
        found += [f"filter({described(one)})" for some in self.predicates for one in some]
        found += [f"map({function.name})" for function in self.functions]
        if found:
            raise ArgumentError(f"to_yaml: {', '.join(found)} is Python, which YAML does not hold; expected data that "
                                "open() takes, filters by labels and sizes, and operations; or keep the program that "
                                "makes the "
                                "chain")
