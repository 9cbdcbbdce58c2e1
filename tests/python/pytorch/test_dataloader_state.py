"""un.DataLoader resumes after any batch, with any number of workers."""

import copy
import os

import pytest

torch = pytest.importorskip("torch")

import unstarve as un  # noqa: E402
from dataloader_support import Counting, Kinds, Padded, Random, Stream, same  # noqa: E402
from unstarve.workers.pool import IdlePool  # noqa: E402


class Reads(Kinds):
    """Samples are their indices; counts reads."""

    reads = 0

    def __getitem__(self, i):
        self.reads += 1
        return i


pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


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
        torch.manual_seed(8 if at == 0 else 12345)  # other uses of the global generator are not restored
        resumed.load_state_dict(state)
        rest = list(resumed)
        if generator or at % 4:
            left = 4 - at % 4 if at != 4 else 0  # a loop that received its last batch but has not ended
            assert len(rest) == left and same(ids(rest), ids(expected[at:at + left]))
        if generator and at < 4:
            assert same(ids(list(resumed)), ids(expected[4:8]))
    with pytest.raises(un.errors.ArgumentError, match="found no version; expected the result of state_dict"):
        loader.load_state_dict({"a": 1})
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


# Each request had the states of all workers, so that fewer requests fit into a socket: the loop did not begin.
def test_streams_with_large_states_resume_with_many_prefetched_batches(load):
    options = {"batch_size": 1, "num_workers": 4, "prefetch_factor": 128}
    first = load(Padded(), **options)
    iterator = iter(first)
    for _ in range(8):
        next(iterator)
    state = first.state_dict()
    del iterator
    resumed = load(Padded(), **options)
    resumed.load_state_dict(state)
    assert [int(batch[0, 0]) for batch in resumed] == [i for i in range(2, 400) for _ in range(4)]


@pytest.mark.parametrize("kind", ["from_torch", "DataLoader"])
def test_resuming_reads_no_used_sample(kind):
    for batch in (10, 60_000):
        dataset = Reads(samples=1_000_000)
        if kind == "from_torch":
            loader = un.from_torch(dataset).shuffle(1).options(workers=0).batch(16)
            loader.load_state_dict({**loader.state_dict(), "samples": 16 * batch})
        else:
            loader = un.DataLoader(dataset, batch_size=16)
            next(iter(loader))
            loader.load_state_dict({**loader.state_dict(), "yielded": batch})
            dataset.reads = 0
        ids = next(iter(loader)).tolist()
        assert dataset.reads == 16
        if kind == "DataLoader":
            assert ids == list(range(16 * batch, 16 * batch + 16))


def test_a_copy_of_a_loader(load):
    loader = un.DataLoader(Kinds(), batch_size=4)
    assert same(list(copy.deepcopy(loader)), list(loader)) and isinstance(copy.copy(loader)._idle_pool, IdlePool)


@pytest.mark.parametrize(("key", "value", "message"), [
    ("generators", None, "found no 'generators'"), ("begun", None, "found no 'begun'"),
    ("sampler", None, "found no 'sampler'"), ("yielded", -1, "yielded: found -1"), ("round", "1", "round: found '1'"),
])
def test_a_damaged_state_is_rejected(key, value, message):
    loader = un.DataLoader(Random(samples=20), batch_size=4)
    next(iter(loader))
    state = loader.state_dict()
    broken = {**state, key: value} if value is not None else {name: state[name] for name in state if name != key}
    with pytest.raises(un.errors.ArgumentError, match="state: " + message):
        loader.load_state_dict(broken)
    with pytest.raises(un.errors.ArgumentError, match="state: found None; expected the result"):
        loader.load_state_dict(None)


class Positions(torch.utils.data.Sampler):
    """A sampler whose state is its own dict."""

    def __init__(self) -> None:
        self.state = {"position": 0}

    def __iter__(self):
        for index in range(20):
            self.state["position"] += 1
            yield index

    def __len__(self) -> int:
        return 20

    def state_dict(self):
        return self.state

    def load_state_dict(self, state) -> None:
        self.state = dict(state)


def test_the_state_of_a_sampler_is_the_one_at_the_beginning_of_the_epoch():
    loader = un.DataLoader(Random(samples=20), batch_size=4, sampler=Positions())
    batches = iter(loader)
    next(batches), next(batches)
    state = loader.state_dict()
    assert state["sampler"] == {"position": 0}
    next(batches)
    assert state["sampler"] == {"position": 0}
