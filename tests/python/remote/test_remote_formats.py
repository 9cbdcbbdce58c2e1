"""Every format from an HTTP server and a bucket, two shards each, equals the local data."""

import io
import json
import shutil
import socket
import tarfile

import pytest

from buckets import swift, unstarve  # noqa: F401
from reading import FIXTURES, content, needs_remote, nginx, run_program  # noqa: F401
from servers import DialectServer, free_port

pytestmark = needs_remote

TFRECORD = FIXTURES.parent / "tfrecord"
CIFAR = b"".join(bytes([i]) + bytes([i * 20 + 7]) * 3072 for i in range(5))
ROWS = [(f"images/{i}.jpg", i % 3) for i in range(5)]
CSV = "path,label\n" + "".join(f"{path},{label}\n" for path, label in ROWS)
JSON_LINES = "".join(json.dumps({"path": path, "label": f"c{label}"}) + "\n" for path, label in ROWS)

# The files for the numbers 0 and 1, the text that names both, and the number of samples of one.
FORMATS = {
    "tfrecord": ({"x-%": TFRECORD / "imagenet.tfrecord"}, "x-{0..1}", None),
    "tfrecord-gzip": ({"x-%.gz": TFRECORD / "imagenet.tfrecord.gz"}, "x-{0..1}.gz", None),
    "tfrecord-zlib": ({"x-%": TFRECORD / "imagenet.tfrecord.zlib"}, "x-{0,1}", None),
    "tar": ({"x-%.tar": FIXTURES / "webdataset/cls.tar"}, "x-{0..1}.tar", 5),
    "tar-gzip": ({"x-%.tar.gz": FIXTURES / "webdataset/cls.tar.gz"}, "x-{0..1}.tar.gz", 5),
    "tar-zstd": ({"x-%.tar.zst": FIXTURES / "webdataset/cls.tar.zst"}, "x-{0..1}.tar.zst", 5),
    "tar-frames": ({"x-%.tar.zst": FIXTURES / "webdataset/frames.tar.zst"}, "x-{0..1}.tar.zst", 5),
    "recordio": ({"x-%.rec": FIXTURES / "recordio/indexed.rec", "x-%.idx": FIXTURES / "recordio/indexed.idx"},
                 "x-{0..1}.rec", 5),
    "parquet": ({"x-%.parquet": FIXTURES / "parquet/plain.parquet"}, "x-{0..1}.parquet", 5),
    "parquet-zstd": ({"x-%.parquet": FIXTURES / "parquet/zstd.parquet"}, "x-{0..1}.parquet", 5),
    "mds": ({"x-%": FIXTURES / "mds"}, "x-{0..1}/index.json", 5),
    "mds-gzip": ({"x-%": FIXTURES / "mds-gz"}, "x-{0..1}/index.json", 5),
    "mds-zstd": ({"x-%": FIXTURES / "mds-zstd"}, "x-{0..1}/index.json", 5),
    "npy": ({"images-%.npy": FIXTURES / "npy/images.npy", "labels-%.npy": FIXTURES / "npy/labels.npy"},
            "images-{0..1}.npy", 5),
    "idx": ({"%-images-idx3-ubyte": FIXTURES / "idx/train-images-idx3-ubyte",
             "%-labels-idx1-ubyte": FIXTURES / "idx/train-labels-idx1-ubyte"}, "{0..1}-images-idx3-ubyte", None),
    "idx-gzip": ({"%-images-idx3-ubyte.gz": FIXTURES / "idx/t10k-images-idx3-ubyte.gz",
                  "%-labels-idx1-ubyte.gz": FIXTURES / "idx/t10k-labels-idx1-ubyte.gz"},
                 "{0..1}-images-idx3-ubyte.gz", None),
    "cifar": ({"data_batch_%.bin": CIFAR}, "data_batch_{0..1}.bin", 5),
    "manifest-csv": ({"m-%.csv": CSV.encode(), "images": FIXTURES / "images"}, "m-{0..1}.csv", 5),
    "manifest-json": ({"m-%.jsonl": JSON_LINES.encode(), "images": FIXTURES / "images"}, "m-{0..1}.jsonl", 5),
}
# Folders, which http(s) cannot list.
FOLDERS = {
    "images": ({"x-%/class": FIXTURES / "images"}, "x-{0,1}", 5),
    "mds-folders": ({"x-%": FIXTURES / "mds"}, "x-{0,1}/", 5),
}


def write(folder, files):
    for name, what in files.items():
        for number in "01":
            path = folder / name.replace("%", number)
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(what, bytes):
                path.write_bytes(what)
            elif what.is_dir():
                shutil.copytree(what, path, dirs_exist_ok=True)
            else:
                shutil.copy(what, path)


@pytest.fixture(scope="module")
def near(tmp_path_factory):
    root = tmp_path_factory.mktemp("near")
    for name, (files, _, _) in (FORMATS | FOLDERS).items():
        write(root / name, files)
    return root


@pytest.fixture(scope="module")
def objects(near):
    return {str(path.relative_to(near)): path.read_bytes() for path in sorted(near.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def has_parquet(tmp_path_factory):
    report = run_program(tmp_path_factory.mktemp("cache"), "doctor", "--json").stdout
    return json.loads(report)["build"]["arrow"] is not None


def packed(cache, folder, source, **environment):
    """Returns the bytes of the packed shards and the number of records."""
    report = json.loads(run_program(cache, "pack", source, folder, "--format", "recordio", "--json",
                                  **environment).stdout)
    assert report["complete"] and report["skipped"] == []
    return [(folder / shard).read_bytes() for shard in report["shards"]], report["records"]


@pytest.fixture(scope="module")
def expected(near, tmp_path_factory):
    """Returns packed() of the local data of a format, computed once."""
    done = {}

    def of(name):
        if name not in done:
            folder = tmp_path_factory.mktemp(name)
            done[name] = packed(folder / "cache", folder / "packed", f"{near}/{name}/{(FORMATS | FOLDERS)[name][1]}")
        return done[name]

    return of


def check(name, expected, far, tmp_path, **environment):
    _, text, samples = (FORMATS | FOLDERS)[name]
    from_near, count = expected(name)
    from_far, far_count = packed(tmp_path / "cache", tmp_path / "packed", f"{far}/{name}/{text}", **environment)
    assert count == far_count and count % 2 == 0 and count == 2 * (samples or count // 2) > 0
    assert from_near and from_far == from_near


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_from_an_http_server(near, expected, nginx, has_parquet, tmp_path, name):
    if name.startswith("parquet") and not has_parquet:
        pytest.skip("this build has no Arrow")
    if not (nginx.www / "formats").exists():
        shutil.copytree(near, nginx.www / "formats")
    check(name, expected, f"{nginx.url}/formats", tmp_path)


@pytest.mark.parametrize("name", FORMATS | FOLDERS)
def test_every_format_from_a_bucket(expected, swift, has_parquet, tmp_path, name):
    if name.startswith("parquet") and not has_parquet:
        pytest.skip("this build has no Arrow")
    check(name, expected, "s3://data", tmp_path, **swift.environment())


def test_relative_paths_of_a_manifest_are_parts_of_urls_and_bad_urls_are_bad_records(nginx, tmp_path):
    folder = nginx.www / "names"
    folder.mkdir()
    names = ["my img.jpg", "i#1.jpg", "100%.jpg", "ü.jpg"]
    for name in names:
        shutil.copy(FIXTURES / "images/0.jpg", folder / name)
    encoded = ["my%20img.jpg", "100%25.jpg", "%C3%BC.jpg", "my img.jpg?width=32&key=a%2Fb"]
    rows = [*names, *encoded, "none.jpg", f"{nginx.url}/names/my%20img.jpg", f"{nginx.url}/names/my img.jpg"]
    (folder / "list.csv").write_text("path,label\n" + "".join(f"{row},{i % 2}\n" for i, row in enumerate(rows)))
    report = json.loads(run_program(tmp_path, "inspect", f"{nginx.url}/names/list.csv", "--json").stdout)
    assert report["samples"] == 11
    assert [bad["id"] for bad in report["corrupt"]] == [8, 10]
    assert "not found" in report["corrupt"][0]["reason"]
    assert "a space; expected %20" in report["corrupt"][1]["reason"]


def test_urls_that_a_server_rejects_or_whose_host_is_dead_are_bad_records(nginx, tmp_path):
    shutil.copy(FIXTURES / "images/0.jpg", nginx.www / "good.jpg")
    closed = f"http://127.0.0.1:{free_port()}"
    settings = {"UNSTARVE_REMOTE_ATTEMPTS": "2", "UNSTARVE_REMOTE_TIMEOUT_S": "3"}

    def inspect(rows, root="", code=0):
        (tmp_path / "list.csv").write_text("path\n" + "".join(f"{row}\n" for row in rows))
        return run_program(tmp_path, "inspect", f"{tmp_path}/list.csv{root}", "--json", code=code, **settings)

    with socket.create_server(("127.0.0.1", 0)) as silent:  # never replies to a TLS handshake
        rows = [f"{nginx.url}/good.jpg", f"{nginx.url}/forbids-missing/x.jpg", f"{closed}/x.jpg",
                "http://host.invalid/x.jpg", f"https://127.0.0.1:{silent.getsockname()[1]}/x.jpg",
                f"{nginx.tls_url}/good.jpg"]  # the certificate is unknown
        corrupt = json.loads(inspect(rows).stdout)["corrupt"]
    assert [bad["id"] for bad in corrupt] == [1, 2, 3, 4, 5]
    assert "HTTP 403, access denied" in corrupt[0]["reason"]
    # Not the fault of one record: no credentials, the server of all rows.
    assert "HTTP 401" in inspect([f"{nginx.url}/private/data.bin"], code=3).stdout
    for root in closed, "http://host.invalid":
        assert "2 attempts" in inspect(["x.jpg"], f"#root={root}", code=3).stdout


def test_the_index_of_an_object_without_a_version_is_not_saved(tmp_path):
    def tar(label):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            for name, data in ("0.jpg", (FIXTURES / "images/0.jpg").read_bytes()), ("0.cls", label):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        return out.getvalue()

    with DialectServer(tar(b"1"), "no version") as server:
        for label, classes in (b"1", 2), (b"2", 3):  # of equal size
            server.content = tar(label)
            done = run_program(tmp_path, "inspect", f"{server.url}/x.tar", "--json")
            assert json.loads(done.stdout)["classes"] == classes
            assert "sends neither ETag nor Last-Modified" in done.stderr
    assert not list(tmp_path.rglob("*.unstarve-index"))
