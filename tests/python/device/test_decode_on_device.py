"""Decoding partly on the device, with a stand-in for nvJPEG that decodes with libjpeg-turbo into host memory.

Its pixels are those of the host, so batches must equal the host's. Requires no GPU and tests none.
"""

import os
import re
import shutil
import sys

import pytest

import unstarve as un
from unstarve import _core, nvjpeg

STAND_IN = os.environ.get("UNSTARVE_NVJPEG_STAND_IN")
MB = 1_000_000
SMALL = "synthetic:classes=10,images=200,size=32,seed=1"
torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not STAND_IN,
                                reason="UNSTARVE_NVJPEG_STAND_IN does not name the library nvjpeg_stand_in")


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    monkeypatch.setenv("UNSTARVE_NVJPEG", STAND_IN or "")


def pipeline(folder, threads=2, crop=224, shard=(0, 1), normalise=True):
    steps = un.open(folder).take(44).shuffle(3).shard(*shard).random_resized_crop(crop).flip().color_jitter(hue=0)
    return (steps.normalize(*un.IMAGENET) if normalise else steps).options(threads=threads)


def on_device(pipeline, share, decode="hybrid", **options):
    return pipeline.batch(8, last="pad").to_torch(operations="device", decode=decode, decode_share=share, **options)


def on_host(pipeline, **options):
    return pipeline.batch(8, last="pad").to_torch(**options)


def equal(ours, theirs):
    count = 0
    for one, other in zip(ours, theirs, strict=True):
        assert all(map(torch.equal, one, other))
        count += 1
    return count


def given(loader):
    """The number of files that went to the device, and of all files."""
    found = re.search(r"decode      (\d+) of (\d+) files went to the device", loader.explain())
    assert found, loader.explain()
    return int(found[1]), int(found[2])


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("share", [0, 0.5, 1, None])
def test_every_epoch_is_bit_equal_to_the_host(photographs, share, threads):
    whole = pipeline(photographs, threads)
    loader, plain = on_device(whole, share), on_host(whole)
    for _ in range(2):
        assert equal(loader, plain) == len(plain)
    went, seen = given(loader)
    assert seen >= 2 * plain.samples
    if share == 0:
        assert went == 0
    elif share == 1:
        assert went > 0.6 * seen
    else:
        assert 0 < went < seen


def test_other_types_layouts_and_back_ends(photographs):
    for decode, options in (("gpu_hybrid", {"dtype": torch.bfloat16, "channels_last": True}),
                            ("hardware", {"dtype": torch.uint8})):
        whole = pipeline(photographs, normalise=options["dtype"] != torch.uint8)
        assert equal(on_device(whole, 0.7, decode, **options), on_host(whole, **options)) == len(on_host(whole))


def test_resumes_from_a_state(photographs):
    whole = pipeline(photographs)
    loader = on_device(whole, 0.5)
    batches = iter(loader)
    next(batches), next(batches)
    state = loader.state_dict()
    resumed, plain = on_device(pipeline(photographs, 1), 0.5), on_host(whole)
    resumed.load_state_dict(state)
    plain.load_state_dict(state)
    assert equal(resumed, plain) == len(plain) - 2
    assert equal(loader, plain) == len(plain)  # each in its second epoch


def test_each_rank_has_the_hosts_part(photographs):
    for rank in range(2):
        whole = pipeline(photographs, shard=(rank, 2))
        assert equal(on_device(whole, 0.5), on_host(whole)) > 1


def files_of(pipeline, epoch=0, batch=0, size=8):
    """Returns {id: whether the device receives a file} for the rest of an epoch."""
    loader = pipeline.device("cpu", operations="device", decode="hybrid", decode_share=0.5).batch(size, last="keep")
    host = loader._host_part(1, decode=_core.decode_balance(loader.spec))
    host.set_epoch(epoch, batch)
    return {int(sample): bool(file[0]) for _, _, ids, files in host.batches()
            for sample, file in zip(ids, files, strict=True)}


def test_the_device_decodes_the_same_files_after_a_resume(photographs):
    whole = files_of(pipeline(photographs))
    assert 0.2 < sum(whole.values()) / len(whole) < 0.6
    assert whole == files_of(pipeline(photographs, threads=4), size=5)
    ranks = [files_of(pipeline(photographs, shard=(rank, 2))) for rank in range(2)]
    assert whole.items() >= ranks[0].items() | ranks[1].items()
    rest = files_of(pipeline(photographs), batch=3)
    assert whole.items() >= rest.items()
    assert len(rest) == len(whole) - 3 * 8
    assert whole != files_of(pipeline(photographs), epoch=1)
    assert whole == files_of(pipeline(photographs, threads=4).options(order="relaxed"))


def test_files_that_stay_with_the_host(photographs):
    whole = pipeline(photographs, crop=32)
    loader, plain = on_device(whole, 1), on_host(whole)
    assert equal(loader, plain) == len(plain)
    went, seen = given(loader)
    assert went < seen
    assert re.search(r"not supported: .*files larger than a sample of the batch \(\d+\)", loader.explain())


def altered(photographs, folder, change):
    """A copy of the photographs, with the bytes of one file changed; the path of that file."""
    shutil.copytree(photographs, folder)
    chosen = sorted(path for path in folder.rglob("*.*") if path.stat().st_size < 100_000)[5]
    chosen.write_bytes(change(chosen.read_bytes()))
    return chosen


def test_a_file_that_nvjpeg_rejects_is_decoded_by_the_host(photographs, tmp_path):
    # Bytes between the scan and the end marker, which the host's decoder skips.
    odd = altered(photographs, tmp_path / "odd", lambda data: data[:-2] + bytes([0xFF, 0xFE, 0, 4, 1, 2]) + b"\1\2\3"
                  + data[-2:])
    loader, plain = on_device(pipeline(tmp_path / "odd"), 1), on_host(pipeline(tmp_path / "odd"))
    assert equal(loader, plain) == len(plain)
    assert re.search(r"decode      1 rejected by nvJPEG and decoded by the host; the latest: \S*"
                     + odd.name + ": BAD_JPEG",
                     loader.explain())


def test_a_damaged_file_ends_the_run_after_the_good_batches(photographs, tmp_path):
    damaged = altered(photographs, tmp_path / "damaged", lambda data: data[:len(data) // 2])
    counts = []
    for loader in (on_device(pipeline(tmp_path / "damaged"), 1), on_host(pipeline(tmp_path / "damaged"))):
        counts.append(0)
        with pytest.raises(un.errors.InputError, match=re.escape(damaged.name)):
            for _ in loader:
                counts[-1] += 1
    assert counts[0] == counts[1]


def test_pixels_decoded_on_the_device_count_towards_the_limit(photographs):
    loader = pipeline(photographs).options(memory_limit=400 * MB).batch(32)
    sample_bytes, made = 3 * 224 * 224, 4 * 3 * 224 * 224
    text = loader.to_torch(operations="device", decode="hybrid").explain()
    assert f", on the device {32 * (9 * sample_bytes + 2 * made) / 1e6:.1f}" in text
    with pytest.raises(un.errors.ArgumentError, match="memory_limit_mb: 20; expected at least"):
        pipeline(photographs).options(memory_limit=20 * MB).batch(40).to_torch(
            operations="device", decode="hybrid").explain()


def test_invalid_combinations_are_rejected(photographs, monkeypatch):
    whole = pipeline(photographs)
    for options, message in (
            ({"decode": "nvjpeg"},
             'device.decode: .*found "nvjpeg"; expected one of host, hybrid, gpu_hybrid, hardware'),
            ({"decode": "hybrid", "operations": "host"},
             "device.decode: hybrid with device.operations: host; expected"),
            ({"decode_share": 0.5}, "device.decode_share: 0.5 with device.decode: host; expected no share"),
            ({"decode": "hybrid", "decode_share": 1.5}, "device.decode_share: 1.5; expected 0 to 1"),
            ({"decode": "hybrid", "decode_share": -1}, r"decode_share\): found -1; expected a number of 0 or more"),
            ({"decode": "hybrid", "decode_share": "half"}, r"decode_share\): found 'half'; expected a number")):
        with pytest.raises(un.errors.ArgumentError, match=message):
            whole.batch(8).to_torch(**{"operations": "device", **options})
    for wrong, message in ((whole.errors("skip"), "errors.policy: skip; expected fail"),
                           (whole.cache("pixels"), "cache: pixels; expected encoded or nothing"),
                           (un.open(SMALL).center_crop(24), "synthetic stores pixels; expected encoded images")):
        with pytest.raises(un.errors.ArgumentError, match=message):
            next(iter(on_device(wrong, 1)))
    monkeypatch.setenv("UNSTARVE_NVJPEG", "/nowhere/libnvjpeg.so.13")
    with pytest.raises(un.errors.MissingError, match="nvJPEG was not found: /nowhere/libnvjpeg.so.13"):
        on_device(whole, 1)


def test_the_library_of_a_wheel_is_found(photographs, tmp_path, monkeypatch):
    monkeypatch.delenv("UNSTARVE_NVJPEG")
    for name in ("nvidia/nvjpeg/lib/libnvjpeg.so.12", "nvidia/cu13/lib/libnvjpeg.so.13"):
        (tmp_path / name).parent.mkdir(parents=True)
        shutil.copy(STAND_IN, tmp_path / name)
    wheels = tmp_path.resolve()
    with monkeypatch.context() as alone:  # not a wheel installed on this machine
        alone.setattr(sys, "path", [str(tmp_path)])
        assert nvjpeg.libraries() == [str(wheels / "nvidia/cu13/lib/libnvjpeg.so.13"),
                                      str(wheels / "nvidia/nvjpeg/lib/libnvjpeg.so.12")]
    monkeypatch.syspath_prepend(tmp_path)
    loader = on_device(pipeline(photographs), 1)
    equal(loader, on_host(pipeline(photographs)))
    assert given(loader)[0] > 0
    # A file that is not a library is skipped.
    broken = tmp_path / "broken/nvidia/cu14/lib/libnvjpeg.so.14"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"no library")
    monkeypatch.syspath_prepend(tmp_path / "broken")
    assert nvjpeg.libraries()[0] == str(broken.resolve())
    on_device(pipeline(photographs), 1)
