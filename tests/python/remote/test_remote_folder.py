"""Folders of a bucket that are not shards: image folders, CIFAR, npy and idx read as from a local disk."""

import filecmp
import json
import shutil

import pytest

from buckets import swift, unstarve  # noqa: F401
from fault_proxy import FaultProxy
from reading import FIXTURES, needs_remote
from servers import port_of

pytestmark = needs_remote


def cifar(record):
    return bytes([record % 10]) + bytes((record * 7 + i) % 256 for i in range(3072))


@pytest.fixture(scope="module")
def near(tmp_path_factory):
    """A folder of datasets, also in the bucket `data`."""
    folder = tmp_path_factory.mktemp("near")
    photos = sorted(path.read_bytes() for path in (FIXTURES / "images").iterdir())
    names = ["cat/b.jpg", "cat/a.JPEG", "cat/deep/a.jpg", "cat/deep.er/a.jpg", "Dog/1 +&ß.jpg", "Dog/.hidden.jpg",
             "Dog/.x/a.jpg", "Dog/notes.txt", "ant/10.jpg", "ant/9.jpg"]
    for i, name in enumerate(names):
        for root in "photos", "splits/train", "splits/val":
            path = folder / root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(photos[(i + len(root)) % len(photos)])
    shutil.copytree(FIXTURES / "npy", folder / "npy")
    shutil.copytree(FIXTURES / "idx", folder / "idx")
    (folder / "cifar").mkdir()
    for name, records in ("data_batch_1", 3), ("data_batch_2", 2), ("test_batch", 4):
        (folder / "cifar" / f"{name}.bin").write_bytes(b"".join(map(cifar, range(records))))
    (folder / "cifar" / "batches.meta.txt").write_text("".join(f"name{i}\n" for i in range(10)))
    return folder


@pytest.fixture(scope="module")
def objects(near):
    files = {str(path.relative_to(near)): path.read_bytes() for path in sorted(near.rglob("*")) if path.is_file()}
    good = (FIXTURES / "images" / "0.jpg").read_bytes()
    return files | {"photos/": b"", "photos/cat/": b"", "damaged/a/empty.jpg": b"", "damaged/a/good.jpg": good,
                    "imageless/a/notes.txt": b"x"}


SETS = [("photos", ""), ("splits", "train"), ("splits", "val"), ("npy", ""), ("idx", ""), ("idx", "test"),
        ("cifar", ""), ("cifar", "test"), ("cifar/data_batch_2.bin", "")]


@pytest.mark.parametrize("name, split", SETS)
def test_remote_data_equal_local_data(unstarve, near, tmp_path, name, split):
    report = []
    for root in near, "s3://data":
        options = ["--split", split] if split else []
        report.append(json.loads(unstarve("inspect", f"{root}/{name}", "--json", *options)) | {"path": ""})
        assert report[-1]["corrupt"] == []
        source = ["--from-split", split] if split else []
        unstarve("pack", f"{root}/{name}", tmp_path / str(len(report)), "--format", "webdataset", *source)
    assert report[0] == report[1]
    files = sorted(path.name for path in (tmp_path / "1").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "2").iterdir())
    shards = [file for file in files if file.endswith(".tar")]
    assert shards and filecmp.cmpfiles(tmp_path / "1", tmp_path / "2", shards, shallow=False)[0] == shards


def test_an_image_costs_one_request(unstarve, swift):
    with FaultProxy(port_of(swift.endpoint)) as proxy:
        report = json.loads(unstarve("inspect", "s3://data/photos/", "--json",
                              AWS_ENDPOINT_URL=proxy.url))
        heads = [head.splitlines()[0] for head in proxy.requests]
    assert report["samples"] == 7 and report["classes"] == 3
    lists = [head for head in heads if "list-type=2" in head]
    assert len(lists) == 1 + report["classes"]
    assert len(heads) - len(lists) == report["samples"]


def test_an_object_that_is_replaced_after_the_list_ends_inspect_and_is_not_quarantined(unstarve, swift, tmp_path):
    with FaultProxy(port_of(swift.endpoint), {4: {"replace": {"etag": '"another"'}}}) as proxy:
        message = unstarve("inspect", "s3://data/photos/", "--threads", 1, "--quarantine", tmp_path / "bad.jsonl",
                           AWS_ENDPOINT_URL=proxy.url, code=3)
    assert "the object was changed" in message
    assert not (tmp_path / "bad.jsonl").exists()


def test_an_unusable_decoder_is_reported(unstarve):
    report = json.loads(unstarve("inspect", "s3://data/damaged", "--json"))
    assert report["samples"] == 2
    assert [record["location"] for record in report["corrupt"]] == ["s3://data/damaged/a/empty.jpg"]
    assert "0 bytes; expected an image" in report["corrupt"][0]["reason"]
    assert "no image in 1 folders" in unstarve("inspect", "s3://data/imageless", code=3)
    splits = unstarve("inspect", "s3://data/splits/", code=3)
    assert "the subfolders are splits (train, val); expected classes" in splits
    assert "no split 'odd'; available: train, val" in unstarve("inspect", "s3://data/splits/", "--split", "odd", code=2)


def test_the_loader_prefetches_from_a_remote_image_folder(unstarve):
    report = unstarve("explain", "s3://data/photos", "--batch", 2, "--verbose")
    assert "records in flight, the data is on a cold disk or on a server" in report
