"""un.Trainer: exceptions, interrupts, batches and outputs of another form, wrong arguments."""

import signal
import threading
import warnings

import pytest

torch = pytest.importorskip("torch")

import trainer_support as support  # noqa: E402
import unstarve as un  # noqa: E402
from trainer_support import trainer  # noqa: E402
from unstarve import _core  # noqa: E402
from unstarve.training.settings import Settings  # noqa: E402

support.require_libtorch()


class SpecialError(Exception):
    pass


class Failing(support.Small):
    """Raises in the forward or backward pass of one step."""

    def __init__(self, step, backward=False):
        super().__init__()
        self.left, self.in_backward, self.error = step, backward, SpecialError("one", 2)

    def forward(self, x):
        self.left -= 1
        y = super().forward(x)
        if self.left == 0 and self.in_backward:
            y.register_hook(self.fail)
        elif self.left == 0:
            self.fail()
        return y

    def fail(self, *_):
        raise self.error


@pytest.mark.parametrize("backward", [False, True])
def test_an_exception_of_the_module_is_raised_unchanged(backward):
    module = Failing(5, backward)
    with pytest.raises(SpecialError) as caught:
        trainer(module).fit()
    assert caught.value is module.error
    assert [entry.name for entry in caught.traceback][-1] == "fail"
    assert module.training and module.conv.weight.grad is None
    module.left = 100
    assert trainer(module).fit()["steps"] == 20  # the module can be trained again
    module.error = None  # its traceback refers to the graph, whose hook refers to the module


def test_an_exception_of_the_loader_and_of_a_report_is_raised_unchanged():
    error = SpecialError()

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 64

        def __getitem__(self, i):
            if i == 40:
                raise error
            return torch.zeros(3, 16, 16), i % 4

    with pytest.raises(SpecialError) as caught:
        trainer(loader=torch.utils.data.DataLoader(Data(), 16)).fit()
    assert caught.value is error

    def report(point):
        raise error

    with pytest.raises(SpecialError) as caught:
        trainer(on_report=report).fit()
    assert caught.value is error
    with pytest.raises(SpecialError):
        trainer(None, None, torch.utils.data.DataLoader(Data(), 16)).fit()


def test_a_second_interrupt_ends_the_run_immediately(tmp_path):
    class Module(support.Small):
        def forward(self, x):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            raise AssertionError("not reached")

    with pytest.raises(KeyboardInterrupt):
        trainer(Module(), checkpoint_dir=tmp_path / "run").fit()
    assert not (tmp_path / "run").exists()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_loss_that_is_not_finite_ends_the_run():
    with pytest.raises(un.errors.CheckError, match="the loss at step .* is -?(nan|inf); expected a finite number"):
        trainer(learning_rate=1000.0, epochs=20, warmup=0.0).fit()


def test_a_loss_that_is_not_finite_after_a_resume_names_the_checkpoint(tmp_path):
    trainer(epochs=1, checkpoint_dir=tmp_path).fit()
    [file] = tmp_path.iterdir()
    run = trainer(epochs=2, resume=file, loss=lambda logits, _: logits.sum() * float("nan"))
    with pytest.raises(un.errors.CheckError, match=f"the loss at step .* is nan; .*; the last checkpoint is {file}"):
        run.fit()


def test_one_run_at_a_time():
    begun, go = threading.Event(), threading.Event()

    def slow():
        begun.set()
        go.wait(60)
        yield from support.batches()

    class Slow:
        def __iter__(self):
            return slow()

        def __len__(self):
            return 10

    module = support.Small()
    thread = threading.Thread(target=trainer(module, Slow(), epochs=1).fit)
    thread.start()
    try:
        assert begun.wait(60)
        with pytest.raises(un.errors.ArgumentError, match="in training by another run"):
            trainer(torch.nn.Sequential(module)).fit()
        assert trainer().fit()["steps"] == 20  # another module
    finally:
        go.set()
        thread.join()
    assert trainer(module).fit()["steps"] == 20


@pytest.mark.parametrize(("loader", "message"), [
    ([torch.zeros(2, 3, 8, 8)] * 2, r"the loader returned a Tensor of 2; expected \(images, labels\)"),
    ([{"image": 1}], "the loader returned a dict of 1"),
    ([(torch.zeros(2, 1, 8, 8), torch.zeros(2, dtype=torch.int64))], r"images torch.float32 \(2, 1, 8, 8\); expected"),
    ([(torch.zeros(2, 3, 8, 8, dtype=torch.float64), torch.zeros(2, dtype=torch.int64))], "images torch.float64"),
    ([(torch.zeros(2, 3, 8, 8), torch.zeros(2))], r"labels torch.float32 \(2,\); expected integers"),
    ([(torch.zeros(2, 3, 8, 8), torch.zeros(3, dtype=torch.int64))], "2 images and 3 labels"),
    ([(torch.zeros(2, 3, 8, 8), torch.tensor([0, 4]))], "sample 1 has label 4; expected a class from 0 to 3"),
    ([(torch.zeros(0, 3, 8, 8), torch.zeros(0, dtype=torch.int64))], r"\(0, 3, 8, 8\); .* of one image at least"),
    ([("a", "b")], "one is str; expected torch tensors or NumPy arrays"),
])
def test_batches_of_another_form(loader, message):
    with pytest.raises(un.errors.InputError, match=message):
        trainer(loader=loader).fit()


def test_an_iterable_with_one_pass():
    class Once:
        def __init__(self):
            self.batches = iter(support.batches())

        def __len__(self):
            return 10

        def __iter__(self):
            return self.batches

    with pytest.raises(un.errors.InputError, match="found no batch in a pass over Once"):
        trainer(loader=Once()).fit()


def test_outputs_of_another_form():
    class Pair(support.Small):
        def forward(self, x):
            return super().forward(x), x

    for module, found in ((Pair(), "tuple"), (support.Small(7), r"\(16, 7\)")):
        with pytest.raises(un.errors.ArgumentError, match=rf"returned {found} for 16 images; .* \(16, 4\)"):
            trainer(module).fit()


@pytest.mark.parametrize(("loss", "message"), [
    (torch.nn.CrossEntropyLoss(reduction="none"), r"returned torch.float32 \(16,\); expected one floating-point"),
    (lambda logits, labels: 1.0, "returned float; expected one floating-point number"),
    (lambda logits, labels: (logits.argmax(1) != labels).float().mean(), "returned a loss without gradient"),
])
def test_losses_of_another_form(loss, message):
    with pytest.raises(un.errors.ArgumentError, match=rf"Trainer\(loss\): the function {message}"):
        trainer(loss=loss).fit()


def test_an_exception_of_the_loss_is_raised_unchanged():
    error = SpecialError()

    def loss(logits, labels):
        raise error

    with pytest.raises(SpecialError) as caught:
        trainer(loss=loss).fit()
    assert caught.value is error


def test_a_view_of_channels_last_images_is_explained():
    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.fc = torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.Linear(4 * 256, 4)

        def forward(self, x):
            x = self.conv(x)
            return self.fc(x.view(x.shape[0], -1))

    with pytest.raises(RuntimeError, match="view size is not compatible") as caught:
        trainer(Module()).fit()
    assert "pass channels_last=False to un.Trainer" in caught.value.__notes__[0]
    assert trainer(Module(), channels_last=False).fit()["steps"] == 20


def lazy():
    return torch.nn.Sequential(torch.nn.LazyConv2d(4, 3))


@pytest.mark.parametrize(("options", "message"), [
    ({"module": lambda x: x}, "found function; expected a torch.nn.Module"),
    ({"module": support.Small().to(torch.bfloat16)}, "conv.weight has torch.bfloat16; expected torch.float32"),
    ({"module": lazy()}, "parameter 0.weight has no shape yet"),
    ({"module": support.Small().requires_grad_(False)}, "no parameter that requires a gradient"),
    ({"module": torch.nn.ModuleDict({"average": support.Small()})},
     r"found the tensor average.conv.weight; expected names that do not begin with optimiser., .*, training.,"),
    ({"loss": 3}, r"Trainer\(loss\): found int; expected a function"),
    ({"loss": torch.nn.Bilinear(2, 2, 2)}, r"Trainer\(loss\): found Bilinear, which has parameters"),
    ({"loss": torch.nn.CrossEntropyLoss(), "label_smoothing": 0.1}, "found also a loss function; expected one of them"),
    ({"on_report": 3}, r"Trainer\(on_report\): found int; expected a function"),
    ({"resume": 5}, r"Trainer\(resume\): found 5; expected a path"),
    ({"checkpoint_dir": 5}, r"Trainer\(checkpoint_dir\): found 5; expected a path"),
    ({"tensorboard": 5}, r"Trainer\(tensorboard\): found 5; expected a path"),
    ({"loader": 3}, r"Trainer\(loader\): found int; expected an iterable"),
    ({"loader": []}, "length 0; expected at least one batch"),
    ({"loader": (batch for batch in ())}, "generator has no length"),
    ({"classes": None}, "the loader has no attribute classes"),
    ({"classes": 1}, r"Trainer\(classes\): found 1; expected at least 2"),
    ({"epochs": None}, "neither epochs nor minutes"),
    ({"epochs": -1}, r"Trainer\(epochs\): found -1; expected a number of 0 or more"),
    ({"target": 0.5}, "found no validation data"),
    ({"graph": "always"}, r"Trainer\(graph\): found 'always'; expected one of auto, on, off"),
    ({"device": "emulated"}, r"Trainer\(device\): found 'emulated'; expected 'cpu', 'cuda'"),
    ({"device": "meta"}, r"Trainer\(device\): found meta"),
    ({"momentum": 2}, r"Trainer\(momentum\): found 2; expected at least 0 and less than 1"),
    ({"momentum": "x"}, r"Trainer\(momentum\): found 'x'; expected a number"),
    ({"optimiser": "adam"}, r"Trainer\(optimiser\): found 'adam'; expected one of sgd, adamw, lars, lamb"),
    ({"optimiser": "lamb", "update": "fused"}, r"Trainer\(update\): found fused; expected foreach or each with lamb"),
    ({"beta1": 0.8}, r"Trainer\(beta1\): no effect with optimiser sgd; expected adamw or lamb. Remove it"),
    ({"optimiser": "adamw", "momentum": 0.9}, "momentum.: no effect with optimiser adamw; expected sgd"),
    ({"lookahead_decay": 0.5}, r"Trainer\(lookahead_decay\): no effect without lookahead; expected both or neither"),
    ({"test_augmentation": "mirror"}, r"Trainer\(test_augmentation\): no effect without validation data; expected"),
    ({"prune_every": 5}, r"Trainer\(prune_every\): no effect without prune; expected both or neither"),
    ({"accumulate": 1.5}, r"Trainer\(accumulate\): found 1.5; expected an integer"),
    ({"nesterov": "no"}, r"Trainer\(nesterov\): found 'no'; expected True or False"),
    ({"step_at": 3}, r"Trainer\(step_at\): found 3; expected a list of numbers"),
    ({"checkpoint_every": "5"}, r"Trainer\(checkpoint_every\): found '5'; expected a time"),
    ({"checkpoint_every": 0}, r"Trainer\(checkpoint_every\): found 0; expected a time"),
    ({"normalize": (1, 2, 3)}, r"normalize: found \(1, 2, 3\)"),
])
def test_wrong_arguments(options, message):
    given = {"module": support.Small(), "loader": support.batches(), "classes": 4, "epochs": 1, **options}
    with pytest.raises(un.errors.ArgumentError, match=message):
        un.Trainer(given.pop("module"), given.pop("loader"), **given)


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a GPU")
@pytest.mark.parametrize(("device", "index"), [("cuda", 2), ("cuda:3", 3)])
def test_cuda_is_the_current_device_of_torch(monkeypatch, device, index):
    seen = []

    class Current:
        def __init__(self, device):
            self.device = device

        def __enter__(self):
            seen.append(f"enter {self.device}")

        def __exit__(self, *_):
            seen.append(f"leave {self.device}")

    class Moved(support.Small):
        def to(self, device):
            seen.append(f"module to {device}")
            return self

    for name, value in (("is_available", lambda: True), ("device_count", lambda: 4), ("current_device", lambda: 2),
                        ("device", Current)):
        monkeypatch.setattr(torch.cuda, name, value)
    with pytest.raises(un.errors.MissingError, match=rf"device cuda:{index}: libtorch"):
        trainer(Moved(), device=device).fit()
    with pytest.raises(un.errors.MissingError, match=rf"open device cuda:{index}: "):
        un.open(support.DATA).center_crop(16).flip().batch(16).to_torch(device, operations="device")
    assert seen == [f"enter cuda:{index}", f"module to cuda:{index}", f"leave cuda:{index}",
                    f"enter {device}", f"leave {device}"]


NORMALISED = un.open(support.DATA).normalize(*un.CIFAR10)
PIXELS = un.open(support.DATA).output("uint8").batch(16)


@pytest.mark.parametrize(("dtype", "loaders"), [
    ("float32", [un.open(support.DATA).batch(16)]),
    ("float32", [NORMALISED.batch(16)]),
    ("bfloat16", [NORMALISED.output("bfloat16").batch(16).to_torch()]),
    ("float32", [PIXELS.to_torch(normalize=un.CIFAR10)]),
    ("float32", [PIXELS, NORMALISED.batch(16)]),
])
def test_a_normalisation_of_floats_of_a_pipeline_is_an_argument_without_effect(dtype, loaders):
    with pytest.raises(un.errors.ArgumentError, match=rf"Trainer\(normalize\): no effect on {dtype} images of the"):
        un.Trainer(support.Small(), *loaders, epochs=1, normalize=un.CIFAR10)


def test_a_normalisation_of_other_floats_is_an_error_at_the_first_batch():
    pixels = [((images * 255).to(torch.uint8), labels) for images, labels in support.batches()]
    for data in ([support.batches()], [pixels, support.batches()]):
        run = trainer(None, *data, normalize=un.CIFAR10)
        with pytest.raises(un.errors.ArgumentError, match="no effect on float32 images of the loader; expected uint8"):
            run.fit()
    assert trainer(None, pixels, pixels, normalize=un.CIFAR10).fit()["steps"] == 20


def test_all_wrong_settings_are_listed():
    with pytest.raises(un.errors.ArgumentError) as caught:
        trainer(optimiser="adam", momentum="x", learning_rate=-1, label_smoothing=2)
    starts = [line.split(": found")[0] for line in str(caught.value).splitlines()]
    assert starts == ["Trainer(optimiser)", "Trainer(momentum)", "Trainer(learning_rate)", "Trainer(label_smoothing)"]


@pytest.mark.parametrize(("name", "instead"), [("lr", "Use learning_rate"), ("optimizer", "Use optimiser"),
                                               ("criterion", "Use loss"), ("momentun", "Did you mean 'momentum'"),
                                               ("epoch", "'epochs'"), ("sync_batch_norm", "interop_threads$")])
def test_unknown_arguments_are_answered_with_what_to_use(name, instead):
    with pytest.raises(TypeError, match=f"found the argument {name}; expected .*{instead}"):
        trainer(**{name: 1})


def test_a_graph_on_a_cpu_is_an_error():
    with pytest.raises(un.errors.ArgumentError, match="graph is on, but .*: the device is the CPU"):
        trainer(graph="on").fit()


def test_a_run_without_checkpoints_says_so(tmp_path):
    with pytest.warns(un.DataWarning, match="no checkpoints of this run are saved; to save them, use checkpoint_dir="):
        trainer().fit()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trainer(checkpoint_dir=tmp_path / "run").fit()


def test_the_arguments_are_the_settings_of_the_program():
    values = _core.TrainSettings({}).values()
    of_the_zoo = {"model", "classes", "image_size", "evaluation_size", "device", "seed", "sync_batch_norm", "resident",
                  "fused_batch_norm", "winograd", "norm_bias_rate", "whitening_epochs", "qat.enabled", "qat_begin",
                  "qat_freeze"}
    assert {*Settings.__annotations__} == {name for name in values if not name.startswith("progressive")} - of_the_zoo
    given = {"schedule": "step", "step_at": [0.5], "nesterov": False, "clip_norm": 3, "seed": 2**40}
    assert given.items() <= _core.TrainSettings(given).values().items()
    assert _core.TrainSettings({"optimiser": "lamb"}).values()["update"] == "foreach"


def test_the_text_describes_the_run():
    text = repr(trainer(loader=support.loader(), epochs=1.5, checkpoint_dir="run"))
    assert text == ("<unstarve.Trainer: Small of 276 parameters, 4 classes; Loader of 12 batches; sgd, "
                    "learning rate 0.1 linear; 1.5 epochs on cpu in float32; checkpoints in run>")
    assert "<table>" in trainer()._repr_html_()


def test_all_wrong_arguments_are_listed_together():
    with pytest.raises(un.errors.ArgumentError) as caught:
        trainer(learning_rate=-1, momentum=7, epochs=0, target=3, keep_checkpoints=0, checkpoint_every="soon")
    text = str(caught.value)
    for words in ("learning_rate", "momentum", "neither epochs nor minutes", "target): found 3", "keep_checkpoints",
                  "checkpoint_every): found 'soon'", "found no validation data"):
        assert words in text, text
