"""The order of samples: filter, take, repeat, windows, mixtures, balanced classes; for any ranks, resumable."""

import collections
import io
import json
import os
import random
import re

import numpy as np
import pytest
from PIL import Image

import unstarve as un
from loader_support import copies, equal, photos

SMALL = "synthetic:classes=4,images=203,size=8,seed=1"
OTHER = "synthetic:classes=4,images=57,size=8,seed=2"


def ids_of(loader):
    return [int(i) for _, _, ids in loader.batches() for i in ids]


def test_filter_and_take_select_samples(tmp_path):
    pipeline = un.open(photos(tmp_path, 24))
    cats = pipeline.filter("cat")
    labels = [label for _, labels in cats.sequential().center_crop(32).batch(1) for label in labels]
    assert labels == [0] * 12 and len(pipeline) == cats.records == 24 and len(cats) == 12
    assert ids_of(cats.take(5).sequential().center_crop(32).batch(5)) == [0, 1, 2, 3, 4]
    expected = set()
    for i in range(24):
        shorter, longer = sorted(Image.open(io.BytesIO(pipeline.read(i)["image"])).size)
        if shorter >= 60 and longer <= 110 and longer <= 1.5 * shorter:
            expected.add(i)
    loader = (pipeline.filter(min_side=60, max_aspect=1.5).filter(max_side=110).center_crop(32)
              .batch(2, drop_last=False))
    assert 2 < len(expected) < 24 and set(ids_of(loader)) == expected
    text = loader.explain()
    assert f"{len(expected)} of 24 selected" in text
    assert "filtered 24 images by size before the run, 24 records read" in text


def test_repeat_makes_an_epoch_of_several_passes_in_different_orders():
    once = un.open(SMALL).shuffle(3).pad_crop(8, 2).batch(29)  # 203 = 7 x 29: no batch crosses the end of the epoch
    epochs = [copies(once) for _ in range(3)]
    assert equal(copies(un.open(SMALL).shuffle(3).repeat(3).pad_crop(8, 2).batch(29)), sum(epochs, []))
    across = collections.Counter(ids_of(un.open(SMALL).repeat(2).batch(14)))
    assert set(across.values()) == {2} and len(across) == 203


def test_a_shuffle_window_keeps_neighbouring_samples_together():
    loader = un.open("synthetic:classes=4,images=2000,size=8").shuffle(1, window=200).batch(200)
    first, second = copies(loader), copies(loader)
    assert sorted(np.concatenate([ids for _, _, ids in first])) == list(range(2000))
    assert not equal(first, second)
    for _, _, ids in first:
        assert len({int(i) // 64 for i in ids}) <= 200 // 64 + 3
        assert (np.diff(ids.astype(int)) != 1).mean() > 0.9


def test_mixed_sources_keep_their_weights_and_classes():
    parts = [un.open(SMALL).filter(labels=[0, 1]), un.open(OTHER).take(10)]
    mixed = un.mix(parts, weights=[0.6, 0.4], epoch=1300)
    assert len(mixed) == 1300 and mixed.records == 260 and mixed.classes == un.open(SMALL).classes
    ids = np.array(ids_of(mixed.shuffle(5).batch(50)))
    assert (ids < 203).sum() == 780 and set(ids[ids >= 203]) == set(range(203, 213))
    # 780 draws of 102 samples: seven complete passes and part of the eighth.
    counts = collections.Counter(ids[ids < 203])
    assert len(counts) == 102 and set(counts.values()) <= {7, 8}
    assert "39 of each 65 from synthetic:" in mixed.batch(50).explain()
    # Without weights: all samples of all sources, once.
    assert sorted(ids_of(un.mix(parts).batch(112))) == sorted(ids_of(parts[0].batch(102))) + list(range(203, 213))


def test_balanced_classes_are_equally_frequent_and_small_ones_repeat():
    pipeline = un.open(SMALL).filter(drop_labels=2)
    labels = [int(v) for _, labels in pipeline.balance(epoch=990).shuffle(1).batch(30) for v in labels]
    assert collections.Counter(labels) == {0: 330, 1: 330, 3: 330}
    weights = {pipeline.classes[0]: 2, 3: 0}
    labels = [int(v) for _, labels in pipeline.balance(weights, epoch=990).batch(30) for v in labels]
    assert collections.Counter(labels) == {0: 660, 1: 330}


def shapes(seed):
    """Pipelines that differ in everything that determines the order of samples."""
    draw = random.Random(seed)
    parts = [un.open(SMALL), un.open(OTHER)]
    kind = draw.choice(["plain", "window", "filter", "mix", "balance"])
    if kind == "filter":
        parts[0] = parts[0].filter([0, 3]).take(draw.randint(20, 90))
    if kind == "mix":
        pipeline = un.mix(parts, weights=[draw.uniform(0.1, 1) for _ in parts], epoch=draw.choice([None, 150, 400]))
    else:
        pipeline = parts[0]
    pipeline = pipeline.shuffle(draw.randint(0, 99), window=draw.randint(1, 100) if kind == "window" else 0)
    if kind == "balance":
        pipeline = pipeline.balance(epoch=draw.choice([None, 77]))
    if draw.random() < 0.5:
        pipeline = pipeline.repeat(draw.randint(2, 3))
    return pipeline.pad_crop(8, 2), draw


def by_sample(batches):
    """Each sample with its pixels, so that its augmentation is compared too."""
    return collections.Counter((int(i), image.tobytes()) for images, _, ids in batches
                               for i, image in zip(ids, images, strict=True))


def of_ranks(loader, world, size):
    """The loader's pipeline for ranks of `world`, in batches of `size`."""
    for rank in range(world):
        text = loader.to_yaml()
        for old, new in (("rank: 0", f"rank: {rank}"), ("world: 1", f"world: {world}"), ("size: 8,", f"size: {size},")):
            assert old in text
            text = text.replace(old, new)
        yield un.from_yaml(text)


@pytest.mark.parametrize("seed", range(12))
def test_a_state_resumes_exactly_with_other_ranks_and_batch_sizes(seed):
    pipeline, draw = shapes(seed)
    run = pipeline.batch(8, drop_last=False)
    whole = by_sample(copies(run))
    run = pipeline.batch(8, drop_last=False)
    stop = draw.randrange(len(run) - 1)
    seen = collections.Counter()
    for number, batch in enumerate(run.batches()):
        seen += by_sample([batch])
        if number == stop:
            break
    text = json.dumps(run.state_dict())
    run.close()
    assert len(text) < 1024
    world = draw.randint(1, 3)
    for part in of_ranks(run, world, draw.choice([1, 5, 8])):
        part.load_state_dict(json.loads(text))
        seen += by_sample(copies(part))
    assert not whole - seen
    # The last batch is filled up with samples of the same epoch, fewer than one for each rank.
    assert (seen - whole).total() < world


def test_weights_may_change_after_a_resume_and_sources_continue():
    def mixed(*weights):
        return un.mix([un.open(SMALL), un.open(OTHER)], weights, epoch=1400).shuffle(2).pad_crop(8, 2).batch(10)

    run, as_before = mixed(0.9, 0.1), copies(mixed(0.9, 0.1))
    assert "63 of each 70" in run.explain()
    for number, _ in enumerate(run):
        if number == 23:
            break
    resumed = mixed(0.1, 0.9)
    resumed.load_state_dict(run.state_dict())
    # The block that contains sample 240 keeps the weights with which it began.
    state, batches = None, resumed.batches()
    after = []
    for number in range(24, 140):
        after.append([values.copy() for values in next(batches)])
        if number == 25:
            assert resumed.state_dict()["mix"] == [[0, [0, 0], [0.9, 0.1]], [280, [252, 28], [0.1, 0.9]]]
        if number == 60:
            state = resumed.state_dict()
    assert equal(after[:4], as_before[24:28])
    assert state["mix"] == [[280, [252, 28], [0.1, 0.9]]]
    ids = np.concatenate([ids for _, _, ids in after[4:]])
    assert (ids < 203).sum() == 112 and (ids >= 203).sum() == 1008
    # No source leaves out or repeats a sample of a pass: 364 of 203, 1036 of 57.
    ids = np.concatenate([ids for _, _, ids in as_before[:24] + after])
    for begin, end, given in ((0, 203, 364), (203, 260, 1036)):
        counts = collections.Counter(ids[(ids >= begin) & (ids < end)])
        whole = given // (end - begin)
        assert counts.total() == given and set(counts.values()) <= {whole, whole + 1}
    # A state after the change resumes identically.
    again = mixed(0.1, 0.9)
    again.load_state_dict(state)
    assert equal(copies(again), [tuple(batch) for batch in after[61 - 24:]])


@pytest.mark.parametrize("sources", [2, 48, 500])
def test_the_state_of_many_sources_is_small_and_their_weights_may_change(sources):
    parts = [un.open("synthetic:classes=2,images=6,size=8").take(1 + i % 5) for i in range(sources)]
    old, new = [0.5 + i % 7 for i in range(sources)], [1 / (1 + i % 11) for i in range(sources)]

    def mixed(weights, earlier=()):
        return un.mix(parts, weights, epoch=100_000, earlier=earlier).shuffle(2).batch(100)

    run = mixed(old)
    batches = run.batches()
    before = [next(batches)[2].copy() for _ in range(30)]
    state = json.loads(json.dumps(run.state_dict()))
    assert len(json.dumps(state)) < 1024
    again = mixed(old)
    again.load_state_dict(state)
    assert np.array_equal(next(again.batches())[2], next(batches)[2])
    if sources > 8:
        with pytest.raises(un.errors.ArgumentError, match=r"other weights .*un.mix\(earlier="):
            mixed(new).load_state_dict(state)
    changed = mixed(new, [old])
    changed.load_state_dict(state)
    batches = changed.batches()
    after = [next(batches)[2].copy() for _ in range(300)]
    # Each source continues its pass, so that after whole blocks none of its samples occurred twice more often
    # than another.
    start = changed.state_dict()["mix"][-1][0]
    block = int(re.search(r"of each (\d+) from", changed.explain())[1])
    whole = np.concatenate(before + after)[:start + (33_000 - start) // block * block]
    assert len(whole) > start
    counts = collections.Counter(whole.tolist())
    for i in range(sources):
        given = [counts[6 * i + sample] for sample in range(1 + i % 5)]
        assert max(given) - min(given) <= 1, i
    state = json.loads(json.dumps(changed.state_dict()))
    assert len(json.dumps(state)) < 1024
    resumed = un.from_yaml(mixed(new, [old]).to_yaml()) if sources == 48 else mixed(new, [old])
    resumed.load_state_dict(state)
    assert np.array_equal(next(resumed.batches())[2], next(batches)[2])


def test_new_weights_in_relaxed_order_neither_skip_nor_repeat_samples():
    # A tenth of the samples sleeps, so that others bypass it, also into later blocks.
    slow, fast = "sleep:ms=3,images=70,size=8", "synthetic:classes=10,images=300,size=8"

    def mixed(*weights, order="exact"):
        return (un.mix([un.open(slow), un.open(fast)], weights, epoch=700).shuffle(3)
                .options(threads=4, order=order).batch(10))

    before = ids_of(mixed(0.1, 0.9))
    for stop in (3, 20, 41):
        run = mixed(0.1, 0.9, order="relaxed")
        seen = collections.Counter()
        for number, (_, _, ids) in enumerate(run.batches()):
            seen.update(ids.tolist())
            if number == stop:
                break
        state = json.loads(json.dumps(run.state_dict()))
        run.close()
        rest = []
        for order in ("exact", "relaxed"):
            resumed = mixed(0.5, 0.5, order=order)
            resumed.load_state_dict(state)
            change = resumed.state_dict()["mix"][-1]
            rest.append(collections.Counter(ids_of(resumed)))
        # The old weights apply before the change, the new ones after it.
        resumed = mixed(0.5, 0.5)
        resumed.load_state_dict({**{key: value for key, value in state.items() if key != "window"}, "mix": [change],
                                 "samples": change[0]})
        expected = collections.Counter(before[:change[0]] + ids_of(resumed))
        assert change[0] < 700 and change[2] == [0.5, 0.5]
        assert seen + rest[0] == seen + rest[1] == expected


def test_a_state_of_another_order_is_rejected():
    state = un.open(SMALL).batch(10).state_dict()
    assert set(state) == {"version", "epoch", "samples", "seed", "shuffle", "dataset", "data"}
    for pipeline, message in ((un.open(SMALL).shuffle(0, window=9), "window 0, but this loader has 9"),
                              (un.open(SMALL).repeat(2), "repeat 1, but this loader has 2"),
                              (un.open(SMALL).balance(), "balance false, but this loader has true"),
                              (un.open(SMALL).filter(labels=[1]), "other selected samples"),
                              (un.mix([un.open(SMALL)], [1]), "other selected samples")):
        loader = pipeline.batch(10)
        with pytest.raises(un.errors.ArgumentError, match=message):
            loader.load_state_dict(state)
        loader.load_state_dict(loader.state_dict())
    kept = un.open(SMALL).filter(labels=[1])
    with pytest.raises(un.errors.ArgumentError, match="other selected samples"):
        kept.batch(10).load_state_dict(kept.take(20).batch(10).state_dict())


def test_chains_survive_yaml():
    for seed in range(8):
        pipeline, _ = shapes(seed)
        loader = pipeline.batch(20)
        again = un.from_yaml(loader.to_yaml())
        assert again.to_yaml() == loader.to_yaml() and equal(copies(again), copies(loader))


@pytest.mark.parametrize("name", [b"caf\xe9", "caf\u00e9".encode(), "\U0001f600 \"x\": [1]\u2028\u0085\x7f".encode()])
def test_classes_are_named_in_any_bytes(tmp_path, name):
    for number, folder in enumerate((name, b"dog")):
        class_folder = os.path.join(os.fsencode(tmp_path), folder)
        os.mkdir(class_folder)
        for image in range(3):
            Image.new("RGB", (8, 8), (number, image, 0)).save(os.path.join(class_folder, b"%d.png" % image))
    data, name = un.open(tmp_path), os.fsdecode(name)
    label = data.classes.index(name)
    images = set(range(6)) & set(ids_of(data.filter(lambda facts: facts.class_name == name).batch(1)))
    others = set(range(6)) - images
    assert set(data.classes) == {name, "dog"} and len(images) == 3

    chains = {data.filter(name): images, data.filter(drop_labels=[name]): others, data.balance({name: 0}): others,
              data.balance({"dog": 0}): images,
              un.mix([data.filter([name]).take(3), data.filter([name])]): images | {i + 6 for i in images}}
    for pipeline, expected in chains.items():
        with pipeline.batch(1) as loader:
            given = ids_of(loader)
            assert given and set(given) <= expected
            again = pipeline.batch(1)
            again.load_state_dict(json.loads(json.dumps(loader.state_dict())))
            assert again.epoch == loader.epoch and str(len(loader)) in loader.explain()
    with data.filter(name).map(lambda image, _: image).options(workers=0).batch(1) as mapped:
        assert set(ids_of(mapped)) == images
    utf8 = name.isprintable() or "\u2028" in name
    for pipeline in (data.filter(name), data.filter(drop_labels=[name]), data.balance({name: 2})):
        if utf8:
            made = pipeline.batch(1)
            assert un.from_yaml(made.to_yaml()).to_yaml() == made.to_yaml()
            continue
        for made in (pipeline, pipeline.batch(1)):
            with pytest.raises(un.errors.ArgumentError, match=(
                    r"(filter\.(drop_)?labels|order\.class_weights): \"caf.\" is not UTF-8.*the number of the class")):
                made.to_yaml()
    assert un.from_yaml(data.filter(label).batch(1).to_yaml()).samples == 3
    if not utf8:
        text = data.filter("dog").batch(1).to_yaml().replace("dog", name)
        with pytest.raises(un.errors.ArgumentError, match="source.filter.labels: .* is not UTF-8"):
            un.from_yaml(text)
    # A name that is not UTF-8, text that is not a class, and a repeated class.
    for wrong, message in ((lambda: data.filter(b"dog"),
                            r"filter\(labels\): found b'dog'; expected a class number, or the name .* 'dog'"),
                           (lambda: data.balance({b"dog": 1}), r"balance\(weights\): found b'dog'"),
                           (lambda: data.filter(3.5), r"filter\(labels\): found 3.5; expected an integer"),
                           (lambda: data.filter(-1), r"filter\(labels\): found -1; expected 0 or more"),
                           (lambda: data.filter("\ud83d"), "expected UTF-8 text"),
                           (lambda: data.balance({1: 2, "1": 3}), "the share of class 1 was already set to 2.0")):
        with pytest.raises(un.errors.ArgumentError, match=message):
            wrong()
    assert ids_of(data.filter(np.int64(label)).batch(3, last="keep")) == ids_of(data.filter(str(label)).batch(3))


def test_invalid_arguments_are_rejected_by_the_step():
    data, nan = un.open(SMALL), float("nan")
    for wrong, message in ((lambda: data.take(0), "take"), (lambda: data.repeat(0), "repeat"),
                           (lambda: data.filter(), "found no condition; expected labels"),
                           (lambda: data.filter(labels=[]), "found no condition; expected labels"),
                           (lambda: data.filter(min_side=-1), "filter.min_side.: found -1"),
                           (lambda: data.filter(max_aspect=nan), "max_aspect"),
                           (lambda: data.filter(max_aspect=0.5).batch(1), "max_aspect: 0.5; expected 1"),
                           (lambda: data.filter(min_side=9, max_side=8).batch(1), "9 is above max_side 8"),
                           (lambda: data.filter(labels=1).filter(labels=2), "labels was already set"),
                           (lambda: data.take(5).filter(labels=1), r"filter\(\) after take\(\)"),
                           (lambda: data.filter("catt").batch(1), 'source.filter.labels: found "catt"'),
                           (lambda: data.shuffle(window=-1), "shuffle.window."),
                           (lambda: data.sequential().balance(), r"balance\(\): .*; expected shuffle\(seed\)"),
                           (lambda: data.balance({"x": nan}), "balance.weights"),
                           (lambda: data.balance({"x": 1}).batch(1), "order.class_weights.x"),
                           (lambda: data.balance(epoch=0), "epoch"), (lambda: un.mix([]), "no source"),
                           (lambda: un.mix([data, data], [1]), r"mix\(weights\): found 1 for 2 pipelines"),
                           (lambda: un.mix([data, data], [1, nan]), "weights.1."),
                           (lambda: un.mix([data, data], {0: 1, 1: 2}), r"mix\(weights\): found {0: 1, 1: 2}; exp"),
                           (lambda: un.mix([data, data], 1), r"mix\(weights\): found 1; expected a list of numbers"),
                           (lambda: un.mix([data.map(len), data]), "filter.. and take.. only"),
                           (lambda: un.mix([data, data], [1, -1]), "weights.1."),
                           (lambda: un.mix([data, data], [0, 0]), "all weights are 0"),
                           (lambda: un.mix([data, data], earlier=[[1, 1]]), "expected the current weights"),
                           (lambda: un.mix([data, data], [1, 2], earlier=[[1]]), "earlier.0..: found 1 for 2"),
                           (lambda: un.mix([data, data], [1, 2], earlier=[[1, nan]]), "earlier.0..1."),
                           (lambda: un.mix([data, data], [1, 1e-9]).batch(1), "millionth"),
                           (lambda: un.mix([data.shuffle(1)], [1]), "filter.. and take.. only"),
                           (lambda: un.mix([data, data], [1, 1]).sequential().batch(1), "order.shuffle"),
                           (lambda: un.mix([data]).take(3), r"take\(\) after mix")):
        with pytest.raises(un.errors.ArgumentError, match=message):
            wrong()
    with pytest.raises(un.errors.InputError, match="selects none of 203"):
        data.filter(min_side=9).batch(1)
