"""un.Trainer: batches of every form, and loaders of this package and of torch."""

import gc
import re
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import trainer_support as support  # noqa: E402
import unstarve as un  # noqa: E402
from trainer_support import losses_of, trainer  # noqa: E402

support.require_libtorch()



def uint8_batches():
    return [((images * 255).round().to(torch.uint8), labels) for images, labels in support.batches()]


FORMS = {
    "tensors": lambda images, labels: (images, labels),
    "channels_last": lambda images, labels: (images.contiguous(memory_format=torch.channels_last), labels),
    "strided": lambda images, labels: (images.repeat_interleave(2, 3)[..., ::2], labels.repeat_interleave(2)[::2]),
    "arrays": lambda images, labels: (images.numpy(), labels.numpy().astype(np.int32)),
    "NHWC arrays": lambda images, labels: (np.ascontiguousarray(images.numpy().transpose(0, 2, 3, 1)), labels.tolist()),
    "probabilities": lambda images, labels: (images, torch.nn.functional.one_hot(labels, support.CLASSES).float()),
    "more parts": lambda images, labels: [images, labels, "name"],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("data", [support.batches, uint8_batches], ids=["float32", "uint8"])
def test_every_form_of_batches_gives_the_same_losses(form, data):
    expected = losses_of(trainer(loader=data()).fit())
    found = losses_of(trainer(loader=[FORMS[form](*batch) for batch in data()]).fit())
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_images_of_half_precision(dtype):
    expected = losses_of(trainer().fit())
    found = losses_of(trainer(loader=[(images.to(dtype), labels) for images, labels in support.batches()]).fit())
    np.testing.assert_allclose(found, expected, rtol=3e-2)


def test_reversed_arrays():
    data = [(images.numpy()[..., ::-1], labels.numpy()[::-1]) for images, labels in support.batches()]
    expected = [(images.flip(3), labels.flip(0)) for images, labels in support.batches()]
    assert losses_of(trainer(loader=data).fit()) == losses_of(trainer(loader=expected).fit())


def test_read_only_arrays():
    data = [tuple(part.numpy() for part in batch) for batch in support.batches()]
    for images, _ in data:
        images.flags.writeable = False
    assert losses_of(trainer(loader=data).fit()) == losses_of(trainer().fit())


def test_loaders_of_this_package():
    """Pixels are normalised by the pipeline, or as uint8 by the trainer, with the constants of its argument."""
    pipeline = un.open(support.DATA).shuffle(3).flip()
    expected = losses_of(trainer(loader=pipeline.normalize(*un.CIFAR10).batch(16)).fit())
    loaders = {
        "NHWC": pipeline.normalize(*un.CIFAR10).output("float32", "NHWC").batch(16),
        "torch": pipeline.batch(16).to_torch(normalize=un.CIFAR10, channels_last=True),
        "one_hot": pipeline.normalize(*un.CIFAR10).one_hot().batch(16),
    }
    for name, loader in loaders.items():
        np.testing.assert_allclose(losses_of(trainer(loader=loader).fit()), expected, rtol=1e-3, err_msg=name)
    given = trainer(loader=pipeline.output("uint8").batch(16), normalize=un.CIFAR10)
    np.testing.assert_allclose(losses_of(given.fit()), expected, rtol=1e-3)
    bfloat16 = losses_of(trainer(loader=pipeline.normalize(*un.CIFAR10).output("bfloat16").batch(16)).fit())
    np.testing.assert_allclose(bfloat16, expected, rtol=5e-2)


def test_the_reference_shows_how_to_pass_uint8_pixels():
    page = Path(__file__).parents[3] / "docs/reference/python.md"
    (call,) = re.findall(r"`(un\.Trainer\([^`]*uint8[^`]*)`", page.read_text())
    pipeline = un.open(support.DATA).shuffle(3).flip()
    given = eval(call, {"un": un, "module": support.Small(), "pipeline": pipeline})
    floats = un.Trainer(support.Small(), pipeline.normalize(*un.IMAGENET).batch(64), epochs=3)
    np.testing.assert_allclose(losses_of(given.fit()), losses_of(floats.fit()), rtol=1e-3)


def test_the_classes_are_those_of_the_loader():
    assert "4 classes" in repr(un.Trainer(support.Small(), support.loader(), epochs=1))
    data = torch.utils.data.TensorDataset(*support.samples(32))
    data.classes = ["a", "b", "c", "d"]
    torch_loader = torch.utils.data.DataLoader(data, 16)
    assert "4 classes" in repr(un.Trainer(support.Small(), torch_loader, epochs=1))


def test_copies_that_fill_up_a_batch_are_not_evaluated():
    validation = un.open("synthetic:classes=4,images=41,size=16,seed=2").sequential().batch(16, last="pad")
    history = trainer(None, None, validation, epochs=1).fit()
    assert history["accuracy"] * 41 == pytest.approx(round(history["accuracy"] * 41), abs=1e-9)


def test_a_module_may_keep_its_input():
    """The memory of a batch remains valid as long as a tensor views it."""
    class Module(support.Small):
        def forward(self, x):
            self.last = x
            return super().forward(x)

    data = un.open(support.DATA).sequential().options(threads=1, prefetch=1)
    expected = [torch.from_numpy(images.copy()) for images, _ in data.batch(16)][-1]
    module = Module()
    loader = data.batch(16)
    trainer(module, loader, epochs=1, channels_last=False).fit()
    loader.close()
    del loader
    gc.collect()
    assert torch.equal(module.last, expected)


@pytest.mark.parametrize("kind", [torch.utils.data.DataLoader, un.DataLoader])
@pytest.mark.parametrize("where", ["sampler", "batch_sampler", "sampler of batch_sampler"])
def test_distributed_samplers_receive_the_epoch(kind, where):
    data = torch.utils.data.TensorDataset(*support.samples(32))
    sampler = torch.utils.data.DistributedSampler(data, 1, 0)
    batch_sampler = torch.utils.data.BatchSampler(sampler, 16, False)
    epochs = []
    (batch_sampler if where == "batch_sampler" else sampler).set_epoch = epochs.append
    arguments = {"batch_size": 16, "sampler": sampler} if where == "sampler" else {"batch_sampler": batch_sampler}
    trainer(loader=kind(data, **arguments), epochs=3).fit()
    assert epochs == [0, 1, 2]
