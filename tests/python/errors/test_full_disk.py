"""Full disks: no data loss, errors with file and size, resumption when there is space; a cache never fails a run."""

import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from reading import needs_remote, nginx, content  # noqa: F401
from small_disk_support import SmallDisk

ROOT = Path(__file__).resolve().parents[3]
FULL = re.compile(r"write \S+: No space left on device after \d+ bytes; \d+ bytes are free\n")


def unstarve(*arguments):
    subprocess.run([os.environ["UNSTARVE"], *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def same_tree(one, other):
    def files(folder):
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())

    assert files(one) == files(other) != []
    assert filecmp.cmpfiles(one, other, files(one), shallow=False)[0] == files(one)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("full_disk") / "src"
    unstarve("synth", folder, "--classes", 3, "--images", 200, "--size", 96)
    return folder


@pytest.fixture
def disk(tmp_path):
    made = []

    def make(size):
        made.append(SmallDisk(tmp_path / "disk", size))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("format", ["tfrecord", "webdataset", "recordio"])
def test_pack_keeps_finished_shards_and_resumes_when_there_is_space(source, tmp_path, disk, format):
    options = ["--format", format, "--shard-mb", 0.1, "--scan-index"]
    whole = tmp_path / "whole"
    unstarve("pack", source, whole, *options)
    small = disk("300k")
    command = [os.environ["UNSTARVE"], "pack", source, small.path / "dst", *options]
    done = small.run(command)
    assert done.returncode == 3
    assert FULL.search(done.stderr) and f"write {small.path}/dst/" in done.stderr
    # Finished shards are complete, no shard is incomplete, and there is no manifest.
    shards = [path for path in (small.seen / "dst").iterdir() if path.suffix in (".tfrecord", ".tar", ".rec")]
    assert shards and all(path.read_bytes() == (whole / path.name).read_bytes() for path in shards)
    assert not (small.seen / "dst" / "manifest.json").exists()
    assert "not completely packed" in small.run([os.environ["UNSTARVE"], "verify", small.path / "dst"]).stderr
    assert small.run(command).returncode == 3  # still full
    small.grow("50M")
    done = small.run([*command, "--json"])
    assert done.returncode == 0, done.stderr
    # If there was no space for the entry of the last shard, that shard is written again.
    assert json.loads(done.stdout)["shards_found"] >= len(shards) - 1
    same_tree(whole, small.seen / "dst")


@pytest.fixture(scope="module")
def published(nginx):
    """A small Caltech-256, from a folder and from a server."""
    subprocess.run([sys.executable, ROOT / "tests" / "cli" / "prepare_archives.py", "make", nginx.www], check=True)
    return nginx.www


@pytest.mark.parametrize("size, packing", [("600k", []), ("2200k", ["--format", "webdataset", "--shard-mb", "0.1"])])
@pytest.mark.parametrize("remote", [False, pytest.param(True, marks=needs_remote)])
def test_prepare_resumes_when_there_is_space(published, nginx, tmp_path, disk, remote, size, packing):
    archives = f"{nginx.url}/published/caltech256" if remote else published / "published" / "caltech256"
    command = [os.environ["UNSTARVE"], "prepare", "caltech256", "--catalogue", published / "catalogue.json", "--from",
               archives, *packing, "--out"]
    unstarve(*command[1:], tmp_path / "whole")
    small = disk(size)
    done = small.run([*command, small.path / "out"])
    assert done.returncode == 3
    assert FULL.search(done.stderr) and f"write {small.path}/out" in done.stderr
    assert not (small.seen / "out" / "unstarve-prepare.json").exists()
    small.grow("50M")
    done = small.run([*command, small.path / "out", "--json"])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["splits"][0]["samples"] == 180
    same_tree(tmp_path / "whole", small.seen / "out")
    assert [path.name for path in small.seen.iterdir()] == ["out"]


CACHED_EPOCHS = """
    import hashlib, json, sys, warnings
    import unstarve as un
    source, cache = sys.argv[1:]
    pipeline = un.open(source).shuffle(1).resize(96)
    if cache: pipeline = pipeline.cache("pixels", folder=cache, limit_mb=20)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loader = pipeline.random_resized_crop(64).options(threads=2).batch(20)
        digests = []
        for _ in range(2):
            digest = hashlib.sha256()
            for images, labels in loader:
                digest.update(images.tobytes() + labels.tobytes())
            digests.append(digest.hexdigest())
        report = [str(each.message) for each in caught]
        print(json.dumps([digests, report, loader.explain(), loader.memory().get("cache, in a file", [0])[0]]))
"""


@pytest.mark.parametrize("size, reason",
                         [("1M", r"no more images: writing failed after \d+ bytes of pixels"),
                          (str(2 * os.sysconf("SC_PAGESIZE")), r"no images: its entries need \d+ bytes")])
def test_a_full_cache_of_pixels_changes_no_batch(source, disk, size, reason):
    def epochs(cache):
        done = small.run([sys.executable, "-c", textwrap.dedent(CACHED_EPOCHS), source, cache])
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    small = disk(size)
    expected, report, _, _ = epochs("")
    assert report == []
    digests, report, explained, _ = epochs(small.path / "cache")
    assert digests == expected
    (notice,) = report
    assert re.fullmatch(rf"cache {small.path}/cache/\S+ stores {reason}: No space left on device", notice)
    assert notice in explained
    small.grow("50M")
    digests, report, _, kept = epochs(small.path / "cache")
    assert (digests, report) == (expected, [])
    assert kept >= 200 * 96 * 96 * 3


def test_an_index_without_disk_space_is_built_in_memory_with_a_warning(source, tmp_path, disk):
    unstarve("pack", source, tmp_path / "packed", "--format", "webdataset")
    small = disk("3M")
    shard = small.seen / "data.tar"
    shutil.copy(tmp_path / "packed" / "data-00000.tar", shard)
    with pytest.raises(OSError), open(small.seen / "filler", "wb", buffering=0) as filler:
        while filler.write(bytes(4096)) == 4096:
            pass
        raise OSError("a short write")
    environment = os.environ | {"XDG_CACHE_HOME": str(small.path / "cache")}
    command = [os.environ["UNSTARVE"], "inspect", small.path / "data.tar", "--json"]
    done = small.run(command, env=environment)
    assert done.returncode == 0
    report = json.loads(done.stdout)
    assert (report["samples"], report["corrupt"], len(report["notes"])) == (200, [], 1)
    assert "cannot be saved" in done.stderr and "No space left on device" in done.stderr
    assert not [path for path in small.seen.rglob("*") if "index" in path.name and path.is_file()]
    (small.seen / "filler").unlink()
    done = small.run(command, env=environment)
    assert (done.returncode, done.stderr, json.loads(done.stdout)["notes"]) == (0, "", [])
    assert (small.seen / "data.tar.unstarve-index").exists()


def test_a_trace_or_list_that_cannot_be_written_does_not_hide_the_result_of_training(source, tmp_path, disk):
    data = tmp_path / "data"
    shutil.copytree(source, data)
    next(data.rglob("*.jpg")).write_bytes(b"damaged")
    # A trace of 20 steps has several kilobytes; the list of one damaged image takes a block.
    small = disk("4k")
    for option, file in (("--trace", "trace.json"), ("--quarantine", "bad.jsonl")):
        (small.seen / "filler").write_bytes(b"x" * (4096 if option == "--quarantine" else 1))
        done = small.run([os.environ["UNSTARVE"], "train", data, "--model", "cifar_net", "--image-size", 32, "--batch",
                          25, "--epochs", 1, "--on-error", "skip", option, small.path / file, "--json"])
        assert done.returncode == 0, done.stderr
        assert f"train: write {small.path / file}: No space left on device" in done.stderr
        assert json.loads(done.stdout)["steps"] == 8
        assert [path.name for path in small.seen.iterdir()] == ["filler"]
