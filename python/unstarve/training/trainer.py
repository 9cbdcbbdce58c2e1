"""Trains any torch.nn.Module by the training loop of the library.

    module = torchvision.models.resnet18(num_classes=10)
    trainer = un.Trainer(module, loader, validation, epochs=10, learning_rate=0.1, checkpoint_dir="run")
    history = trainer.fit()

Schedules, accumulation, clipping, averages of the weights, precision, evaluation, checkpoints and data-parallel ranks
are those of `unstarve train`. Forward and backward pass are those of the module in Python.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Unpack

from unstarve.optional_packages import require_package

with require_package("torch", "Trainer"):
    import torch

from unstarve import _core, notices, ranks
from unstarve.arguments import check_path
from unstarve.device_operations import torch_device, using_device
from unstarve.errors import ArgumentError, CancelledError, Error
from unstarve.loaders.engine import Normalisation
from unstarve.loaders.representation import Rows, as_html, as_text, counted
from unstarve.training.batches import batches_per_epoch, class_count
from unstarve.training.checkpoints import Checkpoints
from unstarve.training.data import TrainingData
from unstarve.training.faults import Faults
from unstarve.training.interrupt import Interrupt
from unstarve.training.length import RunLength
from unstarve.training.network import Loss, Network, check_loss, check_module, extra_state_of
from unstarve.training.outputs import check_output_folders
from unstarve.training.settings import Settings, check_names, check_settings

_ARGUMENTS = ("module", "loader", "validation", "loss", "classes", "epochs", "minutes", "target", "device", "normalize",
              "seed", "evaluate_every", "checkpoint_dir", "checkpoint_every", "keep_checkpoints", "resume",
              "tensorboard", "on_report")

_lock = threading.Lock()
_in_training: set[int] = set()  # ids of the parameters that a run changes


class Trainer:
    """A training run of a module; `fit` performs it.

    Images of the loader are torch tensors or NumPy arrays in host memory: uint8, float32, bfloat16 or float16, of shape
    (batch, 3, height, width), contiguous or channels_last, or (batch, height, width, 3). Their memory is borrowed.
    uint8 pixels are normalised on the device. Labels are integers (batch,), or float32 probabilities (batch, classes).

    The module returns logits (batch, classes). Its weights change in place, and its parameters stay float32.
    Checkpoints are safetensors files with the names of module.state_dict(), which `unstarve.weights.load_torch` reads.

    Args:
        module: The network. It is moved to `device`.
        loader: Training data: any iterable of (images, labels) that can be iterated over once per epoch.
        validation: Data to evaluate on, like `loader`; None: no evaluation.
        loss: Function of (logits, labels) that returns the mean loss of the batch as a tensor without dimensions, such
            as torch.nn.CrossEntropyLoss(weight=...). Logits are float32, with any precision; labels are those of the
            loader, on `device`. None: the cross entropy, with `label_smoothing`.
        classes: Number of classes. None: as many as loader.classes or loader.dataset.classes has.
        epochs: Length of the run in passes over the loader; may be a fraction.
        minutes: Length of the run in minutes. With both, the first limit reached ends the run.
        target: Accuracy, 0 to 1, at which an evaluation ends the run.
        device: "cpu", "cuda", "cuda:1", or a torch.device. "cuda" is torch's current device, and in a process group the
            GPU of LOCAL_RANK.
        normalize: (mean, std) for uint8 pixels scaled to 0..1, such as un.IMAGENET. None: they are only scaled. Images
            of other dtypes are normalised by the loader.
        seed: Seed of torch's random generators, from which the module may draw, for example for dropout. They are
            seeded for each step, by its number, so that a resumed run draws the same numbers. That of the CPU is also
            seeded for each batch, because loaders and datasets may draw from it.
        evaluate_every: Epochs between evaluations, each of which also writes a checkpoint; at least one step. 0: only
            at the end. None: 1, or 0 with `minutes`.
        checkpoint_dir: Folder for checkpoints, which are written in the background; None: the resumed folder, or the
            one of which the resumed file is the newest checkpoint; otherwise no checkpoints.
        checkpoint_every: Time between checkpoints, in addition to those of evaluations, of the end and of Ctrl-C: a
            number of seconds, or "30s", "5min", "1h".
        keep_checkpoints: Number of checkpoints to keep.
        resume: A checkpoint, or a folder of which the newest is used, to continue from. With a loader that has
            state_dict() and load_state_dict(), such as those of this package, training continues with the next batch,
            and on a CPU bit-equal; any other loader begins a new epoch.
        tensorboard: Folder for event files of TensorBoard.
        on_report: Called with a dict about ten times per epoch: step, seconds, loss, learning_rate, data_wait (share of
            the time), samples_per_s, and accuracy and val_loss of the last evaluation or None.
        settings: Training settings by name: learning_rate, optimiser, momentum, weight_decay, schedule, warmup,
            accumulate, clip_norm, average, lookahead, prune, label_smoothing, test_augmentation, precision, ... They
            are the flags of `unstarve train`; docs/reference/training.md has all of them with their defaults. Other
            defaults here: precision "float32", label_smoothing 0, operator_threads as torch; the learning rate of the
            optimiser, such as 0.1 for sgd and 0.001 for adamw, is used for every batch size.

    Raises:
        ArgumentError: Arguments are invalid or have no effect with the others; the message names all of them.
        TypeError: An argument is unknown.

    Example:
        loader = un.open("photos/train").shuffle(0).random_resized_crop(224).flip().normalize(*un.IMAGENET).batch(64)
        trainer = un.Trainer(torchvision.models.resnet18(num_classes=10), loader, epochs=10, learning_rate=0.05,
                             schedule="cosine", checkpoint_dir="run", on_report=print)
        history = trainer.fit()
    """

    def __init__(self, module: torch.nn.Module, loader: Iterable[Any], validation: Iterable[Any] | None = None, *,
                 loss: Loss | None = None, classes: int | None = None, epochs: float | None = None,
                 minutes: float | None = None, target: float | None = None, device: str | torch.device = "cpu",
                 normalize: Normalisation | None = None, seed: int = 0, evaluate_every: float | None = None,
                 checkpoint_dir: str | os.PathLike[str] | None = None, checkpoint_every: float | str = "5min",
                 keep_checkpoints: int = 2, resume: str | os.PathLike[str] | None = None,
                 tensorboard: str | os.PathLike[str] | None = None,
                 on_report: Callable[[dict[str, Any]], None] | None = None, **settings: Unpack[Settings]) -> None:
        check_names(settings, _ARGUMENTS)
        faults = Faults()
        self._module = module
        self._loss = loss
        self._on_report = on_report
        with faults.collected():
            check_module(module)
        with faults.collected():
            check_loss(loss)
            if loss is not None and "label_smoothing" in settings:
                raise ArgumentError("Trainer(label_smoothing): found also a loss function; expected one of them. Pass "
                                    "loss=torch.nn.CrossEntropyLoss(label_smoothing=...).")
        if on_report is not None and not callable(on_report):
            faults.add(f"Trainer(on_report): found {type(on_report).__name__}; expected a function of a dict")
        for name, data in (("loader", loader), ("validation", validation)):
            if data is not None and not isinstance(data, Iterable):
                faults.add(f"Trainer({name}): found {type(data).__name__}; expected an iterable of (images, labels)")
        self._device = torch.device("cpu")
        with faults.collected():
            self._device = torch_device(device, "Trainer(device)")
            if self._device.type not in ("cpu", "cuda"):
                raise ArgumentError(f"Trainer(device): found {self._device}; expected 'cpu', 'cuda' or 'cuda:N'")
        found = class_count(loader) if classes is None else classes
        if found is None:
            faults.add("Trainer(classes): found None, and the loader has no attribute classes; expected the number of "
                       "classes. Pass classes=10.")
        values: dict[str, Any] = {"operator_threads": torch.get_num_threads(), **settings}
        with faults.collected():
            self._settings = check_settings({**values, "classes": 2 if found is None else found,
                                             "device": str(self._device), "seed": seed})
            self._classes = int(found or 2)
        self._data = TrainingData(loader, validation, normalize, pinned=self._device.type != "cpu")
        self._length = RunLength(self._data, faults, epochs=epochs, minutes=minutes, target=target,
                                 evaluate_every=evaluate_every)
        if validation is None and settings.get("test_augmentation", "none") != "none":
            faults.add("Trainer(test_augmentation): no effect without validation data; expected both or neither")
        self._checkpoints = Checkpoints(checkpoint_dir, checkpoint_every, keep_checkpoints, resume, faults)
        self._tensorboard = ""
        with faults.collected():
            self._tensorboard = check_path("Trainer(tensorboard)", tensorboard)
        with faults.collected():
            self._data.check_normalisation()
        faults.raise_if_any()

    def _rows(self) -> Rows:
        values = self._settings.values()
        count = sum(parameter.numel() for parameter in self._module.parameters())
        size = f"{count / 1e6:.3g} million parameters" if count >= 1e5 else counted(count, "parameter", "parameters")
        return [("module", f"{type(self._module).__name__} of {size}, "
                           f"{counted(self._classes, 'class', 'classes')}"),
                ("data", str(self._data)),
                ("rule", f"{values['optimiser']}, learning rate {values['learning_rate']:g} {values['schedule']}"),
                ("run", f"{self._length} on {self._device} in {values['precision']}"),
                ("checkpoints", f"checkpoints in {self._checkpoints.folder}" if self._checkpoints.folder else "")]

    def __repr__(self) -> str:
        return as_text("Trainer", self._rows())

    def _repr_html_(self) -> str:
        return as_html("Trainer", self._rows())

    def fit(self) -> dict[str, Any]:
        """Trains the module.

        Exceptions of the module and of the loader end the run and are raised unchanged. Ctrl-C ends it after the
        current step, writes a checkpoint, if there is a folder for checkpoints, and raises KeyboardInterrupt; a second
        Ctrl-C ends it immediately. With `average`, the module has the averaged weights afterwards. Its gradients are
        None, and its mode is that from before.

        In a process group of torch.distributed, or under torchrun, whose process group is joined then, all processes
        call this method. Gradients are averaged over them, and rank 0 writes the checkpoints. Each process needs its
        share of the data: Pipeline.shard, or a DistributedSampler.

        Returns:
            The history, as `unstarve train --json`: steps, samples, seconds, samples_per_s, data_wait, loss_first,
            loss_last, accuracy, val_loss (None without validation), epochs (None without len(loader)), points (step,
            seconds, loss, learning_rate, data_wait, samples_per_s), evaluations (step, seconds, accuracy, loss,
            accuracy_top5, which is None with up to 5 classes) and pruning (None without `prune` and
            `prune_pattern`).

        Raises:
            ArgumentError: Another run trains the same parameters, `resume` has more steps than the run, or
                `checkpoint_dir` has checkpoints of another run.
            InputError: A batch has another form than documented, or a checkpoint does not fit the module.
            CheckError: The loss is not finite.
            KeyboardInterrupt: Ctrl-C; the message names the checkpoint.
            CancelledError: Another rank stopped.
            IoError: A file cannot be read or written, or another rank has ended. Folders for outputs are tried before
                the first step.
        """
        threads = torch.get_num_threads()
        with _exclusive(self._module):
            try:
                return self._run()
            except Error as error:
                text = _arguments_for_flags(str(error))
                if text == str(error):
                    raise
                renamed = type(error)(text).with_traceback(error.__traceback__)
                raise renamed from None
            finally:
                torch.set_num_threads(threads)
                notices.warn_pending()

    def _run(self) -> dict[str, Any]:
        resumed = self._checkpoints.to_resume()
        joined = ranks.joined()
        if joined is None or joined[0] == 0:
            check_output_folders({"checkpoint_dir": self._checkpoints.folder, "tensorboard": self._tensorboard})
        if joined is not None:
            self._data.check_shard(joined[1])
        device = self._device
        if device == torch.device("cuda"):
            device = torch.device("cuda", torch.cuda.current_device() if joined is None else joined[2])
        self._settings.device = str(device)
        with using_device(device):
            return self._run_on(device, joined, resumed)

    def _run_on(self, device: torch.device, joined: tuple[int, int, int, int, str] | None,
                resumed: str) -> dict[str, Any]:
        self._module.to(device)
        if isinstance(self._loss, torch.nn.Module):
            self._loss.to(device)
        mode = self._module.training
        self._module.zero_grad(set_to_none=True)
        with Network(self._module, self._classes, self._loss) as network:
            training = _core.Training(self._settings, network, joined)
            try:
                return self._trained(training, resumed)
            finally:
                training.end()
                self._module.train(mode)
                self._module.zero_grad(set_to_none=True)

    def _trained(self, training: _core.Training, resumed: str) -> dict[str, Any]:
        rank = (ranks.joined() or (0,))[0]
        if rank == 0:
            if not self._checkpoints.folder:
                notices.warn("Trainer: no checkpoints of this run are saved; to save them, use checkpoint_dir='run'")
            elif extra := extra_state_of(self._module):
                notices.warn(f"Trainer: checkpoints do not contain {extra}, the result of a get_extra_state(); save it "
                             "yourself")
        batches = self._data.training_batches(self._settings.values()["seed"], rank)
        plan = _core.TrainPlan()
        if resumed:
            plan.start_step, state = training.restore(resumed)
            plan.first_step = plan.start_step - batches.resume(plan.start_step, state, resumed)
        self._length.apply_to(plan)
        self._checkpoints.apply_to(plan, resumed)
        validation = None
        if self._data.validation is not None:
            plan.validation_batches = batches_per_epoch(self._data.validation) or 0
            validation = self._data.validation_batches
        with Interrupt(training.stop) as interrupt:
            try:
                text = training.run(plan, batches, validation, self._report, self._tensorboard)
            except CancelledError as error:
                if interrupt.requested:
                    raise KeyboardInterrupt(_arguments_for_flags(str(error))) from None
                if not str(error):
                    raise CancelledError("Trainer: another rank failed; its exception names the reason") from None
                raise
        history: dict[str, Any] = json.loads(text)
        per_epoch = self._data.per_epoch
        history["epochs"] = (history["steps"] - plan.first_step) / per_epoch if per_epoch else None
        return history

    def _report(self, point: str) -> None:
        notices.warn_pending()
        if self._on_report is None:
            return
        modes = [(module, module.training) for module in self._module.modules()]
        self._on_report(json.loads(point))
        for module, mode in modes:  # the function may call eval() and the module
            module.training = mode


@contextlib.contextmanager
def _exclusive(module: torch.nn.Module) -> Iterator[None]:
    """Reserves the parameters of a module. Raises ArgumentError if another run, in any thread, has one of them."""
    own = {id(parameter) for parameter in module.parameters()}
    with _lock:
        if own & _in_training:
            raise ArgumentError(f"Trainer: parameters of {type(module).__name__} are in training by another run; "
                                "expected one run at a time")
        _in_training.update(own)
    try:
        yield
    finally:
        with _lock:
            _in_training.difference_update(own)


def _arguments_for_flags(text: str) -> str:
    """Returns a message of the library with arguments instead of flags: "resume=run" for "--resume run"."""
    text = text.replace("only the weights with --weights", "only the weights by unstarve.weights.load_torch()")
    return re.sub(r"--([a-z][a-z-]*)( (?=[^\s(]))?", lambda flag: flag[1].replace("-", "_") + ("=" if flag[2] else ""),
                  text)
