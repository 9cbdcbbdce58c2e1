"""Data in a folder that is not writable: an existing index is used, otherwise it is stored in the cache folder.

Without a writable cache folder the index is built in memory, with a warning. Root may write anywhere, so root runs the
program as another user; other users remove their own write permission.
"""

import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

NOBODY = 65534
RECORDS = 40


def as_reader(*arguments, cache):
    """Runs the program as a user without write access to the data, with the cache folder `cache`."""
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    environment = {key: value for key, value in os.environ.items() if key != "HOME"} | {"XDG_CACHE_HOME": str(cache)}
    return subprocess.run([os.environ["UNSTARVE"], *map(str, arguments)], capture_output=True, text=True, check=False,
                          env=environment, cwd="/", **who)


def inspect(place, cache):
    done = as_reader("inspect", place, "--json", cache=cache)
    assert done.stdout, done.stderr
    return json.loads(done.stdout), done


@pytest.fixture
def world():
    """A folder that everyone may enter, unlike pytest's own; in it `cache`, which the reader may write."""
    with tempfile.TemporaryDirectory(prefix="unstarve-read-only-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "cache").mkdir()
        (folder / "cache").chmod(0o777)
        try:
            tried = as_reader("--version", cache=folder / "cache")
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"the program cannot be run as another user here: {error}")
        if tried.returncode != 0:
            pytest.skip(f"the program does not run as another user here: {tried.stderr}")
        yield folder
        for below, _, _ in os.walk(folder):
            os.chmod(below, 0o755)


def pack(world, format, *more):
    """Shards in world/data without indexes."""
    run = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run([os.environ["UNSTARVE"], "synth", world / "src", "--classes", "2", "--images", str(RECORDS),
                    "--size",                    "32"], **run)
    subprocess.run([os.environ["UNSTARVE"], "pack", world / "src", world / "data", "--format", format, *more], **run)
    (shard,) = [path for path in (world / "data").iterdir() if path.suffix in (".tar", ".tfrecord")]
    return shard


def close(folder):
    folder.chmod(0o555)


def spoil(shard):
    """Replaces the data by bytes of the same size and time: a stored index still matches, a new one would differ."""
    status = shard.stat()
    shard.write_bytes(shard.read_bytes()[:1024].ljust(status.st_size, b"\0"))
    os.utime(shard, ns=(status.st_atime_ns, status.st_mtime_ns))


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("format", ["tfrecord", "webdataset"])
def test_an_existing_index_is_used(world, format):
    shard = pack(world, format)
    subprocess.run([os.environ["UNSTARVE"], "inspect", shard], check=True, stdout=subprocess.DEVNULL)  # cached
    assert shard.with_name(shard.name + ".unstarve-index").exists()
    before = files_below(world / "data")
    close(world / "data")
    seen, _ = inspect(shard, world / "cache")
    assert (seen["samples"], seen["corrupt"], seen["notes"]) == (RECORDS, [], [])
    spoil(shard)
    seen, _ = inspect(shard, world / "cache")
    assert seen["samples"] == RECORDS  # the count comes from the index
    assert files_below(world / "data") == before and files_below(world / "cache") == []


@pytest.mark.parametrize("format", ["tfrecord", "webdataset"])
def test_without_an_index_it_is_stored_in_the_cache_folder(world, format):
    shard = pack(world, format)
    before = files_below(world / "data")
    close(world / "data")
    seen, done = inspect(shard, world / "cache")
    assert (seen["samples"], seen["corrupt"], seen["notes"], done.stderr) == (RECORDS, [], [], "")
    (kept,) = files_below(world / "cache")
    assert kept.startswith("unstarve/index/") and shard.name in kept
    spoil(shard)
    assert inspect(shard, world / "cache")[0]["samples"] == RECORDS
    assert files_below(world / "data") == before


@pytest.mark.parametrize("format", ["tfrecord", "webdataset"])
def test_without_a_writable_cache_it_warns_and_reads_all_records(world, format):
    shard = pack(world, format)
    before = files_below(world / "data")
    close(world / "data")
    close(world / "cache")
    seen, done = inspect(shard, world / "cache")
    assert (done.returncode, seen["samples"], seen["corrupt"]) == (0, RECORDS, [])
    assert "cannot be saved" in done.stderr and "Permission denied" in done.stderr and str(shard) in done.stderr
    assert seen["notes"] == [done.stderr.removeprefix("unstarve: warning: ").strip()]
    assert files_below(world / "data") == before and files_below(world / "cache") == []


def test_existing_scan_indexes_are_used_and_others_are_cached(world):
    """`index` and the first epoch store indexes in the same locations."""
    pack(world, "webdataset")
    close(world / "src")

    def index():
        done = as_reader("index", world / "src", "--json", cache=world / "cache")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    close(world)  # the index of a folder is next to it
    first = index()
    assert (first["built"], first["existing"]) == (RECORDS, 0)
    assert first["file"].startswith(str(world / "cache"))
    assert index()["existing"] == RECORDS
    world.chmod(0o755)
    shutil.rmtree(world / "cache" / "unstarve")
    subprocess.run([os.environ["UNSTARVE"], "index", world / "src"], check=True, stdout=subprocess.DEVNULL)
    close(world)
    sidecar = index()
    assert (sidecar["built"], sidecar["existing"]) == (0, RECORDS)
    assert Path(sidecar["file"]).parent == world
    assert files_below(world / "cache") == []
    # A rebuilt index would have no location, with a warning.
    first, second = sorted((world / "src").rglob("*.jpg"))[:2]
    shutil.copy(first, second)
    done = as_reader("index", world / "src", "--json", cache=world / "cache")
    assert done.returncode == 3
    assert f"{sidecar['file']}: not writable" in done.stderr


def test_the_records_are_those_of_the_files(world):
    """An index in memory leads to the same bytes."""
    shard = pack(world, "webdataset")
    close(world / "data")
    close(world / "cache")
    done = as_reader("pack", shard, "/proc/none", "--format", "tfrecord", cache=world / "cache")
    assert "/proc/none" in done.stderr  # an output folder that is not writable is an error
    out = world / "out"
    out.mkdir()
    out.chmod(0o777)
    done = as_reader("pack", shard, out / "again", "--format", "webdataset", cache=world / "cache")
    assert done.returncode == 0, done.stderr
    with tarfile.open(shard) as one, tarfile.open(out / "again" / shard.name) as other:
        assert [one.extractfile(m).read() for m in one] == [other.extractfile(m).read() for m in other]
