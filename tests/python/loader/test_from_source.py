"""un.from_source(): objects that return encoded images or pixels."""

import os
import re
import sqlite3
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest

import unstarve as un
from map_support import Encoded, batches, same, shifted


def steps(pipeline):
    return pipeline.shuffle(seed=4).random_resized_crop(24).flip()


class Pixels:
    """uint8 arrays; every other one has another memory order."""

    def __len__(self):
        return 12

    def __getitem__(self, i):
        image = np.full((4, 6, 3), i, np.uint8)
        image[0, :, 1] = range(6)
        return np.asfortranarray(image) if i % 2 else image


def test_encoded_images_of_an_object_equal_those_of_files(photographs):
    source = Encoded(photographs, 100)
    expected = batches(steps(un.open(photographs)).batch(10))
    pipeline = un.from_source(source, [f"class {i}" for i in range(100)])
    assert len(pipeline) == 100 and pipeline.classes[7] == "class 7" and "Encoded" in repr(pipeline)
    assert pipeline.location(3) == "Encoded[3]" and pipeline.read(3)["image"] == source[3][0]
    for options in ({"threads": 1}, {"threads": 4}, {"threads": 3, "read_ahead": 4},
                    {"order": "relaxed", "threads": 1}):
        assert same(batches(steps(pipeline).options(**options).batch(10)), expected), options
    assert same(batches(steps(un.from_source(source, concurrency=4)).options(threads=4).batch(10)), expected)
    mapped = steps(un.open(photographs)).map(shifted)
    assert same(batches(steps(pipeline).map(shifted).options(workers=2).batch(10)),
                batches(mapped.options(workers=0).batch(10)))
    kept = steps(pipeline).cache("encoded").batch(10)
    assert same(batches(kept), expected)


def test_pixels_and_buffers_of_every_kind():
    images, labels = next(iter(un.from_source(Pixels(), labels=None).sequential().output("uint8", "NHWC").batch(12)))
    assert np.array_equal(images, np.stack([Pixels()[i] for i in range(12)])) and (labels == -1).all()


def test_the_database_of_the_documentation(photographs, tmp_path, monkeypatch):
    text = (Path(__file__).resolve().parents[3] / "docs" / "guide" / "load.md").read_text()
    code, = re.findall(r"```python\n(import sqlite3\n.*?)```", text, re.DOTALL)
    encoded = Encoded(photographs, 40)
    with sqlite3.connect(tmp_path / "photos.db") as database:
        database.execute("CREATE TABLE photos (image BLOB, label INTEGER)")
        database.executemany("INSERT INTO photos VALUES (?, ?)", [(encoded[i][0], i % 2) for i in range(40)])
    database.close()
    monkeypatch.chdir(tmp_path)
    names = {"un": un}
    exec(code.replace("batch(256)", "batch(8)"), names)
    labels = np.concatenate([labels for _, labels in names["loader"]])
    assert sorted(labels) == [0] * 20 + [1] * 20 and names["loader"].classes == ["cat", "dog"]


def test_bytes_of_every_kind(photographs):
    data = Encoded(photographs, 1, labelled=False)[0]
    for held in (data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)):
        images, _ = next(iter(un.from_source([held], labels=None).resize((8, 8)).batch(1)))
        expected, _ = next(iter(un.from_source([(data, np.int32(3))]).resize((8, 8)).batch(1)))
        assert np.array_equal(images, expected)


def test_filters_mixtures_ranks_and_resume(photographs):
    source = Encoded(photographs, 100)
    pipeline = un.from_source(source).filter(labels=[str(i) for i in range(0, 100, 2)]).filter(
        lambda facts: facts.width > 10).shuffle(1).resize((8, 8))
    loader = pipeline.batch(10)
    whole = batches(loader)
    assert len(whole) == 5 and not (np.concatenate([one[1] for one in whole]) % 2).any()
    resumed = pipeline.batch(10)
    next(iter(loader))
    resumed.load_state_dict(loader.state_dict())
    assert len(list(resumed)) == 4
    both = un.mix([un.from_source(source), un.from_source(source)]).resize((8, 8)).batch(50)
    assert sum(len(images) for images, _ in both) == 200


class Together:
    """Pixels. Records the number of concurrent calls. If `together` is set, calls wait until this many are in progress.
    """

    def __init__(self):
        self.lock, self.inside, self.most = threading.Lock(), 0, 0
        self.together, self.met = 0, threading.Event()

    def __len__(self):
        return 9

    def __getitem__(self, i):
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
            if self.inside == self.together:
                self.met.set()
        if self.together and threading.current_thread() is not threading.main_thread():
            assert self.met.wait(60)
        with self.lock:
            self.inside -= 1
        return np.zeros((4, 4, 3), np.uint8)


def test_calls_are_sequential_unless_concurrency_is_requested():
    for concurrency in (1, 2):
        source = Together()
        pipeline = un.from_source(source, concurrency=concurrency, labels=None)
        loader = pipeline.sequential().options(threads=4, read_ahead=0).batch(8)  # one thread reads the sizes
        source.together = concurrency
        batches(loader)
        assert source.most == concurrency


def test_exceptions_of_an_object_have_a_traceback_or_are_skipped(photographs):
    bad = {5: "raise", 6: b"no image", 7: np.zeros((3, 3), np.uint8), 8: (b"x", "y")}
    source = Encoded(photographs, 10, labelled=True, bad={5: "raise"})
    with un.from_source(source).sequential().resize((8, 8)).batch(5) as loader:
        iterator = iter(loader)
        next(iterator)
        with pytest.raises(un.errors.InputError,
                           match=r"(?s)Encoded\[5\]: Traceback.*__getitem__.*LookupError: row 5 is "
                                                       "locked"):
            next(iterator)
    source = Encoded(photographs, 10, bad={key: (value, 1) if isinstance(value, bytes | np.ndarray) else value
                                           for key, value in bad.items()})
    with un.from_source(source).sequential().resize((8, 8)).errors("skip").batch(10) as loader:
        assert [labels.tolist() for _, labels in loader] == [[0, 1, 2, 3, 4, 9]]
        report = dict((sample, reason) for sample, _, reason in loader.bad_samples())
    assert "LookupError" in report[5] and "Encoded[6]" in report[6]
    assert ("Encoded[7]: found ndarray of format 'B' and shape (3, 3); expected bytes of an encoded image, as in"
            in report[7])
    assert "Encoded[8]: found a label of type str; expected an integer" in report[8]


@pytest.mark.parametrize(("source", "message"), [
    (3, "found int; expected an object with __len__ and __getitem__"),
    ([], "list: found length 0; expected at least one sample"),
    (["text"], r"list\[0\]: found str; expected bytes of an encoded image, or a uint8 array"),
    ([np.zeros((2, 2, 3), np.float32)], r"found ndarray of format 'f' and shape \(2, 2, 3\); expected bytes"),
    ([np.zeros((2, 2, 4), np.uint8)], r"shape \(2, 2, 4\)"),
    ([(b"x", 1.5)], r"list\[0\]: found a label of type float; expected an integer"),
])
def test_an_invalid_first_sample_is_rejected_when_opening(source, message):
    with pytest.raises((un.errors.ArgumentError, un.errors.InputError), match=message):
        un.from_source(source)


def test_exceptions_of_an_object_may_contain_any_text(photographs):
    class Unnamed(Encoded):
        def __getitem__(self, i):
            if i in (0, 4):
                raise ValueError(f"cannot read {os.fsdecode(bytes([99, 233]))} \ud83d caf\u00e9")
            return super().__getitem__(i)

    with un.from_source(Unnamed(photographs, 6)).sequential().resize((8, 8)).errors("skip").batch(6) as loader:
        (_, labels), = loader
        assert len(labels) == 4
        report = [reason for _, _, reason in loader.bad_samples()]
    assert len(report) == 2
    assert all(reason.endswith("ValueError: cannot read c\\udce9 \\ud83d caf\u00e9") for reason in report)


def test_a_first_sample_that_raises_is_a_bad_sample(photographs):
    source = Encoded(photographs, 6, bad={0: "raise", 1: "raise"})
    pipeline = un.from_source(source).sequential().resize((8, 8))
    with pytest.raises(un.errors.InputError, match=r"(?s)Encoded\[0\]: Traceback.*LookupError: row 0"):
        next(iter(pipeline.batch(3)))
    with pipeline.errors("replace").batch(6) as loader:
        (_, labels), = loader
        assert set(labels.tolist()) == {2, 3, 4, 5} and {bad[0] for bad in loader.bad_samples()} == {0, 1}
    with pytest.raises(un.errors.InputError,
                       match=r"(?s)Encoded: none of the first 3 samples can be read. First: Encoded\[0\]: .*row 0"):
        un.from_source(Encoded(photographs, 3, bad=dict.fromkeys(range(3), "raise")))


@pytest.mark.parametrize(("label", "classes", "end"), [(2, ["a", "b"], 1), (-1, ["a", "b"], 1), (-1, [], 1048575),
                                                        (1 << 20, [], 1048575)])
def test_labels_out_of_range_are_bad_samples(photographs, label, classes, end):
    image = Encoded(photographs, 1)[0][0]
    for wrong in (0, 1):
        source = [(image, label if i == wrong else 1) for i in range(3)]
        pipeline = un.from_source(source, classes).sequential().resize((8, 8))
        with pytest.raises(un.errors.InputError,
                           match=rf"list\[{wrong}\]: found label {label}; expected 0 to {end}"):
            next(iter(pipeline.batch(3)))
        with pipeline.errors("skip").batch(3) as loader:
            assert [labels.tolist() for _, labels in loader] == [[1, 1]]
            assert [bad[0] for bad in loader.bad_samples()] == [wrong]


def test_invalid_sources_are_rejected(photographs):
    with pytest.raises(un.errors.ArgumentError, match="to_yaml: found the source Encoded; expected a pipeline without"):
        un.from_source(Encoded(photographs, 3)).resize((8, 8)).batch(1).to_yaml()
    with pytest.raises(un.errors.ArgumentError, match=r"concurrency\): found 0"):
        un.from_source([b"x"], concurrency=0)


def test_class_names_and_labels_that_are_invalid_are_named():
    with pytest.raises(un.errors.ArgumentError, match=r"from_source\(classes\): found 'cat'; expected a list"):
        un.from_source([b"x"], "cat")
    with pytest.raises(un.errors.InputError, match=r"the first: list\[0\]: found label -1"):
        next(iter(un.from_source([(np.zeros((8, 8, 3), np.uint8), -1)]).batch(1)))


def run(code):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60,
                          check=False)


def test_a_loader_that_is_dropped_amid_a_call_of_its_own_thread():
    done = run("""
        import threading, weakref, numpy as np, unstarve as un

        class Source:
            def __len__(self): return 1000
            def __getitem__(self, i):
                if i == 12:
                    dropped_here.wait()
                    held.clear()  # the last reference
                return np.zeros((4, 4, 3), np.uint8)

        held, dropped_here, gone = [], threading.Event(), threading.Event()
        source = Source()
        weakref.finalize(source, gone.set)
        held.append(un.from_source(source, labels=None).sequential().options(threads=1, read_ahead=0).batch(10))
        iterator = iter(held[0])
        next(iterator)
        del iterator, source
        dropped_here.set()
        gone.wait()
        print("gone")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "gone\n", "")


def test_a_loop_that_is_left_running_at_the_end_of_the_program():
    done = run("""
        import numpy as np, unstarve as un

        class Source:
            def __len__(self): return 1000
            def __getitem__(self, i): return np.zeros((4, 4, 3), np.uint8)

        loader = un.from_source(Source(), concurrency=3, labels=None).options(threads=3, read_ahead=2).batch(5)
        iterator = iter(loader)
        next(iterator)
        print("ended")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
