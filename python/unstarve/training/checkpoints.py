"""The checkpoints of a training run."""

from __future__ import annotations

import os

from unstarve import _core
from unstarve.arguments import check_int, check_path
from unstarve.training.faults import Faults
from unstarve.training.settings import check_seconds


class Checkpoints:
    """The folder for checkpoints, when they are written, and the one to continue from.

    Args:
        checkpoint_dir: As the following ones, an argument of un.Trainer.
        faults: Receives the errors of the arguments.
    """

    def __init__(self, checkpoint_dir: str | os.PathLike[str] | None, checkpoint_every: float | str,
                 keep_checkpoints: int, resume: str | os.PathLike[str] | None, faults: Faults) -> None:
        self._resume = self.folder = ""  # no checkpoints
        with faults.collected():
            self._resume = check_path("Trainer(resume)", resume)
            self.folder = (_core.folder_of_resumed(self._resume) if checkpoint_dir is None
                           else check_path("Trainer(checkpoint_dir)", checkpoint_dir))
            for name, given in (("checkpoint_every", checkpoint_every != "5min"),
                                ("keep_checkpoints", keep_checkpoints != 2)):
                if given and not self.folder:
                    faults.add(f"Trainer({name}): found no folder for checkpoints; expected checkpoint_dir")
        with faults.collected():
            self._seconds = check_seconds("Trainer(checkpoint_every)", checkpoint_every)
        with faults.collected():
            self._keep = check_int("Trainer(keep_checkpoints)", keep_checkpoints, 1, 1_000_000)

    def to_resume(self) -> str:
        """Returns the checkpoint to continue from, or "". Raises ArgumentError if the folder has those of another run.
        """
        return _core.checkpoint_to_resume(self.folder, self._resume)

    def apply_to(self, plan: _core.TrainPlan, resumed: str) -> None:
        """Sets what a plan writes; `resumed`: the result of to_resume()."""
        plan.checkpoint_seconds = self._seconds
        plan.write_to(self.folder, self._keep, resumed)
