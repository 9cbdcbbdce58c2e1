"""subset(), random_split() and weights(): which samples take part and how often; exact resume."""

import numpy as np
import pytest

import unstarve as un

SMALL = "synthetic:classes=10,images=200,size=16,seed=1"
RNG = np.random.default_rng(3)


def ids_of(loader, epochs=1):
    return [np.concatenate([ids for _, _, ids in loader.batches()]) for _ in range(epochs)]


@pytest.mark.parametrize("indices", [[3], range(7, 90), [5, 199, 0, 7, 6], np.arange(0, 200, 2),
                                     np.sort(RNG.choice(200, 120, replace=False)), (np.int32(4), 9)])
def test_a_subset_has_these_records(indices):
    loader = un.open(SMALL).subset(indices).sequential().batch(1)
    assert np.array_equal(ids_of(loader)[0], sorted(indices))
    again = un.from_yaml(loader.to_yaml())
    assert np.array_equal(ids_of(again)[0], sorted(indices))
    assert len(un.open(SMALL).subset(indices)) == len(indices)


def test_long_subsets_are_bits():
    source = [(np.zeros((2, 2, 3), np.uint8), 0)] * 10_000
    chosen = np.sort(RNG.choice(10_000, 4000, replace=False))
    pipeline = un.from_source(source).subset(chosen).sequential()
    assert pipeline._spec["source"]["subset"].startswith("bits:")
    assert np.array_equal(ids_of(pipeline.batch(1000))[0], chosen)


@pytest.mark.parametrize(("indices", "message"), [
    ([200], "found 200; expected 0 to 199"), ([-1], "found -1"), ([1, 1], "an index twice"),
    ([], "expected one or more"),
    ([0.5], "found float64"), (3, "expected a list of integers"), ([[1, 2]], "shape"),
    ([[1], [2, 3]], "expected a list of integers"),
])
def test_invalid_subsets_are_rejected(indices, message):
    with pytest.raises(un.errors.ArgumentError, match=message):
        un.open(SMALL).subset(indices)


@pytest.mark.parametrize("lengths", [[0.9, 0.1], [0.5, 0.25, 0.25], [150, 50], [1 / 3, 1 / 3, 1 / 3]])
def test_a_random_split_has_every_record_once(lengths):
    parts = un.open(SMALL).random_split(lengths, seed=4)
    ids = [set(ids_of(part.batch(len(part)))[0]) for part in parts]
    assert [len(part) for part in parts] == [len(one) for one in ids]
    assert set.union(*ids) == set(range(200)) and sum(map(len, ids)) == 200
    assert ids[0] != set(range(len(ids[0])))  # at random
    again = un.open(SMALL).random_split(lengths, seed=4)
    assert [set(ids_of(part.batch(1))[0]) for part in again] == ids
    other, *_ = un.open(SMALL).random_split(lengths, seed=5)
    assert set(ids_of(other.batch(1))[0]) != ids[0]
    assert set(ids_of(un.from_yaml(parts[1].batch(1).to_yaml()))[0]) == ids[1]


def test_a_split_of_a_subset_with_a_filter():
    parts = un.open(SMALL).subset(range(100)).random_split([60, 40])
    assert sum(map(len, parts)) == 100
    filtered = [part.filter(labels=[3, 4]).batch(1) for part in parts]
    ids = np.concatenate([ids_of(loader)[0] for loader in filtered])
    expected = ids_of(un.open(SMALL).subset(range(100)).filter(labels=[3, 4]).batch(1))[0]
    assert sorted(ids) == sorted(expected)
    with pytest.raises(un.errors.ArgumentError, match="expected before it"):
        un.open(SMALL).filter(labels=[3]).random_split([0.5, 0.5])


@pytest.mark.parametrize("lengths", [[], [0.5, 0.4], [100, 99], [0, 200], [-1, 201], [0.5, 100], ["a"], 0.9])
def test_invalid_lengths_are_rejected(lengths):
    with pytest.raises(un.errors.ArgumentError, match="random_split"):
        un.open(SMALL).random_split(lengths)


def weights_of(kind, folder):
    weights = RNG.random(200)
    weights[:20] = 0
    weights[20] = 10
    if kind == "array":
        return weights, weights
    path = folder / kind
    if kind == "weights.npy":
        np.save(path, weights.astype(np.float32))
    else:
        np.savetxt(path, weights)
    return weights, path


@pytest.mark.parametrize("kind", ["array", "weights.npy", "weights.txt"])
def test_samples_occur_in_proportion_to_their_weights(kind, tmp_path):
    weights, given = weights_of(kind, tmp_path)
    pipeline = un.open(SMALL).weights(given, epoch=1000).shuffle(seed=2)
    assert len(pipeline) == 1000
    expected = 1000 * weights / weights.sum()
    total = np.zeros(200)
    for ids in ids_of(pipeline.batch(100), 20):
        times = np.bincount(ids.astype(int), minlength=200)
        assert (np.abs(times - expected) < 1.01).all() and not times[:20].any()
        total += times
    assert np.abs(total / 20 - expected).max() < 0.6
    if kind == "array":
        with pytest.raises(un.errors.ArgumentError, match=r"weights\(\) of an array"):
            pipeline.batch(100).to_yaml()
    else:
        assert np.array_equal(ids_of(un.from_yaml(pipeline.batch(100).to_yaml()))[0],
                              ids_of(pipeline.batch(100))[0])


def test_occurrences_of_a_sample_are_augmented_differently():
    weights = np.zeros(200)
    weights[5] = 1
    pipeline = un.open(SMALL).weights(weights, epoch=50).random_resized_crop(8).output("uint8")
    images = np.concatenate([images for images, _ in pipeline.batch(50)])
    assert len({image.tobytes() for image in images}) > 40


def test_weighted_epochs_resume_exactly_with_other_ranks():
    weights = RNG.random(200)
    def loader(rank=0, world=1, size=20):
        return un.open(SMALL).weights(weights).shuffle(seed=1).shard(rank, world).batch(size)
    whole, first = loader(), loader()
    expected = ids_of(whole, 2)
    batches = first.batches()
    begun = np.concatenate([next(batches)[2] for _ in range(4)])
    state = first.state_dict()
    rest = []
    for rank in range(2):
        resumed = loader(rank, 2, 10)
        resumed.load_state_dict(state)
        rest.append(ids_of(resumed, 2))
    assert sorted([*begun, *rest[0][0], *rest[1][0]]) == sorted(expected[0])
    assert sorted([*rest[0][1], *rest[1][1]]) == sorted(expected[1])
    other = un.open(SMALL).weights(weights[::-1].copy()).shuffle(seed=1).batch(20)
    with pytest.raises(un.errors.ArgumentError):
        other.load_state_dict(state)


def test_weights_with_map_filter_and_torch():
    weights = np.arange(200.0)
    pipeline = un.open(SMALL).filter(labels=[1, 2]).weights(weights).shuffle(0)
    expected = ids_of(pipeline.batch(5))[0]
    assert set(expected) <= set(ids_of(un.open(SMALL).filter(labels=[1, 2]).batch(1))[0])
    mapped = pipeline.map(identity).options(workers=2).batch(5)
    assert np.array_equal(ids_of(mapped)[0], expected)


def identity(image, label):
    return image, label


@pytest.mark.parametrize(("make", "message"), [
    (lambda p: p.weights([1.0] * 199), "found shape .199,.; expected .200,."),
    (lambda p: p.weights([-1.0] * 200), "numbers of 0 or more"),
    (lambda p: p.weights([0.0] * 200), "zeros only"),
    (lambda p: p.weights(["a"] * 200), "not numbers"),
    (lambda p: p.weights([1.0] * 200).weights([1.0] * 200), "a second time"),
    (lambda p: p.weights([1.0] * 200).balance(), "balance"),
    (lambda p: p.balance().weights([1.0] * 200), "balance"),
    (lambda p: p.weights([1.0] * 200).sequential().batch(2), "shuffl"),
    (lambda p: p.weights([1.0] * 200).shuffle(window=64).batch(2), "window"),
])
def test_invalid_weights_are_rejected(make, message):
    with pytest.raises(un.errors.ArgumentError, match=message):
        make(un.open(SMALL))


def test_a_missing_or_short_file_of_weights_is_an_error(tmp_path):
    with pytest.raises(un.errors.IoError):
        un.open(SMALL).weights(tmp_path / "none.txt").batch(2)
    (tmp_path / "w.txt").write_text("1\n2\n")
    with pytest.raises(un.errors.InputError, match="found 2 weights; expected 200"):
        un.open(SMALL).weights(tmp_path / "w.txt").batch(2)
