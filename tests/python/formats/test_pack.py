"""Packing: resuming after kills, rejected folders, and reading the result with the reference libraries."""

import filecmp
import io
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

OPTIONS = ["--resize", 40, "--shard-mb", 0.05, "--split", "train=0.8,val=0.2", "--seed", 4]
KILLS = 30


def command(*arguments):
    return [os.environ["UNSTARVE"], *map(str, arguments)]


def unstarve(*arguments, code=0):
    done = subprocess.run(command(*arguments), capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done


def same_files(one, other):
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in other.iterdir())
    assert filecmp.cmpfiles(one, other, names, shallow=False)[0] == names


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pack") / "src"
    unstarve("synth", folder, "--classes", 3, "--images", 400, "--size", 96)
    return folder


def originals(source):
    """Label and bytes of every file, in the order of the dataset."""
    classes = sorted(path for path in source.iterdir() if path.is_dir())
    return [(label, path.read_bytes()) for label, folder in enumerate(classes) for path in sorted(folder.iterdir())]


def skip_without(format):
    if format == "parquet" and not json.loads(unstarve("doctor", "--json").stdout)["build"]["arrow"]:
        pytest.skip("this build has no Arrow")


@pytest.mark.parametrize("format, more", [("webdataset", ["--scan-index"]), ("recordio", []), ("tfrecord", []),
                                          ("parquet", [])])
def test_pack_resumes_after_a_kill_with_the_same_result(source, tmp_path, format, more):
    skip_without(format)
    options = ["--format", format, "--threads", 2, *OPTIONS, *more]
    start = time.monotonic()
    unstarve("pack", source, tmp_path / "whole", *options)
    length = time.monotonic() - start
    draw = random.Random(format)
    killed = tmp_path / "killed"
    interrupted = runs = 0
    while runs < KILLS or interrupted < KILLS // 3:
        runs += 1
        assert runs <= 10 * KILLS, f"{interrupted} of {runs} runs were killed before they ended"
        start = time.monotonic()
        process = subprocess.Popen(command("pack", source, killed, *options), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        try:
            process.wait(draw.uniform(0, 0.8 * length))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        with process.stderr:
            assert process.returncode in (0, -signal.SIGKILL), process.stderr.read()
        interrupted += process.returncode != 0
        # Every file with a final name is complete and equal to that of the uninterrupted run.
        if killed.exists():
            for path in killed.iterdir():
                if path.name != ".unstarve-pack":
                    assert path.read_bytes() == (tmp_path / "whole" / path.name).read_bytes(), path.name
        if process.returncode == 0:
            length = min(length, time.monotonic() - start)  # the first run may have been slower
            same_files(tmp_path / "whole", killed)
            shutil.rmtree(killed)
    unstarve("pack", source, killed, *options)
    same_files(tmp_path / "whole", killed)
    unstarve("verify", killed)


def test_a_read_only_folder_is_rejected(source, tmp_path):
    if os.geteuid() == 0:
        target = Path("/proc/unstarve-pack")  # root can write anywhere else
    else:
        (tmp_path / "fixed").mkdir(mode=0o555)
        target = tmp_path / "fixed" / "dst"
    done = unstarve("pack", source, target, "--format", "tfrecord", code=3)
    assert str(target) in done.stderr


def test_concurrent_runs_do_not_interfere(source, tmp_path):
    options = ["--format", "webdataset", "--threads", 1, *OPTIONS]
    unstarve("pack", source, tmp_path / "whole", *options)
    for _ in range(5):
        runs = [subprocess.Popen(command("pack", source, tmp_path / "both", *options, "--part", f"{part}/2"),
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for part in (1, 2)]
        for run in runs:
            _, errors = run.communicate()
            assert run.returncode == 0, errors
        same_files(tmp_path / "whole", tmp_path / "both")
        shutil.rmtree(tmp_path / "both")


def test_tar_shards_are_read_by_tarfile_and_hold_the_files(source, tmp_path):
    unstarve("pack", source, tmp_path / "dst", "--format", "webdataset", "--shard-mb", 0.2)
    packed = []
    for shard in sorted((tmp_path / "dst").glob("*.tar")):
        with tarfile.open(shard) as archive:
            members = archive.getmembers()
            assert [member.name.rsplit(".", 1)[1] for member in members] == ["jpg", "cls"] * (len(members) // 2)
            bodies = [archive.extractfile(member).read() for member in members]
            packed += zip(map(int, bodies[1::2]), bodies[0::2], strict=True)
            assert all((member.mtime, member.uid, member.mode) == (0, 0, 0o644) for member in members)
    assert packed == originals(source)


def test_recordio_has_the_layout_of_mxnet(source, tmp_path):
    """Reads as mxnet.recordio.MXIndexedRecordIO does; mxnet cannot be installed for this version of Python."""
    unstarve("pack", source, tmp_path / "dst", "--format", "recordio", "--shard-mb", 0.2)
    packed = []
    for shard in sorted((tmp_path / "dst").glob("*.rec")):
        data = shard.read_bytes()
        for number, line in enumerate(shard.with_suffix(".idx").read_text().splitlines()):
            key, offset = map(int, line.split("\t"))
            assert key == len(packed)
            magic, word = struct.unpack_from("<II", data, offset)
            assert (magic, word >> 29) == (0xCED7230A, 0)
            record = data[offset + 8 : offset + 8 + word]
            flag, label, id1, id2 = struct.unpack_from("<IfQQ", record)
            assert (flag, id1, id2) == (0, key, 0)
            packed.append((int(label), record[24:]))
        assert number > 0
    assert packed == originals(source)


@pytest.mark.frameworks
def test_webdatasets_own_reader_finds_the_samples(source, tmp_path):
    wds = pytest.importorskip("webdataset", reason="webdataset is not installed: make test-frameworks")
    unstarve("pack", source, tmp_path / "dst", "--format", "webdataset", "--shard-mb", 0.2)
    shards = sorted(map(str, (tmp_path / "dst").glob("*.tar")))
    packed = [(int(sample["cls"]), sample["jpg"]) for sample in wds.WebDataset(shards, shardshuffle=False)]
    assert packed == originals(source)


@pytest.mark.frameworks
def test_tensorflow_parses_every_record(source, tmp_path):
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: make test-frameworks")
    unstarve("pack", source, tmp_path / "dst", "--format", "tfrecord", "--shard-mb", 0.2)
    shards = sorted(map(str, (tmp_path / "dst").glob("*.tfrecord")))
    packed = []
    for record in tf.data.TFRecordDataset(shards):
        feature = tf.train.Example.FromString(record.numpy()).features.feature
        packed.append((feature["image/class/label"].int64_list.value[0], feature["image/encoded"].bytes_list.value[0]))
        assert feature["image/format"].bytes_list.value[0] == b"jpeg"
    assert packed == originals(source)


def test_resized_images_are_near_pillows(source, tmp_path):
    image_module = pytest.importorskip("PIL.Image")
    import numpy

    unstarve("pack", source, tmp_path / "dst", "--format", "webdataset", "--resize", 48, "--quality", 95)
    with tarfile.open(tmp_path / "dst" / "data-00000.tar") as archive:
        packed = [archive.extractfile(member).read() for member in archive if member.name.endswith(".jpg")]
    sources = originals(source)
    assert len(packed) == len(sources)
    for (_, before), after in list(zip(sources, packed, strict=True))[::40]:
        old, new = (image_module.open(io.BytesIO(data)).convert("RGB") for data in (before, after))
        width, height = old.size
        size = (48, 48 * height // width) if width <= height else (48 * width // height, 48)
        assert new.size == size
        out = io.BytesIO()
        old.resize(size, image_module.BILINEAR).save(out, "JPEG", quality=95)
        expected = numpy.asarray(image_module.open(out), dtype=float)
        assert numpy.abs(numpy.asarray(new, dtype=float) - expected).mean() < 0.5
