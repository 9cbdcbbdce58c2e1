#!/usr/bin/env python3
"""Makes small archives in the published layouts of datasets, with a catalogue of their checksums, and serves them.

    prepare_archives.py make DIR            writes DIR/published/NAME/... for every known set and DIR/catalogue.json,
                                            the catalogue of $UNSTARVE with the samples of the small archives
    prepare_archives.py bad DIR             writes archives that must be rejected to DIR/bad, and DIR/bad.json
    prepare_archives.py serve DIR [OPTIONS] serves DIR over HTTP on loopback with ranges; writes its URL to DIR/url
        --break-every N     end a response after N bytes
        --seconds S         delay between pieces of 64 KiB
        --log FILE          write path and Range of each request

Images are real PNG files. All contents depend only on their names, so checksums do not change.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import http.server
import io
import json
import os
import random
import struct
import subprocess
import sys
import tarfile
import time
import zipfile
import zlib
from pathlib import Path

Members = dict[str, bytes]


def png(seed: str, side: int = 8) -> bytes:
    """A side x side RGB image."""
    dots = random.Random(seed)
    rows = b"".join(b"\0" + dots.randbytes(3 * side) for _ in range(side))

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def tar(members: Members, mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=tarfile.GNU_FORMAT) as archive:
        for name, body in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
    return out.getvalue()


def tgz(members: Members) -> bytes:
    return gzip.compress(tar(members), mtime=0)


def zipped(members: Members) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in members.items():
            archive.writestr(zipfile.ZipInfo(name), body, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def cifar_records(count: int, classes: int, label_bytes: int, seed: str) -> bytes:
    dots = random.Random(seed)
    return b"".join(bytes([i % classes] * label_bytes) + dots.randbytes(3072) for i in range(count))


def idx(values: bytes, *shape: int) -> bytes:
    return bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + values


def idx_files(seed: str, train: int, test: int) -> Members:
    files = {}
    for split, count in (("train", train), ("t10k", test)):
        images = random.Random(seed + split).randbytes(count * 28 * 28)
        files[f"{split}-images-idx3-ubyte.gz"] = gzip.compress(idx(images, count, 28, 28), mtime=0)
        files[f"{split}-labels-idx1-ubyte.gz"] = gzip.compress(idx(bytes(i % 10 for i in range(count)), count), mtime=0)
    return files


# MAT level 5, as MATLAB writes meta.mat: one compressed element.
def mat_element(kind: int, body: bytes) -> bytes:
    if len(body) <= 4:
        return struct.pack("<HH", kind, len(body)) + body.ljust(4, b"\0")
    return struct.pack("<II", kind, len(body)) + body + b"\0" * (-len(body) % 8)


def mat_matrix(array_class: int, shape: tuple[int, int], name: bytes, body: bytes) -> bytes:
    head = mat_element(6, struct.pack("<II", array_class, 0)) + mat_element(5, struct.pack("<2i", *shape))
    return mat_element(14, head + mat_element(1, name) + body)


def meta_mat(classes: list[tuple[int, str, int]], compressed: bool = True) -> bytes:
    """(ILSVRC2012_ID, WNID, num_children) of each synset."""
    fields = [b"ILSVRC2012_ID", b"WNID", b"words", b"num_children", b"children"]
    body = mat_element(5, struct.pack("<i", 32)) + mat_element(1, b"".join(f.ljust(32, b"\0") for f in fields))
    for number, wnid, children in classes:
        text = "fish, and water".encode("utf-16-le")
        body += mat_matrix(6, (1, 1), b"", mat_element(4, struct.pack("<H", number)))
        body += mat_matrix(4, (1, len(wnid)), b"", mat_element(16, wnid.encode()))
        body += mat_matrix(4, (1, len(text) // 2), b"", mat_element(4, text))
        body += mat_matrix(6, (1, 1), b"", mat_element(2, bytes([children])))
        body += mat_matrix(6, (0, 0), b"", mat_element(9, b""))
    matrix = mat_matrix(2, (len(classes), 1), b"synsets", body)
    if compressed:
        packed = zlib.compress(matrix)
        matrix = struct.pack("<II", 15, len(packed)) + packed
    head = b"MATLAB 5.0 MAT-file".ljust(116) + b"\0" * 8 + struct.pack("<H", 0x0100) + b"IM"
    return head + matrix


def published() -> dict[str, tuple[dict[str, int], Members]]:
    """Returns, for each known dataset, the samples per split and its archives."""
    sets: dict[str, tuple[dict[str, int], Members]] = {}

    batches = {f"cifar-10-batches-bin/data_batch_{i}.bin": cifar_records(10, 10, 1, f"a{i}") for i in range(1, 6)}
    batches["cifar-10-batches-bin/test_batch.bin"] = cifar_records(20, 10, 1, "test")
    names = "airplane automobile bird cat deer dog frog horse ship truck".split()
    batches["cifar-10-batches-bin/batches.meta.txt"] = ("\n".join(names) + "\n").encode()
    batches["cifar-10-batches-bin/readme.html"] = b"<html>"
    sets["cifar10"] = (
        {"train": 50, "test": 20},
        {"cifar-10-binary.tar.gz": tgz(batches)},
    )
    hundred = {
        "cifar-100-binary/train.bin": cifar_records(100, 100, 2, "train"),
        "cifar-100-binary/test.bin": cifar_records(100, 100, 2, "test"),
        "cifar-100-binary/fine_label_names.txt": "".join(f"fine{i}\n" for i in range(100)).encode(),
        "cifar-100-binary/coarse_label_names.txt": "".join(f"coarse{i}\n" for i in range(20)).encode(),
    }
    sets["cifar100"] = (
        {"train": 100, "test": 100},
        {"cifar-100-binary.tar.gz": tgz(hundred)},
    )
    sets["mnist"] = ({"train": 60, "test": 20}, idx_files("digits", 60, 20))
    sets["fashion-mnist"] = ({"train": 40, "test": 30}, idx_files("clothes", 40, 30))

    kinds = ("accordion", "ant", "yin_yang", "BACKGROUND_Google")
    photos = {f"101_ObjectCategories/{k}/image_{i:04}.jpg": png(f"{k}{i}") for k in kinds for i in range(1, 4)}
    photos["101_ObjectCategories/BACKGROUND_Google/tmp"] = b"x"
    outer = {
        "caltech-101/101_ObjectCategories.tar.gz": tgz(photos),
        "caltech-101/Annotations.tar": tar({"Annotations/ant/annotation_0001.mat": b"MATLAB"}),
        "__MACOSX/caltech-101/._Annotations.tar": b"mac",
        "caltech-101/show_annotation.m": b"%",
    }
    sets["caltech101"] = (
        {},
        {"caltech-101.zip": zipped(outer)},
    )
    kinds = ("001.ak47", "002.american-flag", "257.clutter")
    photos = {
        f"256_ObjectCategories/{k}/{k[:3]}_{i:04}.jpg": png(f"{k}{i}", 40) for k in kinds for i in range(1, 61)
    }
    sets["caltech256"] = ({}, {"256_ObjectCategories.tar": tar(photos)})

    synsets = [(1, "n02119789", 0), (2, "n02100735", 0), (3, "n02110185", 0), (4, "n00001740", 2)]
    inner = {
        f"{wnid}.tar": tar({f"{wnid}_{i}.JPEG": png(f"{wnid}{i}") for i in range(4)}) for _, wnid, _ in synsets[:3]
    }
    truth = [3, 1, 2, 2, 1, 3]
    devkit = {
        "ILSVRC2012_devkit_t12/data/meta.mat": meta_mat(synsets),
        "ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt": "".join(f"{t}\n" for t in truth).encode(),
        "ILSVRC2012_devkit_t12/readme.txt": b"read me",
    }
    sets["imagenet"] = (
        {"train": 12, "val": 6},
        {
            "ILSVRC2012_devkit_t12.tar.gz": tgz(devkit),
            "ILSVRC2012_img_val.tar": tar({f"ILSVRC2012_val_{i:08}.JPEG": png(f"val{i}") for i in range(1, 7)}),
            "ILSVRC2012_img_train.tar": tar(inner),
        },
    )

    def instances(split: str, count: int) -> bytes:
        return json.dumps({
            "info": {"year": 2017}, "licenses": [{"id": 1, "name": "a licence"}],
            "images": [{"license": 1, "file_name": f"{i:012}.jpg", "height": 8, "width": 8, "id": i}
                       for i in range(count)],
            "annotations": [
                {"segmentation": [[1.5, 2, 3]], "area": area, "iscrowd": 0, "image_id": image, "bbox": [0, 0, 1, 1],
                 "category_id": kind, "id": 10 * image + kind}
                for image in range(1, count) for kind, area in ((1, 10.5), (90, 20 + image), (1, 5))
            ],
            "categories": [{"supercategory": "person", "id": 1, "name": "person"},
                           {"supercategory": "indoor", "id": 90, "name": "toothbrush"}],
        }).encode()  # fmt: skip

    sets["coco"] = (
        {"train": 5, "val": 3},
        {
            "annotations_trainval2017.zip": zipped({
                "annotations/instances_train2017.json": instances("train", 5),
                "annotations/instances_val2017.json": instances("val", 3),
                "annotations/captions_val2017.json": b"{}",
            }),
            "val2017.zip": zipped({f"val2017/{i:012}.jpg": png(f"v{i}") for i in range(3)}),
            "train2017.zip": zipped({f"train2017/{i:012}.jpg": png(f"t{i}") for i in range(5)}),
        },
    )  # fmt: skip

    labels = "ImageID,Source,LabelName,Confidence\n00000000000000a0,verification,/m/cat,0\n" + "".join(
        f"00000000000000a{i},verification,/m/{kind},1\n" for i in range(2) for kind in ("dog", "cat")
    )
    sets["open-images"] = (
        {"train": 4, "validation": 2},
        {
            "oidv7-class-descriptions.csv": b'LabelName,DisplayName\n/m/cat,Cat\n/m/dog,"Dog, ""tame"""\n',
            "oidv7-val-annotations-human-imagelabels.csv": labels.encode(),
            "oidv7-train-annotations-human-imagelabels.csv": labels.replace("00a", "00b").encode(),
            "validation.tar.gz": tgz({f"validation/00000000000000a{i}.jpg": png(f"a{i}") for i in range(2)}),
            "train_0.tar.gz": tgz({f"train_0/00000000000000b{i}.jpg": png(f"b{i}") for i in range(2)}),
            "train_f.tar.gz": tgz({f"train_f/00000000000000b{i}.jpg": png(f"b{i}") for i in range(2, 4)}),
        },
    )
    return sets


def known_sets() -> list[dict]:
    """Returns the built-in catalogue of the program."""
    listed = subprocess.run([os.environ["UNSTARVE"], "datasets", "--json"], check=True, capture_output=True)
    return json.loads(listed.stdout)["datasets"]


def small_entry(known: dict, splits: dict[str, int], archives: Members) -> dict:
    """Returns a catalogue entry with these archives, their samples and checksums; names, paths and layout stay."""
    unknown = set(archives) - {archive["file"] for archive in known["archives"]}
    if unknown:
        raise SystemExit(f"{known['name']} is published without {', '.join(sorted(unknown))}")
    entry = known | {"splits": splits, "archives": []}
    for archive in known["archives"]:
        if archive["file"] not in archives:
            continue
        body = archives[archive["file"]]
        facts: dict[str, str | int] = {"bytes": len(body)}
        facts |= {kind: hashlib.new(kind, body).hexdigest() for kind in ("md5", "sha256")}
        # No URL: nothing is downloaded from the published location.
        entry["archives"].append({key: facts.get(key, value) for key, value in archive.items() if key != "url"})
    return entry


def make(folder: Path) -> None:
    entries = []
    made = published()
    for known in known_sets():
        name = known["name"]
        if name not in made:
            raise SystemExit(f"published() has no small {name}: add it")
        splits, archives = made[name]
        target = folder / "published" / name
        target.mkdir(parents=True)
        for file, body in archives.items():
            (target / file).write_bytes(body)
        entry = small_entry(known, splits, archives)
        if name == "cifar10":
            entry["other_forms"][0]["md5"] = hashlib.md5(b"pickles").hexdigest()
        entries.append(entry)
    (folder / "catalogue.json").write_text(json.dumps({"unstarve_catalogue": 1, "datasets": entries}))


def bad_archives() -> Members:
    def link(kind: bytes) -> bytes:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            info = tarfile.TarInfo("a/link")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        return out.getvalue()

    good = tar({"a/1.png": png("1"), "b/2.png": png("2")})
    return {
        "parent.tar": tar({"a/1.png": png("1"), "../escaped.png": png("2")}),
        "inner-parent.tar.gz": tgz({"a/../../escaped.png": png("2")}),
        "absolute.tar": tar({"/tmp/unstarve-escaped.png": png("2")}),
        "parent.zip": zipped({"a/1.png": png("1"), "../escaped.png": png("2")}),
        "symlink.tar": link(tarfile.SYMTYPE),
        "hardlink.tar": link(tarfile.LNKTYPE),
        "fifo.tar": link(tarfile.FIFOTYPE),
        "bomb.tar.gz": tgz({"a/1.png": bytes(200 << 20)}),
        "bomb.zip": zipped({"a/1.png": bytes(200 << 20)}),
        "cut.tar": good[:1600],
        "cut.tar.gz": gzip.compress(good, mtime=0)[:-300],
        "text.tar": b"this is no archive\n" * 1000,
    }


def bad(folder: Path) -> None:
    (folder / "bad").mkdir()
    entries = []
    for file, body in bad_archives().items():
        (folder / "bad" / file).write_bytes(body)
        entries.append({"name": file, "title": file, "layout": "files",
                        "archives": [{"file": file, "sha256": hashlib.sha256(body).hexdigest()}]})  # fmt: skip
    (folder / "bad.json").write_text(json.dumps({"unstarve_catalogue": 1, "datasets": entries}))


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves files and single ranges; can close connections early or respond slowly."""

    protocol_version = "HTTP/1.1"
    options: argparse.Namespace

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:  # noqa: N802
        path = self.options.dir / self.path.lstrip("/")
        requested = self.headers.get("Range")
        if self.options.log:
            with open(self.options.log, "a") as log:
                print(self.path, requested, file=log)
        if ".." in path.parts or not path.is_file():
            return self.send_error(404)
        body = path.read_bytes()
        first, last = 0, len(body) - 1
        if requested:
            begin, _, end = requested.removeprefix("bytes=").partition("-")
            first, last = int(begin), min(int(end or last), last)
        self.send_response(206 if requested else 200)
        if requested:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(body)}")
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("ETag", f'"{hashlib.md5(body).hexdigest()}"')
        self.end_headers()
        self.send(body[first : last + 1])

    def send(self, body: bytes) -> None:
        limit = self.options.break_every or len(body)
        for at in range(0, min(limit, len(body)), 65536):
            self.wfile.write(body[at : min(at + 65536, limit)])
            time.sleep(self.options.seconds if len(body) > 1 else 0)
        if limit < len(body):
            self.wfile.flush()
            self.connection.close()
            self.close_connection = True


def serve(options: argparse.Namespace) -> None:
    Handler.options = options
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    partial = options.dir / "url.partial"
    partial.write_text(f"http://127.0.0.1:{server.server_address[1]}")
    os.replace(partial, options.dir / "url")
    server.handle_error = lambda *_: None  # clients that are killed are part of the test
    server.serve_forever()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("make", "bad", "serve"))
    parser.add_argument("dir", type=Path)
    parser.add_argument("--break-every", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--log")
    options = parser.parse_args()
    {"make": lambda: make(options.dir), "bad": lambda: bad(options.dir),
     "serve": lambda: serve(options)}[options.command]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
