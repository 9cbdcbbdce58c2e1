"""Loader.to_torch: tensors on the CPU and on a GPU."""

import numpy as np
import pytest

import unstarve as un
from loader_support import SMALL, copies, photos


def test_torch_on_the_cpu():
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
    with pytest.raises(un.errors.ArgumentError, match=r"to_torch\(dtype\): found uint8 after normalize\(\)"):
        pipeline.normalize(*un.CIFAR10).batch(50).to_torch(dtype=torch.uint8)
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


@pytest.mark.parametrize("consumer", ["torch", "numpy"])
def test_dlpack_consumers_share_memory_and_keep_it_alive(consumer):
    take = pytest.importorskip(consumer).from_dlpack
    loader = un.open(SMALL).shuffle(0).batch(20)
    expected = copies(loader)
    loader.set_epoch(0)
    taken = []
    for images, labels, ids in loader.batches():
        ours = [take(array) for array in (images, labels, ids)]
        addresses = [array.data_ptr() if consumer == "torch" else array.ctypes.data for array in ours]
        assert addresses == [array.ctypes.data for array in (images, labels, ids)]
        ours[0][0, 0, 0, 0] = 7  # the same memory, and writable
        assert images[0, 0, 0, 0] == 7
        taken.append(ours)
        del images, labels, ids
    held = loader.memory()["batches"][0]
    assert held >= len(taken) * expected[0][0].nbytes
    loader.close()
    # The loader has ended and the arrays are deleted; the tensors still hold the batches.
    for ours, batch in zip(taken, expected, strict=True):
        batch[0][0, 0, 0, 0] = 7
        for mine, theirs in zip(ours, batch, strict=True):
            assert np.array_equal(np.asarray(mine), theirs)


def test_memory_of_a_batch_returns_to_the_loader_when_all_references_are_deleted():
    torch = pytest.importorskip("torch")
    loader = un.open(SMALL).shuffle(0).options(threads=1, prefetch=1).batch(20)
    addresses = set()
    for _ in range(4):
        for images, _ in loader:
            taken = torch.from_dlpack(images)
            addresses.add(taken.data_ptr())
            del images, taken
    assert len(addresses) < 10  # fewer than the forty batches


@pytest.mark.parametrize(("size", "given", "first"), [(1, 20, 9), (2, 10, 4), (2, 10, 10), (2, 10, 0)])
def test_batch_indices_do_not_count_omitted_batches(tmp_path, size, given, first):
    torch = pytest.importorskip("torch")
    pipeline = un.open(photos(tmp_path, bad=(5, 7, 20, 22))).sequential().center_crop(32).errors("skip")
    with pipeline.batch(size).to_torch() as loader:
        epoch = [images.clone() for images, _ in loader]
        assert len(epoch) == given < len(loader)
        loader.set_epoch(0)
        # As accelerate's skip_first_batches takes a DataLoader apart.
        numbers = list(loader.batch_sampler)[first:]
        rest = torch.utils.data.DataLoader(loader.dataset, batch_sampler=numbers, collate_fn=loader.collate_fn)
        again = [images.clone() for images, _ in rest]
        assert len(again) == given - first and all(map(torch.equal, again, epoch[first:]))
        assert loader.epoch == 1 and len(list(loader)) == given


def test_batches_by_index_are_rejected_in_relaxed_order(tmp_path):
    pytest.importorskip("torch")
    for policy in ("fail", "skip"):
        pipeline = un.open(photos(tmp_path)).center_crop(32).errors(policy).options(order="relaxed")
        with pipeline.batch(2).to_torch() as loader, pytest.raises(
                un.errors.ArgumentError, match="set_epoch.batch.: found 3 with order='relaxed'; expected 0"):
            loader.dataset.__getitems__([3])


def test_attributes_of_a_dataloader_are_rejected_with_a_hint():
    with un.open(SMALL).batch(4) as loader, pytest.raises(AttributeError, match=(
            r"dataset: found on a Loader of NumPy arrays; expected on the loader that to_torch\(\) returns")):
        loader.dataset
