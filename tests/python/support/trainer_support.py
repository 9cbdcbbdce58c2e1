"""Networks and data for the tests of un.Trainer, also for child processes."""

import signal

import numpy as np
import pytest
import torch

import unstarve as un
from unstarve import _core

CLASSES = 4
DATA = "synthetic:classes=4,images=192,size=16,seed=2"


class Small(torch.nn.Module):
    """A convolution, batch norm, dropout and a linear layer."""

    def __init__(self, classes=CLASSES, seed=0, dropout=0.0):
        super().__init__()
        torch.manual_seed(seed)
        self.conv = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.dropout = torch.nn.Dropout(dropout)
        self.fc = torch.nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(self.dropout(torch.relu(self.norm(self.conv(x))).mean((2, 3))))


class CifarNet(torch.nn.Module):
    """The Python twin of the network cifar_net of `unstarve train`."""

    def __init__(self, classes):
        super().__init__()

        def block(inputs, outputs, kernel=3, stride=1):
            return torch.nn.Sequential(torch.nn.Conv2d(inputs, outputs, kernel, stride, 1, bias=False),
                                       torch.nn.BatchNorm2d(outputs), torch.nn.ReLU(inplace=True))

        class Residual(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.body = torch.nn.Sequential(block(128, 128), block(128, 128))

            def forward(self, x):
                return x + self.body(x)

        self.features = torch.nn.Sequential(
            block(3, 32, 4, 2), block(32, 64), torch.nn.MaxPool2d(2), block(64, 128), Residual(),
            torch.nn.MaxPool2d(2), block(128, 256))
        self.fc = torch.nn.Linear(256, classes)

    def forward(self, x):
        return self.fc(self.features(x).amax((2, 3)))


def samples(count=160, seed=0, side=16):
    """Images (count, 3, side, side) whose brightness depends on the class, and their labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count)
    images = rng.uniform(0, 0.3, (count, 3, side, side)) + 0.2 * labels[:, None, None, None]
    return torch.from_numpy(images.astype(np.float32)), torch.from_numpy(labels)


def batches(count=160, size=16, seed=0):
    """A list of batches, the same in every epoch."""
    images, labels = samples(count, seed)
    return [*zip(images.split(size), labels.split(size), strict=True)]


def loader(batch=16, **options):
    """Batches of this package, with random operations."""
    return un.open(DATA).shuffle(3).pad_crop(16).flip().normalize(*un.CIFAR10).options(**options).batch(batch)


def state_of(module):
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}


def equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def trainer(module=None, loader=None, *arguments, **options):
    """A run of two epochs of Small on batches()."""
    options = {"classes": CLASSES, "epochs": 2, "operator_threads": 1, **options}
    return un.Trainer(Small() if module is None else module, batches() if loader is None else loader, *arguments,
                      **options)


def losses_of(history):
    return [point["loss"] for point in history["points"]]


def interrupt_at(step):
    """A function for on_report that presses Ctrl-C after `step`."""
    def interrupt(point):
        if point["step"] >= step:
            signal.raise_signal(signal.SIGINT)
    return interrupt


def require_libtorch():
    """Skips the tests of a module in a build without libtorch."""
    try:
        _core.register_network_operators()
    except un.errors.MissingError as error:
        pytest.skip(str(error), allow_module_level=True)
