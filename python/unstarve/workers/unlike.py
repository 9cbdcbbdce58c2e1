"""Which of several samples cannot be stacked with the others, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

# (place in the sample, what is there), one for each leaf: ("[0]", "float32 (3, 224, 224)")
_Leaves = tuple[tuple[str, str], ...]


def unlike(samples: list[Any]) -> tuple[int, int, str] | None:
    """(the first sample unlike most, one of those, how they differ), or None where all are of one kind."""
    leaves = [tuple(_leaves(sample, "")) for sample in samples]
    counts = Counter(leaves)
    if len(counts) < 2:
        return None
    usual = max(counts, key=lambda kind: counts[kind])  # of several the first
    odd = next(i for i, kind in enumerate(leaves) if kind != usual)
    return odd, leaves.index(usual), _difference(leaves[odd], usual)


def _leaves(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, (str, bytes)):
        yield place, type(value).__name__  # of any length
    elif hasattr(value, "shape") and hasattr(value, "dtype"):
        yield place, f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}"
    elif isinstance(value, Mapping):
        yield place, f"a mapping of {sorted(map(str, value))}"
        for key in sorted(value, key=str):
            yield from _leaves(value[key], f"{place}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        yield place, f"{len(value)} values"
        for i, one in enumerate(value):
            yield from _leaves(one, f"{place}[{i}]")
    else:
        yield place, type(value).__name__


def _difference(found: _Leaves, usual: _Leaves) -> str:
    place, here, there = next((place, here, there) for (place, here), (_, there) in zip(found, usual, strict=False)
                              if here != there)
    at = f"at {place} " if place else ""
    return f"{at}found {here}, expected {there}"
