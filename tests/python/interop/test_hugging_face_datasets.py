"""Hugging Face's datasets library reads Parquet files of `unstarve pack`, and we read the files that it writes."""

import json
import os
import subprocess

import pytest

pytestmark = pytest.mark.frameworks

IMAGES, CLASSES = 40, 3


def unstarve(*arguments):
    done = subprocess.run([os.environ["UNSTARVE"], *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode == 4:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    """Without access to the hub, and with a separate cache."""
    patch = pytest.MonkeyPatch()
    patch.setenv("HF_HUB_OFFLINE", "1")
    patch.setenv("HF_HOME", str(tmp_path_factory.mktemp("hf")))
    try:
        yield pytest.importorskip("datasets", reason="datasets is not installed: make test-frameworks")
    finally:
        patch.undo()


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("datasets") / "src"
    unstarve("synth", folder, "--classes", CLASSES, "--images", IMAGES, "--size", 48, "--seed", 1)
    return folder


@pytest.fixture(scope="module")
def packed(source):
    unstarve("pack", source, source.parent / "packed", "--format", "parquet", "--shard-mb", 0.01, "--split",
             "train=0.7,validation=0.3")
    return source.parent / "packed"


def files_of(packed, split):
    return sorted(map(str, packed.glob(f"{split}-*.parquet")))


@pytest.fixture(scope="module")
def loaded(datasets, packed):
    splits = {split: files_of(packed, split) for split in ("train", "validation")}
    assert all(len(files) > 1 for files in splits.values())
    return datasets.load_dataset("parquet", data_files=splits)


def originals(source):
    """Class and bytes by name without extension, as keys are."""
    return {path.relative_to(source).with_suffix("").as_posix(): (path.parent.name, path.read_bytes())
            for path in source.rglob("*.jpg")}


def test_images_and_classes_are_known_as_such(datasets, loaded, source):
    names = sorted(entry.name for entry in source.iterdir() if entry.is_dir())
    for data in loaded.values():
        assert data.features == datasets.Features({"image": datasets.Image(),
                                                   "label": datasets.ClassLabel(names=names)})
    assert sum(map(len, loaded.values())) == IMAGES


def test_every_row_equals_its_file(datasets, loaded, source):
    expected = originals(source)
    for data in loaded.values():
        stored = data.cast_column("image", datasets.Image(decode=False))
        for row in stored:
            name, _, _ = row["image"]["path"].rpartition(".")
            assert expected.pop(name) == (data.features["label"].int2str(row["label"]), row["image"]["bytes"])
    assert expected == {}


def test_images_decode_and_rows_stream(datasets, loaded, packed):
    sizes = {row["image"].size for row in loaded["train"]}
    assert all(max(size) <= 64 and min(size) >= 32 for size in sizes), sizes
    streamed = datasets.load_dataset("parquet", data_files={"train": files_of(packed, "train")}, split="train",
                                     streaming=True)
    assert [row["label"] for row in streamed] == loaded["train"]["label"][:]


def test_files_written_by_hugging_face_are_read(loaded, tmp_path):
    loaded["train"].to_parquet(str(tmp_path / "again.parquet"), batch_size=7)
    report = json.loads(unstarve("inspect", tmp_path / "again.parquet", "--json"))
    assert [report[key] for key in ("format", "samples", "classes", "corrupt")] == [
        "parquet", len(loaded["train"]), CLASSES, []]


def test_folders_of_save_to_disk_are_read_as_the_library_reads_them(datasets, loaded, tmp_path):
    un = pytest.importorskip("unstarve")
    shuffled = datasets.DatasetDict({split: data.shuffle(seed=1) for split, data in loaded.items()})
    shuffled.save_to_disk(str(tmp_path / "saved"), num_shards={"train": 2, "validation": 1})
    for split, data in shuffled.items():
        stored = [row["image"]["bytes"] for row in data.cast_column("image", datasets.Image(decode=False))]
        for pipeline in (un.open(tmp_path / "saved", split=split), un.open(tmp_path / "saved" / split)):
            assert [pipeline.read(i)["image"] for i in range(len(data))] == stored
            assert [pipeline.read(i)["label"] for i in range(len(data))] == data["label"][:]
            assert pipeline.classes == data.features["label"].names
