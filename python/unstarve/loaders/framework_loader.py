"""Base of the loaders that convert the batches of a Loader to the arrays of a framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from unstarve.loaders.base_loader import BaseLoader
from unstarve.loaders.engine import Normalisation
from unstarve.loaders.representation import Rows, as_html, as_text


class FrameworkLoader:
    """Behaves like a Loader except for the type of its batches.

    `_loader` produces the host's batches. `_whole` describes the batches of this loader; it differs from `_loader` if a
    device does part of the work.
    """

    _loader: BaseLoader
    _whole: BaseLoader
    device: Any

    def _position_changed(self) -> None:
        """Called when the resume position of `_loader` was set."""

    def __len__(self) -> int:
        return len(self._loader)

    def _rows(self) -> Rows:
        return [("device", f"on {self.device}"), *self._whole._rows()]

    def __repr__(self) -> str:
        return as_text(type(self).__name__, self._rows())

    def _repr_html_(self) -> str:
        return as_html(type(self).__name__, self._rows())

    @property
    def shapes(self) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
        """Shapes of one sample's image and label; see Loader.shapes."""
        return self._whole.shapes

    @property
    def layout(self) -> str:
        """Layout of the images: "NCHW" or "NHWC"."""
        return self._whole.layout

    @property
    def normalisation(self) -> Normalisation:
        """(mean, std) per channel, for pixel values scaled to 0..1; see Loader.normalisation."""
        return self._whole.normalisation

    def to_yaml(self) -> str:
        """Returns the pipeline as YAML, with the dtype, layout and normalisation of this loader; see Loader.to_yaml."""
        return self._whole.to_yaml()

    def set_epoch(self, epoch: int, batch: int = 0) -> None:
        """Sets the position of the next loop; see Loader.set_epoch.

        Args:
            epoch: Epoch to run, 0 or more.
            batch: Index of its first batch.
        """
        self._loader.set_epoch(epoch, batch)
        self._position_changed()

    def state_dict(self) -> dict[str, Any]:
        """Returns the resume position after the last batch received: plain data, for any checkpointer."""
        return self._loader.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
        """Sets the resume position.

        Args:
            state_dict: A result of state_dict(), or those of all ranks; see Loader.load_state_dict.
        """
        self._loader.load_state_dict(state_dict)
        self._position_changed()

    def close(self) -> None:
        """Stops the threads and frees the memory. The end of a `with` block does the same."""
        self._loader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        # What does not depend on the type of the arrays: classes, samples, epoch, explain, profile, bad_samples.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._loader, name)
