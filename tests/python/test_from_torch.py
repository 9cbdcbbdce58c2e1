"""un.from_torch: a chain over a torch dataset."""

import pytest

torch = pytest.importorskip("torch")

import unstarve as un  # noqa: E402
from dataloader_support import Kinds, Many, Stream, drawing, drawing_twice, noisy, same  # noqa: E402



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


@pytest.mark.parametrize("dataset", [Kinds(samples=12), Many(samples=12)])
def test_a_function_s_own_generator_follows_from_the_sample(dataset):
    def run(**options):
        pipeline = un.from_torch(dataset).shuffle(2).map(drawing).map(drawing_twice)
        with pipeline.options(**options).batch(4) as loader:
            return [batch.tolist() for _ in range(2) for batch in loader]

    expected = run(workers=0)
    assert len({tuple(row) for batch in expected for row in batch}) == 24
    assert run(workers=2) == run(workers=2, kind="threads") == expected
    assert all(one != other for one, other in expected[0])


@pytest.mark.parametrize(("make", "message"), [
    (lambda: un.from_torch(3), "has no __len__"),
    (lambda: un.from_torch(Stream().__iter__()), "has no __len__"),
    (lambda: chain().batch(41), r"no full batch of 41 on 1 rank\(s\); give a size of at most 40, or keep the last"),
    (lambda: chain().shard(0, 41).batch(1), "give fewer ranks, or keep the last"),
    (lambda: chain().batch(4, last="pad"), "found 'pad', expected 'drop' or 'keep'"),
    (lambda: chain().batch(4, last="keep", drop_last=False), "both last and drop_last"),
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
