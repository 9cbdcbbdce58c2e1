"""Opening remote data: secrets are not shown, folders and passwords work, errors contain the remedy."""

import json
import shutil

import pytest

from buckets import swift, unstarve  # noqa: F401
from reading import FIXTURES, content, needs_remote, nginx, run_program  # noqa: F401

pytestmark = needs_remote


@pytest.fixture()
def run(tmp_path):
    """Runs the program without any settings. Returns its whole output."""

    def run(*arguments, code=0, **environment):
        done = run_program(tmp_path / "cache", *arguments, code=code, **environment)
        return done.stdout + done.stderr

    return run


@pytest.fixture(scope="module")
def private(nginx):
    """URL of a password-protected folder with shards, an MDS folder and a manifest."""
    folder = nginx.www / "private" / "data"
    shutil.copytree(FIXTURES / "mds", folder / "mds")
    shutil.copytree(FIXTURES / "images", folder / "images")
    shutil.copy(FIXTURES / "webdataset" / "cls.tar", folder)
    shutil.copy(FIXTURES / "idx" / "train-images-idx3-ubyte", folder / "alone-idx3-ubyte")
    (folder / "notes.txt").write_text("nothing that is read")
    (folder / "list.csv").write_text("path,label\n" + "".join(f"images/{i}.jpg,{i % 3}\n" for i in range(5)))
    return nginx.url.replace("//", "//user:pass%20word@") + "/private/data"


@pytest.mark.parametrize("name", ["mds/index.json", "list.csv", "cls.tar"])
def test_passwords_apply_to_every_shard(private, run, name):
    report = json.loads(run("inspect", f"{private}/{name}", "--json"))
    assert report["samples"] == 5 and report["corrupt"] == []


@pytest.mark.parametrize("arguments", [
    ["inspect", "{}/cls.tar?token=s3cr3t"],
    ["inspect", "{}/cls.tar?token=s3cr3t", "--json"],
    ["inspect", "{}/cls.tar?token=s3cr3t", "--io", "--seconds", "0.1"],
    ["inspect", "{}/cls.tar?token=s3cr3t#image=none", 3],
    ["inspect", "{}/cls.tar?token=s3cr3t#nothing=1", 2],
    ["inspect", "{}/notes.txt?token=s3cr3t", 3],
    ["inspect", "{}/list.csv", "--json"],
    ["inspect", "{}/list.csv", "--split", "odd", 2],
    ["inspect", "{}/cls.tar", "--split", "odd", 2],
    ["inspect", "{}/mds/index.json", "--split", "odd", 2],
    ["inspect", "{}/alone-idx3-ubyte", 3],
    ["inspect", "{}/none.tar?token=s3cr3t", 3],
    ["inspect", "{}/", 2],
    ["pack", "{}/cls.tar?token=s3cr3t", "DST", "--format", "recordio", "--json"],
])
def test_no_output_and_no_file_name_shows_a_secret(private, run, tmp_path, arguments):
    code = arguments[-1] if isinstance(arguments[-1], int) else 0
    given = [str(tmp_path / "packed") if text == "DST" else text.format(private)
             for text in arguments if isinstance(text, str)]
    report = run(*given, code=code)
    kept = [str(path) for path in tmp_path.rglob("*")]
    written = [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    for text in [report, *kept, *written]:
        assert "s3cr3t" not in text and "pass%20word" not in text


def test_a_folder_on_a_server_without_listings_is_an_error(nginx, run):
    assert "http(s) servers do not list folders" in run("inspect", nginx.url + "/data/", code=2)


def test_the_classes_of_packed_data_are_read_remotely(nginx, run, tmp_path):
    for name in "cat", "dog":
        (tmp_path / "src" / name).mkdir(parents=True)
        shutil.copy(FIXTURES / "images" / "0.jpg", tmp_path / "src" / name / "0.jpg")
    run("pack", tmp_path / "src", nginx.www / "packed", "--format", "webdataset")
    names = []
    for parent in nginx.www / "packed", f"{nginx.url}/packed":
        report = json.loads(run("inspect", f"{parent}/data-00000.tar", "--json"))
        names.append([count["name"] for count in report["class_counts"]])
    assert names == [["cat", "dog"]] * 2


def test_a_server_that_denies_missing_objects_is_supported(nginx, run):
    """Like an https bucket without list permission: optional files next to the data are missing."""
    folder = nginx.www / "forbids-missing"
    folder.mkdir()
    shutil.copy(FIXTURES / "webdataset" / "cls.tar", folder)
    (folder / "data_batch_1.bin").write_bytes(bytes(3 * 3073))
    url = f"{nginx.url}/forbids-missing"
    assert json.loads(run("inspect", f"{url}/cls.tar", "--json"))["samples"] == 5
    assert json.loads(run("inspect", f"{url}/data_batch_1.bin", "--json"))["samples"] == 3
    assert "HTTP 403, access denied" in run("inspect", f"{url}/none.tar", code=3)


@pytest.fixture(scope="module")
def objects():
    return {f"{name}/{file.name}": file.read_bytes()
            for name in ("mds", "webdataset") for file in sorted((FIXTURES / name).iterdir())}


def test_the_folder_of_a_bucket_needs_no_slash(unstarve):
    assert json.loads(unstarve("inspect", "s3://data/mds", "--json"))["samples"] == 5
    assert "HTTP 404, not found" in unstarve("inspect", "s3://data/md", code=3)


def test_a_denied_request_without_credentials_says_so(swift, run):
    parent = {"AWS_ENDPOINT_URL": swift.endpoint, "AWS_EC2_METADATA_DISABLED": "true"}
    report = run("inspect", "s3://data/webdataset/cls.tar", code=3, **parent)
    assert "the request was not signed: no credentials in the environment" in report
    assert "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in report
    report = run("inspect", "s3://data/webdataset/cls.tar", code=3, UNSTARVE_S3_ANONYMOUS="1",
               **swift.environment())
    assert "the request was not signed: UNSTARVE_S3_ANONYMOUS is set" in report
    report = run("inspect", "gs://data/webdataset/cls.tar", code=3, GS_ENDPOINT_URL=swift.auto_endpoint,
                 NO_GCE_CHECK="true")
    assert "the request was not signed: Your default credentials were not found" in report
    report = run("inspect", "s3://data/webdataset/cls.tar", code=3,
               **swift.environment(AWS_SECRET_ACCESS_KEY="wr0ng"))
    assert "not signed" not in report and "wr0ng" not in report


@pytest.mark.parametrize("url", ["s3://data/webdataset/{cls,json}.tar", "s3://data/webdataset/*.tar",
                                 "s3://data/webdataset"])
def test_the_io_probe_reads_one_of_several_objects(unstarve, url):
    report = json.loads(unstarve("inspect", url, "--io", "--seconds", "0.1", "--json"))
    assert report["reader"] == "ranges" and report["note"].startswith("measured by s3://data/webdataset/")
    assert all(row["reads_per_s"] > 0 for row in report["rows"])


def test_the_io_probe_says_when_all_objects_are_small(unstarve):
    report = unstarve("inspect", "s3://data/mds", "--io", code=3)
    assert "found no object of at least 4 KiB; the folder contains 0 folders, 3 files" in report
