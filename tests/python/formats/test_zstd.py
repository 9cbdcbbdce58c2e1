"""Zstandard shards written by the zstd programs contain the same records as plain ones."""

import filecmp
import json
import os
import random
import shutil
import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

SAMPLES = 300


def unstarve(*arguments, code=0):
    done = subprocess.run([os.environ["UNSTARVE"], *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A shard of 300 noise images, about 3 MB, and its packed result."""
    folder = tmp_path_factory.mktemp("zstd")
    draw = random.Random(5)
    shard = folder / "train.tar"
    with tarfile.open(shard, "w") as archive:
        for i in range(SAMPLES):
            picture = BytesIO()
            Image.frombytes("RGB", (80, 60), draw.randbytes(80 * 60 * 3)).save(picture, "JPEG", quality=90)
            for extension, body in ("jpg", picture.getvalue()), ("cls", str(i % 7).encode()):
                member = tarfile.TarInfo(f"{i:04}.{extension}")
                member.size = len(body)
                archive.addfile(member, BytesIO(body))
    assert shard.stat().st_size > 2 << 20
    unstarve("pack", shard, folder / "packed", "--format", "recordio")
    return shard


WAYS = {
    "one frame": ["zstd", "-3"],
    "without checksum": ["zstd", "-1", "--no-check"],
    "level 19": ["zstd", "-19"],
    "the largest window": ["zstd", "-3", "--long=27"],
    "threads": ["zstd", "-3", "-T2", "-B524288"],
    "many frames": ["pzstd", "-1", "-p", "4"],
}


@pytest.mark.parametrize("way", WAYS)
def test_compressed_shards_equal_plain_ones(plain, tmp_path, way):
    shard = tmp_path / "train.tar.zst"
    subprocess.run([*WAYS[way], "-q", "-k", "-o", shard, plain], check=True)
    for options in ([], ["--threads", 4]):
        unstarve("pack", shard, tmp_path / "packed", "--format", "recordio", *options)
        for path in sorted((plain.parent / "packed").glob("*.rec")):
            assert filecmp.cmp(path, tmp_path / "packed" / path.name, shallow=False)
        shutil.rmtree(tmp_path / "packed")
    report = json.loads(unstarve("inspect", shard, "--json").stdout)
    assert (report["format"], report["samples"], report["corrupt"]) == ("webdataset", SAMPLES, [])


def test_shuffled_reading_is_the_same(plain, tmp_path):
    shard = tmp_path / "train.tar.zst"
    subprocess.run(["zstd", "-q", "-o", shard, plain], check=True)
    for source, out in (plain, "one"), (shard, "other"):
        unstarve("pack", source, tmp_path / out, "--format", "recordio", "--shuffle", "--seed", 3)
    for path in (tmp_path / "one").glob("*.rec"):
        assert filecmp.cmp(path, tmp_path / "other" / path.name, shallow=False)


def test_a_window_beyond_the_limit_is_rejected(plain, tmp_path):
    shard = tmp_path / "train.tar.zst"
    # From a pipe: with a known size, the window would be limited to that size.
    with open(plain, "rb") as content:
        subprocess.run(["zstd", "-q", "--long=30", "-o", shard], stdin=content, check=True)
    error = unstarve("inspect", shard, code=3).stderr
    assert f"{shard}: the frame at offset 0 needs a window of more than 2^27 bytes" in error


@pytest.mark.parametrize("part", [0.00001, 0.3, 0.99999])
def test_a_truncated_shard_yields_its_complete_records_and_names_the_end(plain, tmp_path, part):
    whole, shard = tmp_path / "whole.zst", tmp_path / "train.tar.zst"
    subprocess.run(["zstd", "-q", "-o", whole, plain], check=True)
    content = whole.read_bytes()
    shard.write_bytes(content[:max(4, int(len(content) * part))])
    done = subprocess.run([os.environ["UNSTARVE"], "inspect", shard, "--json"], capture_output=True, text=True,
                          check=False)
    if part < 0.1:
        assert done.returncode == 3 and "ends within a frame" in done.stderr
        return
    report = json.loads(done.stdout)
    assert report["samples"] == pytest.approx(SAMPLES * part, abs=20)
    assert len(report["corrupt"]) == 1 and "ends within a frame" in json.dumps(report["corrupt"])


FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "formats"


@pytest.mark.parametrize("name", ["webdataset/cls.tar.zst", "webdataset/frames.tar.zst", "mds-zstd"])
def test_files_written_by_the_reference_libraries(tmp_path, name):
    """webdataset's and mosaicml-streaming's shards (tests/fixtures/formats/make.py), equal to the plain ones."""
    mds = name == "mds-zstd"
    packed = []
    for kind, source in ("plain", "mds" if mds else "webdataset/cls.tar"), ("zstd", name):
        (tmp_path / kind).mkdir()  # keeps indexes out of the fixtures folder
        copy = tmp_path / kind / Path(source).name
        (shutil.copytree if mds else shutil.copy)(FIXTURES / source, copy)
        unstarve("pack", copy, tmp_path / kind / "out", "--format", "recordio")
        packed.append({path.name: path.read_bytes() for path in (tmp_path / kind / "out").glob("*.rec")})
    assert packed[0] and packed[0] == packed[1]
