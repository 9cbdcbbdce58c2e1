"""un.Trainer: buffers that a module assigns, exchanges or shares, and modules of TorchScript."""

import pytest

torch = pytest.importorskip("torch")

import trainer_support as support  # noqa: E402
import unstarve as un  # noqa: E402
from trainer_support import losses_of, trainer  # noqa: E402
from unstarve import weights  # noqa: E402

support.require_libtorch()


class Centred(support.Small):
    """Assigns a new tensor to its buffer, which the backward pass needs before."""

    def __init__(self, seed=0, in_place=False):
        super().__init__(seed=seed)
        self.in_place = in_place
        self.register_buffer("centre", torch.ones(8))

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x))).mean((2, 3))
        output = self.fc(x * (self.centre.clone() if self.in_place else self.centre))
        if self.training:
            centre = 0.9 * self.centre + 0.1 * x.detach().mean(0)
            if self.in_place:
                self.centre.copy_(centre)
            else:
                self.centre = centre
        return output


def test_a_buffer_that_the_module_assigns_is_that_of_checkpoints_and_averages(tmp_path):
    options = {"average": 0.9, "checkpoint_dir": tmp_path}
    modules = Centred(), Centred(in_place=True)
    histories = [trainer(module, None, support.batches(seed=5), average=0.9).fit() for module in modules]
    assert support.equal(*map(support.state_of, modules))
    assert histories[0]["loss_last"] == histories[1]["loss_last"]
    assert histories[0]["val_loss"] == histories[1]["val_loss"]
    with pytest.raises(KeyboardInterrupt):
        trainer(Centred(), on_report=support.interrupt_at(10), **options).fit()
    resumed = Centred(seed=9)
    with pytest.warns(un.DataWarning, match="no resume position"):
        trainer(resumed, resume=tmp_path, average=0.9).fit()
    assert support.equal(support.state_of(resumed), support.state_of(modules[0]))
    stored = weights.load_torch(max(tmp_path.iterdir()))
    assert torch.equal(stored["centre"], resumed.centre) and not torch.equal(resumed.centre, torch.ones(8))


def test_a_module_may_exchange_its_buffers():
    class Module(support.Small):
        def __init__(self):
            super().__init__()
            for number in range(4):
                self.register_buffer(f"b{number}", torch.full((2,), float(number)))

        def forward(self, x):
            if self.training:
                self.b0, self.b1 = self.b1, self.b0
                self.b2, self.b3 = self.b3, self.b3 + 1
            return super().forward(x)

    for steps, expected in ((1, [1, 0, 3, 4]), (2, [0, 1, 4, 5])):
        module = Module()
        trainer(module, support.batches()[:1], epochs=steps).fit()
        assert [float(getattr(module, f"b{number}")[0]) for number in range(4)] == expected


@pytest.mark.parametrize("compiled", [torch.jit.script,
                                      lambda module: torch.jit.trace(module, torch.zeros(2, 3, 16, 16))])
def test_torchscript_modules(compiled):
    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.conv = torch.nn.Conv2d(3, 8, 3)
            self.norm = torch.nn.BatchNorm2d(8)
            self.fc = torch.nn.Linear(8, 4)

        def forward(self, x):
            return self.fc(torch.relu(self.norm(self.conv(x))).mean((2, 3)))

    module = compiled(Module())
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    assert trainer(module).fit()["steps"] > 0
    assert not torch.equal(module.state_dict()["norm.running_mean"], before["norm.running_mean"])


def test_a_buffer_whose_elements_share_memory_is_named():
    class Module(support.Small):
        def __init__(self):
            super().__init__()
            self.register_buffer("scale", torch.ones(1).expand(3))

        def forward(self, x):
            if self.training:
                self.scale = self.scale * 1.5
            return super().forward(x)

    with pytest.raises(un.errors.ArgumentError, match=r"the buffer scale cannot be written: .* tensor.clone\(\)"):
        trainer(Module()).fit()


@pytest.mark.parametrize(("assigned", "message"), [
    (torch.zeros(9), r"a tensor of torch.float32 \(9,\)"), (torch.zeros(8).double(), "a tensor of torch.float64"),
    (None, "None"),
])
def test_a_buffer_of_another_form_is_an_error(assigned, message):
    class Module(Centred):
        def forward(self, x):
            output = super().forward(x)
            self.centre = assigned
            return output

    with pytest.raises(un.errors.ArgumentError, match=f"Trainer: the module assigned {message}.* to the buffer centre; "
                                                      r"expected torch.float32 \(8,\)"):
        trainer(Module()).fit()


class Masked(support.Small):
    """Has a constant with infinities, as an attention has."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.full((4, 4), -torch.inf).triu(1))


def test_a_constant_with_infinities_is_kept_and_stored(tmp_path):
    mask = Masked().mask
    for options in ({"average": 0.9}, {"lookahead": 3}):
        module = Masked()
        folder = tmp_path / next(iter(options))
        history = trainer(module, checkpoint_dir=folder, **options).fit()
        assert losses_of(history) == losses_of(trainer(**options).fit())
        assert torch.equal(module.mask, mask)
        assert torch.equal(weights.load_torch(max(folder.iterdir()))["mask"], mask)
        again = Masked()
        assert trainer(again, epochs=3, resume=folder, **options).fit()["steps"] == 30
        assert torch.equal(again.mask, mask)
