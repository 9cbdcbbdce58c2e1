"""Notices reach users as warnings, for example if the indexes of shards cannot be cached."""

import io
import tarfile
import warnings

import numpy as np
import pytest

import unstarve as un
from loader_support import SMALL


def shards(folder, count=3, samples=8):
    """Tar files of labelled JPEG images; folders occupy the paths of their indexes."""
    from PIL import Image

    for shard in range(count):
        path = folder / f"part-{shard}.tar"
        with tarfile.open(path, "w") as tar:
            for i in range(samples):
                stream = io.BytesIO()
                Image.fromarray(np.full((16, 16, 3), i * 20 + shard, np.uint8)).save(stream, "JPEG")
                for name, content in ((f"{i:03}.jpg", stream.getvalue()), (f"{i:03}.cls", b"1")):
                    member = tarfile.TarInfo(name)
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
        (folder / f"part-{shard}.tar.unstarve-index" / "x").mkdir(parents=True)
    return str(folder / "part-*.tar")


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """A file occupies the path of the cache folder."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    return tmp_path


def test_each_notice_is_a_warning_once_at_the_user_s_line(nowhere):
    path = shards(nowhere)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loader = un.open(path).batch(4)
        for _ in range(2):
            assert sum(len(labels) for _, labels in loader) == 24
        again = un.open(path).batch(4)
        next(iter(again))
    report = [warning for warning in caught if warning.category is un.DataWarning]
    assert len(report) == len(caught) == 3
    assert {warning.filename for warning in report} == {__file__}
    assert sorted(str(warning.message) for warning in report) == sorted(loader.notes)
    assert all("cannot be saved" in note and f"part-{i}.tar" in note for i, note in enumerate(sorted(loader.notes)))


def test_a_warning_turned_into_an_error_loses_no_other_warning(nowhere):
    path = shards(nowhere, 2)
    raised = []
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("error", un.DataWarning)
            try:
                loader = un.open(path).sequential().batch(4)
                labels = [labels for _, labels in loader]
                break
            except un.DataWarning as warning:
                raised.append(str(warning))
    assert len(raised) == 2 and len(labels) == 4 and sorted(raised) == sorted(loader.notes)


def notices_of_epochs(pipeline, before=lambda loader, epoch: None, epochs=3):
    pytest.importorskip("torch")
    loader = pipeline.batch(50)
    first = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for epoch in range(epochs):
            before(loader, epoch)
            first.append([labels.tolist() for _, labels in loader.to_torch()])
    return first, [warning for warning in caught if warning.category is un.DataWarning]


def test_to_torch_per_epoch_warns_that_the_epoch_is_the_same():
    epochs, report = notices_of_epochs(un.open(SMALL).shuffle(0))
    assert epochs[0] == epochs[1] == epochs[2]
    assert len(report) == 2 and "to_torch() was called again at epoch 0" in str(report[0].message)
    assert report[0].filename == __file__


@pytest.mark.parametrize("pipeline, before", [
    (lambda: un.open(SMALL).sequential(), lambda loader, epoch: None),
    (lambda: un.open(SMALL).shuffle(0), lambda loader, epoch: loader.set_epoch(epoch)),
    (lambda: un.open(SMALL).shuffle(0), lambda loader, epoch: next(iter(loader.to_torch()))),
])
def test_to_torch_per_epoch_does_not_warn_if_nothing_is_repeated(pipeline, before):
    epochs = 1 if "next" in before.__code__.co_names else 3
    assert notices_of_epochs(pipeline(), before, epochs)[1] == []


def test_one_torch_loader_continues_from_epoch_to_epoch():
    pytest.importorskip("torch")
    data = un.open(SMALL).shuffle(0).batch(50).to_torch()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        epochs = [[labels.tolist() for _, labels in data] for _ in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]


def test_a_single_class_is_a_warning_of_batch(tmp_path):
    from PIL import Image

    (tmp_path / "images").mkdir()
    for i in range(2):
        Image.fromarray(np.full((16, 16, 3), i, np.uint8)).save(tmp_path / f"images/{i}.png")
    with pytest.warns(un.DataWarning, match="found the class 'images' only, so every valid label is 0; expected two"):
        un.open(tmp_path).batch(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", un.DataWarning)
        un.open(tmp_path, labels=None).batch(2)
