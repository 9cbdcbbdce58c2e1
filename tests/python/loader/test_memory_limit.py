"""The memory limit: settings that fit, reports, and resident memory that stays within it."""

import os
import re
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import unstarve as un
from loader_support import photos

SMALL = "synthetic:classes=10,images=400,size=32,seed=1"
MB = 1_000_000


def test_batches_do_not_depend_on_the_memory_limit_which_all_parts_respect():
    pipeline = un.open(SMALL).shuffle(2).pad_crop(32).flip()
    plain = [(images.copy(), ids.copy()) for images, _, ids in pipeline.batch(20).batches()]
    loader = pipeline.options(memory_limit=5 * MB, threads=2).batch(20)
    assert loader.memory() == {}
    for (images, _, ids), (expected, same) in zip(loader.batches(), plain, strict=True):
        assert np.array_equal(images, expected) and np.array_equal(ids, same)
        held = loader.memory()
        assert set(held) >= {"batches", "workers"} and all(0 <= now <= most for now, most in held.values())
        assert sum(most for _, most in held.values()) <= 5 * MB
    assert "memory      limit 5.0 MB: " in loader.explain()


def test_a_plain_loop_needs_room_for_two_batches():
    batches = un.open(SMALL).options(memory_limit=12 * MB, threads=1).batch(400)  # of 4.9 MB, and 1.1 MB for the thread
    for images, _ in batches:
        held, most = batches.memory()["batches"]
        assert images.nbytes <= held <= most < 2.1 * images.nbytes
    with pytest.raises(un.errors.ArgumentError, match=r"expected at least \d+: 3 batches of 4.9 MB"):
        next(iter(un.open(SMALL).options(memory_limit=12 * MB, threads=1, order="relaxed").batch(400)))


def test_device_memory_counts_towards_the_limit():
    loader = un.open(SMALL).options(memory_limit=9 * MB, threads=1).batch(100)
    values = 100 * 3 * 32 * 32
    on_device = loader._with_output("uint8", device_bytes=(13, 500))
    assert ", on the device 4.0" in on_device.explain()
    assert "on the device" not in loader.explain()
    for _ in on_device:
        memory = on_device.memory()
        assert memory["on the device"] == (13 * values + 500,) * 2
        assert sum(most for _, most in memory.values()) <= 9 * MB
    with pytest.raises(un.errors.ArgumentError, match="and 12.0 MB on the device"):
        loader._with_output("uint8", device_bytes=(0, 12 * MB)).explain()
    unlimited = un.open(SMALL).batch(100)._with_output("uint8", device_bytes=(3, 0))
    next(iter(unlimited))
    assert unlimited.memory()["on the device"] == (3 * values, 0)


def test_to_torch_counts_its_batches_on_a_gpu(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    loader = un.open(SMALL).shuffle(0).random_resized_crop(64).options(memory_limit=60 * MB, threads=1).batch(100)
    values = 100 * 3 * 64 * 64
    # Per value: three batches, and the temporary memory of the one that is sent.
    for dtype, each in ((torch.uint8, 3), (torch.float32, 3 * 4 + 1), (torch.bfloat16, 3 * 2 + 1 + 4)):
        assert f", on the device {each * values / MB:.1f}" in loader.to_torch("cuda", dtype=dtype).explain()
    assert "on the device" not in loader.to_torch("cpu").explain()
    # Two batches of kernel results.
    limited = loader.to_torch("cpu", dtype=torch.float16, operations="device").explain()
    assert f", on the device {2 * 2 * values / MB:.1f}" in limited


def test_held_batches_are_released_in_time():
    loader = un.open(SMALL).options(memory_limit=5 * MB, threads=2).batch(20)
    kept = []
    for images, _, _ in loader.batches():
        kept.append(images)
        if len(kept) > 2:  # holds two batches and releases older ones
            kept.pop(0)
    assert len(kept) == 2


def test_a_loop_that_holds_all_batches_gets_a_warning():
    for _ in range(2):  # every loader warns
        loader = un.open(SMALL).options(memory_limit=5 * MB, threads=2).batch(20)
        kept = []
        with warnings.catch_warnings():
            warnings.simplefilter("error", un.DataWarning)
            with pytest.raises(un.DataWarning,
                               match=r"the consumer still holds all \d+ batch buffers of 0.2 MB that "
                                     "execution.memory_limit_mb: 5 permits"):
                kept.extend(images for images, _ in loader)
        kept.clear()
        assert sum(1 for _ in loader) == len(loader)


@pytest.mark.parametrize("what", ["pixels", "encoded"])
def test_a_loop_that_holds_batches_uses_the_memory_that_a_cache_does_not_need(tmp_path, what):
    pipeline = un.open(photos(tmp_path)).shuffle(0).center_crop(64).cache(what)
    loader = pipeline.options(memory_limit=6 * MB, threads=1).batch(2)
    own = int(re.search(r"limit 6.0 MB: \d+ to (\d+) batches", loader.explain())[1])
    assert own < len(loader)  # otherwise it would not need the cache's memory
    with warnings.catch_warnings():
        warnings.simplefilter("error", un.DataWarning)
        kept = [images for images, _ in loader]
    assert len(kept) == len(loader) and sum(most for _, most in loader.memory().values()) <= 6 * MB


@pytest.mark.parametrize(("limit", "message"), [
    (100, r"options\(memory_limit\) in bytes: found 100; expected 1000000 or more"),
    ("1 gigabyte", r"options\(memory_limit\): found '1 gigabyte'; expected a size of 1MB or more with its unit"),
    ("0.5MB", "expected a size of 1MB or more"),
    ("2MB", r"expected at least (\d+): .*; a smaller batch needs less\. Set it by --memory-limit \1MB, in Python by "
            r"options\(memory_limit=\"\1MB\"\)"),
    (2 * MB, r"execution.memory_limit_mb: 2; expected at least \d+: 2 batches of 4.9 MB"),
])
def test_a_memory_limit_below_the_minimum_is_rejected(limit, message):
    with pytest.raises(un.errors.ArgumentError, match=message):
        next(iter(un.open(SMALL).options(memory_limit=limit).batch(400)))


def test_a_memory_limit_may_be_a_text_with_a_unit():
    for text, megabytes in (("500MB", 500), ("1.5GB", 1500), ("1GiB", 1073), ("2 TB", 2_000_000)):
        loader = un.open(SMALL).options(memory_limit=text).batch(2)
        assert f"memory_limit_mb: {megabytes}}}" in loader.to_yaml()


def test_the_advice_for_a_memory_limit_works():
    pipeline = un.open(SMALL)
    with pytest.raises(un.errors.ArgumentError) as failure:
        next(iter(pipeline.options(memory_limit=2 * MB, threads=1, prefetch=0).batch(400)))
    assert "a smaller batch needs less" in str(failure.value) and "fewer threads" not in str(failure.value)
    advised = re.search(r'memory_limit="(.*?)"', str(failure.value))[1]
    assert len(next(iter(pipeline.options(memory_limit=advised, threads=1, prefetch=0).batch(400)))[1]) == 400


def resident_growth(folder, options):
    """Bytes by which the peak of a process's resident memory grows over two epochs."""
    code = f"""
        import re
        import unstarve as un

        def peak():
            return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024

        loader = (un.open({str(folder)!r}).shuffle(0).random_resized_crop(64).cache("pixels", limit_mb=2000)
                  .options(threads=2, {options}).batch(16))
        before = peak()
        for _ in range(2):
            for _ in loader:
                pass
        print(peak() - before)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    return int(run.stdout)


def test_resident_memory_stays_within_the_limit(tmp_path):
    from PIL import Image

    # 200 names of one photograph: 600 MB of pixels.
    rng = np.random.default_rng(0)
    first = tmp_path / "photos" / "one" / "0.jpg"
    first.parent.mkdir(parents=True)
    Image.fromarray(rng.integers(0, 256, (20, 20, 3), np.uint8)).resize((1000, 1000)).save(first, quality=80)
    for number in range(1, 200):
        os.link(first, first.with_name(f"{number}.jpg"))
    limited = resident_growth(tmp_path / "photos", f"memory_limit={200 * MB}")
    assert limited < 230 * MB  # plus stacks, the index and the allocator
    # Without a limit the cache stores all images; only the rows that crops read are resident.
    assert resident_growth(tmp_path / "photos", "") > 300 * MB


def mixed_sizes(folder, **options):
    """150 small photographs and one of 2400x1600 that is not among those from which the limit is divided."""
    from PIL import Image

    rng = np.random.default_rng(0)
    noise = Image.fromarray(rng.integers(0, 256, (20, 20, 3), np.uint8))
    small = folder / "one" / "000.jpg"
    small.parent.mkdir(parents=True)
    noise.resize((200, 150)).save(small, quality=80)
    for number in range(1, 150):
        os.link(small, small.with_name(f"{number:03}.jpg"))
    noise.resize((2400, 1600)).save(small.with_name("070x.jpg"), quality=80, **options)
    return folder


@pytest.mark.parametrize("limit", [60, 100, 200, 700])
def test_one_ordinary_photograph_among_small_ones_fits(tmp_path, limit):
    data = un.open(mixed_sizes(tmp_path / "photos")).shuffle(0).random_resized_crop(224)
    loader = data.options(threads=2, memory_limit=limit * MB).batch(32, last="keep")
    assert sum(len(ids) for _, _, ids in loader.batches()) == 151


def test_the_error_of_an_image_that_does_not_fit_names_a_limit_at_which_it_does(tmp_path):
    data = un.open(mixed_sizes(tmp_path / "photos", progressive=True)).shuffle(0).random_resized_crop(224)
    loader = data.options(threads=2, memory_limit=60 * MB).batch(32, last="keep")
    with pytest.raises(un.Error, match=r"2400x1600 pixels needs .* execution.memory_limit_mb: 60 leaves") as failure:
        for _ in loader:
            pass
    enough = int(re.search(r"Set it to (\d+) or more", str(failure.value))[1])
    loader = data.options(threads=2, memory_limit=enough * MB).batch(32, last="keep")
    assert sum(len(ids) for _, _, ids in loader.batches()) == 151
