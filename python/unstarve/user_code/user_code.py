"""The Python objects of the user that are part of a pipeline and that YAML cannot represent."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from unstarve import _core
from unstarve.errors import ArgumentError
from unstarve.facts import Predicate, all_of
from unstarve.user_code.functions import Function, describe
from unstarve.user_code.sources import FileSource, ObjectSource, Source


@dataclasses.dataclass(frozen=True)
class UserCode:
    """Sources, the predicates of filter() for each source, and the functions of map() with their workers."""

    sources: tuple[Source, ...]
    predicates: tuple[tuple[Predicate, ...], ...]
    functions: tuple[Function, ...] = ()
    weights: npt.NDArray[np.float64] | None = None
    workers: int | None = None
    kind: str | None = None

    @classmethod
    def of_spec(cls, spec: dict[str, Any]) -> UserCode:
        """Returns the sources of a pipeline that was read from YAML, without predicates and functions."""
        sources = spec.get("mix") or [spec["source"]]
        files = (FileSource(*(source.get(key, "") for key in ("path", "split", "labels", "index")))
                 for source in sources)
        return cls(tuple(files), ((),) * len(sources))

    @property
    def has_python_sources(self) -> bool:
        """Whether any source is an object of the user."""
        return any(isinstance(source, ObjectSource) for source in self.sources)

    def predicate_names(self) -> list[str]:
        """Returns descriptions of the functions of filter(), of all sources."""
        return [describe(one) for some in self.predicates for one in some]

    def choose(self, spec: str, dataset: _core.Dataset) -> _core.SampleSet:
        """Applies the filters of `spec` and the predicates. Returns the samples that take part."""
        predicates = [(" and ".join(map(describe, some)), all_of(some, dataset)) if some else None
                      for some in self.predicates]
        return _core.choose(spec, dataset, predicates, self.weights)

    def check_yaml(self) -> None:
        """Raises ArgumentError if the pipeline contains Python objects or a path that is not UTF-8."""
        for source in self.sources:
            if isinstance(source, FileSource) and source.spec_path != source.path:
                raise ArgumentError(f"to_yaml: the path {source.path!r} is not UTF-8; expected a path that YAML can "
                                    "represent. Rename the data.")
        found = [f"the source {source.name}" for source in self.sources if isinstance(source, ObjectSource)]
        found += [f"filter({name})" for name in self.predicate_names()]
        found += [] if self.weights is None else ["weights() of an array"]
        found += [f"map({function.name})" for function in self.functions]
        if found:
            raise ArgumentError(f"to_yaml: found {', '.join(found)}; expected a pipeline without Python objects. Use "
                                "open(), filters by label and size, weights from a file, and operations.")
