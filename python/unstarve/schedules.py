"""Parameters of operations that change with the epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unstarve.errors import ArgumentError
from unstarve.suggestions import suggesting

Schedule = dict[str, Any]


@suggesting
def schedule(points: Mapping[int, float | Sequence[float]], *, between: str = "steps",
             multiple: float | None = None) -> Schedule:
    """Defines the value of a parameter per epoch.

    If an output size follows a schedule, the shape of the batches changes between epochs.

    Args:
        points: Maps an epoch to the value from this epoch on. Epoch 0 is required.
        between: "steps" keeps a value until the next point; "linear" interpolates between the points.
        multiple: Interpolated values are rounded to a multiple of this number; None rounds to integers where the
            operation requires them.

    Returns:
        A value for the numeric parameters of most operations.

    Raises:
        ArgumentError: `points` is empty, or no mapping. The step that uses the schedule checks the rest.

    Example:
        pipeline.random_resized_crop(un.schedule({0: 128, 10: 224}))
    """
    if not isinstance(points, Mapping) or not points:
        raise ArgumentError(f"schedule(points): found {points!r}; expected epochs with values, such as "
                            "{0: 128, 10: 224}")
    values = {str(epoch): list(value) if isinstance(value, Sequence) else value for epoch, value in points.items()}
    result: Schedule = {"schedule": values}
    if between != "steps":
        result["between"] = between
    if multiple is not None:
        result["multiple"] = multiple
    return result
