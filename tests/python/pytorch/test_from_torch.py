"""un.from_torch: pipelines over a torch dataset."""

import re

import pytest

torch = pytest.importorskip("torch")

import unstarve as un  # noqa: E402
from dataloader_support import Kinds, Many, Stream, drawing, drawing_twice, growing, noisy, same, tossed  # noqa: E402
from unstarve.workers.mismatch import find_mismatch  # noqa: E402



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
    assert len(pipeline.batch(6)) == len(pipeline.batch(6, last="drop")) == 6
    kept = pipeline.shuffle(3).batch(6, last="keep")
    assert len(kept) == 7 and numbers(kept) == numbers(first)
    second = list(loader)
    assert loader.epoch == 2 and numbers(second) != numbers(first)
    loader.set_epoch(0)
    assert same(list(loader), first)
    threads = chain(2, kind="threads").shuffle(3).batch(6, drop_last=False)
    assert numbers(threads) == numbers(first)
    state = torch.get_rng_state()
    list(loader)
    assert torch.equal(torch.get_rng_state(), state)  # the caller's generators are unchanged
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
    with pytest.raises(un.errors.ArgumentError, match="found seed 1; expected 2, as in this loader"):
        chain().shuffle(2).batch(6).load_state_dict(states[0])


@pytest.mark.parametrize("shuffled", [False, True])
def test_resumes_with_other_ranks_and_batch_sizes(shuffled):
    def part(size, rank=0, world=1, last="keep", workers=0):
        pipeline = chain(workers)
        pipeline = pipeline.shuffle(5) if shuffled else pipeline.sequential()
        return pipeline.shard(rank, world).batch(size, last=last)

    whole = sum(numbers(part(40)), [])
    ranks = [part(3, rank, 2) for rank in range(2)]
    running = [iter(rank) for rank in ranks]
    used = sum((next(rank)[0].tolist() for _ in range(3) for rank in running), [])
    state = ranks[0].state_dict()
    assert used == whole[:18] and state == ranks[1].state_dict()
    for world, size in ((1, 7), (3, 4), (2, 11)):
        after = [part(size, rank, world) for rank in range(world)]
        for rank in after:
            rank.load_state_dict(state)
        lists = [numbers(rank) for rank in after]
        rest = [sample for batch in zip(*lists, strict=True) for part_ in batch for sample in part_]
        # A last batch that is not divisible by the ranks is filled with the first samples.
        over = -22 % (world * size) and -(22 % (world * size)) % world
        assert rest == whole[18:] + whole[:over]
        assert after[0].epoch == 1 and len(list(after[0])) == len(after[0])
    dropping = part(8, last="drop")
    dropping.load_state_dict(state)
    batches = iter(dropping)
    assert next(batches)[0].tolist() == whole[18:26]
    again = part(5, last="drop", workers=2)  # resumed twice
    again.load_state_dict(dropping.state_dict())
    assert numbers(again) == [whole[26:31], whole[31:36]]
    ending = part(20, last="drop")
    ending.load_state_dict({**state, "samples": 21})
    assert ending.epoch == 1  # no batch is left


def test_the_batch_s_own_randomness_is_the_same_after_a_resume():
    def made(workers):
        return un.from_torch(Kinds(samples=12)).shuffle(1).options(workers=workers).batch(4, collate=tossed)

    run = made(0)
    states, expected = [run.state_dict()], []
    for batch in run:
        expected.append(batch)
        states.append(run.state_dict())
    assert len(set(expected)) == 3
    for workers in (0, 2):
        with made(workers) as resumed:
            for at in range(3):
                resumed.load_state_dict(states[at])
                assert list(resumed) == expected[at:]


@pytest.mark.parametrize(("change", "message"), [
    (lambda state: 3, "found 3; expected the result of state_dict"),
    (lambda state: {}, "found no version; expected the result of state_dict"),
    (lambda state: {**state, "version": 2}, "found version 2; expected 1"),
    (lambda state: {**state, "dataset": 41}, "found dataset 41; expected 40, as in this loader"),
    (lambda state: {key: value for key, value in state.items() if key != "seed"},
     "found seed None; expected 0, as in this loader"),
    (lambda state: {key: value for key, value in state.items() if key != "samples"}, "samples: found None; expected a"),
    (lambda state: {**state, "samples": -6}, "samples: found -6; expected 0"),
    (lambda state: {**state, "samples": 41}, "samples: found 41; expected 0 to 40"),
    (lambda state: {**state, "samples": 6.0}, "samples: found 6.0; expected an integer"),
    (lambda state: {**state, "epoch": -1}, "epoch: found -1; expected 0"),
    (lambda state: {**state, "epoch": "1"}, "epoch: found '1'; expected an integer"),
    (lambda state: {**state, "epoch": 2**31}, "epoch: found 2147483648; expected 0 to 2147483647"),
])
def test_a_damaged_state_is_rejected_and_changes_nothing(change, message):
    loader = chain().batch(6)
    before = loader.state_dict()
    with pytest.raises(un.errors.ArgumentError, match="state: " + message):
        loader.load_state_dict(change(before))
    assert loader.state_dict() == before
    with pytest.raises(un.errors.ArgumentError, match=r"set_epoch\(epoch\): found -1"):
        loader.set_epoch(-1)


@pytest.mark.parametrize("options", [{"workers": 0}, {"workers": 2, "kind": "threads"}, {"workers": 2}])
@pytest.mark.parametrize("dataset", [Kinds(samples=24), Many(samples=24)])
def test_a_sample_of_another_shape_is_named(dataset, options):
    pipeline = un.from_torch(dataset).sequential().map(growing).options(**options)
    with pipeline.batch(8) as loader, pytest.raises(un.errors.InputError) as raised:
        list(loader)
    assert re.search(r"map\(growing \(dataloader_support.py:\d+\)\): sample 13 cannot be stacked with the others of "
                     r"its batch, such as sample 8: at \['image'\]\[1\] found float32 \(3, 2\); expected float32 "
                     r"\(2, 2\)",
                     str(raised.value))


def test_other_errors_of_collating_are_raised_unchanged():
    with pytest.raises(TypeError, match="default_collate: batch must contain"):
        list(un.from_torch([object()] * 4).options(workers=0).batch(2))
    with pytest.raises(un.errors.InputError, match=r"from_torch: .* 2 cannot be stacked .* float32 \(3,\); expected"):
        list(un.from_torch([torch.zeros(2), torch.zeros(2), torch.zeros(3)]).sequential().options(workers=0).batch(3))
    with pytest.raises(ZeroDivisionError):
        list(un.from_torch([1, 2.0]).options(workers=0).batch(2, collate=lambda samples: 1 // 0))


class Short(Many):
    def __getitems__(self, indices):
        return super().__getitems__(indices)[1:]


def test_getitems_with_too_few_samples_is_an_error():
    with pytest.raises(un.errors.InputError, match="Short.__getitems__: found 3 samples; expected 4, one per index"):
        list(un.from_torch(Short(samples=8)).options(workers=0).batch(4))


@pytest.mark.parametrize(("samples", "expected"), [
    ([], None), ([1, 2], None), ([(1, "ab"), (2, "abc")], None),
    ([1, 2.0, 3], (1, 0, "found float; expected int")),
    ([1.0, 2, 3], (0, 1, "found float; expected int")),
    ([(1, 2), (1, 2, 3)], (1, 0, "found 3 values; expected 2 values")),
    ([{"a": 1}, {"a": 1}, {"b": 1}], (2, 0, "found a mapping of ['b']; expected a mapping of ['a']")),
    ([{"a": [1]}, {"a": [None]}], (1, 0, "at ['a'][0] found NoneType; expected int")),
    ([torch.zeros(2), torch.zeros(2, dtype=torch.int64)], (1, 0, "found int64 (2,); expected float32 (2,)")),
])
def test_the_mismatching_sample_is_found(samples, expected):
    assert find_mismatch(samples) == expected


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


@pytest.mark.parametrize("dataset", [Kinds(samples=12), Many(samples=12)])
def test_the_rng_of_a_function_depends_on_the_sample_only(dataset):
    def run(**options):
        pipeline = un.from_torch(dataset).shuffle(2).map(drawing).map(drawing_twice)
        with pipeline.options(**options).batch(4) as loader:
            return [batch.tolist() for _ in range(2) for batch in loader]

    expected = run(workers=0)
    assert len({tuple(row) for batch in expected for row in batch}) == 24
    assert run(workers=2) == run(workers=2, kind="threads") == expected
    assert all(one != other for one, other in expected[0])


@pytest.mark.parametrize(("make", "message"), [
    (lambda: un.from_torch(3), "expected an object with __len__"),
    (lambda: un.from_torch(Stream().__iter__()), "expected an object with __len__"),
    (lambda: chain().batch(41), r"one full batch of 41\. Use a size of at most 40, or last='keep'"),
    (lambda: chain().shard(0, 41).batch(1), "Use fewer ranks, or last='keep'"),
    (lambda: chain().batch(4, last="pad"), "found 'pad'; expected 'drop' or 'keep'"),
    (lambda: chain().batch(4, last="keep", drop_last=False), "both last and drop_last"),
    (lambda: chain().batch(0), "found 0; expected 1 or more"),
    (lambda: chain().shuffle("x"), "expected an integer"),
    (lambda: chain().shard(3, 3), "shard.rank.: found 3; expected 0 to 2"),
    (lambda: chain().shard(3), "only one of rank and world"),
    (lambda: chain().map(3), "found 3; expected a callable"),
    (lambda: chain(2, kind="fibres").batch(4), "expected 'processes'"),
    (lambda: un.from_torch([1]).options(workers=1.5), r"^options\(workers\): found 1.5; expected an integer"),
    (lambda: un.from_torch([1]).options(workers=1, prefetch=0), r"^options\(prefetch\): found 0; expected 1 or more"),
    (lambda: un.from_torch([]).batch(1, last="keep"), "^batch: found no samples in the dataset"),
])
def test_invalid_steps_of_a_torch_pipeline_are_rejected(make, message):
    with pytest.raises(un.errors.ArgumentError, match=message):
        make()


def test_setting_a_value_twice_is_rejected():
    start = un.from_torch(Kinds(samples=12))
    for wrong, message in ((lambda: start.shuffle(3).shuffle(), "^shuffle: shuffle was already set to True by shuffle"),
                           (lambda: start.shuffle().sequential(), "^sequential: shuffle was already set to True by sh"),
                           (lambda: start.sequential().map(len).shuffle(), "already set to False by sequential"),
                           (lambda: start.shard(1, 2).shard(0, 2), "^shard: rank was already set to 1 by shard"),
                           (lambda: start.options(workers=0).options(workers=1), "^options: workers was already set")):
        with pytest.raises(un.errors.ArgumentError, match=message):
            wrong()
    assert len(start.map(len).map(str).options(workers=0).options(prefetch=1).batch(3)) == 4
