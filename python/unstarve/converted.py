"""What loaders have in common that give another one's batches as a framework's arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Self

    from unstarve.loader import Loader
    from unstarve.running import Normalisation


class ConvertedLoader:
    """Like the Loader in `_loader`, with its `len`, `set_epoch`, state dicts and all else but the batches.

    What describes the arrays is told of `_whole`: where a device has a part in them, `_loader` makes the host's alone.
    """

    _loader: Loader
    _whole: Loader

    def _moved(self) -> None:
        """The loader stands elsewhere than behind the last batch that was given."""

    def __len__(self) -> int:
        return len(self._loader)

    @property
    def shapes(self) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
        """As Loader.shapes, of the whole pipeline."""
        return self._whole.shapes

    @property
    def layout(self) -> str:
        """As Loader.layout, of the whole pipeline."""
        return self._whole.layout

    @property
    def normalisation(self) -> Normalisation:
        """As Loader.normalisation, of the whole pipeline, with what was asked for here."""
        return self._whole.normalisation

    def to_yaml(self) -> str:
        """The whole pipeline, as the program takes it: with the dtype, the layout and the normalisation of these
        arrays. ArgumentError as Loader.to_yaml."""
        return self._whole.to_yaml()

    def set_epoch(self, epoch: int, batch: int = 0) -> None:
        """The next loop runs this epoch, from its beginning or its batch number `batch` on; see unstarve.Loader."""
        self._loader.set_epoch(epoch, batch)
        self._moved()

    def state_dict(self) -> dict[str, Any]:
        """Where the run stands, after the last batch that was given; plain data, for any checkpointer."""
        return self._loader.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
        """The next loop goes on where `state_dict` was taken, one or those of all ranks; see unstarve.Loader."""
        self._loader.load_state_dict(state_dict)
        self._moved()

    def close(self) -> None:
        """Stops the threads and frees the memory. Also the end of a `with` block."""
        self._loader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        # What is the same for all arrays: classes, samples, epoch, explain, profile, bad_samples.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._loader, name)
