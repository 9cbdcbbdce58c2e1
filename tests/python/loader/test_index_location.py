"""Indexes go to the user's cache folder by default, next to the data on request and for packs."""

import os
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from loader_support import photos

import unstarve as un


@pytest.fixture
def shard(tmp_path, monkeypatch):
    """A tar shard in a folder of its own, with the default location of indexes."""
    monkeypatch.delenv("UNSTARVE_INDEX")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = photos(tmp_path / "photos", 8)
    (tmp_path / "data").mkdir()
    with tarfile.open(tmp_path / "data" / "x.tar", "w") as tar:
        for i, file in enumerate(sorted(folder.rglob("*.jpg"))):
            tar.add(file, f"{i}.jpg")
    return tmp_path / "data" / "x.tar"


def indexes(folder):
    return sorted(path.name for path in Path(folder).rglob("*.unstarve-index"))


def run(*arguments, cwd):
    subprocess.run([os.environ["UNSTARVE"], *map(str, arguments)], cwd=cwd, check=True, capture_output=True)


def epoch(path, **arguments):
    loader = un.open(path, labels=None, **arguments).random_resized_crop(16).batch(4)
    assert sum(len(images) for images, _ in loader) == 8
    loader.close()


def test_the_cache_folder_is_the_default(shard, tmp_path):
    epoch(shard)
    assert os.listdir(shard.parent) == ["x.tar"]
    assert any("x.tar" in name for name in indexes(tmp_path / "cache" / "unstarve"))
    before = indexes(tmp_path / "cache")
    epoch(shard)  # uses it
    assert indexes(tmp_path / "cache") == before


@pytest.mark.parametrize("how", ["argument", "yaml", "environment", "command"])
def test_next_to_the_data_on_request(shard, tmp_path, monkeypatch, how):
    if how == "argument":
        epoch(shard, index="next_to_data")
    elif how == "yaml":
        text = un.open(shard, labels=None, index="next_to_data").resize((8, 8)).batch(4).to_yaml()
        for name in indexes(shard.parent):
            (shard.parent / name).unlink()
        assert "index: next_to_data" in text
        assert len(list(un.from_yaml(text))) == 2
    elif how == "environment":
        monkeypatch.setenv("UNSTARVE_INDEX", "next_to_data")
        epoch(shard)
    else:
        run("index", f"{shard}#label=none", cwd=tmp_path)
    assert any(name.startswith("x.tar.") for name in indexes(shard.parent))
    assert not indexes(tmp_path / "cache")


@pytest.mark.parametrize(("how", "written"), [("argument", 1), ("command", 2)])  # the command also writes a scan index
def test_an_index_in_the_cache_folder_is_copied_next_to_the_data_on_request(shard, tmp_path, how, written):
    epoch(shard)  # stores it in the cache folder
    assert os.listdir(shard.parent) == ["x.tar"]
    if how == "argument":  # the program keeps datasets open
        program = "import sys, unstarve as un; un.open(sys.argv[1], labels=None, index='next_to_data')"
        subprocess.run([os.sys.executable, "-c", program, shard], check=True)
    else:
        run("index", f"{shard}#label=none", cwd=tmp_path)
    assert len(indexes(shard.parent)) == written


def test_an_index_next_to_the_data_is_used_and_kept_up_to_date(shard, tmp_path):
    epoch(shard, index="next_to_data")
    program = "import sys, unstarve as un; assert len(un.open(sys.argv[1], labels=None)) == 8"
    for _ in range(2):
        subprocess.run([os.sys.executable, "-c", program, shard], check=True)
        os.utime(shard)  # the index is stale
    assert any(name.startswith("x.tar.") for name in indexes(shard.parent))
    assert not [name for name in indexes(tmp_path / "cache") if "jpeg" not in name and name.startswith("x")]


def test_packs_have_their_indexes_next_to_them(shard, tmp_path):
    for path in (tmp_path / "photos").rglob("*.jpg"):  # large enough for scan indexes
        pixels = np.random.default_rng(0).integers(0, 256, (500, 400, 3), np.uint8)
        Image.fromarray(pixels).save(path, quality=90)
    run("pack", tmp_path / "photos", tmp_path / "packed", "--format", "webdataset", cwd=tmp_path)
    assert len(un.open(tmp_path / "packed")) == 8
    assert indexes(tmp_path / "packed") and not indexes(tmp_path / "cache")
    epoch(tmp_path / "packed")  # makes the scan index of the whole pack
    epoch(tmp_path / "packed" / "data-00000.tar")
    assert [name for name in indexes(tmp_path) if name.startswith("packed.")]
    assert not indexes(tmp_path / "cache")


def test_without_a_cache_folder_nothing_is_written_next_to_the_data(shard, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    with pytest.warns(un.DataWarning, match="cannot be saved"):
        assert len(un.open(shard, labels=None)) == 8
    assert os.listdir(shard.parent) == ["x.tar"]


def test_unknown_locations_are_rejected(shard):
    with pytest.raises(un.errors.ArgumentError, match="expected 'cache' or 'next_to_data'"):
        un.open(shard, index="here")
