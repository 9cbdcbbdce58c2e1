"""Reads safetensors files, and writes them with other tensors or metadata, also inconsistent ones."""

import json
import struct
import zlib
from pathlib import Path


class SafetensorsFile:
    """`metadata`: texts by name; `tensors`: (dtype, shape, bytes) by name, in the order of the file."""

    def __init__(self, path):
        data = Path(path).read_bytes()
        begin = 8 + struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:begin])
        self.metadata = header.pop("__metadata__", {})
        self.tensors = {}
        for name, entry in header.items():
            first, last = (begin + offset for offset in entry["data_offsets"])
            self.tensors[name] = (entry["dtype"], entry["shape"], data[first:last])

    def size(self, *beginnings):
        """The bytes of the tensors whose names begin with one of `beginnings`."""
        return sum(len(values) for name, (_, _, values) in self.tensors.items() if name.startswith(beginnings))

    def write(self, path, metadata_json=None):
        """Writes the file with the checksum of its tensors.

        Without that of its metadata, as earlier versions: what else the reader checks is tested. `metadata_json`: a
        text instead of the metadata.
        """
        header, data = {}, b""
        for name, (dtype, shape, values) in self.tensors.items():
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
            data += values
        metadata = {**self.metadata, "unstarve.crc32": f"{zlib.crc32(data):08x}"}
        metadata.pop("unstarve.metadata_crc32", None)
        text = json.dumps(metadata) if metadata_json is None else metadata_json
        head = f'{{"__metadata__": {text}, {json.dumps(header)[1:]}'.encode()
        Path(path).write_bytes(struct.pack("<Q", len(head)) + head + data)
        return path
