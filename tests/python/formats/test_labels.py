"""Data without usable labels are an error where labels are used, never read as zeros."""

import io
import json
import os
import struct
import subprocess
import tarfile
import warnings

import numpy as np
import pytest
from PIL import Image

import unstarve as un

COUNT = 6


def jpeg(i):
    stream = io.BytesIO()
    Image.fromarray(np.full((24, 32, 3), 20 * i, np.uint8)).save(stream, "JPEG")
    return stream.getvalue()


def csv(folder, labels, column="label"):
    for i in range(COUNT):
        (folder / f"{i}.jpg").write_bytes(jpeg(i))
    path = folder / "list.csv"
    path.write_text(f"path,{column}\n" + "".join(f"{i}.jpg,{label}\n" for i, label in enumerate(labels)))
    return path


def json_lines(folder, labels, column="label"):
    csv(folder, labels)
    path = folder / "list.jsonl"
    path.write_text("".join(json.dumps({"path": f"{i}.jpg", column: label}) + "\n" for i, label in enumerate(labels)))
    return path


def tar(folder, labels, column="label"):
    path = folder / "x.tar"
    with tarfile.open(path, "w") as archive:
        for i, label in enumerate(labels):
            for name, body in ((f"{i}.jpg", jpeg(i)), (f"{i}.json", json.dumps({column: label}).encode())):
                member = tarfile.TarInfo(name)
                member.size = len(body)
                archive.addfile(member, io.BytesIO(body))
    return path


def parquet(folder, labels, column="label"):
    arrow, files = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = folder / "x.parquet"
    files.write_table(arrow.table({"image": [jpeg(i) for i in range(COUNT)], column: list(labels)}), path)
    return path


def mds(folder, labels, column="label"):
    encoding, pack = {int: ("int", lambda value: struct.pack("<q", value)),
                      float: ("float64", lambda value: struct.pack("<d", value))}.get(
                          type(labels[0]), ("json", lambda value: json.dumps(value).encode()))
    names, samples = [column, "image"], []
    for i, label in enumerate(labels):
        value, image = pack(label), jpeg(i)
        sizes = [len(image)] if encoding != "json" else [len(value), len(image)]
        samples.append(b"".join(struct.pack("<I", size) for size in sizes) + value + image)
    offsets = np.cumsum([4 + 4 * (COUNT + 1), *map(len, samples)]).astype("<u4")
    (folder / "shard.00000.mds").write_bytes(struct.pack("<I", COUNT) + offsets.tobytes() + b"".join(samples))
    shard = {"format": "mds", "samples": COUNT, "compression": None, "column_names": names,
             "column_encodings": [encoding, "jpeg"], "column_sizes": [None if encoding == "json" else 8, None],
             "raw_data": {"basename": "shard.00000.mds", "bytes": int(offsets[-1]), "hashes": {}}, "zip_data": None}
    (folder / "index.json").write_text(json.dumps({"version": 2, "shards": [shard]}))
    return folder


NUMBERS, FLOATS, LISTS = [0, 1, 2, 0, 1, 2], [0.25, 1.5, 2.0, 0.5, 1.0, 0.75], [[i, i + 1] for i in range(COUNT)]
FORMATS = [csv, json_lines, tar, parquet, mds]


def labels_of(pipeline):
    return [int(label) for _, labels in pipeline.sequential().batch(2) for label in labels]


@pytest.mark.parametrize("write", FORMATS)
def test_numbers_are_labels(write, tmp_path):
    assert labels_of(un.open(write(tmp_path, NUMBERS))) == NUMBERS


def test_images_without_labels_have_no_columns_to_choose(tmp_path):
    (tmp_path / "0.jpg").write_bytes(jpeg(0))
    with pytest.raises(un.errors.InputError, match=r"labels of .* \(images\): found records without") as error:
        un.open(tmp_path).batch(2)
    assert "labels=None" in str(error.value)
    assert "column" not in str(error.value) and "#label" not in str(error.value)
    shown = subprocess.run([os.environ["UNSTARVE"], "inspect", tmp_path], capture_output=True, text=True, check=True)
    assert "labels     none, found records without labels\n" in shown.stdout


@pytest.mark.parametrize(("labels", "column"), [(FLOATS, "label"), (LISTS, "label"), (NUMBERS, "score")],
                         ids=["floats", "lists", "missing"])
@pytest.mark.parametrize("write", FORMATS)
def test_data_without_a_usable_label_require_labels_none(write, labels, column, tmp_path):
    if write is csv and labels is LISTS:
        labels = [f"{i}|{i + 1}" for i in range(COUNT)]
    data = write(tmp_path, labels, column)
    pipeline = un.open(data).sequential()
    with pytest.raises(un.errors.InputError, match=r"labels of .*: found .*labels=None"):
        pipeline.batch(2)
    assert labels_of(un.open(data, labels=None)) == [-1] * COUNT
    # Inspecting and measuring do not need labels; training does.
    shown = subprocess.run([os.environ["UNSTARVE"], "inspect", data], capture_output=True, text=True, check=True).stdout
    assert "labels     none, found" in shown
    run = subprocess.run([os.environ["UNSTARVE"], "train", data, "--epochs", "1"], capture_output=True, text=True,
                         check=False)
    assert run.returncode != 0
    assert "labels of" in run.stderr or "torch" in run.stderr


@pytest.mark.parametrize("write", FORMATS)
def test_labels_of_another_column(write, tmp_path):
    data = write(tmp_path, NUMBERS, "score")
    name = "json/score" if write is tar else "score"
    assert labels_of(un.open(data, labels=name)) == NUMBERS
    text = un.open(data, labels=name).sequential().batch(2).to_yaml()
    assert f'labels: "{name}"' in text
    assert [int(label) for _, labels in un.from_yaml(text) for label in labels] == NUMBERS


def test_texts_are_names_in_sorted_order(tmp_path):
    names = ["dog", "cat", "emu, large", "cat", "dog", "cat"]
    pipeline = un.open(json_lines(tmp_path, names))
    assert pipeline.classes == ["cat", "dog", "emu, large"]
    assert labels_of(pipeline) == [1, 0, 2, 0, 1, 0]


def test_folders_without_labels(tmp_path):
    for i in range(COUNT):
        (tmp_path / f"class{i % 2}").mkdir(exist_ok=True)
        (tmp_path / f"class{i % 2}" / f"{i}.jpg").write_bytes(jpeg(i))
    assert labels_of(un.open(tmp_path, labels=None)) == [-1] * COUNT
    with pytest.raises(un.errors.ArgumentError, match="labels 'kind'; expected none or no value"):
        un.open(tmp_path, labels="kind")
    with pytest.raises(un.errors.ArgumentError, match=r"open\(labels\): found 3"):
        un.open(tmp_path, labels=3)


def test_messages_say_what_is_true(tmp_path):
    """Rows of a wrong label are not counted as valid, and only options that exist are named."""
    with pytest.warns(un.DataWarning, match="found the class '0' only, so every valid label is 0; expected"):
        un.open(csv(tmp_path, [0, -1, -2, -3, -4, -5])).batch(2)
    (tmp_path / "large").mkdir()
    with pytest.raises(un.errors.InputError, match="a class number: every value is null, negative or too large"):
        un.open(parquet(tmp_path / "large", np.full(COUNT, 2**63 + 5, np.uint64))).batch(2)
    (tmp_path / "tar").mkdir()
    with pytest.raises(un.errors.InputError, match=r"to choose a member\."):
        un.open(tar(tmp_path / "tar", NUMBERS, "score")).batch(2)
    (tmp_path / "missing").mkdir()
    pipeline = un.open(csv(tmp_path / "missing", [0, 1, "", 1, 0, 1])).sequential().resize((8, 8))
    with pytest.raises(un.errors.InputError, match=r"no label, although .* Use #label=none .*skip bad samples"):
        list(pipeline.batch(2))


def test_python_objects_without_labels():
    images = [jpeg(i) for i in range(COUNT)]
    with pytest.raises(un.errors.InputError, match=r"found a sample without a label.*labels=None") as error:
        un.from_source(images).batch(2)
    assert "NAME" not in str(error.value) and "#label" not in str(error.value)
    assert labels_of(un.from_source(images, labels=None)) == [-1] * COUNT
    assert labels_of(un.from_source([(image, 0.5) for image in images], labels=None)) == [-1] * COUNT
    with pytest.raises(un.errors.InputError, match=r"label of type float; expected an integer\. Use labels=None"):
        un.from_source([(image, 0.5) for image in images])


def test_a_pixel_cache_keeps_labels_apart(tmp_path):
    data, folder = csv(tmp_path, NUMBERS), tmp_path / "cache"
    for labels, expected in ((None, [-1] * COUNT), ("label", NUMBERS), (None, [-1] * COUNT)):
        pipeline = un.open(data, labels=labels).sequential().resize((16, 16)).cache("pixels", folder=folder)
        loader = pipeline.batch(2)
        for _ in range(2):
            assert [int(label) for _, batch in loader for label in batch] == expected


def test_sources_of_a_mixture_agree(tmp_path):
    data = csv(tmp_path, NUMBERS)
    assert set(labels_of(un.mix([un.open(data, labels=None), un.open(data, labels=None)]))) == {-1}
    with pytest.raises(un.errors.ArgumentError, match="labels"):
        un.mix([un.open(data), un.open(data, labels=None)])


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_captions_in_a_column_are_reported(form, tmp_path):
    """Texts that differ in most of more than 50 rows: each would be a class."""
    arrow = pytest.importorskip("pyarrow")
    files, streams = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow.ipc")
    count = 60

    def written(texts):
        table, path = arrow.table({"image": [jpeg(1)] * count, "label": texts}), tmp_path / f"x.{form}"
        if form == "parquet":
            files.write_table(table, path)
        else:
            with streams.new_stream(path, table.schema) as stream:
                stream.write_table(table)
        return path

    path = written([f"a photo of {i}" for i in range(count)])
    with pytest.warns(un.DataWarning, match="found 60 different texts in 60 records, each a class; expected"):
        un.open(path).batch(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        un.open(path, labels=None).batch(2)
        un.open(written([f"class {i % 30}" for i in range(count)])).batch(2)
