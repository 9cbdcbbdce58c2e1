"""The text and the HTML of objects in interactive sessions: rows of (name, value)."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Rows: TypeAlias = "list[tuple[str, str]]"
_MOST_TEXT = 60  # characters of a value


def counted(number: float, one: str, many: str) -> str:
    """Returns "1 batch", "8 batches"."""
    return f"{f'{number:g}' if isinstance(number, float) else number} {one if number == 1 else many}"


def steps_of(spec: Mapping[str, Any], predicates: Sequence[str] = ()) -> str:
    """Returns the steps of a spec as calls: "filter(min_side=64), shuffle(seed=0), resize(size=256)".

    Args:
        spec: The spec.
        predicates: Descriptions of the functions of filter().
    """
    calls = []
    for source in spec.get("mix") or [spec.get("source", {})]:
        for name in ("subset", "part", "filter", "take"):
            if name == "part" and name in source:
                part = {"seed": 0, **source[name]}
                calls.append(f"random_split(), samples {part['from']} to {part['to'] - 1} of seed {part['seed']}")
            elif name in source:
                calls.append(_call(name, source[name]))
            if name == "filter":
                calls += [f"filter({predicate})" for predicate in predicates]
                predicates = ()
    order = dict(spec.get("order", {}))
    if order.pop("shuffle", True):
        calls.append(_call("shuffle", {key: order.pop(key) for key in ("seed", "window") if order.get(key)}))
    else:
        calls.append("sequential()")
    if order.get("world", 1) > 1:
        calls.append(_call("shard", {"rank": order["rank"], "world": order["world"]}))
    names = {"sample_weights": "weights"}
    calls += [_call(names.get(key, key), order[key]) for key in ("balance", "sample_weights", "repeat", "epoch")
              if key in order]
    for operation in [*spec.get("operations", []), *spec.get("batch_operations", [])]:
        calls += ([f"{operation}()"] if isinstance(operation, str)
                  else [_call(name, parameters) for name, parameters in operation.items()])
    output = spec.get("output", {})
    if "mean" in output:
        calls.append(_call("normalize", {"mean": output["mean"], "std": output.get("std", [1, 1, 1])}))
    return ", ".join(calls)


def _call(name: str, arguments: Any) -> str:
    if isinstance(arguments, Mapping):
        return f"{name}({', '.join(f'{key}={_short(value)}' for key, value in arguments.items())})"
    return f"{name}({'' if arguments is True else _short(arguments)})"


def _short(value: Any) -> str:
    text = repr(tuple(value) if isinstance(value, list) else value)
    return text if len(text) <= _MOST_TEXT else text[:_MOST_TEXT - 3] + "..."


def images_of(dtype: str, shape: Sequence[int | None]) -> str:
    """Returns "float32 (3, 224, ?)"."""
    return f"{dtype} ({', '.join('?' if side is None else str(side) for side in shape)})"


def as_text(kind: str, rows: Rows) -> str:
    """Returns "<unstarve.Loader: image folder, 26 batches of 32; ...>"."""
    return f"<unstarve.{kind}: {'; '.join(value for _, value in rows if value)}>"


def as_html(kind: str, rows: Rows) -> str:
    """Returns a table for notebooks."""
    cells = "".join(f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
                    f"<td style='text-align:left'>{html.escape(value)}</td></tr>" for name, value in rows if value)
    return f"<table><caption>unstarve.{html.escape(kind)}</caption>{cells}</table>"
