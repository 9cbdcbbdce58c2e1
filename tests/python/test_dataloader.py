"""un.DataLoader beside torch's own, batch for batch; its helpers, their deaths, and exact resume; un.from_torch."""

import collections
import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import unstarve as un  # noqa: E402
from unstarve.dataloader import _Home, get_worker_info  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")

Pair = collections.namedtuple("Pair", "left right")
HERE = str(Path(__file__).parent)


# --- datasets, importable by helper processes -------------------------------------------------------------------------


class Kinds(torch.utils.data.Dataset):
    """Samples of index i as a tensor, a tuple, a dict, ...: everything that default_collate knows."""

    def __init__(self, kind="tuple", samples=23):
        self.kind, self.samples = kind, samples

    def __len__(self):
        return self.samples

    def __getitem__(self, i):
        tensor = torch.full((3, 20, 20), float(i))
        return {
            "tensor": lambda: tensor,
            "tuple": lambda: (tensor, i),
            "dict": lambda: {"image": tensor, "name": f"sample {i}", "weight": i / 3},
            "named": lambda: Pair(np.full((2, 300), i, np.int16), [tensor[0], np.float32(i)]),
            "string": lambda: f"sample {i}",
            "layouts": lambda: (tensor.permute(1, 2, 0), tensor.to(torch.bfloat16), torch.zeros(0), i % 2 == 0),
        }[self.kind]()


class Many(Kinds):
    def __getitems__(self, indices):
        return [(torch.tensor(indices), index) for index in indices]


class Random(Kinds):
    def __getitem__(self, i):
        return i, torch.rand(2), random.random(), np.random.rand(3)


class Stream(torch.utils.data.IterableDataset):
    """0 .. samples - 1, dealt to the workers; uneven parts."""

    def __init__(self, samples=23):
        self.samples = samples

    def __len__(self):
        return self.samples

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        return iter([(torch.full((40, 40), i), i) for i in range(worker, self.samples, workers)])


class Counting(torch.utils.data.IterableDataset):
    """With a state of its own: it goes on where the state was taken, without reading what was before."""

    def __init__(self):
        self.at, self.read = 0, 0

    def __iter__(self):
        while self.at < 20:
            self.at += 1
            self.read += 1
            yield self.at, self.read
        self.at = self.read = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class Special(Exception):
    def __init__(self, one, two):
        super().__init__(one, two)


class Faulty(Kinds):
    """What happens at which index."""

    def __init__(self, at, samples=24):
        super().__init__("tuple", samples)
        self.at = at

    def __getitem__(self, i):
        what = self.at.get(i)
        if what == "value":
            raise ValueError(f"no sample {i}")
        if what == "key":
            raise KeyError("a key")
        if what == "special":
            raise Special(1, 2)
        if what == "local":
            class LocalError(Exception):
                pass
            raise LocalError("of a function")
        if what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "exit":
            os._exit(3)
        if isinstance(what, float):
            time.sleep(what)
        return super().__getitem__(i)


class Uneven(Kinds):
    """The first sample takes as long as a hundred others."""

    def __getitem__(self, i):
        time.sleep(0.02 if i else 2)
        return i, os.getpid()


class Closure(Kinds):
    """Samples that no other process can be sent."""

    def __getitem__(self, i):
        return lambda: i


class Big(Kinds):
    """An array that all helpers share until they write to it, and a counter that is shared with the parent."""

    def __init__(self, counter=None, shared=None):
        super().__init__("tuple", 8)
        self.array, self.counter, self.shared = np.arange(100_000), counter, shared

    def __getitem__(self, i):
        self.array[i] += 1
        if self.counter is not None:
            with self.counter.get_lock():
                self.counter.value += 1
        if self.shared is not None:
            self.shared[i] = i
        return int(self.array[i]), os.getpid()


class Info(Kinds):
    def __getitem__(self, i):
        info = get_worker_info()
        return i, info.id, info.num_workers, info.seed, info.dataset is self, getattr(self, "initialised", -1)


def initialise(worker):
    get_worker_info().dataset.initialised = worker * 10


def fail_to_initialise(worker):
    raise ValueError("not today")


def sums(samples):
    return torch.stack([sample[0].sum() for sample in samples]), [sample[1] for sample in samples]


def call(samples):
    return [sample() for sample in samples]


def identity(samples):
    return samples


def noisy(sample):
    return sample[1], torch.rand(1)


def slow(sample):
    time.sleep(0.001)
    return sample


class Backwards(torch.utils.data.Sampler):
    """Draws where its iterator is made."""

    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return self.samples

    def __iter__(self):
        return iter((torch.randperm(self.samples)).tolist()[::-1])


# --- helpers of the tests ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pools():
    """Idle helpers handed from test to test: starting them means importing torch, seconds on a busy machine."""
    kept = {}
    yield kept
    for pool in kept.values():
        pool.close()


@pytest.fixture
def load(pools):
    """un.DataLoader with the kept helpers."""
    made = []

    def make(*args, **options):
        loader = un.DataLoader(*args, **options)
        key = (loader.num_workers, isinstance(loader.dataset, torch.utils.data.IterableDataset))
        if options.get("workers") != "threads" and loader.num_workers:
            gc.collect()
            idle = (other._home.take() for other, others in made if others == key)
            pool = pools.pop(key, None) or next(filter(None, idle), None) or loader._new_pool()
            loader._home.give(pool)
            made.append((loader, key))
        return loader

    yield make
    gc.collect()
    for loader, key in made:
        pool = loader._home.take()
        if pool is not None and key not in pools:
            pools[key] = pool
        elif pool is not None:
            pool.close()


def same(ours, theirs):
    if isinstance(theirs, torch.Tensor):
        return (isinstance(ours, torch.Tensor) and ours.dtype == theirs.dtype and torch.equal(ours, theirs)
                and ours.stride() == theirs.stride())
    if isinstance(theirs, np.ndarray):
        return ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
    if isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(same(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, (list, tuple)):
        return type(ours) is type(theirs) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    return type(ours) is type(theirs) and ours == theirs


def batches(loader):
    torch.manual_seed(5)
    return list(loader) + list(loader)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pids, seconds=15):
    until = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    return not any(map(alive, pids))


# --- as torch ---------------------------------------------------------------------------------------------------------


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
    "stream": (Stream(), {"batch_size": 3}),
    "stream, full batches": (Stream(), {"batch_size": 3, "drop_last": True}),
    "stream, single": (Stream(), {"batch_size": None}),
    "empty": (Kinds(samples=0), {"batch_size": 4}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("workers", [0, 2, "threads"])
def test_same_batches_as_torch(case, workers, load):
    dataset, options = CASES[case]
    if workers == "threads" and isinstance(dataset, Stream):
        pytest.skip("threads cannot share an iterable dataset")

    def generator():
        return {"generator": torch.Generator().manual_seed(9)} if case == "generator" else {}

    count = 2 if workers == "threads" else workers
    more = {"workers": "threads"} if workers == "threads" else {}
    theirs = torch.utils.data.DataLoader(dataset, num_workers=count, **options, **generator())
    ours = load(dataset, num_workers=count, **more, **options, **generator())
    if case != "stream, full batches":
        assert len(ours) == len(theirs)
    for name in ("dataset", "batch_size", "num_workers", "drop_last", "timeout", "pin_memory", "prefetch_factor"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert isinstance(ours, torch.utils.data.DataLoader) and type(ours.sampler) is type(theirs.sampler)
    ours_, theirs_ = batches(ours), batches(theirs)
    assert same(ours_, theirs_)
    assert torch.rand(1) == [torch.manual_seed(5), batches(theirs), torch.rand(1)][2]  # as much was drawn


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


def test_what_only_this_loader_refuses():
    with pytest.raises(un.errors.ArgumentError, match="expected 'processes', 'threads' or None"):
        un.DataLoader(Kinds(), workers="fibres")
    with pytest.raises(un.errors.ArgumentError, match="IterableDataset"):
        un.DataLoader(Stream(), workers="threads")
    with pytest.raises(un.errors.ArgumentError, match=r"Kinds|lambda.*no lambda"):
        iter(un.DataLoader(Kinds(), num_workers=1, collate_fn=lambda samples: samples))
    with pytest.raises(ValueError, match="batch_size attribute should not be set"):
        un.DataLoader(Kinds()).batch_size = 3
    with pytest.warns(UserWarning, match="spawned, not forked"):
        un.DataLoader(Kinds(), num_workers=1, multiprocessing_context="fork")


def test_a_stream_longer_than_it_says_warns_like_torch(load):
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
    monkeypatch.setattr("unstarve.dataloader._pin_device", lambda loader: "cuda" if loader.pin_memory else None)
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


def test_augmentation_is_the_same_for_any_number_of_workers(load):
    def run(workers, **options):
        torch.manual_seed(1)
        return list(load(Random(), batch_size=6, shuffle=True, num_workers=workers, **options))

    two = run(2)
    assert same(run(1), two) and same(run(2, prefetch_factor=5), two)
    assert len({float(number) for batch in two for number in batch[2]}) == 23


def test_persistent_workers_keep_the_dataset_and_draw_anew():
    # With helpers of its own: those of another loader would keep that one's dataset.
    loader = un.DataLoader(Random(), batch_size=6, num_workers=2, persistent_workers=True)
    first, second = list(loader), list(loader)
    loader.close()
    assert same([batch[0] for batch in first], [batch[0] for batch in second])
    assert not same(first, second)


def test_the_next_epoch_has_the_dataset_as_it_is_by_then(load):
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
        assert [value for value, _ in loader] == list(range(1, 9))  # the helper wrote to its own copy
    assert counter.value == 16 and shared.tolist() == list(range(8))
    assert dataset.array[0] == 0
    loader.close()


def test_batches_may_be_kept_and_their_memory_is_used_again(load):
    loader = load(Kinds("tensor", samples=60), batch_size=10, num_workers=2)
    kept = list(loader)
    for _ in range(20):
        for batch in loader:
            batch += 1
    assert [float(batch[3, 0, 0, 0]) for batch in kept] == [3.0, 13.0, 23.0, 33.0, 43.0, 53.0]
    pool = loader._home._idle[0]
    assert all(os.fstat(arena.fd).st_size <= 64 << 20 for arena in pool._arenas)


def test_a_slow_sample_keeps_nothing_else_waiting(load):
    loader = load(Uneven(samples=48), batch_size=8, num_workers=2, prefetch_factor=3, collate_fn=identity)
    made = collections.Counter(pid for batch in loader for _, pid in batch)
    assert sum(made.values()) == 48
    # Whoever had the slow one did little else, where batches dealt in turn give each helper a half.
    assert min(made.values()) <= 16


def test_two_loops_at_once(load):
    loader = load(Kinds(samples=6), num_workers=1)
    assert [(int(a[1]), int(b[1])) for a, b in zip(loader, loader, strict=True)] == [(i, i) for i in range(6)]


def test_in_any_order(load):
    loader = load(Faulty({0: 0.5}, samples=24), batch_size=2, num_workers=2, in_order=False)
    seen = [int(number) for batch in loader for number in batch[1]]
    assert sorted(seen) == list(range(24)) and seen[0] != 0
    with pytest.raises(un.errors.ArgumentError, match="in_order"):
        loader.state_dict()


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [2, "threads"])
def test_an_error_comes_in_its_turn_with_its_traceback(workers, load):
    more = {"workers": "threads"} if workers == "threads" else {}
    loader = load(Faulty({9: "value", 15: "key", 20: "special"}), batch_size=4, num_workers=2, **more)
    iterator = iter(loader)
    assert [int(next(iterator)[1][0]) for _ in range(2)] == [0, 4]
    with pytest.raises(ValueError, match=r"(?s)Caught ValueError in DataLoader worker.*__getitem__.*no sample 9"):
        next(iterator)
    with pytest.raises(KeyError, match=r"(?s)Original Traceback.*a key"):
        next(iterator)
    assert int(next(iterator)[1][0]) == 16
    with pytest.raises(RuntimeError, match=r"(?s)Caught Special in.*test_dataloader.py"):
        next(iterator)
    with pytest.raises(StopIteration):
        next(iterator)


def test_an_error_that_cannot_be_sent_comes_as_its_text(load):
    with pytest.raises(RuntimeError, match=r"(?s)LocalError.*of a function"):
        list(load(Faulty({3: "local"}), num_workers=2))
    with pytest.raises(ValueError, match="^no sample 5$"):
        list(un.DataLoader(Faulty({5: "value"})))


def test_samples_that_cannot_be_sent_stay_with_their_worker():
    loader = un.DataLoader(Closure(samples=24), batch_size=8, num_workers=1, collate_fn=call)
    assert list(loader) == [list(range(8)), list(range(8, 16)), list(range(16, 24))]
    loader.close()


def test_a_dead_helper_ends_the_loop_and_the_next_one_has_others():
    dataset = Faulty({})
    loader = un.DataLoader(dataset, batch_size=4, num_workers=1)
    for what, message in (("kill", "killed by SIGKILL"), ("exit", "exit code 3")):
        dataset.at = {17: what}
        seen = []
        with pytest.raises(RuntimeError, match=rf"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly: {message}"):
            for batch in loader:
                seen += batch[1].tolist()
        assert seen == list(range(16))
    loader.close()


def test_a_timeout(load):
    loader = load(Faulty({0: 0.8}, samples=2), num_workers=2, timeout=0.2)
    iterator = iter(loader)
    with pytest.raises(RuntimeError, match="timed out after 0.2 seconds"):
        next(iterator)
    time.sleep(1)
    assert int(next(iterator)[1]) == 0


# --- nothing is left --------------------------------------------------------------------------------------------------


def test_loops_left_early_leave_nothing(load):
    def held():
        gc.collect()
        return (len(os.listdir("/proc/self/fd")), threading.active_count(), len(loader._home._idle[0].pids))

    before = set(os.listdir("/dev/shm"))
    loader = load(Kinds("tensor", samples=200), batch_size=5, num_workers=2, shuffle=True)
    pids = None
    for loop in range(60):
        for number, _ in enumerate(loader):
            if number == loop % 4:
                break
        if loop == 10:
            level, pids = held(), loader._home._idle[0].pids
    assert held() == level and loader._home._idle[0].pids == pids
    assert not {name for name in set(os.listdir("/dev/shm")) - before if "unstarve" in name or "psm" in name}
    assert len(list(loader)) == 40


def test_close_and_the_loader_s_end_end_the_helpers():
    descriptors = len(os.listdir("/proc/self/fd"))
    loader = un.DataLoader(Kinds(), num_workers=1)
    next(iter(loader))
    pids = loader._home._idle[0].pids
    assert all(map(alive, pids))
    with pytest.raises(ZeroDivisionError):
        for _ in loader:
            raise ZeroDivisionError
    child = os.fork()  # a process that was forked meanwhile holds copies of the sockets
    if child == 0:
        time.sleep(60)
        os._exit(0)
    begin = time.monotonic()
    loader.close()
    assert time.monotonic() - begin < 4 and gone(pids, 0.5)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    del loader
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= descriptors


def script(code):
    """A program without the guard that spawned processes usually need: its dataset is another module's."""
    path = os.pathsep.join([HERE, *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen([sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, env={**os.environ, "PYTHONPATH": path})


def test_control_c_is_heard_and_helpers_end_when_the_parent_is_killed():
    code = """
        import unstarve as un
        from test_dataloader import Faulty
        loader = un.DataLoader(Faulty({4: 600.0}), num_workers=1)
        iterator = iter(loader)
        next(iterator)
        print(*iterator._pool.pids, flush=True)
        while True:
            try:
                for _ in iterator:
                    pass
            except KeyboardInterrupt:
                print("heard", flush=True)
    """
    with script(code) as parent:
        line = parent.stdout.readline()
        assert line.strip().isdecimal(), line
        helper = int(line)
        time.sleep(0.3)
        for pid in (parent.pid, helper):  # as the terminal sends it: to the group
            os.kill(pid, signal.SIGINT)
        assert parent.stdout.readline() == "heard\n"
        assert alive(helper)
        parent.kill()
    assert gone([helper])


def test_an_epoch_that_cannot_begin_ends_the_helpers(load):
    dataset = Kinds()
    loader = un.DataLoader(dataset, num_workers=1)
    next(iter(loader))
    pids = loader._home._idle[0].pids
    dataset.function = lambda: None
    with pytest.raises(un.errors.ArgumentError, match="cannot be sent to helper processes"):
        iter(loader)
    assert gone(pids)


def test_a_script_s_own_dataset_needs_the_guard_and_says_so(tmp_path):
    code = """
        import sys
        import torch, unstarve as un

        class Mine:
            def __len__(self): return 3
            def __getitem__(self, i): return i

        def run():
            print(list(un.DataLoader(Mine(), num_workers=1, batch_size=3)))

        if __name__ == "__main__" or {guarded}:
            run()
    """
    for guarded in (True, False):
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(code).replace("{guarded}", str(not guarded)))
        done = subprocess.run([sys.executable, "-W", "ignore", path], capture_output=True, text=True, timeout=60)
        if guarded:
            assert done.stdout == "[tensor([0, 1, 2])]\n", done.stderr
        else:
            assert done.returncode == 1 and "bootstrapping phase" in done.stderr


# --- state ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("generator", [False, True])
def test_resumes_after_every_batch(workers, generator, load):
    def make():
        options = {"generator": torch.Generator().manual_seed(4)} if generator else {}
        loader = load(Random(samples=14), batch_size=4, shuffle=True, num_workers=workers, **options)
        return loader

    def ids(run):
        return [batch if workers else batch[0] for batch in run]

    torch.manual_seed(8)
    loader = make()
    states, expected = [loader.state_dict()], []
    for _ in range(2):
        for batch in loader:
            expected.append(batch)
            states.append(loader.state_dict())
    resumed = make()
    for at, state in enumerate(states[:-1]):
        torch.manual_seed(8 if at == 0 else 12345)  # what the global generator is otherwise used for is its own matter
        resumed.load_state_dict(state)
        rest = list(resumed)
        if generator or at % 4:
            left = 4 - at % 4 if at != 4 else 0  # of a loop that gave its last batch and did not meet its end
            assert len(rest) == left and same(ids(rest), ids(expected[at:at + left]))
        if generator and at < 4:
            assert same(ids(list(resumed)), ids(expected[4:8]))
    with pytest.raises(un.errors.ArgumentError, match="version 7"):
        loader.load_state_dict({**states[0], "version": 7})


@pytest.mark.parametrize("persistent", [False, True])
def test_resumes_with_another_number_of_workers(persistent, load):
    torch.manual_seed(2)
    loader = load(Random(samples=20), batch_size=4, shuffle=True, num_workers=2, persistent_workers=persistent)
    list(loader)
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    other = load(Random(samples=20), batch_size=4, shuffle=True, num_workers=1, persistent_workers=persistent)
    other.load_state_dict(state)
    assert same(list(other), list(iterator))
    torch.save(state, os.devnull)


@pytest.mark.parametrize("workers", [0, 2])
def test_streams_resume_after_every_batch(workers, load):
    loader = load(Stream(17), batch_size=2, num_workers=workers)
    states, expected = [], []
    for batch in loader:
        expected.append(batch[1].tolist())
        states.append(loader.state_dict())
    for at, state in enumerate(states, 1):
        loader.load_state_dict(state)
        assert [batch[1].tolist() for batch in loader] == expected[at:]
    assert len(list(loader)) == len(expected)
    with pytest.raises(un.errors.ArgumentError, match="worker"):
        load(Stream(17), num_workers=1).load_state_dict({**states[0], "streams": {"turn": 0, "workers": [{}, {}, {}]}})


@pytest.mark.parametrize("workers", [0, 1])
def test_a_stream_with_a_state_does_not_read_again(workers, load):
    loader = load(Counting(), batch_size=2, num_workers=workers)
    for number, _ in enumerate(loader):
        if number == 3:
            state = loader.state_dict()
            break
    other = load(Counting(), batch_size=2, num_workers=workers)
    other.load_state_dict(state)
    assert [batch[0].tolist() for batch in other] == [[i, i + 1] for i in range(9, 20, 2)]
    other.load_state_dict(state)
    assert next(iter(other))[1].tolist() == [1, 2]


def test_a_copy_of_a_loader(load):
    import copy

    loader = un.DataLoader(Kinds(), batch_size=4)
    assert same(list(copy.deepcopy(loader)), list(loader)) and isinstance(copy.copy(loader)._home, _Home)


# --- from_torch -------------------------------------------------------------------------------------------------------


def chain(workers=0, **options):
    return un.from_torch(Kinds(samples=40)).map(noisy).options(workers=workers, **options)


def numbers(batches_):
    return [batch[0].tolist() for batch in batches_]


def test_a_chain_over_a_dataset(load):
    pipeline = chain()
    assert len(pipeline) == 40 and "40 samples" in repr(pipeline)
    loader = pipeline.shuffle(3).batch(6, drop_last=False)
    assert len(loader) == 7 and loader.samples == 40
    first = list(loader)
    assert sorted(sum(numbers(first), [])) == list(range(40)) and len(first[-1][0]) == 4
    assert numbers(pipeline.sequential().batch(20)) == [list(range(20)), list(range(20, 40))]
    assert len(pipeline.batch(6)) == 6
    second = list(loader)
    assert loader.epoch == 2 and numbers(second) != numbers(first)
    loader.set_epoch(0)
    assert same(list(loader), first)
    threads = chain(2, kind="threads").shuffle(3).batch(6, drop_last=False)
    assert numbers(threads) == numbers(first)
    state = torch.get_rng_state()
    list(loader)
    assert torch.equal(torch.get_rng_state(), state)  # the caller's generators are left alone
    many = un.from_torch(Many(samples=4)).map(noisy).sequential().options(workers=0).batch(2)
    assert numbers(many) == [[0, 1], [2, 3]]


def test_a_chain_resumes_with_any_workers_and_a_loop_left_early_is_over():
    run = chain().shuffle(1).batch(6, drop_last=False)
    states, expected = [run.state_dict()], []
    for _ in range(2):
        for batch in run:
            expected.append(batch)
            states.append(run.state_dict())
    with chain(2).shuffle(1).batch(6, drop_last=False) as resumed:
        for at, state in enumerate(states[:-1]):
            resumed.load_state_dict(state)
            rest = list(resumed)
            assert len(rest) == 7 - at % 7 and same(rest, expected[at:at + len(rest)])
    early = chain().shuffle(1).batch(6, drop_last=False)
    for _ in early:
        break
    assert early.epoch == 0 and early.state_dict()["samples"] == 6
    assert same(list(early), expected[7:])
    older, newer = iter(early), iter(early)
    next(older), next(newer)
    with pytest.raises(un.errors.CancelledError, match="newer loop"):
        next(older)
    with pytest.raises(un.errors.ArgumentError, match="seed 1, but this loader has 2"):
        chain().shuffle(2).batch(6).load_state_dict(states[0])


def test_ranks_share_an_epoch_of_a_dataset(monkeypatch):
    whole = list(chain().shuffle(2).batch(12, drop_last=False))
    parts = [list(chain().shuffle(2).shard(rank, 3).batch(4, drop_last=False)) for rank in range(3)]
    assert len(whole) == len(parts[0]) == 4
    for number in range(3):
        assert same(list(map(torch.cat, zip(*(part[number] for part in parts), strict=True))), list(whole[number]))
    last = sum((part[3][0].tolist() for part in parts), [])
    assert [len(part[3][0]) for part in parts] == [2, 2, 2]
    assert last == whole[3][0].tolist() + whole[0][0].tolist()[:2]
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert same(list(chain().shuffle(2).batch(4, drop_last=False)), parts[1])


@pytest.mark.parametrize(("make", "message"), [
    (lambda: un.from_torch(3), "has no __len__"),
    (lambda: un.from_torch(Stream().__iter__()), "has no __len__"),
    (lambda: chain().batch(41), "no full batch"),
    (lambda: chain().batch(0), "found 0, expected 1 or more"),
    (lambda: chain().shuffle("x"), "expected a whole number"),
    (lambda: chain().shard(3, 3), "rank 3 of world 3"),
    (lambda: chain().shard(3), "both rank and world"),
    (lambda: chain().map(3), "not callable"),
    (lambda: chain(2, kind="fibres").batch(4), "expected 'processes'"),
])
def test_what_makes_no_sense_in_a_chain(make, message):
    with pytest.raises(un.errors.ArgumentError, match=message):
        make()


def test_importing_unstarve_does_not_import_torch():
    with script("import sys, unstarve; print('torch' in sys.modules)") as process:
        assert process.stdout.read() == "False\n"
    with pytest.raises(AttributeError, match="no attribute 'Loader2'"):
        un.Loader2  # noqa: B018
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert un.DataLoader is not torch.utils.data.DataLoader
