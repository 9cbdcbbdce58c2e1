"""Parameters of operations that change from epoch to epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unstarve.errors import ArgumentError

Schedule = dict[str, Any]


def schedule(points: Mapping[int, float | Sequence[float]], *, between: str = "steps",
             multiple: float | None = None) -> Schedule:
    """A parameter's value by epochs: `random_resized_crop(un.schedule({0: 128, 10: 224}))`.

    points: values from these epochs on, that of epoch 0 among them. between: "steps", or "linear" for values on a line
    between the points, rounded to `multiple` where it is given, else to whole numbers where the operation takes no
    others. Where an output size follows one, batches change their shape at an epoch's border.

    Raises ArgumentError without points; the step that takes it says what else makes no sense.
    """
    if not points:
        raise ArgumentError("schedule: found no points, expected epochs with values: {0: 128, 10: 224}")
    values = {str(epoch): list(value) if isinstance(value, Sequence) else value for epoch, value in points.items()}
    made: Schedule = {"schedule": values}
    if between != "steps":
        made["between"] = between
    if multiple is not None:
        made["multiple"] = multiple
    return made
