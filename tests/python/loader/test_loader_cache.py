"""Caches do not change batches, and the automatic one avoids reads."""

import os

import numpy as np
import pytest
from PIL import Image

import unstarve as un
from loader_support import copies, equal, photos


def test_caches_change_nothing(tmp_path):
    pipeline = un.open(photos(tmp_path / "photos")).shuffle(4).resize(40).random_resized_crop(32)
    expected = [copies(loader) for loader in [pipeline.batch(7)] for _ in range(2)]
    for cached in (pipeline.cache("encoded"), pipeline.cache("pixels"),
                   pipeline.cache("pixels", folder=tmp_path / "cache"), pipeline.cache("auto")):
        loader = cached.batch(7)
        for epoch in expected:
            assert equal(copies(loader), epoch)
        assert "cache (exact): applied" in loader.explain()
    assert "by cache.what auto: " in loader.explain() and "per sample without a cache" in loader.explain()
    explained = pipeline.cache("pixels", folder=tmp_path / "explained").batch(7)
    assert "cache (exact): applied" in explained.explain()
    assert not (tmp_path / "explained").exists()  # explain() creates no cache


def test_the_automatic_cache_avoids_reads_in_the_second_epoch(photographs):
    files = sorted(photographs.rglob("*.jpg"))[:48]

    class Source:
        def __init__(self):
            self.calls = 0

        def __len__(self):
            return len(files)

        def __getitem__(self, index):
            self.calls += 1
            return files[index].read_bytes(), 0

    def calls(limit_mb):
        source = Source()
        pipeline = un.from_source(source).sequential().random_resized_crop(64).cache("auto", limit_mb=limit_mb)
        with pipeline.options(threads=1, prefetch=0).batch(16) as loader:
            made = [source.calls]
            for _ in range(2):
                for _ in loader:
                    pass
                made.append(source.calls)
            return made[2] - made[1], loader.explain()

    again, report = calls(1024)
    assert again == 0 and "cache (exact): applied" in report
    again, report = calls(1)  # 2 % of the pixels, a third of the records; reading is cheap compared with decoding
    assert again > 24 and "none by cache.what auto: " in report and "per sample without a cache" in report


def test_pixels_in_a_file_are_those_of_the_present_images(tmp_path, monkeypatch):
    def write(path, grey):
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((20, 20, 3), grey, np.uint8)).save(path, quality=95)

    def greys(data="data"):
        with un.open(data, labels=None).sequential().cache("pixels", folder=tmp_path / "cache").batch(4) as loader:
            return [round(255 * float(image[0, 0, 0])) // 10 * 10 for images, _ in loader for image in images]

    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    for number in range(4):
        write(data / "a" / f"{number}.jpg", 10 * number + 45)
    assert greys() == greys() == greys(data) == [40, 50, 60, 70]
    files = list((tmp_path / "cache").iterdir())
    # Overwritten in place, replaced under another name with the same number of files, and renamed.
    write(data / "a" / "1.jpg", 205)
    assert greys() == [40, 200, 60, 70]
    (data / "a" / "3.jpg").unlink()
    write(data / "a" / "00.jpg", 125)
    assert greys() == [40, 120, 200, 60]
    os.rename(data / "a" / "0.jpg", data / "a" / "9.jpg")
    assert greys() == [120, 200, 60, 40]
    # The same relative path in another folder.
    os.makedirs(tmp_path / "other")
    monkeypatch.chdir(tmp_path / "other")
    for number in range(4):
        write(tmp_path / "other" / "data" / "a" / f"{number}.jpg", 225)
    assert greys() == [220] * 4
    assert set(files) < set((tmp_path / "cache").iterdir())


def test_labels_in_a_file_are_those_of_the_present_manifest(tmp_path):
    for number in range(4):
        Image.fromarray(np.full((20, 20, 3), 60, np.uint8)).save(tmp_path / f"{number}.jpg")

    def labels(numbers):
        rows = "".join(f"{image}.jpg,{label}\n" for image, label in enumerate(numbers))
        (tmp_path / "list.csv").write_text("path,label\n" + rows, encoding="utf-8")
        pipeline = un.open(tmp_path / "list.csv").sequential().cache("pixels", folder=tmp_path / "cache")
        with pipeline.batch(4) as loader:
            return [label for _, labels in loader for label in labels.tolist()]

    assert labels([0, 1, 2, 3]) == [0, 1, 2, 3]
    assert labels([3, 2, 1, 0]) == [3, 2, 1, 0]


def test_objects_of_a_program_have_no_pixels_in_a_file(tmp_path):
    images = [np.full((8, 8, 3), number, np.uint8) for number in range(4)]
    encoded = un.from_source([(un.encode_jpeg(image), 0) for image in images]).sequential()
    assert copies(encoded.cache("pixels").batch(4))
    message = "a later run cannot recognise the images of Python source list; .* Remove"
    with pytest.raises(un.errors.ArgumentError, match=message):
        copies(encoded.cache("pixels", folder=tmp_path).batch(4))
