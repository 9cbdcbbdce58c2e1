"""Shards that `unstarve pack --format parquet` writes, read by pyarrow: the files, their bytes, labels and metadata."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import unstarve as un

parquet = pytest.importorskip("pyarrow.parquet")


def run(*arguments, cwd):
    return subprocess.run([os.environ["UNSTARVE"], *arguments], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parquet")
    assert run("synth", "src", "--classes", "3", "--images", "40", "--size", "48", "--seed", "1",
               cwd=folder).returncode == 0
    done = run("pack", "src", "packed", "--format", "parquet", "--shard-mb", "0.02", cwd=folder)
    if done.returncode == 4:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return folder


def test_pyarrow_reads_what_was_packed(packed):
    rows = []
    shards = sorted((packed / "packed").glob("*.parquet"))
    assert len(shards) > 1
    for shard in shards:
        rows += parquet.ParquetFile(shard, page_checksum_verification=True).read().to_pylist()
    sources = sorted((packed / "src").rglob("*.jpg"))
    classes = sorted(entry.name for entry in (packed / "src").iterdir() if entry.is_dir())
    assert len(rows) == len(sources) == 40
    by_name = {path.relative_to(packed / "src").as_posix(): path for path in sources}
    for row in rows:
        name = Path(row["image"]["path"])
        path = next(path for relative, path in by_name.items()
                    if Path(relative).with_suffix("") == name.with_suffix(""))
        assert row["image"]["bytes"] == path.read_bytes()
        assert classes[row["label"]] == path.parent.name


def test_the_schema_is_the_one_that_hugging_face_datasets_writes(packed):
    schema = parquet.read_schema(next((packed / "packed").glob("*.parquet")))
    assert str(schema.field("image").type) == "struct<bytes: binary, path: string>"
    assert str(schema.field("label").type) == "int64"
    features = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
    assert features["image"] == {"_type": "Image"}
    assert features["label"]["_type"] == "ClassLabel"
    assert len(features["label"]["names"]) == 3


def test_files_rewritten_by_pyarrow_read_the_same(packed, tmp_path):
    """Compressed, with dictionaries and other row groups: our reader returns the same records."""
    tables = [parquet.read_table(shard) for shard in sorted((packed / "packed").glob("*.parquet"))]
    import pyarrow

    parquet.write_table(pyarrow.concat_tables(tables), tmp_path / "all.parquet", compression="zstd", row_group_size=7)
    seen = []
    for source in (str(packed / "packed" / "*.parquet"), str(tmp_path / "all.parquet")):
        done = run("inspect", source, "--json", cwd=packed)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        seen.append({key: report[key] for key in ("format", "samples", "classes", "corrupt")})
    assert seen[0] == seen[1]
    assert seen[0]["samples"] == 40
    assert seen[0]["corrupt"] == []


@pytest.fixture
def compressed(tmp_path):
    """Six images in row groups of two, compressed, so that they are decoded by Arrow."""
    import pyarrow

    images = [un.encode_jpeg(np.full((16, 16, 3), 40 * i, np.uint8)) for i in range(6)]
    path = tmp_path / "photos.parquet"
    parquet.write_table(pyarrow.table({"image": images, "label": list(range(6))}), path, compression="zstd",
                        row_group_size=2)
    return path, images


def test_memory_of_the_user_s_pyarrow_does_not_count_against_a_row_group(compressed):
    import pyarrow

    path, images = compressed
    held = pyarrow.allocate_buffer(300 << 20)  # more than the limit of these row groups
    with un.open(path).sequential().center_crop(16).errors("skip").batch(6) as loader:
        (_, labels), = loader
        assert labels.tolist() == list(range(6)) and loader.bad_samples() == []
    assert [un.open(path).read(i)["image"] for i in range(6)] == images
    assert held.size == 300 << 20


def write_zeros(path, megabytes):
    import pyarrow

    parquet.write_table(pyarrow.table({"image": [bytes(megabytes << 20)], "label": [0]}), path, compression="zstd",
                        use_dictionary=False)


def test_a_row_group_beyond_the_limit_is_named_as_such(tmp_path):
    write_zeros(tmp_path / "zeros.parquet", 200)
    with pytest.raises(un.errors.InputError, match=r"row group 0: found \d+ bytes that decode to more than \d+; "
                                                   r"expected less. Write smaller row groups"):
        un.open(tmp_path / "zeros.parquet").read(0)


def test_a_row_group_without_memory_for_it_is_not_called_damaged(tmp_path):
    write_zeros(tmp_path / "zeros.parquet", 60)
    code = f"""
        import resource
        import unstarve as un
        pipeline = un.open({str(tmp_path / "zeros.parquet")!r})
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (16 << 20),) * 2)
        try:
            pipeline.read(0)
        except Exception as error:
            print(type(error).__name__, error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert "out of memory" in done.stdout.lower() and "damaged" not in done.stdout, done.stdout + done.stderr
