"""Epochs and resume positions of the loader: one epoch per loop, resumable anywhere, invalid states rejected."""

import json
import re

import numpy as np
import pytest

import unstarve as un
from loader_support import SMALL, copies, equal, photos


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
def test_resumes_with_other_ranks_and_batch_sizes(drop_last):
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
    # Resumed twice.
    again = loaders(1, 13)[0]
    after[0].load_state_dict(state)
    following = after[0].batches()
    next(following)
    again.load_state_dict(after[0].state_dict())
    assert list(next(again.batches())[2]) == order[104:117]
    # The next epoch is complete.
    assert after[0].epoch == 0 and sum(1 for _ in following) == len(parts[0]) - 1
    assert sum(len(ids) for _, _, ids in after[0].batches()) == 100


def test_a_state_of_another_loader_is_rejected():
    state = un.open(SMALL).shuffle(1).batch(20).state_dict()
    with pytest.raises(un.errors.ArgumentError, match="seed 1, but this loader has 2"):
        un.open(SMALL).shuffle(2).batch(20).load_state_dict(state)
    with pytest.raises(un.errors.ArgumentError, match="other data, of 200 samples; expected this data, of 100"):
        un.open("synthetic:images=100").shuffle(1).batch(20).load_state_dict(state)
    with pytest.raises(un.errors.ArgumentError, match=r"^state: found no version; expected .* state_dict\(\)$"):
        un.open(SMALL).batch(20).load_state_dict({"a": 1})
    with pytest.raises(un.errors.ArgumentError, match="version 7; expected 1"):
        un.open(SMALL).batch(20).load_state_dict({**state, "version": 7})


@pytest.mark.parametrize(("key", "value", "message"), [
    ("epoch", -1, "state: epoch: found -1; expected 0 to 2147483647"),
    ("epoch", 2**40, "state: epoch: found 1099511627776; expected 0 to 2147483647"),
    ("epoch", None, "state: epoch: found null; expected a whole number"),
    ("samples", 201, "state: samples: found 201; expected 0 to 200"),
    ("samples", "x", 'state: samples: found "x"; expected a whole number'),
    ("seed", None, "state: seed null, but this loader has 3"),
    ("samples", {1}, "set is not JSON serializable; expected the result of state_dict"),
    ("samples", float("nan"), "expected the result of state_dict"),
    ("window", "?", "state: window: found .*; expected bits in base64"),
])
def test_a_damaged_state_is_rejected_and_changes_nothing(key, value, message):
    loader = un.open(SMALL).shuffle(3).batch(10)
    expected = next(iter(un.open(SMALL).shuffle(3).batch(10)))[1].copy()
    with pytest.raises(un.errors.ArgumentError, match=message):
        loader.load_state_dict({**loader.state_dict(), key: value})
    assert np.array_equal(next(iter(loader))[1], expected)


@pytest.mark.parametrize(("epoch", "message"), [
    (-1, "found -1; expected 0 or more"), (2**32, "found 4294967296; expected 0 to 2147483647"),
    (1.5, "found 1.5; expected an integer"), ("x", "found 'x'; expected an integer")])
def test_an_invalid_epoch_is_rejected(epoch, message):
    with pytest.raises(un.errors.ArgumentError, match=r"set_epoch\(epoch\): " + message):
        un.open(SMALL).batch(10).set_epoch(epoch)


class Counted:
    """N tiny images; counts reads."""

    def __init__(self, samples):
        self.samples, self.reads = samples, 0

    def __len__(self):
        return self.samples

    def __getitem__(self, i):
        self.reads += 1
        return np.full((2, 2, 3), i % 256, np.uint8), i % 7


HUGE = 1_600_000_000  # samples: a hundred million batches
CHAINS = {
    "shuffled": lambda source: un.from_source(source(HUGE)).shuffle(1),
    "in sequence": lambda source: un.from_source(source(HUGE)).sequential(),
    "windows": lambda source: un.from_source(source(HUGE)).shuffle(1, window=1000),
    "repeated": lambda source: un.from_source(source(HUGE // 4)).shuffle(1).repeat(4),
    "chosen": lambda source: un.from_source(source(HUGE)).take(16_000).repeat(HUGE // 16_000),
    "mixed": lambda source: un.mix([un.from_source(source(HUGE)), un.from_source(source(70))], [0.9, 0.1], epoch=HUGE),
    "balanced": lambda source: un.from_source(source(70)).balance(epoch=HUGE),
    "of three ranks": lambda source: un.from_source(source(HUGE)).shuffle(1).shard(1, 3),
}


@pytest.mark.parametrize("kind", [*CHAINS, "map"])
def test_resuming_late_in_an_epoch_reads_no_more_than_early(kind):
    for batch in (10, 10**6, HUGE // 16 - 7):
        sources = []

        def source(samples, sources=sources):
            sources.append(Counted(samples))
            return sources[-1]

        chain = CHAINS["shuffled" if kind == "map" else kind](source)
        if kind == "map":
            loader = chain.map(lambda image, label: image).options(workers=0).batch(16)
        else:
            loader = chain.options(threads=1, prefetch=0, read_ahead=0).batch(16)
        loader.load_state_dict({**loader.state_dict(), "samples": 16 * batch})
        before = sum(one.reads for one in sources)
        _, labels, ids = next(loader.batches())
        given = [int(i) for i in ids], [int(label) for label in labels]
        loader.close()
        # The batch, a prefetched one, and the first sample, whose size is read.
        assert 16 <= sum(one.reads for one in sources) - before <= 2 * 16 + 1
        if kind not in ("mixed", "of three ranks"):
            assert given[1] == [i % 7 for i in given[0]]
        if kind == "in sequence":
            assert given[0] == list(range(16 * batch, 16 * batch + 16))


def test_a_state_of_other_data_is_rejected_but_the_location_may_differ(tmp_path):
    here, there, other = (photos(tmp_path / name) for name in ("here", "there", "other"))
    for number, path in enumerate(sorted(other.rglob("*.jpg"))):
        path.rename(path.with_name(f"new-{number:03}.jpg"))
    state = taken(un.open(here).center_crop(8).batch(4), 2)
    assert re.fullmatch("[0-9a-f]{16}", state["data"]) and len(json.dumps(state)) < 1024
    same = un.open(there).center_crop(8).batch(4)
    same.load_state_dict(state)
    assert len(list(same)) == 4
    with pytest.raises(un.errors.ArgumentError, match="other data of as many samples, which differ in: names or order"):
        un.open(other).center_crop(8).batch(4).load_state_dict(state)
    earlier = {key: value for key, value in state.items() if key != "data"}
    un.open(other).center_crop(8).batch(4).load_state_dict(earlier)  # a state of a version without this field
    mixed = taken(un.mix([un.open(here), un.open(other)]).center_crop(8).batch(4), 2)
    un.mix([un.open(there), un.open(other)]).center_crop(8).batch(4).load_state_dict(mixed)
    with pytest.raises(un.errors.ArgumentError, match="other data of as many samples"):
        un.mix([un.open(other), un.open(here)]).center_crop(8).batch(4).load_state_dict(mixed)


def taken(loader, batches):
    """Returns the state after N batches."""
    iterator = iter(loader)
    for _ in range(batches):
        next(iterator)
    return loader.state_dict()
