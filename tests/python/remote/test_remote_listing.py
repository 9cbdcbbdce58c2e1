"""Shards in buckets, named by wildcards and by their folder, with Swift's S3 interface and 20 objects per page."""

import json
import tarfile
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from buckets import swift, unstarve  # noqa: F401
from fault_proxy import FaultProxy
from reading import FIXTURES, needs_remote
from servers import port_of

pytestmark = needs_remote


def picture(name, number=0):
    out = BytesIO()
    Image.new("RGB", (16, 16), (sum(name.encode()) % 256, number, 7)).save(out, "PNG")
    return out.getvalue()


def shard(name, samples):
    """A tar shard with a different image per sample."""
    out = BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for i in range(samples):
            for extension, body in ("png", picture(name, i)), ("cls", str(i % 3).encode()):
                member = tarfile.TarInfo(f"{name.lstrip('.')}-{i}.{extension}")
                member.size = len(body)
                archive.addfile(member, BytesIO(body))
    return out.getvalue()


# The number of samples identifies the shards.
SHARDS = {"set/train-2.tar": 1, "set/train-10.tar": 2, "set/val-0.tar": 4, "set/deep/train-3.tar": 8,
          "set/.train-4.tar": 16, "other/odd[1]*.tar": 32, "other/odd1x.tar": 64}


@pytest.fixture(scope="module")
def objects():
    shards = {key: shard(Path(key).stem, samples) for key, samples in SHARDS.items()}
    many = {f"many/part-{i:03}.tar": shard(str(i), 1) for i in range(45)}
    flat = {"flat/train-0.tar": shard("a", 3), "flat/train-1.tar": shard("b", 5), "flat/.hidden.tar": b"x"}
    mds = {f"mds/{file.name}": file.read_bytes() for file in sorted((FIXTURES / "mds").iterdir())}
    photos = {f"photos/class{i}/0.png": b"x" for i in range(2)}
    pictures = {"1/cat/0", "1/cat/1", "1/dog/0", "2/dog/0", "2/eel/0"}
    runs = {f"runs/{name}.png": picture(name) for name in pictures}
    foreign = {"set/": b"", "set/train-2.tar.unstarve-index": b"of another program's making"}
    return shards | many | flat | mds | photos | runs | foreign


def samples(unstarve, url, *options, **more):
    report = json.loads(unstarve("inspect", url, "--json", *options, **more))
    assert report["corrupt"] == []
    return report["samples"]


@pytest.mark.parametrize("pattern, expected", {
    "set/train-*.tar": 1 + 2,
    "set/train-?.tar": 1,
    "set/[tv]*-[0-2]*": 1 + 2 + 4,
    "set/{train,val}-*.tar": 1 + 2 + 4,
    "set/*/train-*": 8,
    "*/train-*.tar": 1 + 2 + 3 + 5,
    "set/.t*": 16,
    "other/odd*.tar": 32 + 64,
    "other/odd[1]*.tar": 32,  # the object of exactly this name
    "many/*": 45,
}.items())
def test_objects_are_matched_as_files_are(unstarve, pattern, expected):
    assert samples(unstarve, "s3://data/" + pattern) == expected


def test_order_is_that_of_the_bytes_and_of_the_braces(unstarve, tmp_path):
    for key in SHARDS:
        (tmp_path / key).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / key).write_bytes(shard(Path(key).stem, SHARDS[key]))
    for i, pattern in enumerate(["set/train-*.tar", "set/{val,train}-*.tar"]):
        for kind, root in ("near", tmp_path), ("far", "s3://data"):
            unstarve("pack", f"{root}/{pattern}", tmp_path / f"{kind}{i}", "--format", "recordio")
        near, far = (next((tmp_path / f"{kind}{i}").glob("*.rec")).read_bytes() for kind in ("near", "far"))
        assert near == far


def test_a_bucket_of_google_storage_is_listed(unstarve, swift):
    more = {"GS_ACCESS_KEY_ID": swift.KEY, "GS_SECRET_ACCESS_KEY": swift.SECRET, "GS_ENDPOINT_URL": swift.auto_endpoint}
    assert samples(unstarve, "gs://data/set/train-*.tar", **more) == 3
    assert samples(unstarve, "gs://data/flat/", **more) == 8


def test_folders_of_shards(unstarve):
    assert samples(unstarve, "s3://data/flat/") == 3 + 5
    assert samples(unstarve, "s3://data/many/#label=cls") == 45
    assert samples(unstarve, "s3://data/mds/") == 5


def test_folders_named_by_wildcards(unstarve):
    """Opened one by one and concatenated, like local folders."""
    assert samples(unstarve, "s3://data/f*t/") == 3 + 5
    assert samples(unstarve, "s3://data/{flat,man?}/#label=cls") == 3 + 5 + 45
    report = json.loads(unstarve("inspect", "s3://data/runs/*/", "--json"))
    assert (report["format"], report["samples"], report["classes"]) == ("2 sources, the first image folder", 5, 3)
    assert samples(unstarve, "s3://data/runs/2*/") == 2
    report = unstarve("inspect", "s3://data/runs/x*/", code=3)
    assert "none of the 0 folders that begin with s3://data/runs/x matches" in report


def test_missing_files_and_unknown_formats_are_rejected(unstarve):
    for url, reason in {
        "s3://data/set/none-*.tar": "list s3://data/set/none-*.tar: none of the 0 objects that begin with",
        "s3://data/set/train-*.rec": "none of the 3 objects that begin with s3://data/set/train- matches",
        "s3://no-such-bucket/*.tar": "NoSuchBucket",
        "s3://da*/x.tar": "wildcards are supported in keys, not in the bucket's name",
        "https://127.0.0.1:9/train-*.tar": "an http(s) server lists no files to match '*' with",
        "s3://data/nothing/": "open s3://data/nothing/: No such file or directory",
    }.items():
        code = 2 if "supported in keys" in reason or "http(s)" in reason else 3
        assert reason in unstarve("inspect", url, code=code)
    error = unstarve("inspect", "s3://data/set/*.tar", code=3, AWS_SECRET_ACCESS_KEY="wr0ng")
    assert "HTTP 403, access denied" in error and "wr0ng" not in error


def test_a_level_costs_the_same_however_much_is_below(unstarve, swift):
    """Pages have 20 entries: 30 keys in a folder of the level would make two, another 30 four."""
    client = swift.client
    client.put_object(Bucket="data", Key="level/train-0.tar", Body=shard("a", 3))
    client.put_object(Bucket="data", Key="level/train-1.tar", Body=shard("b", 2))
    lists = []
    for run in range(2):
        for i in range(30):
            client.put_object(Bucket="data", Key=f"level/.old/{run}-{i}.tar", Body=b"x")
        with FaultProxy(port_of(swift.endpoint)) as proxy:
            more = {"AWS_ENDPOINT_URL": proxy.url}
            assert samples(unstarve, "s3://data/level/", **more) == 5
            assert samples(unstarve, "s3://data/level/train-*.tar", **more) == 5
            lists.append([head.splitlines()[0] for head in proxy.requests if "list-type=2" in head])
    assert lists[0] == lists[1]
    assert len(lists[0]) == 2


def test_folders_that_do_not_match_are_not_listed(unstarve, swift):
    client = swift.client
    for key, samples_of in ("wide/a1/train-0.tar", 3), ("wide/a2/train-0.tar", 2), ("wide/a2/val-0.tar", 9):
        client.put_object(Bucket="data", Key=key, Body=shard(key[5:7], samples_of))
    lists = []
    for run in range(2):
        for i in range(30):  # a page and a half next to the matching folders, and in them
            for folder in "wide/b", "wide/a1/old":
                client.put_object(Bucket="data", Key=f"{folder}/train-{run}-{i}.tar", Body=b"x")
        with FaultProxy(port_of(swift.endpoint)) as proxy:
            more = {"AWS_ENDPOINT_URL": proxy.url}
            assert samples(unstarve, "s3://data/wide/a*/train-*.tar", **more) == 5
            lists.append([head.splitlines()[0] for head in proxy.requests if "list-type=2" in head])
    assert lists[0] == lists[1]
    assert len(lists[0]) == 3  # of wide/a, wide/a1/train- and wide/a2/train-
