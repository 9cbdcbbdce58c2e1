"""Training runs for test_trainer_checkpoints.py, in processes that can be killed, or as ranks of torchrun.

    trainer_program.py FOLDER             trains with checkpoints in FOLDER, continuing from the newest; prints a digest
    trainer_program.py FOLDER workers     trains for a minute with the workers of torch's DataLoader; prints each step
    torchrun ... trainer_program.py FOLDER ranks        each rank writes its weights to FOLDER/rank-N.pt
    torchrun ... trainer_program.py FOLDER pruned       each rank writes its pruned weights to FOLDER/rank-N.pt
    torchrun ... trainer_program.py FOLDER lengths      the ranks have loaders of different length
    torchrun ... trainer_program.py FOLDER networks     the ranks have different modules
    torchrun ... trainer_program.py FOLDER labels       rank 1 has a label out of range; rank 0 prints its exception
    torchrun ... trainer_program.py FOLDER unused       the module does not use one of its layers
    trainer_program.py FOLDER killed      one of two ranks is killed in a backward pass
    trainer_program.py FOLDER raising     rank 0 raises in a backward pass and continues for a while
"""

import gc
import hashlib
import os
import signal
import sys
import time
from pathlib import Path

import torch

import trainer_support as support
import unstarve as un

EPOCHS = 6
# With dropout: everything that a checkpoint contains.
SETTINGS = {"optimiser": "adamw", "learning_rate": 0.01, "average": 0.9, "accumulate": 2, "clip_norm": 1.0,
            "schedule": "cosine", "operator_threads": 1}


def train(folder=None, checkpoint_every="5min", **options):
    """Returns the weights after the run, which continues if `folder` has a checkpoint."""
    resume = folder if folder is not None and any(Path(folder).glob("step-*.safetensors")) else None
    module = support.Small(dropout=0.3)
    trainer = un.Trainer(module, support.loader(), epochs=EPOCHS, checkpoint_dir=folder, resume=resume,
                         checkpoint_every=checkpoint_every, **SETTINGS, **options)
    trainer.fit()
    return support.state_of(module)


def digest(state):
    return hashlib.sha256(b"".join(tensor.numpy().tobytes() for tensor in state.values())).hexdigest()


def rank(folder):
    torch.distributed.init_process_group("gloo")
    number = torch.distributed.get_rank()
    data = un.open(support.DATA).shuffle(3).shard().normalize(*un.CIFAR10).batch(8, last="pad")
    module = support.Small(seed=number)  # rank 0 sends its weights to the others
    history = un.Trainer(module, data, data, epochs=2, learning_rate=0.05, operator_threads=1,
                         lookahead=5, average=0.9, checkpoint_dir=folder / "run", classes=support.CLASSES).fit()
    torch.save({"state": support.state_of(module), "history": history}, folder / f"rank-{number}.pt")
    torch.distributed.destroy_process_group()


def with_pruning(folder):
    torch.distributed.init_process_group("gloo")
    number = torch.distributed.get_rank()
    data = un.open(support.DATA).shuffle(3).shard().normalize(*un.CIFAR10).batch(8, last="pad")
    torch.manual_seed(number)
    module = support.CifarNet(support.CLASSES)
    un.Trainer(module, data, epochs=2, learning_rate=0.005, operator_threads=1, average=0.9, prune=0.7,
               classes=support.CLASSES).fit()
    torch.save(dict(module.named_parameters()), folder / f"rank-{number}.pt")
    torch.distributed.destroy_process_group()


class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        time.sleep(0.05)
        return torch.zeros(3, 16, 16), i % support.CLASSES


def with_workers(folder):
    loader = torch.utils.data.DataLoader(Slow(), 16, num_workers=2)
    support.trainer(loader=loader, epochs=None, minutes=1, checkpoint_dir=folder, keep_checkpoints=1,
                    on_report=lambda point: print(point["step"], flush=True)).fit()


def with_lengths(folder):
    torch.distributed.init_process_group("gloo")
    support.trainer(loader=support.batches(160 + 16 * torch.distributed.get_rank())).fit()


class Unused(support.Small):
    def __init__(self):
        super().__init__()
        self.second = torch.nn.Linear(8, support.CLASSES)


def with_unused_layer(folder):
    torch.distributed.init_process_group("gloo")
    support.trainer(Unused()).fit()


def with_networks(folder):
    torch.distributed.init_process_group("gloo")
    support.trainer(Unused() if torch.distributed.get_rank() == 1 else support.Small()).fit()


def with_labels(folder):
    torch.distributed.init_process_group("gloo")
    data = support.batches()
    if torch.distributed.get_rank() == 1:
        data[3] = (data[3][0], data[3][1] + support.CLASSES)
        time.sleep(1)
    support.trainer(loader=data).fit()


class Killed(support.Small):
    """Ends its process in the backward pass of the fifth step."""

    steps = 0

    def forward(self, images):
        output = super().forward(images)
        self.steps += 1
        if self.steps == 5:
            output.register_hook(lambda _: os.kill(os.getpid(), signal.SIGKILL))
        return output


def with_killed_rank(folder):
    torch.distributed.init_process_group("gloo")
    support.trainer(Killed() if torch.distributed.get_rank() == 1 else support.Small()).fit()


class Fails(torch.autograd.Function):
    """Raises in the third backward pass of rank 0."""

    passes = 0

    @staticmethod
    def forward(_, x):
        return x.clone()

    @staticmethod
    def backward(_, gradient):
        Fails.passes += 1
        if Fails.passes == 3 and torch.distributed.get_rank() == 0:
            raise ArithmeticError("of rank 0")
        return gradient


class Raising(torch.nn.Module):
    """Rank 0 raises after the exchange of the first gradients has begun, for which rank 1 is a second late."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3)
        self.hidden = torch.nn.Linear(8 * 14 * 14, 256)  # a bucket of its own
        self.fc = torch.nn.Linear(256, support.CLASSES)

    def forward(self, images):
        if Fails.passes == 2 and torch.distributed.get_rank() == 1:
            time.sleep(1)
        return self.fc(torch.relu(self.hidden(Fails.apply(self.conv(images)).flatten(1))))


def with_raising_rank(folder):
    torch.distributed.init_process_group("gloo")
    try:
        support.trainer(Raising()).fit()
    except ArithmeticError:
        gc.collect()
        until = time.monotonic() + 3
        while time.monotonic() < until:  # writes to the memory of what was destroyed
            _ = [bytearray(b"x" * 1000) for _ in range(1000)]
            time.sleep(0.02)
        raise


MODES = {"ranks": rank, "pruned": with_pruning, "workers": with_workers, "lengths": with_lengths,
         "networks": with_networks, "labels": with_labels, "unused": with_unused_layer, "killed": with_killed_rank,
         "raising": with_raising_rank}

if __name__ == "__main__":
    if len(sys.argv) > 2:
        MODES[sys.argv[2]](Path(sys.argv[1]))
    else:
        print(digest(train(sys.argv[1], 0.1)))
