"""The Python loader: same batches as ever, one epoch per loop, resumable anywhere, nothing leaked, errors as exceptions."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

import unstarve as un

SMALL = "synthetic:classes=10,images=200,size=32,seed=1"


def photos(folder, count=24, bad=()):
    """JPEG files of two classes and varied sizes; those of `bad` hold no image."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for i in range(count):
        path = folder / ("cat" if i % 2 else "dog") / f"{i:03}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        if i in bad:
            path.write_bytes(b"no image")
            continue
        height, width = rng.integers(40, 120, 2)
        Image.fromarray(rng.integers(0, 256, (height, width, 3), np.uint8)).save(path, quality=90)
    return folder


def copies(loader):
    return [(images.copy(), labels.copy(), ids.copy()) for images, labels, ids in loader.batches()]


def equal(ours, theirs):
    return len(ours) == len(theirs) and all(
        np.array_equal(a, b) for one, other in zip(ours, theirs, strict=True) for a, b in zip(one, other, strict=True))


def test_batches_are_what_the_chain_says(tmp_path):
    pipeline = un.open(photos(tmp_path))
    assert len(pipeline) == 24 and pipeline.classes == ["cat", "dog"]
    loader = pipeline.shuffle(seed=3).decode().random_resized_crop(48).flip().batch(5, drop_last=False)
    assert len(loader) == 5 and loader.samples == 24
    seen = copies(loader)
    assert [len(labels) for _, labels, _ in seen] == [5, 5, 5, 5, 4]
    assert all(images.shape[1:] == (3, 48, 48) and images.dtype == np.float32 for images, _, _ in seen)
    assert sorted(np.concatenate([ids for _, _, ids in seen])) == list(range(24))
    for _, labels, ids in seen:
        for label, sample in zip(labels, ids, strict=True):
            assert pipeline.classes[label] in pipeline.location(int(sample))
            assert pipeline.read(int(sample))["label"] == label


def test_any_number_of_threads_gives_the_same_bits(tmp_path):
    pipeline = un.open(photos(tmp_path)).shuffle(1).random_resized_crop(32).flip()
    expected = copies(pipeline.options(threads=1, prefetch=0).batch(6))
    for threads in (2, 5):
        for read_ahead in (0, 7):
            assert equal(copies(pipeline.options(threads=threads, read_ahead=read_ahead).batch(6)), expected)


def test_passes_can_be_switched_off(tmp_path):
    pipeline = un.open(photos(tmp_path)).shuffle(1).random_resized_crop(32)
    without = pipeline.passes(crop_into_decode=False).batch(6)
    assert "switched off by passes.crop_into_decode" in without.explain()
    assert equal(copies(without), copies(pipeline.batch(6)))
    with pytest.raises(un.errors.ArgumentError, match="there is no such pass, expected one of .*cache"):
        pipeline.passes(faster=True).batch(6).explain()


def test_values_are_those_of_pillow(tmp_path):
    from PIL import Image

    pipeline = un.open(photos(tmp_path)).sequential().resize((30, 20))
    images, _, ids = next(pipeline.output("uint8", "NHWC").batch(24).batches())
    for image, sample in zip(images, ids, strict=True):
        with Image.open(pipeline.location(int(sample))) as stored:
            theirs = np.asarray(stored.convert("RGB").resize((20, 30), Image.Resampling.BILINEAR), np.int16)
        assert np.abs(image.astype(np.int16) - theirs).max() <= 1
    normalised, _, _ = next(pipeline.normalize(*un.IMAGENET).batch(24).batches())
    mean, std = (np.array(values, np.float32).reshape(1, 3, 1, 1) for values in un.IMAGENET)
    np.testing.assert_allclose(normalised, (images.transpose(0, 3, 1, 2) / 255 - mean) / std, atol=2e-6)


def test_batch_operations_give_targets(tmp_path):
    pipeline = un.open(SMALL).shuffle(2)
    plain = copies(pipeline.batch(20))
    hot = copies(pipeline.one_hot().batch(20))
    for (images, labels, ids), (same, targets, again) in zip(plain, hot, strict=True):
        assert np.array_equal(images, same) and np.array_equal(ids, again)
        assert targets.dtype == np.float32 and np.array_equal(targets, np.eye(10, dtype=np.float32)[labels])
    mixed = copies(pipeline.label_smoothing(0.2).mixup(alpha=1).batch(20))
    for (images, labels, _), (blended, targets, _) in zip(plain, mixed, strict=True):
        smooth = np.eye(10)[labels] * 0.8 + 0.02
        # The weight that the targets tell is the one of the pixels.
        two = next(i for i in range(20) if labels[i] != labels[i - 1])
        weight = (targets[two, labels[two]] - 0.02) / 0.8
        np.testing.assert_allclose(targets, weight * smooth + (1 - weight) * np.roll(smooth, 1, 0), atol=1e-5)
        np.testing.assert_allclose(blended, weight * images + (1 - weight) * np.roll(images, 1, 0), atol=2e-5)
    assert not equal(mixed, copies(pipeline.cutmix().batch(20)))
    with pytest.raises(un.errors.ArgumentError, match=r"flip\(\) after mixup\(\)"):
        pipeline.mixup().flip()
    with pytest.raises(un.errors.ArgumentError, match="alpha"):
        pipeline.mixup(alpha=-1)


def test_every_loop_is_an_epoch_in_another_order():
    loader = un.open(SMALL).shuffle(0).batch(50)
    first, second = copies(loader), copies(loader)
    assert loader.epoch == 2
    assert not equal(first, second)
    loader.set_epoch(0)
    assert equal(copies(loader), first)
    assert equal(copies(loader), second)


def test_a_loop_left_early_is_over():
    loader = un.open(SMALL).shuffle(0).batch(20)
    for _ in loader:
        break
    assert loader.epoch == 0 and loader.state_dict()["samples"] == 20
    whole = un.open(SMALL).shuffle(0).batch(20)
    whole.set_epoch(1)
    assert equal(copies(loader), copies(whole))


def test_resumes_after_every_batch_with_any_threads():
    def loader(threads=2):
        return un.open(SMALL).shuffle(5).pad_crop(32).flip().options(threads=threads).batch(30, drop_last=False)

    run = loader()
    expected, states = [], [run.state_dict()]
    for _ in range(2):
        for images, labels, ids in run.batches():
            expected.append((images.copy(), labels.copy(), ids.copy()))
            states.append(run.state_dict())
    for at, state in enumerate(states[:-1]):
        resumed = loader(threads=1 + at % 3)
        resumed.load_state_dict(state)
        rest = copies(resumed)
        assert equal(rest, expected[at:at + len(rest)])
        assert len(rest) == len(run) - at % len(run)
    assert len(str(states[3])) < 1024


@pytest.mark.parametrize("drop_last", [True, False])
def test_goes_on_with_other_ranks_and_batches(drop_last):
    def loaders(world, batch):
        shuffled = un.open(SMALL).shuffle(5)
        return [shuffled.shard(rank, world).batch(batch, drop_last=drop_last) for rank in range(world)]

    def step(ranks):
        return [sample for rank in ranks for sample in next(rank)[2]]

    before = loaders(3, 7)
    running = [loader.batches() for loader in before]
    used = [sample for _ in range(4) for sample in step(running)]
    state = before[1].state_dict()
    assert state == {**before[0].state_dict()} and state["samples"] == 84
    after = loaders(2, 10)
    for loader in after:
        loader.load_state_dict(state)
    parts = [copies(loader) for loader in after]
    rest = [sample for number in range(len(parts[0])) for part in parts for sample in part[number][2]]
    order = [int(sample) for _, _, ids in un.open(SMALL).shuffle(5).batch(200).batches() for sample in ids]
    assert used == order[:84]
    # 116 samples are left: five full batches of 20, or a sixth of 16.
    assert rest == order[84:184] if drop_last else rest == order[84:]
    # Twice over: what was left of what was left.
    again = loaders(1, 13)[0]
    after[0].load_state_dict(state)
    following = after[0].batches()
    next(following)
    again.load_state_dict(after[0].state_dict())
    assert list(next(again.batches())[2]) == order[104:117]
    # The epoch after it is whole again.
    assert after[0].epoch == 0 and sum(1 for _ in following) == len(parts[0]) - 1
    assert sum(len(ids) for _, _, ids in after[0].batches()) == 100


def test_a_state_of_something_else_is_refused():
    state = un.open(SMALL).shuffle(1).batch(20).state_dict()
    with pytest.raises(un.errors.ArgumentError, match="seed 1, but this loader has 2"):
        un.open(SMALL).shuffle(2).batch(20).load_state_dict(state)
    with pytest.raises(un.errors.ArgumentError, match="dataset 200, but this loader has 100"):
        un.open("synthetic:images=100").shuffle(1).batch(20).load_state_dict(state)
    with pytest.raises(un.errors.ArgumentError, match="version 7, expected 1"):
        un.open(SMALL).batch(20).load_state_dict({**state, "version": 7})


@pytest.mark.parametrize(("key", "value", "message"), [
    ("epoch", -1, "state: epoch: found -1, expected 0 or more"),
    ("epoch", 2**40, "state: epoch: found 1099511627776, expected 0 to 2147483647"),
    ("epoch", None, "state: epoch: found None, expected a whole number"),
    ("samples", 201, "state: samples: found 201, expected 0 to 200"),
    ("samples", "x", "state: samples: found 'x', expected a whole number"),
    ("seed", None, "state: seed None, but this loader has 3"),
])
def test_a_damaged_state_is_refused_and_changes_nothing(key, value, message):
    loader = un.open(SMALL).shuffle(3).batch(10)
    expected = next(iter(un.open(SMALL).shuffle(3).batch(10)))[1].copy()
    with pytest.raises(un.errors.ArgumentError, match=message):
        loader.load_state_dict({**loader.state_dict(), key: value})
    assert np.array_equal(next(iter(loader))[1], expected)


@pytest.mark.parametrize(("epoch", "message"), [
    (-1, "found -1, expected 0 or more"), (2**32, "found 4294967296, expected 0 to 2147483647"),
    (1.5, "found 1.5, expected a whole number"), ("x", "found 'x', expected a whole number")])
def test_an_epoch_that_there_cannot_be_is_refused(epoch, message):
    with pytest.raises(un.errors.ArgumentError, match=r"set_epoch\(epoch\): " + message):
        un.open(SMALL).batch(10).set_epoch(epoch)


def test_a_step_behind_batch_tells_where_it_belongs():
    loader = un.open(SMALL).batch(10)
    with pytest.raises(AttributeError, match=r"shuffle\(\) comes before batch\(\), which ends the chain: found it on a Load"):
        loader.shuffle(0)
    with pytest.raises(AttributeError, match="'Loader' object has no attribute 'shufle'"):
        _ = loader.shufle


@pytest.mark.parametrize("values", [(float("nan"), 1, 1), (1, float("inf"), 1), (1, 1, "x"), (1, None, 1)])
def test_normalisation_by_what_is_no_number_is_refused(values):
    with pytest.raises(un.errors.ArgumentError, match="std: found .*, expected three numbers, one per channel"):
        un.open(SMALL).normalize((0, 0, 0), values)


def test_batches_may_be_kept():
    loader = un.open(SMALL).shuffle(0).batch(10)
    expected = copies(loader)
    loader.set_epoch(0)
    kept = list(loader.batches())
    assert equal(kept, expected)
    del loader
    assert equal(kept, expected)  # the arrays keep their memory


def test_a_plain_loop_has_memory_for_three_batches():
    loader = un.open(SMALL).batch(10)
    for images, labels in loader:
        held, _ = loader.memory()["batches"]
        assert 3 * images.nbytes <= held < 3.1 * images.nbytes


class Watched:
    """The running loader, which sees at each call whether the batch before it is free again."""

    def __init__(self, core):
        self.core, self.before, self.freed = core, None, []

    def __getattr__(self, name):
        return getattr(self.core, name)

    def next(self):
        if self.before is not None:
            self.freed.append(self.before() is None)
        batch = self.core.next()
        self.before = weakref.ref(batch[0])
        return batch


@pytest.mark.parametrize("torch", [False, True])
def test_what_a_loop_lets_go_of_is_free_before_the_next_batch_is_asked_for(torch):
    if torch:
        pytest.importorskip("torch")
    iterated = un.open(SMALL).batch(10).to_torch("cpu") if torch else un.open(SMALL).batch(10)
    begun = iter(iterated)
    next(begun)
    loader = iterated._loader if torch else iterated
    loader._core = watched = Watched(loader._core)
    for images, labels in begun:
        del images, labels
    assert len(watched.freed) == 18 and all(watched.freed)


def test_ranks_share_an_epoch(monkeypatch):
    whole = un.open(SMALL).shuffle(2).batch(40)
    parts = [copies(un.open(SMALL).shuffle(2).shard(rank, 4).batch(10)) for rank in range(4)]
    for number, (_, _, ids) in enumerate(whole.batches()):
        assert np.array_equal(ids, np.concatenate([part[number][2] for part in parts]))
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert equal(copies(un.open(SMALL).shuffle(2).batch(10)), parts[3])
    text = un.open(SMALL).shuffle(2).batch(10).to_yaml()
    monkeypatch.setenv("RANK", "1")
    assert equal(copies(un.from_yaml(text)), parts[1])
    monkeypatch.setenv("RANK", "4")
    with pytest.raises(un.Error, match="rank 4 of world 4"):
        un.open(SMALL).batch(10)


def test_bad_samples_by_policy(tmp_path):
    pipeline = un.open(photos(tmp_path, bad=(3, 8))).shuffle(0).random_resized_crop(32)
    with pytest.raises(un.errors.InputError, match=r"00[38]\.jpg"):
        copies(pipeline.batch(6))
    skipping = pipeline.errors("skip").batch(6)
    assert sum(len(labels) for _, labels, _ in copies(skipping)) == 22
    assert [Path(location).name for _, location, _ in skipping.bad_samples()] == ["003.jpg", "008.jpg"]
    assert sum(len(labels) for _, labels, _ in copies(pipeline.errors("replace").batch(6))) == 24
    skipping.close()
    assert len(skipping.bad_samples()) == 2 and skipping.profile()["samples"] > 0
    with pytest.raises(un.errors.InputError, match="more than the limit of 1"):
        copies(pipeline.errors("skip", limit=1).batch(6))


def test_after_an_error_the_loop_can_be_run_again(tmp_path):
    loader = un.open(photos(tmp_path, bad=(3,))).sequential().random_resized_crop(32).batch(6)
    for _ in range(2):
        loader.set_epoch(0)
        with pytest.raises(un.errors.InputError):
            copies(loader)


@pytest.mark.parametrize(("make", "message"), [
    (lambda p: p.batch_operation("mixdown"), "unknown batch operation 'mixdown'; known: one_hot"),
    (lambda p: p.flip().shuffle(), r"shuffle\(\) after horizontal_flip\(\)"),
    (lambda p: p.normalize(*un.IMAGENET).flip(), r"horizontal_flip\(\) after normalize\(\)"),
    (lambda p: p.operation("swirl"), "unknown operation 'swirl'; known: random_resized_crop"),
    (lambda p: p.flip(2), "probability"),
    (lambda p: p.random_resized_crop("large"), r"operations\[0\]: operation random_resized_crop: parameter .size. is .large."),
    (lambda p: p.shuffle(seed=-1), "found -1, expected 0 or more"),
    (lambda p: p.batch(0), "found 0, expected 1 or more"),
    (lambda p: p.batch(2.5), "found 2.5, expected a whole number"),
    (lambda p: p.batch(201), "no full batch"),
    (lambda p: p.normalize((0, 0), (1, 1)), "found 2 numbers, expected three"),
    (lambda p: p.output("float64"), 'type: .*found "float64", expected one of uint8, float32, bfloat16, float16'),
    (lambda p: p.errors("ignore"), 'found "ignore", expected one of fail, skip, replace'),
    (lambda p: p.cache("everything"), "expected one of nothing, encoded, pixels, auto"),
    (lambda p: p.shard(0), "both rank and world"),
    (lambda p: p.options(threads="many"), "execution.threads"),
    (lambda p: p.options(threads=4096), "execution.threads: 4096, expected 0 to 1024"),
    (lambda p: p.cache("encoded", limit_mb=0), "cache.limit_mb: 0, expected 1 or more"),
    (lambda p: p.errors("skip", rate=2), "errors.rate: 2, expected above 0"),
])
def test_what_makes_no_sense_is_refused_where_it_is_written(make, message):
    with pytest.raises(un.Error, match=message):
        make(un.open(SMALL))


def test_kinds_of_failure(tmp_path):
    with pytest.raises(un.errors.IoError, match="No such file"):
        un.open(tmp_path / "missing")
    with pytest.raises(OSError, match="No such file"):
        un.open(tmp_path / "missing")
    (tmp_path / "note.txt").write_text("hello")
    with pytest.raises(un.errors.InputError):
        un.open(tmp_path / "note.txt")
    with pytest.raises(IndexError):
        un.open(SMALL).read(200)
    with pytest.raises(ValueError, match="pipeline.batch.sise"):
        un.from_yaml("{source: {path: 'synthetic:images=9'}, batch: {sise: 3}}")


def test_yaml_makes_the_same_loader(tmp_path):
    loader = un.open(photos(tmp_path)).shuffle(4).random_resized_crop(32, scale=(0.3, 1)).normalize(*un.CIFAR10).batch(7)
    again = un.from_yaml(loader.to_yaml())
    assert again.to_yaml() == loader.to_yaml()
    assert equal(copies(again), copies(loader))


def test_caches_change_nothing(tmp_path):
    pipeline = un.open(photos(tmp_path / "photos")).shuffle(4).resize(40).random_resized_crop(32)
    expected = [copies(loader) for loader in [pipeline.batch(7)] for _ in range(2)]
    for cached in (pipeline.cache("encoded"), pipeline.cache("pixels"),
                   pipeline.cache("pixels", folder=tmp_path / "cache"), pipeline.cache("auto")):
        loader = cached.batch(7)
        for epoch in expected:
            assert equal(copies(loader), epoch)
        assert "cache (exact): applied" in loader.explain()
    assert "by cache.what auto: a sample takes" in loader.explain()
    told = pipeline.cache("pixels", folder=tmp_path / "told").batch(7)
    assert "cache (exact): applied" in told.explain()
    assert not (tmp_path / "told").exists()  # telling makes none


def test_the_cache_that_auto_chooses_spares_the_second_epochs_reads(photographs):
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

    again, told = calls(1024)
    assert again == 0 and "cache (exact): applied" in told
    again, told = calls(1)  # a fiftieth of their pixels, a third of the records, whose reads are little beside decoding
    assert again > 24 and "by cache.what auto: a sample takes" in told


def test_a_thousand_loops_left_early_leak_nothing():
    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

    def cycle():
        with un.open("sleep:ms=0,images=1000,size=32").shuffle(0).pad_crop(32).batch(50) as loader:
            for _ in loader:
                break

    for _ in range(100):
        cycle()
    threads, memory = len(os.listdir("/proc/self/task")), resident()
    for _ in range(1000):
        cycle()
    assert len(os.listdir("/proc/self/task")) <= threads
    assert resident() - memory < 8 << 20


def test_a_newer_loop_ends_the_older():
    loader = un.open(SMALL).batch(10)
    older, newer = iter(loader), iter(loader)
    next(older)
    next(newer)
    with pytest.raises(un.errors.CancelledError, match="newer loop"):
        next(older)


@pytest.mark.parametrize("after", [0.1, 1.0])  # while the loader starts, while its first batch is made
def test_close_ends_a_loop_that_waits(after):
    loader = un.open("sleep:ms=300,images=1000,size=32").options(threads=1).batch(1000)
    closer = threading.Timer(after, loader.close)
    closer.start()
    begin = time.monotonic()
    with pytest.raises(un.errors.CancelledError, match="closed"):
        next(iter(loader))
    assert time.monotonic() - begin < 30
    closer.join()


@pytest.mark.parametrize("waiting", ["next(iter(pipeline.batch(1000)))", "pipeline.filter(min_side=1).batch(10)",
                                     "pipeline.filter(lambda facts: facts.width > 1).batch(10)",
                                     "pipeline.batch(10, pad=True)"])
def test_control_c_is_heard_while_waiting(waiting):
    code = f"""
        import unstarve as un
        pipeline = un.open("sleep:ms=300,images=1000,size=32").options(threads=1)
        try:
            print("begun", flush=True)
            {waiting}
        except KeyboardInterrupt:
            print("heard", flush=True)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "heard\n"
    assert process.returncode == 0


def test_memory_may_be_lent():
    lent = []

    def allocate(size):
        buffer = np.zeros(size, np.uint8)
        lent.append(buffer)
        return buffer.ctypes.data, buffer

    plain = un.open(SMALL).shuffle(0).output("uint8").batch(50)
    for ours, theirs in zip(plain.with_output(allocate=allocate).batches(), plain.batches(), strict=True):
        assert any(buffer.ctypes.data == ours[0].ctypes.data for buffer in lent)
        assert np.array_equal(ours[0], theirs[0])
    assert len(lent) == 4


def test_torch_on_the_processor():
    torch = pytest.importorskip("torch")
    pipeline = un.open(SMALL).shuffle(0)
    plain = copies(pipeline.batch(50))
    loader = pipeline.batch(50).to_torch()
    assert len(loader) == 4 and loader.classes == pipeline.classes
    states = []
    for (images, labels), (expected, classes, _) in zip(loader, plain, strict=True):
        assert images.dtype == torch.float32 and labels.dtype == torch.int64
        assert torch.equal(images, torch.from_numpy(expected)) and torch.equal(labels, torch.from_numpy(classes))
        states.append(loader.state_dict())
    assert [state["samples"] for state in states] == [50, 100, 150, 0]
    last = next(iter(pipeline.batch(50).to_torch(channels_last=True, normalize=un.CIFAR10)))[0]
    assert last.is_contiguous(memory_format=torch.channels_last) and last.shape == (50, 3, 32, 32)
    mean, std = (torch.tensor(values).reshape(1, 3, 1, 1) for values in un.CIFAR10)
    torch.testing.assert_close(last, (torch.from_numpy(plain[0][0]) - mean) / std, atol=2e-6, rtol=0)
    half = next(iter(pipeline.batch(50).to_torch(dtype=torch.bfloat16)))[0]
    assert torch.equal(half, torch.from_numpy(plain[0][0]).to(torch.bfloat16))
    half = next(iter(pipeline.batch(50).to_torch(dtype=torch.half)))[0]
    assert torch.equal(half, torch.from_numpy(plain[0][0]).half())
    images = next(iter(pipeline.output("float16", "NHWC").batch(50)))[0]
    assert images.dtype == np.float16 and np.array_equal(images, plain[0][0].astype(np.float16).transpose(0, 2, 3, 1))
    with pytest.raises(un.errors.ArgumentError, match="uint8"):
        pipeline.batch(50).to_torch(dtype=torch.uint8, normalize=un.CIFAR10)
    with pytest.raises(un.errors.ArgumentError, match="float64"):
        pipeline.batch(50).to_torch(dtype=torch.float64)


def test_torch_on_a_gpu():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")
    pipeline = un.open(SMALL).shuffle(0).pad_crop(32).flip()
    expected = list(pipeline.normalize(*un.CIFAR10).batch(50).to_torch())
    loader = pipeline.batch(50).to_torch("cuda", normalize=un.CIFAR10, channels_last=True)
    for _ in range(2):
        loader.set_epoch(0)
        for (images, labels), (theirs, classes) in zip(loader, expected, strict=True):
            assert images.is_contiguous(memory_format=torch.channels_last)
            torch.testing.assert_close(images.cpu(), theirs, atol=1e-5, rtol=0)
            assert torch.equal(labels.cpu(), classes)


def test_steps_of_operations_are_the_operations_of_their_names():
    start = un.open(SMALL).shuffle(0)
    made = (start.center_crop(24).vertical_flip(0.3).color_jitter(0.2, hue=0).grayscale(0.5).rotation(12).gaussian_blur(1.5)
            .erasing(1, scale=(0.1, 0.2)).rand_augment(1, 5).trivial_augment().auto_augment("cifar10"))
    named = start.operation("center_crop", size=24)
    for name, values in {
        "vertical_flip": {"probability": 0.3}, "color_jitter": {"brightness": 0.2, "hue": 0}, "grayscale": {"probability": 0.5},
        "rotation": {"degrees": 12}, "gaussian_blur": {"sigma": 1.5, "probability": 0.5},
        "erasing": {"probability": 1, "scale": [0.1, 0.2]}, "rand_augment": {"changes": 1, "magnitude": 5},
        "trivial_augment": {}, "auto_augment_cifar10": {},
    }.items():
        named = named.operation(name, **values)
    ours, theirs = made.output("uint8").batch(8), named.output("uint8").batch(8)
    with ours, theirs:
        for a, b in zip(ours, theirs, strict=True):
            assert np.array_equal(a[0], b[0]) and np.array_equal(a[1], b[1])
    with pytest.raises(un.errors.ArgumentError, match="auto_augment_mars"):
        start.auto_augment("mars")
