"""un.Trainer: what a module learns, evaluation, resources."""

import gc
import json
import os
import subprocess
import time
import warnings
import weakref
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import trainer_support as support  # noqa: E402
import unstarve as un  # noqa: E402
from trainer_support import losses_of, trainer  # noqa: E402
from unstarve import weights  # noqa: E402
from unstarve.training.length import steps_of  # noqa: E402

support.require_libtorch()

PLAIN = {"optimiser": "sgd", "momentum": 0.9, "nesterov": False, "weight_decay": 0.0, "learning_rate": 0.05}


# --- learning ---------------------------------------------------------------------------------------------------------

def test_a_module_learns():
    reports = []
    module = support.Small().eval()
    history = trainer(module, support.batches(), support.batches(seed=5), epochs=12, learning_rate=0.05,
                      on_report=reports.append).fit()
    assert history["steps"] == 120 and history["samples"] == 1920 and history["epochs"] == 12
    assert history["loss_last"] < 0.5 * history["loss_first"]
    assert len(history["evaluations"]) == 12 and history["accuracy"] > 0.8
    assert [point["step"] for point in reports] == [point["step"] for point in history["points"]]
    assert set(reports[-1]) == {*history["points"][-1], "accuracy", "val_loss"}
    assert reports[0]["accuracy"] is None and reports[-1]["accuracy"] == history["evaluations"][-2]["accuracy"]
    assert not module.training and all(parameter.grad is None for parameter in module.parameters())
    with torch.no_grad():
        images, labels = support.samples(seed=5)
        assert (module(images).argmax(1) == labels).float().mean().item() == pytest.approx(history["accuracy"])


def test_an_evaluation_of_more_than_five_classes_has_a_top_5_accuracy():
    torch.manual_seed(4)
    data = [(torch.rand(16, 3, 16, 16), torch.randint(0, 8, (16,))) for _ in range(4)]
    module = support.Small(classes=8).eval()
    history = trainer(module, data, data, classes=8, epochs=1).fit()
    with torch.no_grad():
        best = torch.cat([module(images).topk(5).indices for images, _ in data])
    expected = (best == torch.cat([labels for _, labels in data])[:, None]).any(1).float().mean().item()
    assert history["evaluations"][-1]["accuracy_top5"] == pytest.approx(expected) and 0.3 < expected < 1
    few = trainer(support.Small(), support.batches(), support.batches(seed=5), epochs=1).fit()
    assert few["evaluations"][-1]["accuracy_top5"] is None


def test_a_module_is_pruned():
    module = support.CifarNet(support.CLASSES)
    history = trainer(module, support.batches(), epochs=3, learning_rate=0.01, average=0.9, prune_pattern="1:4").fit()
    pruning = history["pruning"]
    assert pruning["sparsity"] == 0.75 and len(pruning["layers"]) == 5
    for layer in pruning["layers"]:
        values = dict(module.named_parameters())[layer["name"]].detach()
        assert int((values == 0).sum()) == layer["zeros"] == values.numel() * 3 // 4
        assert ((values.movedim(1, -1).reshape(-1, 4) != 0).sum(1) == 1).all()
    assert trainer(support.Small(), support.batches(), epochs=1).fit()["pruning"] is None
    with pytest.raises(un.errors.ArgumentError, match="found no layer that can be pruned"):
        trainer(support.Small(), support.batches(), prune=0.5).fit()


@pytest.mark.parametrize("channels_last", [True, False])
def test_losses_and_weights_are_those_of_a_loop_with_torch_optim(channels_last):
    ours, theirs = support.Small(), support.Small()
    data, steps, warmup = support.batches(), 20, 4
    history = trainer(ours, data, schedule="linear", warmup=warmup / steps, channels_last=channels_last, **PLAIN).fit()
    optimiser = torch.optim.SGD(theirs.parameters(), 0.05, momentum=0.9)

    def rate(step):
        return (step + 1) / warmup if step < warmup else 1 - (step - warmup) / (steps - warmup)

    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, rate)
    expected = []
    for images, labels in data * 2:
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(theirs(images), labels)
        loss.backward()
        expected.append(loss.item())
        optimiser.step()
        schedule.step()
    np.testing.assert_allclose(losses_of(history), expected, rtol=2e-4)
    assert [point["learning_rate"] for point in history["points"]] == pytest.approx([0.05 * rate(s) for s in range(20)])
    for name, tensor in theirs.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[name], tensor, rtol=1e-3, atol=1e-5)


def test_the_losses_of_a_twin_are_those_of_the_network_of_the_program(tmp_path):
    """Same weights, same batches: the passes of Python and of C++ are the same operators in the format NCHW, in which
    batch norm is not fused."""
    torch.manual_seed(1)
    twin = support.CifarNet(support.CLASSES)
    weights.convert(twin.state_dict(), tmp_path / "first.safetensors")
    pipeline = (un.open("synthetic:classes=4,images=192,size=32,seed=2").shuffle(3).pad_crop(32).flip()
                .normalize(*un.CIFAR10))
    (tmp_path / "data.yaml").write_text(pipeline.batch(32).to_yaml())
    run = subprocess.run(
        [os.environ["UNSTARVE"], "train", tmp_path / "data.yaml", "--model", "cifar_net", "--epochs", "3", "--json",
         "--precision", "float32", "--label-smoothing", "0", "--learning-rate", "0.05", "--operator-threads", "1",
         "--channels-last", "false",
         "--resume", tmp_path / "first.safetensors", "--out", tmp_path / "last.safetensors", "--evaluate-every", "0"],
        capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    expected = json.loads(run.stdout)
    history = trainer(twin, pipeline.batch(32), epochs=3, learning_rate=0.05, evaluate_every=0,
                      channels_last=False).fit()
    assert losses_of(history) == [point["loss"] for point in expected["points"]]
    last = weights.load_torch(tmp_path / "last.safetensors")
    assert all(torch.equal(tensor, last[name]) for name, tensor in twin.state_dict().items())


def test_lookahead_and_test_augmentation():
    ours, theirs = support.Small(), support.Small()
    data, (images, labels), steps = support.batches(), support.samples(seed=5), 20
    history = trainer(ours, data, support.batches(seed=5), schedule="constant", warmup=0, lookahead=5,
                      lookahead_decay=0.5, test_augmentation="mirror", **PLAIN).fit()
    optimiser = torch.optim.SGD(theirs.parameters(), 0.05, momentum=0.9)
    slow = {name: tensor.clone() for name, tensor in theirs.state_dict().items()}
    for step, (batch, of_batch) in enumerate(data * 2, 1):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(theirs(batch), of_batch).backward()
        optimiser.step()
        if step % 5 == 0:
            for name, tensor in theirs.state_dict().items():
                if tensor.is_floating_point():
                    slow[name].lerp_(tensor, 1 - 0.5 * (step / steps) ** 3)
                    tensor.copy_(slow[name])
    for name, tensor in theirs.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[name], tensor, rtol=1e-3, atol=1e-5)
    theirs.eval()
    with torch.no_grad():
        logits = (theirs(images) + theirs(images.flip(3))) / 2
    assert history["val_loss"] == pytest.approx(torch.nn.functional.cross_entropy(logits, labels).item(), rel=1e-3)


def test_a_loss_function_of_the_user():
    smoothed = trainer(support.Small(), support.batches(), support.batches(seed=5), label_smoothing=0.1).fit()
    own = trainer(support.Small(), support.batches(), support.batches(seed=5),
                  loss=torch.nn.CrossEntropyLoss(label_smoothing=0.1)).fit()
    np.testing.assert_allclose(losses_of(own), losses_of(smoothed), rtol=1e-5)
    assert own["accuracy"] == smoothed["accuracy"] and own["val_loss"] > smoothed["val_loss"]  # not smoothed by default


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_loss_function_receives_logits_in_float32_and_the_labels_of_the_loader(precision):
    seen = []

    def loss(logits, labels):
        seen.append((logits.dtype, labels.dtype, labels.shape, torch.is_autocast_enabled("cpu"),
                     torch.is_grad_enabled()))
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)

    data = [(images, torch.nn.functional.one_hot(labels, support.CLASSES).float())
            for images, labels in support.batches()]
    module = support.Small()
    history = trainer(module, data, data, loss=loss, precision=precision).fit()
    assert set(seen) == {(torch.float32, torch.float32, (16, support.CLASSES), False, grad) for grad in (True, False)}
    if precision == "float32":
        with torch.no_grad():
            expected = sum(loss(module.eval()(images), labels).item() for images, labels in data) / len(data)
        assert history["val_loss"] == pytest.approx(expected, rel=1e-4)


def test_a_layer_without_gradient_keeps_its_weights():
    class Module(support.Small):
        def __init__(self):
            super().__init__()
            self.unused = torch.nn.Linear(2, 2)

    module = Module()
    before = support.state_of(module)
    assert losses_of(trainer(module, clip_norm=1.0).fit()) == losses_of(trainer(clip_norm=1.0).fit())
    assert torch.equal(module.unused.weight, before["unused.weight"])


def test_a_function_of_the_user_has_its_own_backward_pass():
    class Tripled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            assert len(ctx.saved_tensors) == 1
            return 3 * gradient

    class Module(support.Small):
        def forward(self, x):
            return Tripled.apply(super().forward(x))

    # One step of plain SGD: the change of the weights is the gradient.
    plain = {**PLAIN, "momentum": 0.0, "schedule": "constant", "warmup": 0.0, "epochs": 1}
    tripled, single = Module(), support.Small()
    first = support.state_of(single)
    for module in (tripled, single):
        trainer(module, support.batches(16), **plain).fit()
    for name, parameter in single.named_parameters():
        change = parameter.detach() - first[name]
        torch.testing.assert_close(tripled.get_parameter(name).detach() - first[name], 3 * change, rtol=1e-3, atol=1e-6)


def test_weights_change_in_place():
    module = support.Small()
    own = {name: (id(tensor), tensor.data_ptr()) for name, tensor in module.named_parameters()}
    before = support.state_of(module)
    trainer(module, channels_last=False).fit()
    assert {name: (id(tensor), tensor.data_ptr()) for name, tensor in module.named_parameters()} == own
    assert all(not torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())


def test_frozen_parameters_shared_ones_and_buffers_of_every_kind(tmp_path):
    class Module(support.Small):
        def __init__(self):
            super().__init__()
            self.second = self.fc  # two names
            self.register_buffer("constant", torch.ones(2, dtype=torch.bool))
            self.register_buffer("scratch", torch.ones(2, dtype=torch.complex64), persistent=False)

    module = Module()
    module.conv.weight.requires_grad_(False)
    before = support.state_of(module)
    reference = support.Small()
    reference.conv.weight.requires_grad_(False)
    history = trainer(module, checkpoint_dir=tmp_path).fit()
    assert losses_of(history) == losses_of(trainer(reference).fit())  # one update for both names
    assert torch.equal(module.conv.weight, before["conv.weight"])
    assert not torch.equal(module.conv.bias, before["conv.bias"])
    stored = weights.load_torch(max(tmp_path.iterdir()))
    assert stored.keys() == before.keys() - {"second.weight", "second.bias"} and stored["constant"].all()
    again = Module()
    again.conv.weight.requires_grad_(False)
    assert trainer(again, epochs=3, resume=tmp_path).fit()["steps"] == 30


def test_the_extra_state_of_a_module_is_not_stored_with_a_warning(tmp_path):
    class Module(support.Small):
        def get_extra_state(self):
            return {"calls": 3}

        def set_extra_state(self, state):
            pass

    with pytest.warns(un.DataWarning, match="checkpoints do not contain _extra_state"):
        trainer(Module(), checkpoint_dir=tmp_path / "one").fit()
    buffered = support.Small()
    buffered.register_buffer("ema_extra_state", torch.zeros(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trainer(buffered, checkpoint_dir=tmp_path / "another").fit()


@pytest.mark.parametrize("batches", [1, 5])
def test_the_last_update_is_the_mean_of_the_batches_that_are_left(batches):
    options = PLAIN | {"momentum": 0.0, "schedule": "constant"}
    data, module, expected = support.batches()[:batches], support.Small(), support.Small()
    trainer(module, data, epochs=1, accumulate=4, **options).fit()
    groups = [data[first:first + 4] for first in range(0, batches, 4)]
    optimiser = torch.optim.SGD(expected.parameters(), lr=options["learning_rate"])
    for group in groups:
        optimiser.zero_grad()
        for images, labels in group:
            (torch.nn.functional.cross_entropy(expected(images), labels) / len(group)).backward()
        optimiser.step()
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(parameter, dict(expected.named_parameters())[name], rtol=1e-4, atol=1e-6)


def test_a_report_may_use_the_module_in_evaluation_mode():
    modes = []

    class Module(support.Small):
        def forward(self, x):
            modes.append(self.training)
            return super().forward(x)

    def report(point):
        modes.clear()
        with torch.no_grad():
            module.eval()(torch.zeros(1, 3, 16, 16))

    module = Module()
    trainer(module, on_report=report).fit()
    assert modes == [False]  # the last report follows the last step
    assert module.training


def test_evaluation_uses_evaluation_mode_without_gradients():
    modes = []

    class Module(support.Small):
        def forward(self, x):
            modes.append((self.training, torch.is_grad_enabled()))
            return super().forward(x)

    trainer(Module(), support.batches(32), support.batches(16)).fit()
    epoch = [(True, True)] * 2 + [(False, False)]
    assert modes == epoch * 2


@pytest.mark.parametrize("optimiser", ["adamw", "lars", "lamb"])
@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_optimisers_and_precisions(optimiser, precision):
    seen = set()

    class Module(support.Small):
        def forward(self, x):
            seen.add(torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else torch.float32)
            return super().forward(x)

    rate = {"adamw": 0.02, "lars": 2.0, "lamb": 0.05}[optimiser]
    history = trainer(Module(), epochs=4, optimiser=optimiser, precision=precision, learning_rate=rate,
                      label_smoothing=0.05, accumulate=2, clip_norm=5.0).fit()
    assert history["loss_last"] < history["loss_first"]
    assert seen == {getattr(torch, precision)}


def test_an_emulated_precision_is_reported():
    if "amx_fp16" in Path("/proc/cpuinfo").read_text():
        pytest.skip("this CPU has float16 instructions that train")
    with pytest.warns(un.DataWarning, match="this CPU has no float16 instructions .*; it is emulated"):
        trainer(epochs=1, precision="float16").fit()


def test_the_module_has_the_average_of_the_weights_afterwards(tmp_path):
    module = support.Small()
    trainer(module, average=0.8, checkpoint_dir=tmp_path).fit()
    newest = max(tmp_path.iterdir())
    assert support.equal(weights.load_torch(newest), support.state_of(module))
    stored = weights.load(newest, optimiser=True)
    assert not np.array_equal(stored["training.fc.weight"], stored["fc.weight"])


def test_a_run_of_minutes_needs_no_length():
    class Endless:
        def __iter__(self):
            yield from support.batches()

    begin = time.monotonic()
    history = trainer(loader=Endless(), epochs=None, minutes=0.02).fit()
    assert history["steps"] > 10 and history["epochs"] is None and time.monotonic() - begin < 20


def test_decimal_fractions_of_an_epoch_have_no_additional_step():
    """0.07 * 100 is a little more than 7."""
    history = trainer(loader=support.batches()[:1] * 100, epochs=0.07).fit()
    assert history["steps"] == 7 and history["epochs"] == 0.07
    for length in (5, 10, 20, 100, 5005):
        for tenths in range(1, 2000):
            if tenths * length % 10 == 0:
                assert steps_of(tenths / 10, length) == tenths * length // 10
    assert steps_of(2 + 1.5 / 40_040, 40_040) == 2 * 40_040 + 2


@pytest.mark.parametrize(("every", "steps"), [(0.01, [*range(1, 11)]), (0.04, [*range(1, 11)]), (0.5, [5, 10]),
                                              (0, [10])])
def test_an_evaluation_follows_at_least_one_step(every, steps):
    history = trainer(None, None, support.batches(16), epochs=1, evaluate_every=every).fit()
    assert [evaluation["step"] for evaluation in history["evaluations"]] == steps


def test_the_target_ends_the_run():
    history = trainer(None, None, support.batches(seed=5), epochs=200, learning_rate=0.05, target=0.7).fit()
    assert history["accuracy"] >= 0.7 and history["epochs"] < 200


def test_tensorboard_receives_the_history(tmp_path):
    trainer(tensorboard=tmp_path / "events").fit()
    assert [path.name.startswith("events.out.tfevents") for path in (tmp_path / "events").iterdir()] == [True]


# --- resources --------------------------------------------------------------------------------------------------------

def test_a_thousand_steps_do_not_increase_the_memory():
    def resident():
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE")

    seen = []

    class Module(support.Small):
        def forward(self, x):
            seen.append(resident())
            return super().forward(x)

    loader = un.open("synthetic:classes=4,images=640,size=32").normalize(*un.CIFAR10).batch(16)
    history = trainer(Module(), loader, epochs=25, average=0.9).fit()
    assert history["steps"] == 1000
    assert max(seen[-100:]) - max(seen[200:300]) < 4_000_000


def test_nothing_of_a_run_remains():
    module = support.Small()
    run = trainer(module)
    run.fit()
    kept = [weakref.ref(module), weakref.ref(run)]
    del module, run
    gc.collect()
    assert [reference() for reference in kept] == [None, None]


def test_the_number_of_threads_of_torch_is_restored():
    before = torch.get_num_threads()
    trainer(operator_threads=before + 1).fit()
    assert torch.get_num_threads() == before
