"""Positions of the data of un.Trainer, from which checkpoints resume."""

import pytest

torch = pytest.importorskip("torch")

import trainer_support as support  # noqa: E402
import unstarve as un  # noqa: E402
from unstarve.training import batches  # noqa: E402

support.require_libtorch()


class Live(un.DataLoader):
    """Its state has an object that later batches change."""

    def __init__(self, dataset, extra):
        super().__init__(dataset, batch_size=4)
        self.extra = extra
        self.seen = {"batches": 0}

    def __iter__(self):
        for batch in super().__iter__():
            self.seen["batches"] += 1
            yield batch

    def state_dict(self):
        return self.extra(super().state_dict(), self.seen)


def history(state, seen):
    weight = torch.ones(1, requires_grad=True)
    return {**state, "seen": seen, "history": weight * 2}  # whose deep copy is an error


@pytest.mark.parametrize("extra", [lambda state, seen: {**state, "seen": seen}, history, lambda state, seen: [seen]],
                         ids=["live", "with a history", "a list"])
def test_a_position_does_not_change_with_later_batches(extra):
    images, labels = (torch.cat(part) for part in zip(*support.batches(), strict=True))
    data = batches.Batches(Live(torch.utils.data.TensorDataset(images, labels), extra), endless=True)
    data.next(), data.next()
    position = data.position()
    expected = position()
    for _ in range(2):
        data.next()
    assert position() == expected != data.position()()


def test_a_pass_that_was_resumed_twice_keeps_its_number():
    class Unsized:
        def __iter__(self):
            return iter(support.batches())

        def state_dict(self):
            return {}

        def load_state_dict(self, state):
            pass

    data = batches.Batches(Unsized(), endless=True)
    data.next()
    text = data.position()()
    for _ in range(2):
        data = batches.Batches(Unsized(), endless=True)
        data.resume(1, text, "test")
        assert data.position()() == text
