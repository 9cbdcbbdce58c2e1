"""A torch.nn.Module as the training loop calls it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self, TypeAlias

from unstarve.optional_packages import require_package

with require_package("torch", "Trainer"):
    import torch

from unstarve import _core
from unstarve.errors import ArgumentError
from unstarve.weights import TRAINING_STATE

Loss: TypeAlias = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

_BUFFER_DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
                  torch.int8, torch.uint8, torch.bool)


def check_module(module: Any) -> None:
    """Raises ArgumentError unless the training loop can train `module`."""
    if not isinstance(module, torch.nn.Module):
        raise ArgumentError(f"Trainer(module): found {type(module).__name__}; expected a torch.nn.Module")
    if isinstance(module, torch.nn.parallel.DistributedDataParallel):
        raise ArgumentError("Trainer(module): found DistributedDataParallel; expected the module inside it. The "
                            "trainer averages the gradients of all processes itself.")
    trained = 0
    for name, parameter in module.named_parameters():
        if torch.nn.parameter.is_lazy(parameter):
            raise ArgumentError(f"Trainer(module): parameter {name} has no shape yet; expected initialised parameters. "
                                "Call the module with one batch first.")
        if parameter.dtype != torch.float32:
            raise ArgumentError(f"Trainer(module): parameter {name} has {parameter.dtype}; expected torch.float32. Use "
                                "precision='bfloat16', which multiplies in bfloat16 and keeps the weights in float32.")
        trained += parameter.requires_grad
    if not trained:
        raise ArgumentError("Trainer(module): found no parameter that requires a gradient; expected at least one")
    for name in module.state_dict():
        if name.startswith(TRAINING_STATE):
            raise ArgumentError(f"Trainer(module): found the tensor {name}; expected names that do not begin with "
                                f"{', '.join(TRAINING_STATE)}, which checkpoints use for other state. Rename the "
                                "submodule.")
    for name, buffer in _persistent_buffers(module):
        if buffer.dtype not in _BUFFER_DTYPES:
            raise ArgumentError(f"Trainer(module): buffer {name} has {buffer.dtype}, which a checkpoint cannot store; "
                                "expected real numbers, or register_buffer(..., persistent=False)")


def extra_state_of(module: torch.nn.Module) -> str:
    """Returns the first name of an extra state (get_extra_state()) in the state_dict, or ""."""
    return next((name for name in module.state_dict() if name.rpartition(".")[2] == "_extra_state"), "")


def check_loss(loss: Any) -> None:
    """Raises ArgumentError unless the training loop can call `loss`."""
    if loss is None:
        return
    if not callable(loss):
        raise ArgumentError(f"Trainer(loss): found {type(loss).__name__}; expected a function of (logits, labels), "
                            "such as torch.nn.CrossEntropyLoss()")
    if isinstance(loss, torch.nn.Module) and any(parameter.requires_grad for parameter in loss.parameters()):
        raise ArgumentError(f"Trainer(loss): found {type(loss).__name__}, which has parameters to train; expected "
                            "none. Make them a part of the module.")


def _persistent_buffers(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Yields the buffers that are part of the state_dict."""
    stored = module.state_dict()
    return ((name, buffer) for name, buffer in module.named_buffers() if name in stored)


class _Buffer:
    """A buffer of a module, whose tensor stays the one that is registered with the training loop."""

    def __init__(self, name: str, owner: torch.nn.Module, tensor: torch.Tensor) -> None:
        self.name = name
        self._owner, self._key = owner, name.rpartition(".")[2]
        self._tensor = tensor

    def assigned(self) -> torch.Tensor | None:
        """Returns a copy of the tensor that the module assigned instead; None: it assigned none.

        Raises:
            ArgumentError: That tensor does not fit.
        """
        found: torch.Tensor | None = getattr(self._owner, self._key)
        kept = self._tensor
        if found is kept:
            return None
        if found is None or found.shape != kept.shape or found.dtype != kept.dtype:
            text = "None" if found is None else f"a tensor of {found.dtype} {tuple(found.shape)}"
            raise ArgumentError(f"Trainer: the module assigned {text} to the buffer {self.name}; expected {kept.dtype} "
                                f"{tuple(kept.shape)} as before. Keep its shape and dtype, or use "
                                "register_buffer(..., persistent=False).")
        return found.detach().clone()

    def keep(self, values: torch.Tensor) -> None:
        """Makes `values` those of the buffer. Raises ArgumentError for a buffer whose elements share memory."""
        try:
            with torch.no_grad():
                self._tensor.copy_(values)
        except RuntimeError as error:
            raise ArgumentError(f"Trainer: the buffer {self.name} cannot be written: {error}. Register a copy of it: "
                                "register_buffer(name, tensor.clone()).") from error
        setattr(self._owner, self._key, self._tensor)


class Network:
    """The calls of the training loop. Parameters and buffers are shared with the module, under names of its state_dict.

    A tensor with several names, such as a shared weight, has its first one.

    Args:
        module: The module, on its device.
        classes: Number of columns of its output.
        loss: The loss function, on the same device; None: the cross entropy.
    """

    def __init__(self, module: torch.nn.Module, classes: int, loss: Loss | None = None) -> None:
        # The library must use the libtorch of this process.
        _core.set_package_path([str(Path(torch.__file__).parents[1]), *sys.path])
        _core.register_network_operators()
        operators = torch.ops.unstarve
        self.name = type(module).__name__
        self._module = module
        self._classes = classes
        self._function = loss
        self.loss = None if loss is None else self._mean_loss
        self._input = operators.input.default
        self._labels = operators.labels.default
        self._output = operators.output.default
        self._loss = operators.loss.default  # with its graph
        self.number: int = operators.new_network()
        for name, parameter in module.named_parameters():
            operators.add_parameter(self.number, name, parameter)
        owners = dict(module.named_modules(remove_duplicate=False))
        self._buffers = [_Buffer(name, owners[name.rpartition(".")[0]], tensor)
                         for name, tensor in _persistent_buffers(module)]
        for name, tensor in _persistent_buffers(module):
            operators.add_buffer(self.number, name, tensor)

    def forward(self) -> None:
        """Computes the output of the current batch."""
        images = self._input(self.number)
        try:
            output = self._module(images)
        except RuntimeError as error:
            if "view size is not compatible" in str(error):
                error.add_note("The images have the memory format channels_last, whose elements view() cannot "
                               "reorder: use flatten() or reshape(), or pass channels_last=False to un.Trainer.")
            raise
        if not isinstance(output, torch.Tensor) or output.shape != (len(images), self._classes):
            found = tuple(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
            raise ArgumentError(f"Trainer: the module returned {found} for {len(images)} images; expected a tensor of "
                                f"shape ({len(images)}, {self._classes}), the logits of the classes")
        if not torch.is_grad_enabled():
            self._keep_buffers()
        self._output(self.number, output)

    def _mean_loss(self) -> None:
        """Computes the loss of the current output."""
        assert self._function is not None
        loss = self._function(self._input(self.number), self._labels(self.number))
        if not isinstance(loss, torch.Tensor) or loss.dim() != 0 or not loss.is_floating_point():
            found = f"{loss.dtype} {tuple(loss.shape)}" if isinstance(loss, torch.Tensor) else type(loss).__name__
            raise ArgumentError(f"Trainer(loss): the function returned {found}; expected one floating-point number, "
                                "the mean over the batch, as a tensor without dimensions")
        if torch.is_grad_enabled() and not loss.requires_grad:
            raise ArgumentError("Trainer(loss): the function returned a loss without gradient; expected one that is "
                                "computed from the logits by differentiable operations")
        self._output(self.number, loss)

    def backward(self) -> None:
        """Computes the gradients of the loss of the current batch."""
        self._loss(self.number).backward()
        self._keep_buffers()  # not before: the backward pass may use the values that the forward pass replaced

    def _keep_buffers(self) -> None:
        """Moves the values of buffers that the module assigned into the tensors that checkpoints and averages use."""
        # All are copied before one is written: a module may exchange its buffers.
        assigned = [(buffer, values) for buffer in self._buffers if (values := buffer.assigned()) is not None]
        for buffer, values in assigned:
            buffer.keep(values)

    def train(self, on: bool) -> None:
        """Sets training or evaluation mode."""
        self._module.train(on)

    def close(self) -> None:
        """Releases the tensors."""
        torch.ops.unstarve.drop_network(self.number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
