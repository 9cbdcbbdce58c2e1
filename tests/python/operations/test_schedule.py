"""Scheduled operations: batches depend on the epoch only."""

from __future__ import annotations

import numpy as np
import pytest

import unstarve as un

SMALL = "synthetic:classes=10,images=40,size=32,seed=1"


def scheduled() -> un.Pipeline:
    return un.open(SMALL).shuffle(3).random_resized_crop(un.schedule({0: 16, 1: 24, 3: 28})).rand_augment(
        magnitude=un.schedule({0: 2, 4: 10}, between="linear"))


def test_batches_change_their_shape_at_an_epochs_border_and_a_resumed_run_agrees() -> None:
    loader = scheduled().batch(10)
    assert loader.shapes[0] == (3, None, None)
    epochs, states = [], []
    for epoch in range(4):
        loader.set_epoch(epoch)
        batches = []
        for images, _ in loader:
            batches.append(images.copy())
            states.append((epoch, len(batches), loader.state_dict()))
        epochs.append(batches)
    assert [batches[0].shape[2:] for batches in epochs] == [(16, 16), (24, 24), (24, 24), (28, 28)]
    for epoch, given, state in states[::3]:
        if given == len(epochs[epoch]):
            continue
        resumed = scheduled().batch(10)
        resumed.load_state_dict(state)
        for ours, theirs in zip(resumed, epochs[epoch][given:], strict=True):
            np.testing.assert_array_equal(ours[0], theirs)
    fixed = un.open(SMALL).shuffle(3).random_resized_crop(24).rand_augment(magnitude=4).batch(10)
    fixed.set_epoch(1)
    for (images, _), theirs in zip(fixed, epochs[1], strict=True):
        np.testing.assert_array_equal(images, theirs)


def test_mixing_follows_a_schedule_also_after_a_resume() -> None:
    def mixed() -> un.Loader:
        start = un.open(SMALL).shuffle(3).resize((16, 16))
        return start.label_smoothing(un.schedule({0: 0, 1: 0.5})).mixup(
            un.schedule({0: 0.2, 2: 1.2}, between="linear"), p=un.schedule({0: 0, 2: 1})).cutmix(
            un.schedule({0: 1, 3: 2}), p=0.5).batch(10)

    loader = mixed()
    loader.set_epoch(2)
    batches = []
    for images, targets in loader:
        batches.append((images.copy(), targets.copy()))
        if len(batches) == 2:
            state = loader.state_dict()
    assert all(targets.min() >= 0.049 for _, targets in batches)
    resumed = mixed()
    resumed.load_state_dict(state)
    fixed = un.open(SMALL).shuffle(3).resize((16, 16)).label_smoothing(0.5).mixup(1.2).cutmix(p=0.5).batch(10)
    fixed.set_epoch(2)
    for ours, theirs in zip([*batches[:2], *resumed], fixed, strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[1], theirs[1])


def test_torch_tensors_follow_a_schedule_and_explain_lists_the_epochs() -> None:
    pytest.importorskip("torch")
    loader = scheduled().batch(10).to_torch()
    assert [next(iter(loader))[0].shape[-1] for epoch in (0, 1, 3) if loader.set_epoch(epoch) is None] == [16, 24, 28]
    text = scheduled().batch(10).explain()
    assert " size={0: 16, 1: 24, 3: 28}" in text
    assert "from epoch 3: random_resized_crop size=28; rand_augment magnitude=8; samples of 28x28" in text


def test_invalid_uses_of_a_schedule_are_rejected() -> None:
    with pytest.raises(un.errors.ArgumentError, match="found {}; expected epochs with values"):
        un.schedule({})
    with pytest.raises(un.Error, match="starts at epoch 2; expected a value for epoch 0"):
        un.open(SMALL).resize(un.schedule({2: 8}))
    with pytest.raises(un.Error, match="in epoch 5: operation rand_augment: parameter 'magnitude' is .31."):
        un.open(SMALL).rand_augment(magnitude=un.schedule({0: 3, 5: 31}))
    with pytest.raises(un.Error, match=r"operations: found a schedule before map\(\); expected constant values"):
        next(iter(scheduled().map(lambda image: image).options(kind="threads").batch(10)))
