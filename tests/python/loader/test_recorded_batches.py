"""Batches are bit-equal to those of earlier versions, recorded in tests/fixtures/recorded_batches.json.

Every case is a pipeline over data that is equal byte for byte wherever the test runs. Its digest covers pixels, labels
and sample ids of every batch, for 1, 2 and 8 threads, and again for a run that is resumed in the middle of an epoch.

    UNSTARVE=build/unstarve PYTHONPATH=build/python .venv/bin/python tests/python/loader/test_recorded_batches.py

prints the digests of this build as JSON. Record them again only for an intended change of batches, and say so in
CHANGELOG.md.
"""

import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

import unstarve as un

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
RECORDED = FIXTURES / "recorded_batches.json"

FORMATS = {
    "arrow": "formats/arrow/file.arrow",
    "arrow-saved": "formats/arrow/saved",
    "arrow-zstd": "formats/arrow/zstd.arrow",
    "mds": "formats/mds",
    "mds-gz": "formats/mds-gz",
    "mds-zstd": "formats/mds-zstd",
    "npy": "formats/npy",
    "idx": "formats/idx",
    "parquet": "formats/parquet/plain.parquet",
    "recordio": "formats/recordio/plain.rec",
    "tfrecord": "tfrecord/imagenet.tfrecord",
    "tfrecord-gzip": "tfrecord/imagenet.tfrecord.gz",
    "webdataset": "formats/webdataset/cls.tar",
    "webdataset-zstd": "formats/webdataset/cls.tar.zst",
}
STEPS = {
    "train": lambda p: p.random_resized_crop(48).flip(),
    "evaluate": lambda p: p.resize(72).center_crop(56),
    "pad": lambda p: p.resize((50, 50)).pad_crop(48, 4).flip(),
    "augment": lambda p: p.random_resized_crop(64).rand_augment().erasing(),
    "normalised": lambda p: p.random_resized_crop(40).normalize(*un.IMAGENET),
}
PIXELS = STEPS | {"normalised": lambda p: p.random_resized_crop(40)}  # uint8
EXACT_PASSES = ("cache", "crop_into_resize", "crop_into_decode", "resize_into_decode", "scan_index", "operation_fusion")


def _write_cifar_binary(python, folder):
    """The records of CIFAR-10's Python form in its binary form."""
    folder.mkdir()
    for file in sorted(python.glob("data_batch_*")):
        batch = pickle.loads(file.read_bytes(), encoding="bytes")
        records = [bytes([label]) + bytes(row) for label, row in zip(batch[b"labels"], batch[b"data"], strict=True)]
        (folder / f"{file.name}.bin").write_bytes(b"".join(records))


def _write_manifest(images, file):
    labels = json.loads((images.parent / "samples.json").read_text())["labels"]
    file.write_text("path,label\n" + "".join(f"{images}/{i}.jpg,{label}\n" for i, label in enumerate(labels)))


def _write_lossless(photographs, folder, ending):
    """The pixels of the photographs in files of a format without loss."""
    for file in photographs.glob("*/*.jpg"):
        to = folder / file.parent.name / f"{file.stem}.{ending}"
        to.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(un.decode(file)).save(to, **({"lossless": True} if ending == "webp" else {}))


def _batches(loader, epochs):
    for _ in range(epochs):
        for parts in loader.batches():
            yield b"".join(part.tobytes() for part in parts)


def _digest(batches):
    digest = hashlib.blake2b(digest_size=16)
    for batch in batches:
        digest.update(batch)
    return digest.hexdigest()


def _runs(pipeline, size=2):
    """The digest of two epochs, equal for 1, 2 and 8 threads and for a run that is resumed after its first batch."""
    runs = [list(_batches(pipeline.options(threads=threads).batch(size), 2)) for threads in (1, 2, 8)]
    assert runs[0] == runs[1] == runs[2]
    first = pipeline.options(threads=2).batch(size)
    seen = [next(iter(_batches(first, 1)))]
    state = json.loads(json.dumps(first.state_dict()))
    first.close()
    resumed = pipeline.options(threads=3).batch(size)
    resumed.load_state_dict(state)
    assert seen + list(_batches(resumed, 2))[: len(runs[0]) - 1] == runs[0]
    return _digest(runs[0])


def digests(program, folder):
    """The digest of every case, by name."""
    photographs = Path(folder) / "photographs"
    subprocess.run([program, "synth", photographs, "--classes", "3", "--images", "24", "--size", "300", "--seed", "5"],
                   check=True, stdout=subprocess.DEVNULL)
    files = Path(folder) / "fixtures"  # a copy, because indexes are written next to shards
    for kind in ("formats", "tfrecord"):
        shutil.copytree(FIXTURES / kind, files / kind, ignore=shutil.ignore_patterns("*.unstarve-index"))
    found = {}
    python, binary = files / "formats" / "cifar-10-batches-py", files / "cifar-binary"
    _write_cifar_binary(python, binary)
    _write_manifest(files / "formats" / "images", files / "manifest.csv")
    opened = {name: un.open(files / path) for name, path in FORMATS.items()} | {
        "cifar-python": un.open(python, "train"),
        "cifar-binary": un.open(binary, "train"),
        "manifest": un.open(files / "manifest.csv"),
    }
    for name, pipeline in opened.items():
        for step in ("train", "evaluate"):
            found[f"{name} {step}"] = _runs(STEPS[step](pipeline.shuffle(seed=3)))
    for ending in ("png", "webp"):
        _write_lossless(photographs, files / ending, ending)
        for step in ("train", "evaluate"):
            found[f"{ending} {step}"] = _runs(STEPS[step](un.open(files / ending).shuffle(seed=3)), 5)
    source = un.open(photographs).shuffle(seed=3)
    for step, add in STEPS.items():
        found[f"photographs {step}"] = _runs(add(source), 5)
        for layout in ("NHWC", "NCHW"):
            found[f"photographs {step} {layout}"] = _runs(PIXELS[step](source).output("uint8", layout), 5)
    for step in ("train", "evaluate"):
        pipeline = STEPS[step](source)
        expected = found[f"photographs {step}"]
        for off in EXACT_PASSES:
            assert _runs(pipeline.passes(**{off: False}), 5) == expected, f"{step} without {off}"
        for cache in ("encoded", "pixels"):
            assert _runs(pipeline.cache(cache), 5) == expected, f"{step} with a cache of {cache}"
        found[f"photographs {step} reduced"] = _runs(pipeline.passes(scale_into_decode=True), 5)
        found[f"photographs {step} mixup"] = _runs(pipeline.normalize(*un.IMAGENET).mixup(0.4), 5)
    found["photographs padded"] = _digest(_batches(source.batch(5, pad=True), 2))
    return found


def test_batches_are_those_that_were_recorded(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert digests(os.environ["UNSTARVE"], tmp_path) == json.loads(RECORDED.read_text())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        os.environ["XDG_CACHE_HOME"] = made + "/cache"
        json.dump(digests(os.environ["UNSTARVE"], made), sys.stdout, indent=1)
        print()
