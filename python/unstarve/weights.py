"""Exchanges weights between PyTorch and `unstarve` as safetensors files.

`unstarve train` reads and writes safetensors with torchvision's names:

    from unstarve import weights
    weights.convert("resnet50.pth", "resnet50.safetensors")      # or a state_dict
    network.load_state_dict(weights.load_torch("trained.safetensors"))

Requires NumPy only, except for PyTorch's tensors and files. `unstarve/models/safetensors.h` documents the file format.
"""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_NAMES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
    "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
# NumPy has no bfloat16; its bits are represented as uint16.
_NUMPY = {name: np.dtype("uint16" if kind == "bfloat16" else kind) for kind, name in _NAMES.items()}
# Names of the state of a training run in a checkpoint.
TRAINING_STATE = ("optimiser.", "loss_scaler.", "lookahead.", "average.", "pruned.", "quantisation.", "training.")


def convert(source: str | os.PathLike[str] | Mapping[str, Any], destination: str | os.PathLike[str]) -> None:
    """Writes a state_dict as a safetensors file.

    Args:
        source: A mapping from names to tensors (PyTorch or NumPy, any shape), or the path of a file written by
            `torch.save(state_dict)`, which may be wrapped as {"state_dict": ...} or {"model": ...}. Files are read with
            `weights_only=True`, so they cannot run code.
        destination: The file to write, atomically.

    Raises:
        ValueError: The source is not a state_dict of dense tensors, or a tensor has a dtype that the format lacks.
        OSError: A file cannot be read or written.
    """
    if not isinstance(source, Mapping):
        path = source
        source = _torch_file(path)
        for key in ("state_dict", "model"):
            if isinstance(source, Mapping) and isinstance(source.get(key), Mapping):
                source = source[key]
        if not isinstance(source, Mapping):
            raise ValueError(f"convert {os.fspath(path)}: found {type(source).__name__}; expected a state_dict")
    arrays = {name: _to_bytes(name, value) for name, value in source.items()}

    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, (kind, shape, data) in arrays.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)

    destination = Path(destination)
    handle, partial = tempfile.mkstemp(dir=destination.parent, prefix=destination.name + ".partial-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(len(text).to_bytes(8, "little"))
            file.write(text)
            for _, _, data in arrays.values():
                file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(partial, 0o644)
        os.replace(partial, destination)
    except BaseException:
        os.unlink(partial)
        raise


def load(path: str | os.PathLike[str], *, optimiser: bool = False) -> dict[str, npt.NDArray[Any]]:
    """Reads a safetensors file.

    Args:
        path: The file.
        optimiser: Include the state of the training in a checkpoint: that of the optimiser, the weights before they
            were averaged, and others.

    Returns:
        NumPy arrays by name, with the stored shape and dtype; bfloat16 as uint16 with the same bits.

    Raises:
        ValueError: The file is not a safetensors file or is truncated.
    """
    return {name: array for name, (_, array) in _read(path, optimiser).items()}


def load_torch(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads the weights of a safetensors file as a state_dict.

    Args:
        path: The file.

    Returns:
        CPU tensors by name, with the stored shape and dtype.

    Raises:
        ValueError: As in load().
    """
    import torch

    state = {}
    for name, (kind, array) in _read(path, False).items():
        tensor = torch.from_numpy(array.copy())
        state[name] = tensor.view(torch.bfloat16) if kind == "BF16" else tensor
    return state


def _torch_file(path: str | os.PathLike[str]) -> Any:
    """Returns the object in a file of torch.save(). Raises ValueError for another file."""
    import torch

    with open(path, "rb") as file:
        try:
            return torch.load(file, map_location="cpu", weights_only=True)
        except Exception as error:  # of any kind: for text, torch raises KeyError
            first = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).partition("\n")[0]
            reason = f"{type(error).__name__}: {first}"
            raise ValueError(f"convert {os.fspath(path)}: torch.load(weights_only=True) failed: {reason}; expected a "
                             "file of torch.save(module.state_dict())") from error


def _to_bytes(name: str, value: Any) -> tuple[str, list[int], bytes]:
    if not isinstance(name, str) or name == "__metadata__":
        raise ValueError(f"convert: found the name {name!r}; expected a text other than '__metadata__'")
    if not hasattr(value, "dtype") or not hasattr(value, "shape"):
        raise ValueError(f"convert tensor {name!r}: found {type(value).__name__}; expected a tensor. Pass the "
                         "state_dict() of a module.")
    if str(getattr(value, "layout", "torch.strided")) != "torch.strided":
        raise ValueError(f"convert tensor {name!r}: found layout {value.layout}; expected a dense tensor. Call "
                         "to_dense().")
    kind = str(value.dtype).removeprefix("torch.")
    if kind not in _NAMES:
        raise ValueError(f"convert tensor {name!r}: found dtype {value.dtype}; expected one that safetensors supports")
    if hasattr(value, "detach"):
        value = value.detach().cpu().contiguous()
        if kind == "bfloat16":
            import torch

            value = value.view(torch.int16)
        value = value.numpy()
    shape = list(value.shape)
    data = np.ascontiguousarray(value)
    return _NAMES[kind], shape, data.astype(data.dtype.newbyteorder("<"), copy=False).tobytes()


def _read(path: str | os.PathLike[str], optimiser: bool) -> dict[str, tuple[str, npt.NDArray[Any]]]:
    file = Path(path).read_bytes()
    try:
        size = int.from_bytes(file[:8], "little")
        header = json.loads(file[8 : 8 + size])
        data = memoryview(file)[8 + size :]
        arrays = {}
        for name, entry in header.items():
            if name == "__metadata__" or (name.startswith(TRAINING_STATE) and not optimiser):
                continue
            begin, end = entry["data_offsets"]
            kind, shape = _NUMPY[entry["dtype"]], entry["shape"]
            if not 0 <= begin <= end <= len(data) or math.prod(shape) * kind.itemsize != end - begin:
                raise ValueError(f"tensor {name!r} exceeds the file")
            arrays[name] = entry["dtype"], np.frombuffer(data[begin:end], kind).reshape(shape)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"load {os.fspath(path)}: invalid safetensors file: {error!r}") from error
    return arrays
