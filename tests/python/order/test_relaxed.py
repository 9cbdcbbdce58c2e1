"""Out-of-order delivery: every epoch has the same samples, and resuming loads exactly the rest, for any ranks."""

import json

import numpy as np
import pytest

import unstarve as un

SAMPLES = 200
SET = f"synthetic:classes=10,images={SAMPLES},size=32,seed=1"


def relaxed(batch=7, threads=3, rank=0, world=1, seed=5, drop_last=False, **options):
    shuffled = un.open(SET).shuffle(seed).shard(rank, world).pad_crop(32).flip()
    return shuffled.options(threads=threads, order="relaxed", **options).batch(batch, drop_last=drop_last)


def exact(**options):
    pipeline = un.open(SET).shuffle(5).pad_crop(32).flip()
    return pipeline.options(**options).batch(7, drop_last=False)


def pixels(loader):
    """The samples of one epoch by id; each must occur once."""
    seen = {}
    for images, labels, ids in loader.batches():
        for image, label, sample in zip(images, labels, ids, strict=True):
            assert sample not in seen
            seen[int(sample)] = (int(label), image.tobytes())
    return seen


def taken(loader, batches):
    ids = []
    for _, _, here in loader.batches():
        ids += [int(sample) for sample in here]
        batches -= 1
        if batches == 0:
            break
    return ids


def test_epochs_have_the_samples_and_pixels_of_the_exact_order():
    ours, theirs = relaxed(), exact()
    for _ in range(3):
        assert pixels(ours) == pixels(theirs)
    assert len(ours) == len(theirs) and "relaxed order" in ours.explain()


def test_dropping_the_last_batch_drops_the_same_samples():
    dropping = un.open(SET).shuffle(5).batch(7)
    assert set(pixels(relaxed(drop_last=True))) == set(pixels(dropping)) and len(dropping) == SAMPLES // 7


@pytest.mark.parametrize("batches", [1, 4, 28, 29])
def test_resumes_with_exactly_the_rest(batches):
    run = relaxed()
    used = taken(run, batches)
    state = json.loads(json.dumps(run.state_dict()))
    assert state == run.state_dict() and len(json.dumps(state)) < 1024 + 4096 // 6
    run.close()
    assert run.state_dict() == state  # also after the threads have ended
    for ranks in (1, 3):
        rest = []
        for rank in range(ranks):
            loader = relaxed(batch=1, rank=rank, world=ranks, drop_last=True)
            loader.load_state_dict(state)
            if batches < 29:
                rest += [int(sample) for _, _, ids in loader.batches() for sample in ids]
                assert loader.epoch == 1
        left = SAMPLES - len(used)
        assert len(rest) == left - left % ranks and not set(rest) & set(used) and len(set(rest)) == len(rest)


def test_exact_order_resumes_a_relaxed_run():
    run = relaxed()
    used = taken(run, 10)
    loader = exact()
    loader.load_state_dict(run.state_dict())
    used += taken(loader, 3)
    again = relaxed()
    again.load_state_dict(loader.state_dict())
    used += pixels(again)
    assert sorted(used) == list(range(SAMPLES))


@pytest.mark.parametrize(("before", "after"), [(2, 2), (2, 3), (3, 1), (3, 2)])
def test_any_number_of_ranks_resumes_from_the_states_of_all_ranks(before, after):
    ranks = [relaxed(batch=4, rank=rank, world=before) for rank in range(before)]
    used = [sample for number, rank in enumerate(ranks) for sample in taken(rank, 3 + number)]
    checkpoint = json.loads(json.dumps([rank.state_dict() for rank in ranks]))
    rest = []
    for rank in range(after):
        loader = relaxed(batch=5, rank=rank, world=after)
        loader.load_state_dict(checkpoint)
        rest += taken(loader, len(loader) + 1)
        assert loader.epoch == 1
    # Ranks get equally many: samples that fill the last batch are repeated.
    assert sorted({*used, *rest}) == list(range(SAMPLES)) and not set(used) & set(rest[:-after])
    assert len(used) + len(rest) < SAMPLES + after


def test_several_ranks_combine_their_states():
    ranks = [relaxed(batch=4, rank=rank, world=3, drop_last=True) for rank in range(3)]
    used = [sample for number, rank in enumerate(ranks) for sample in taken(rank, 3 + number)]
    states = [rank.state_dict() for rank in ranks]
    rest = relaxed()
    rest.load_state_dict(states)
    used += pixels(rest)
    assert sorted(used) == list(range(SAMPLES))
    # One rank does not know the samples of the others: leaving them out or repeating them would make the epoch
    # whole.
    for loader in (relaxed(), relaxed(batch=4, rank=1, world=3, drop_last=True)):
        with pytest.raises(un.errors.ArgumentError,
                           match=r"of ranks \[1\]; expected a list of the states of all 3 ranks, saved"):
            loader.load_state_dict(states[1])
    with pytest.raises(un.errors.ArgumentError, match="expected a list of the states of all 3 ranks"):
        relaxed().load_state_dict([states[0], states[0], states[1]])
    with pytest.raises(un.errors.ArgumentError, match="empty list"):
        relaxed().load_state_dict([])


def test_steps_in_the_wrong_order_are_rejected():
    with pytest.raises(un.Error, match=r'options\(order\): found "any"; expected one of exact, relaxed'):
        un.open(SET).options(order="any")


def test_tensors_are_supported_in_relaxed_order():
    torch = pytest.importorskip("torch")
    loader = relaxed().to_torch()
    sums = torch.zeros(10, dtype=torch.int64)
    for images, labels in loader:
        assert isinstance(images, torch.Tensor)
        sums += torch.bincount(labels, minlength=10)
    expected = np.bincount([label for label, _ in pixels(exact()).values()], minlength=10)
    assert sums.tolist() == expected.tolist()
    assert loader.state_dict()["epoch"] == 1
