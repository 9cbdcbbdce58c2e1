"""un.DataLoader compared with torch's, batch by batch, and the behaviour of its workers."""

import collections
import multiprocessing
import os
import random
import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import unstarve as un  # noqa: E402
from dataloader_support import (  # noqa: E402
    Backwards, Big, Dropping, Faulty, Info, Kinds, Many, ManyArrays, Random, Stacked, Stream, Uneven,
    batches, fail_to_initialise, identity, initialise, same, sums,
)
from unstarve.dataloader import get_worker_info  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


CASES = {
    "default": (Kinds(), {}),
    "shuffle": (Kinds("dict"), {"batch_size": 4, "shuffle": True}),
    "generator": (Kinds("named"), {"batch_size": 4, "shuffle": True, "drop_last": True}),
    "strings": (Kinds("string"), {"batch_size": 5}),
    "layouts": (Kinds("layouts"), {"batch_size": 3, "collate_fn": identity}),
    "collate": (Kinds(), {"batch_size": 4, "collate_fn": sums}),
    "sampler": (Kinds(), {"batch_size": 4, "sampler": Backwards(9)}),
    "batch sampler": (Kinds(), {"batch_sampler": [[3, 1], [2], (4, 5, 6), [1, 1]]}),
    "single": (Kinds("named"), {"batch_size": None}),
    "many": (Many(), {"batch_size": 4, "shuffle": True}),
    "whole batches": (Stacked(), {"batch_size": 4, "shuffle": True, "collate_fn": identity}),
    "stream": (Stream(), {"batch_size": 3}),
    "stream, full batches": (Stream(), {"batch_size": 3, "drop_last": True}),
    "stream, single": (Stream(), {"batch_size": None}),
    "empty": (Kinds(samples=0), {"batch_size": 4}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("workers", [0, 2, "fork", "threads"])
def test_same_batches_as_torch(case, workers, load):
    dataset, options = CASES[case]
    if workers == "threads" and isinstance(dataset, Stream):
        pytest.skip("threads cannot share an iterable dataset")

    def generator():
        return {"generator": torch.Generator().manual_seed(9)} if case == "generator" else {}

    count = workers if isinstance(workers, int) else 2
    more = {"threads": {"workers": "threads"}, "fork": {"multiprocessing_context": "fork"}}.get(workers, {})
    theirs = torch.utils.data.DataLoader(dataset, num_workers=count, **options, **generator())
    ours = load(dataset, num_workers=count, **more, **options, **generator())
    if case != "stream, full batches":
        assert len(ours) == len(theirs)
    for name in ("dataset", "batch_size", "num_workers", "drop_last", "timeout", "pin_memory", "prefetch_factor"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert isinstance(ours, torch.utils.data.DataLoader) and type(ours.sampler) is type(theirs.sampler)
    ours_, theirs_ = batches(ours), batches(theirs)
    assert same(ours_, theirs_)
    assert torch.rand(1) == [torch.manual_seed(5), batches(theirs), torch.rand(1)][2]  # the same draws


def test_same_numbers_as_torch_in_this_process():
    ours, theirs = un.DataLoader(Random(), batch_size=4), torch.utils.data.DataLoader(Random(), batch_size=4)
    made = []
    for loader in (ours, theirs):
        random.seed(1)
        np.random.seed(1)
        made.append(batches(loader))
    assert same(*made)


@pytest.mark.parametrize(("options", "error"), [
    ({"num_workers": -1}, ValueError), ({"timeout": -1}, ValueError), ({"prefetch_factor": 2}, ValueError),
    ({"persistent_workers": True}, ValueError), ({"shuffle": True, "sampler": [1]}, ValueError),
    ({"batch_sampler": [[1]], "batch_size": 2}, ValueError), ({"batch_size": None, "drop_last": True}, ValueError),
    ({"batch_size": 0}, ValueError), ({"num_workers": 1, "multiprocessing_context": "spoon"}, ValueError),
    ({"num_workers": 1, "multiprocessing_context": 3}, TypeError),
])
def test_same_errors_as_torch(options, error):
    with pytest.raises(error) as theirs:
        torch.utils.data.DataLoader(Kinds(), **options)
    with pytest.raises(error) as ours:
        un.DataLoader(Kinds(), **options)
    assert str(ours.value) == str(theirs.value)


def test_arguments_that_only_this_loader_rejects():
    with pytest.raises(un.errors.ArgumentError, match="expected 'processes', 'threads' or None"):
        un.DataLoader(Kinds(), workers="fibres")
    with pytest.raises(un.errors.ArgumentError, match="IterableDataset"):
        un.DataLoader(Stream(), workers="threads")
    with pytest.raises(un.errors.ArgumentError, match=r"prefetch_factor\): found 0"):  # torch: at the first batch
        un.DataLoader(Kinds(), num_workers=1, prefetch_factor=0)
    with pytest.raises(un.errors.ArgumentError, match=r"Kinds|lambda.*no lambda"):
        iter(un.DataLoader(Kinds(), num_workers=1, collate_fn=lambda samples: samples,
                           multiprocessing_context="spawn"))
    with pytest.raises(ValueError, match="batch_size attribute should not be set"):
        un.DataLoader(Kinds()).batch_size = 3


def test_a_stream_longer_than_its_length_warns_like_torch(load):
    class Short(Stream):
        def __len__(self):
            return 5

    for make in (torch.utils.data.DataLoader, un.DataLoader):
        loader = make(Short())
        assert len(loader) == 5
        with pytest.warns(UserWarning, match="was reported to be 5"):
            assert len(list(loader)) == 23


def test_pinned_memory_without_an_accelerator_warns_like_torch(load):
    if torch.accelerator.is_available():
        loader = load(Kinds(), batch_size=4, num_workers=2, pin_memory=True)
        assert all(batch[0].is_pinned() for batch in loader)
        return
    for make in (torch.utils.data.DataLoader, un.DataLoader):
        with pytest.warns(UserWarning, match="no accelerator is found"):
            assert len(list(make(Kinds(), pin_memory=True))) == 23


def test_pinning_goes_through_a_thread_of_its_own(monkeypatch, load):
    pinned = []
    monkeypatch.setattr("unstarve.workers.epoch.pin_device", lambda loader: "cuda" if loader.pin_memory else None)
    monkeypatch.setattr(torch.accelerator, "current_device_index", lambda: 0)
    monkeypatch.setattr(torch.accelerator, "set_device_index", lambda index: None)
    monkeypatch.setattr("torch.utils.data._utils.pin_memory.pin_memory",
                        lambda data, device: pinned.append((device, threading.current_thread().name)) or data)
    plain = batches(load(Kinds(), batch_size=4, shuffle=True, num_workers=2))
    assert same(batches(load(Kinds(), batch_size=4, shuffle=True, num_workers=2, pin_memory=True)), plain)
    assert pinned == [("cuda", "unstarve-pin_0")] * len(plain)
    streams = [list(load(Stream(), batch_size=4, num_workers=2, pin_memory=pin)) for pin in (False, True)]
    assert same(*streams)
    with pytest.raises(ValueError, match="no sample 9"):
        list(load(Faulty({9: "value"}), batch_size=4, num_workers=2, pin_memory=True))
    for _ in range(5):
        next(iter(load(Faulty({9: "value"}), batch_size=2, num_workers=2, pin_memory=True)))


# --- workers ----------------------------------------------------------------------------------------------------------


def test_worker_info_seeds_and_initialisation(load):
    loader = load(Info(), batch_size=None, num_workers=2, worker_init_fn=initialise,
                  generator=torch.Generator().manual_seed(3))
    base = torch.empty((), dtype=torch.int64).random_(generator=torch.Generator().manual_seed(3)).item()
    for i, worker, workers, seed, its_own, initialised in list(loader):
        assert workers == 2 and seed == base + worker and its_own and initialised == 10 * worker and i < 23
    assert torch.utils.data.get_worker_info() is None and get_worker_info() is None
    threads = un.DataLoader(Info(), batch_size=None, num_workers=2, workers="threads")
    assert {sample[2] for sample in threads} == {2}
    with pytest.raises(ValueError, match="not today"):
        list(load(Info(), num_workers=2, worker_init_fn=fail_to_initialise))


def test_forked_workers_need_no_pickling_and_see_the_parent_s_memory():
    dataset = Kinds("tensor", samples=4)
    dataset.function = lambda: None
    loader = un.DataLoader(dataset, batch_size=2, num_workers=2, collate_fn=lambda samples: (len(samples), os.getpid()),
                           worker_init_fn=lambda worker: None)
    first, second = list(loader), list(loader)
    assert [count for count, _ in first + second] == [2] * 4
    assert {pid for _, pid in first}.isdisjoint({pid for _, pid in second}) and os.getpid() not in dict(first).values()
    dataset.kind = "string"  # the next loop has the current dataset
    loader = un.DataLoader(dataset, num_workers=1)
    assert list(loader) == [[f"sample {i}"] for i in range(4)]
    persistent = un.DataLoader(dataset, num_workers=2, persistent_workers=True, collate_fn=lambda _: os.getpid())
    assert len({*persistent} | {*persistent}) <= 2
    persistent.close()


def test_batches_that_a_dataset_holds_outlive_its_forks():
    """A forked worker that drops a batch of the parent's must not release its memory."""
    held = next(iter(un.DataLoader(Kinds("tensor"), batch_size=20, num_workers=1)))
    dataset = Dropping(held)
    before = held.clone()
    assert list(un.DataLoader(dataset, batch_size=None, num_workers=1)) == list(range(4))
    kept = list(un.DataLoader(Kinds("tensor", samples=60), batch_size=20, num_workers=1))
    assert torch.equal(held, before) and len(kept) == 3


def test_workers_of_a_daemonic_process_are_spawned():
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_count_batches, args=(theirs,), daemon=True)
    process.start()
    assert ours.recv() == 4
    process.join()


def _count_batches(connection):
    connection.send(len(list(un.DataLoader(Kinds(samples=8), batch_size=2, num_workers=1))))


def test_augmentation_is_the_same_for_any_number_of_workers(load):
    def run(workers, **options):
        torch.manual_seed(1)
        return list(load(Random(), batch_size=6, shuffle=True, num_workers=workers, **options))

    two = run(2)
    assert same(run(2, multiprocessing_context="fork"), two)
    assert same(run(1), two) and same(run(2, prefetch_factor=5), two)
    assert len({float(number) for batch in two for number in batch[2]}) == 23


def test_persistent_workers_keep_the_dataset_and_get_new_seeds():
    # With separate workers: those of another loader would keep the other dataset.
    loader = un.DataLoader(Random(), batch_size=6, num_workers=2, persistent_workers=True)
    first, second = list(loader), list(loader)
    loader.close()
    assert same([batch[0] for batch in first], [batch[0] for batch in second])
    assert not same(first, second)


def test_the_next_epoch_uses_the_current_dataset(load):
    dataset = Kinds("tensor", samples=4)
    loader = load(dataset, num_workers=2)
    before = list(loader)
    dataset.kind = "string"
    assert before[1].shape == (1, 3, 20, 20) and list(loader) == [[f"sample {i}"] for i in range(4)]


def test_arrays_are_shared_until_written_to_and_counters_are_shared():
    counter, shared = multiprocessing.get_context("spawn").Value("i", 0), torch.zeros(8).share_memory_()
    dataset = Big(counter, shared)
    loader = un.DataLoader(dataset, batch_size=None, num_workers=1)
    for _ in range(2):
        assert [value for value, _ in loader] == list(range(1, 9))  # the worker wrote to its own copy
    assert counter.value == 16 and shared.tolist() == list(range(8))
    assert dataset.array[0] == 0
    loader.close()


# The sizes of the arrays were in every message, which a socket limits.
def test_a_dataset_of_many_arrays_is_sent_to_spawned_workers():
    dataset = ManyArrays(100_000)
    loader = un.DataLoader(dataset, batch_size=4, num_workers=2, multiprocessing_context="spawn")
    expected = [[256 * (99_999 - i) for i in range(first, first + 4)] for first in (0, 4)]
    for _ in range(2):  # the second epoch compares the dataset with the one that was sent
        assert [batch.tolist() for batch in loader] == expected
    loader.close()


def test_batches_may_be_held_and_their_memory_is_reused(load):
    loader = load(Kinds("tensor", samples=60), batch_size=10, num_workers=2)
    kept = list(loader)
    for _ in range(20):
        for batch in loader:
            batch += 1
    assert [float(batch[3, 0, 0, 0]) for batch in kept] == [3.0, 13.0, 23.0, 33.0, 43.0, 53.0]
    pool = loader._idle_pool._pools[0]
    assert all(os.fstat(arena.fd).st_size <= 64 << 20 for arena in pool._memory.worker_arenas)


def test_a_slow_sample_delays_only_its_own_batch(load):
    loader = load(Uneven(samples=48), batch_size=8, num_workers=2, prefetch_factor=3, collate_fn=identity)
    made = collections.Counter(pid for batch in loader for _, pid in batch)
    assert sum(made.values()) == 48
    # The worker with the slow sample did little else; with static assignment each would make half.
    assert min(made.values()) <= 16


# More requests than the socket of a worker has room for: the loop did not end.
def test_a_large_prefetch_factor_of_an_iterable_dataset(load):
    loader = load(Stream(1500), batch_size=None, num_workers=2, prefetch_factor=2000, timeout=60)
    assert sorted(int(number) for _, number in loader) == list(range(1500))


def test_two_concurrent_loops(load):
    loader = load(Kinds(samples=6), num_workers=1)
    assert [(int(a[1]), int(b[1])) for a, b in zip(loader, loader, strict=True)] == [(i, i) for i in range(6)]


def test_ready_batches_are_delivered_first_without_in_order(load):
    loader = load(Faulty({0: 0.5}, samples=24), batch_size=2, num_workers=2, in_order=False)
    seen = [int(number) for batch in loader for number in batch[1]]
    assert sorted(seen) == list(range(24)) and seen[0] != 0
    with pytest.raises(un.errors.ArgumentError, match="in_order"):
        loader.state_dict()


# --- errors -----------------------------------------------------------------------------------------------------------


class Seeds(torch.utils.data.Dataset):
    """Samples are torch's seed."""

    def __len__(self):
        return 32

    def __getitem__(self, index):
        return torch.initial_seed()


def test_seeds_of_samples_can_be_collated():
    for seeds in un.DataLoader(Seeds(), batch_size=16, num_workers=2):
        assert seeds.dtype == torch.int64 and len(set(seeds.tolist())) == 16 and seeds.min() >= 0
# --- memory of batches ------------------------------------------------------------------------------------------------


def test_stacked_tensors_are_not_copied_and_their_memory_is_reused():
    from unstarve.workers import transport

    arena = transport.Arena()
    view = transport.View(arena.fd)
    addresses = set()
    for number in range(40):
        memory = torch.frombuffer(arena.reserve(1 << 20), dtype=torch.uint8)
        spare = arena.reserve(4 << 20)  # used by no message: free again after pack()
        memory.fill_(number)
        value = view.unpack(transport.pack({"a": memory, "b": np.full(5000, number), "c": "text"}, arena))
        assert (value["a"] == number).all() and (value["b"] == number).all() and value["c"] == "text"
        value["a"] += 1
        assert (memory == number + 1).all()  # the same memory
        addresses.add(value["a"].data_ptr())
        del value, spare
    assert len(addresses) <= 2 and os.fstat(arena.fd).st_size == 64 << 20
    # The sizes of many buffers are in the slot.
    many = [np.full(300, number) for number in range(1000)]
    mixed = [torch.frombuffer(arena.reserve(1 << 20), dtype=torch.uint8).fill_(7), *many]
    message = transport.pack(mixed, arena)
    assert len(message) < 200
    for one, other in zip(view.unpack(message), mixed, strict=True):
        assert (one == other).all()
    head, buffers = transport.dump(many)
    message = transport.store(head, buffers, arena)
    assert view.holds(message, head, buffers)
    assert not view.holds(message, head, [*buffers[:-1], memoryview(bytes(2400))])
    view.release(message)
    message = transport.pack(torch.frombuffer(arena.reserve(100_000), dtype=torch.float32), arena)
    used = len(arena._used)
    view.release(message)
    transport.pack(bytes(1), arena)
    arena.take(1)
    assert len(arena._used) <= used


class Layouts(Kinds):
    """Tensors of many layouts and dtypes, larger than a message."""

    def __getitem__(self, i):
        image = torch.arange(3 * 80 * 60).reshape(80, 60, 3).permute(2, 0, 1) + i
        return {"last": image.float(), "half": image.half(), "empty": torch.zeros(0, 3), "number": i,
                "array": np.full((70, 90), i, np.int16), "complex": torch.full((50, 50), i + 1j), "flag": image > 9}


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_layouts_and_dtypes_of_stacked_tensors_are_those_of_torch_s_workers(context):
    options = {"batch_size": 5, "num_workers": 1, "multiprocessing_context": context}
    theirs = list(torch.utils.data.DataLoader(Layouts(samples=12), **options))
    ours = list(un.DataLoader(Layouts(samples=12), **options))
    assert same(ours, theirs) and ours[0]["last"].stride() == theirs[0]["last"].stride()


class Mixed(Kinds):
    def __getitem__(self, i):
        return torch.zeros(4 + i % 2, 2000)


def test_tensors_that_cannot_be_stacked_raise_torch_s_error():
    for make in (torch.utils.data.DataLoader, un.DataLoader):
        with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
            list(make(Mixed(), batch_size=4, num_workers=1))
