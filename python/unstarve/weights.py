"""Weights between PyTorch and `unstarve`, as safetensors files.

`unstarve train` reads and writes safetensors under torchvision's names, so a `state_dict` of
`torchvision.models.resnet50` goes in as it is, and what was trained comes back as one::

    from unstarve import weights
    weights.convert("resnet50.pth", "resnet50.safetensors")      # or a state_dict itself
    network.load_state_dict(weights.load_torch("trained.safetensors"))

Only NumPy is needed; PyTorch where its tensors or files are involved. The layout of the file is drawn in
`unstarve/models/safetensors.h`.
"""

from __future__ import annotations

import json
import math
import os
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
# NumPy has no bfloat16: its bits are carried as uint16.
_NUMPY = {name: np.dtype("uint16" if kind == "bfloat16" else kind) for kind, name in _NAMES.items()}
_OPTIMISER = ("optimiser.", "loss_scaler.")


def convert(source: str | os.PathLike[str] | Mapping[str, Any], destination: str | os.PathLike[str]) -> None:
    """Writes a state_dict as safetensors.

    `source` is a mapping from names to tensors (PyTorch's or NumPy's, any shape, any dtype of the format) or the path
    of a file made by `torch.save(state_dict)`; a file that holds {"state_dict": ...} or {"model": ...} is unwrapped.
    Files are read with `weights_only=True`, so they cannot run code. The destination appears only when complete.

    Raises `ValueError` when there is no state_dict in it or a tensor has a dtype the format lacks, `OSError` when a
    file cannot be read or written.
    """
    if not isinstance(source, Mapping):
        import torch

        path = source
        source = torch.load(path, map_location="cpu", weights_only=True)
        for key in ("state_dict", "model"):
            if isinstance(source, Mapping) and isinstance(source.get(key), Mapping):
                source = source[key]
        if not isinstance(source, Mapping):
            raise ValueError(f"{os.fspath(path)}: found {type(source).__name__}, expected a state_dict")
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
    """Reads the safetensors file `path` into NumPy arrays by their names, of the shapes and dtypes that are stored;
    bfloat16 comes as the uint16 of its bits.

    Momentum and loss scale of a checkpoint are left out unless `optimiser` is set. Raises `ValueError` when the file is
    no safetensors file or is truncated.
    """
    return {name: array for name, (_, array) in _read(path, optimiser).items()}


def load_torch(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads the weights of the safetensors file `path` as a state_dict of PyTorch tensors, on the processor. Raises
    ValueError as load()."""
    import torch

    state = {}
    for name, (kind, array) in _read(path, False).items():
        tensor = torch.from_numpy(array.copy())
        state[name] = tensor.view(torch.bfloat16) if kind == "BF16" else tensor
    return state


def _to_bytes(name: str, value: Any) -> tuple[str, list[int], bytes]:
    kind = str(value.dtype).removeprefix("torch.")
    if kind not in _NAMES:
        raise ValueError(f"tensor {name!r} has dtype {value.dtype}, which safetensors does not have")
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
            if name == "__metadata__" or (name.startswith(_OPTIMISER) and not optimiser):
                continue
            begin, end = entry["data_offsets"]
            kind, shape = _NUMPY[entry["dtype"]], entry["shape"]
            if not 0 <= begin <= end <= len(data) or math.prod(shape) * kind.itemsize != end - begin:
                raise ValueError(f"tensor {name!r} does not lie inside the file")
            arrays[name] = entry["dtype"], np.frombuffer(data[begin:end], kind).reshape(shape)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{os.fspath(path)}: no valid safetensors file: {error!r}") from error
    return arrays
