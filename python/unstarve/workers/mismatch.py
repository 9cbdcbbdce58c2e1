"""Finds the sample of a batch that cannot be stacked with the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

# (path in the sample, description) of each leaf: ("[0]", "float32 (3, 224, 224)")
_Leaves = tuple[tuple[str, str], ...]


def find_mismatch(samples: list[Any]) -> tuple[int, int, str] | None:
    """Returns (index of the first sample unlike the majority, index of one of the majority, difference), or None."""
    leaves = [tuple(_leaves(sample, "")) for sample in samples]
    counts = Counter(leaves)
    if len(counts) < 2:
        return None
    majority = max(counts, key=lambda kind: counts[kind])  # the first one if several are equally frequent
    odd = next(i for i, kind in enumerate(leaves) if kind != majority)
    return odd, leaves.index(majority), _difference(leaves[odd], majority)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, (str, bytes)):
        yield path, type(value).__name__  # lengths may differ
    elif hasattr(value, "shape") and hasattr(value, "dtype"):
        yield path, f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}"
    elif isinstance(value, Mapping):
        yield path, f"a mapping of {sorted(map(str, value))}"
        for key in sorted(value, key=str):
            yield from _leaves(value[key], f"{path}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        yield path, f"{len(value)} values"
        for i, one in enumerate(value):
            yield from _leaves(one, f"{path}[{i}]")
    else:
        yield path, type(value).__name__


def _difference(found: _Leaves, expected: _Leaves) -> str:
    path, here, there = next((path, here, there) for (path, here), (_, there) in zip(found, expected, strict=False)
                             if here != there)
    at = f"at {path} " if path else ""
    return f"{at}found {here}; expected {there}"
