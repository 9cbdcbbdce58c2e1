"""un.Trainer: checkpoints, interrupted and killed runs, resuming, ranks."""

import math
import os
import signal
import socket
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import trainer_program as program  # noqa: E402
import trainer_support as support  # noqa: E402
import unstarve as un  # noqa: E402
from trainer_support import interrupt_at, trainer  # noqa: E402
from unstarve import weights  # noqa: E402
from unstarve.training import batches  # noqa: E402

support.require_libtorch()


# --- checkpoints ------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def whole():
    """The weights after a run without interruption."""
    return program.train()


ENVIRONMENT = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1",
               "PYTHONPATH": os.pathsep.join([str(Path(support.__file__).parent), os.environ.get("PYTHONPATH", "")])}


def start(folder, *mode, **options):
    return subprocess.Popen([sys.executable, program.__file__, folder, *mode], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, **options)


def test_checkpoints_have_the_names_of_the_state_dict(tmp_path):
    module = support.Small()
    trainer(module, checkpoint_dir=tmp_path, keep_checkpoints=3).fit()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["step-00000010.safetensors", "step-00000020.safetensors"]
    assert support.equal(weights.load_torch(tmp_path / "step-00000020.safetensors"), support.state_of(module))
    other = support.Small(seed=9)
    other.load_state_dict(weights.load_torch(tmp_path / "step-00000020.safetensors"))


@pytest.mark.parametrize("step", [1, 5, 12, 30])
def test_an_interrupted_run_resumes_bit_equal(tmp_path, whole, step):
    """Also in the middle of an epoch of 12 batches."""
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt, match=r"stopped after step \d+; continue with resume=\S+step-\d+"):
        program.train(tmp_path, on_report=interrupt_at(step))
    assert signal.getsignal(signal.SIGINT) is handler
    assert support.equal(program.train(tmp_path), whole)


def test_a_killed_run_resumes_bit_equal(tmp_path, whole):
    folder = tmp_path / "run"
    process = start(folder)
    until = time.monotonic() + 120
    while not list(folder.glob("step-*.safetensors")):
        assert process.poll() is None and time.monotonic() < until, process.communicate()
        time.sleep(0.005)
    process.kill()
    process.communicate()
    process = start(folder)
    out, errors = process.communicate(timeout=150)
    assert process.returncode == 0, errors
    assert out.strip() == program.digest(whole)


def test_an_interrupt_that_also_ends_the_workers_of_a_loader(tmp_path):
    """Ctrl-C reaches the whole process group."""
    process = start(tmp_path, "workers", start_new_session=True)
    step = process.stdout.readline()
    os.killpg(process.pid, signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert step.strip() == "1", errors
    assert process.returncode == -signal.SIGINT and "KeyboardInterrupt: training was stopped" in errors
    (checkpoint,) = tmp_path.iterdir()
    assert f"continue with resume={checkpoint}" in errors


class Noisy(torch.utils.data.TensorDataset):
    """Its samples draw from torch's global generator."""

    def __getitem__(self, index):
        image, label = super().__getitem__(index)
        return image + 0.1 * torch.rand(()), label


def resumable(kind):
    """A loader of 6 batches that continues with the next batch."""
    data = torch.utils.data.TensorDataset(*support.samples(96))
    generator = torch.Generator().manual_seed(4)
    return {"loader": lambda: un.open(support.DATA.replace("192", "96")).shuffle(3).flip().normalize(*un.CIFAR10).batch(
                16),
            "to_torch": lambda: support.loader(32).to_torch(channels_last=True),
            "from_torch": lambda: un.from_torch(data).shuffle(3).options(workers=0).batch(16),
            "DataLoader": lambda: un.DataLoader(data, 16, shuffle=True, generator=generator),
            "global generator": lambda: un.DataLoader(data, 16, shuffle=True),
            "two workers": lambda: un.DataLoader(data, 16, shuffle=True, num_workers=2),
            "noisy": lambda: un.DataLoader(Noisy(*data.tensors), 16, shuffle=True, generator=generator),
            "DistributedSampler": lambda: un.DataLoader(
                data, 16, sampler=torch.utils.data.DistributedSampler(data, 1, 0))}[kind]()


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize("step", [6, 8], ids=["end of an epoch", "in an epoch"])
@pytest.mark.parametrize("kind", ["loader", "to_torch", "from_torch", "DataLoader", "global generator", "two workers",
                                  "noisy", "DistributedSampler"])
def test_every_loader_of_this_package_resumes_with_the_next_batch(tmp_path, kind, step):
    expected = support.Small()
    trainer(expected, resumable(kind), epochs=3).fit()
    with pytest.raises(KeyboardInterrupt, match=f"after step {step};"):
        trainer(loader=resumable(kind), epochs=3, checkpoint_dir=tmp_path, on_report=interrupt_at(step)).fit()
    torch.manual_seed(8)
    torch.rand(100)
    resumed = support.Small(seed=9)
    trainer(resumed, resumable(kind), epochs=3, checkpoint_dir=tmp_path, resume=tmp_path).fit()
    assert support.equal(support.state_of(resumed), support.state_of(expected))


class Positioned:
    """The batches of a list, with a position of any form. Ctrl-C after batch `last` also ends its workers."""

    def __init__(self, form=int, last=None):
        self.form, self.last, self.at, self.batches = form, last, 0, support.batches(96)

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        while self.at < len(self.batches):
            if self.at == self.last:
                signal.raise_signal(signal.SIGINT)
                raise RuntimeError("a worker ended")
            self.at += 1
            yield self.batches[self.at - 1]
        self.at = 0

    def state_dict(self):
        return {"at": self.form(self.at)}

    def load_state_dict(self, state):
        assert isinstance(state["at"], type(self.form(0)))
        self.at = int(state["at"])


@pytest.mark.parametrize(("last", "step"), [(2, None), (4, 4), (5, 4)])
def test_an_interrupt_between_updates_returns_to_the_last_update(tmp_path, last, step):
    options = {"epochs": 4, "accumulate": 4, "average": 0.9, "checkpoint_dir": tmp_path}
    with pytest.raises(KeyboardInterrupt, match=f"stopped .*after step {step};" if step else "stopped"):
        trainer(loader=Positioned(last=last), **options).fit()
    if step is None:
        assert not list(tmp_path.iterdir())
        return
    expected, resumed = support.Small(), support.Small(seed=9)
    trainer(expected, Positioned(), epochs=4, accumulate=4, average=0.9).fit()
    trainer(resumed, Positioned(), resume=tmp_path, **options).fit()
    assert support.equal(support.state_of(resumed), support.state_of(expected))


@pytest.mark.parametrize("form", [int, torch.tensor, np.array, np.int64, np.float32, Fraction],
                         ids=lambda form: form.__name__)
def test_the_state_of_a_loader_may_have_arrays_and_otherwise_the_first_checkpoint_reports_it(tmp_path, form):
    run = trainer(loader=Positioned(form), checkpoint_dir=tmp_path, on_report=interrupt_at(8))
    if form is Fraction:
        with pytest.raises(un.errors.ArgumentError, match=r"Trainer\(loader\): state_dict\(\) of Positioned returned a "
                                                          "state that could not be read from a checkpoint: found "
                                                          "fractions.Fraction; expected numbers, text, tensors and"):
            run.fit()
        return
    with pytest.raises(KeyboardInterrupt, match="after step 8;"):
        run.fit()
    expected, resumed = support.Small(), support.Small(seed=9)
    trainer(expected, Positioned()).fit()
    trainer(resumed, Positioned(form), resume=tmp_path).fit()
    assert support.equal(support.state_of(resumed), support.state_of(expected))


class Ending:
    """Counts samples. After `most` of them, Ctrl-C also ends the workers."""

    def __init__(self, most):
        self.most = most

    def count(self):
        if self.most == 0:
            signal.raise_signal(signal.SIGINT)
            raise RuntimeError("a worker ended")
        self.most -= 1


class EndingNoisy(Noisy):
    def __init__(self, most):
        super().__init__(*support.samples(96))
        self.ending = Ending(most)

    def __getitem__(self, index):
        self.ending.count()
        return super().__getitem__(index)


class EndingStream(torch.utils.data.IterableDataset):
    """Its state is one object, which changes."""

    def __init__(self, most):
        self.ending, self.data, self.state = Ending(most), support.samples(96), {"at": torch.tensor(0)}

    def __iter__(self):
        while self.state["at"] < 96:
            self.ending.count()
            self.state["at"] += 1
            yield tuple(part[self.state["at"] - 1] for part in self.data)
        self.state = {"at": torch.tensor(0)}

    def __len__(self):
        return 96

    def state_dict(self):
        return self.state

    def load_state_dict(self, state):
        self.state = state


@pytest.mark.parametrize("kind", ["positioned", "DataLoader", "stream"])
def test_a_position_between_updates_is_encoded_for_its_checkpoint_only(tmp_path, monkeypatch, kind):
    def make(last=-1):
        return {"positioned": lambda: Positioned(torch.tensor, last),
                "DataLoader": lambda: un.DataLoader(EndingNoisy(16 * last), 16, shuffle=True),
                "stream": lambda: un.DataLoader(EndingStream(16 * last), 16)}[kind]()

    encoded, encode = [], batches._encoded
    monkeypatch.setattr(batches, "_encoded", lambda state: encoded.append(0) or encode(state))
    options = {"epochs": 4, "accumulate": 2, "checkpoint_dir": tmp_path, "evaluate_every": 0}
    with pytest.raises(KeyboardInterrupt, match="stopped .*after step 4;"):
        trainer(loader=make(last=5), **options).fit()
    assert len(encoded) == 1
    expected, resumed = support.Small(), support.Small(seed=9)
    trainer(expected, make(), epochs=4, accumulate=2).fit()
    trainer(resumed, make(), resume=tmp_path, **options).fit()
    assert support.equal(support.state_of(resumed), support.state_of(expected))


def test_another_batch_size_resumes_with_the_rest_of_the_epoch(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        trainer(loader=support.loader(16), checkpoint_dir=tmp_path, on_report=interrupt_at(18)).fit()
    history = trainer(loader=support.loader(24), checkpoint_dir=tmp_path, resume=tmp_path).fit()
    done = int(min(tmp_path.glob("*")).stem.split("-")[1])
    assert history["samples"] == pytest.approx(2 * 192 - 16 * done, abs=24) and history["epochs"] == 2


def test_other_iterables_resume_with_a_new_epoch(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        trainer(checkpoint_dir=tmp_path, on_report=interrupt_at(13)).fit()
    with pytest.warns(un.DataWarning, match="the loader has no resume position"):
        history = trainer(checkpoint_dir=tmp_path, resume=tmp_path).fit()
    assert history["steps"] == 20


class Rotated(torch.utils.data.Sampler):
    """64 indices, in an order that depends on the epoch; without a length. Ctrl-C at the beginning of `last`."""

    def __init__(self, last):
        self.last, self.epochs = last, []

    def set_epoch(self, epoch):
        self.epochs.append(epoch)
        if epoch == self.last:
            signal.raise_signal(signal.SIGINT)

    def order(self, epoch):
        return [(index + 7 * epoch) % 64 for index in range(64)]

    def __iter__(self):
        return iter(self.order(self.epochs[-1]))


@pytest.mark.filterwarnings("ignore:resume from")
@pytest.mark.parametrize(("kind", "expected"), [(un.DataLoader, [2, 3, 4]), (torch.utils.data.DataLoader, [3, 4])])
def test_a_sampler_without_length_receives_the_epoch_of_the_resumed_run(tmp_path, kind, expected):
    class Recorded(torch.utils.data.TensorDataset):
        def __getitem__(self, index):
            seen.append(index)
            return super().__getitem__(index)

    seen, samplers = [], []
    data = Recorded(*support.samples(64))
    for last in (2, 4):
        samplers.append(Rotated(last))
        with pytest.raises(KeyboardInterrupt):
            trainer(loader=kind(data, 16, sampler=samplers[-1]), epochs=None, minutes=1, checkpoint_dir=tmp_path,
                    resume=tmp_path if last == 4 else None).fit()
    assert [sampler.epochs for sampler in samplers] == [[0, 1, 2], expected]
    if kind is un.DataLoader:
        every = [index for epoch in range(5) for index in samplers[0].order(epoch)]
        assert seen == every[:len(seen)]


def test_a_loader_without_resume_position_is_reported_also_at_the_end_of_an_epoch(tmp_path):
    def make():
        data = torch.utils.data.TensorDataset(*support.samples(64))
        return torch.utils.data.DataLoader(data, 16, shuffle=True, generator=torch.Generator().manual_seed(4))

    trainer(loader=make(), epochs=1, checkpoint_dir=tmp_path).fit()
    with pytest.warns(un.DataWarning, match="the loader has no resume position .* order may differ"):
        history = trainer(loader=make(), epochs=2, resume=tmp_path).fit()
    assert history["steps"] == 8


def test_a_state_of_another_loader_names_the_checkpoint(tmp_path):
    trainer(loader=support.loader(), epochs=1, checkpoint_dir=tmp_path).fit()
    (file,) = tmp_path.iterdir()
    other = un.open(support.DATA).shuffle(5).normalize(*un.CIFAR10).batch(16)
    with pytest.raises(un.errors.ArgumentError, match=f"resume from {file}: state: seed 3, but this loader has 5.*"
                                                      "Continue with the data, seed, filters and order"):
        trainer(loader=other, resume=tmp_path).fit()


def test_a_resumed_run_writes_to_the_resumed_folder(tmp_path):
    trainer(checkpoint_dir=tmp_path).fit()
    trainer(resume=tmp_path, epochs=3).fit()
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"step-000000{step}.safetensors" for step in (20, 30)]


@pytest.mark.filterwarnings("ignore:Trainer. all 12 steps are done", "ignore:training. all 12 steps are done")
@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("kind", ["loader", "from_torch", "DataLoader", "DistributedSampler"])
def test_a_complete_run_can_be_written_to_another_folder_and_continues_from_there(tmp_path, kind, accumulate):
    def run(epochs, source, target):
        module = support.Small(dropout=0.3)
        trainer(module, resumable(kind), epochs=epochs, resume=source, checkpoint_dir=tmp_path / target,
                accumulate=accumulate).fit()
        return support.state_of(module)

    whole = run(2, None, "whole")
    assert support.equal(run(2, tmp_path / "whole", "copied"), whole)
    continued = run(3, tmp_path / "whole", "continued")
    assert support.equal(run(3, tmp_path / "copied", "continued from the copy"), continued)


@pytest.mark.parametrize("argument", ["checkpoint_dir", "tensorboard"])
@pytest.mark.parametrize("kind", ["/proc", "file", "below a file", "/dev/null"])
def test_folders_for_outputs_are_tried_before_the_first_step(tmp_path, argument, kind):
    (tmp_path / "file").write_text("")
    folder = {"/proc": "/proc/unstarve", "file": tmp_path / "file", "below a file": tmp_path / "file/run",
              "/dev/null": "/dev/null/run"}[kind]
    run = trainer(**{argument: folder}, on_report=lambda _: pytest.fail("a step was done"))
    with pytest.raises(un.errors.IoError, match=rf"Trainer\({argument}\): write to folder {folder}: .*; expected"):
        run.fit()


def test_all_folders_for_outputs_that_cannot_be_written_are_listed(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(un.errors.IoError, match=r"(?s)Trainer\(checkpoint_dir\): .*\n.*Trainer\(tensorboard\): "):
        trainer(checkpoint_dir=tmp_path / "file", tensorboard="/proc/unstarve").fit()


def test_trying_a_folder_for_outputs_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        class Module(support.Small):
            def forward(self, x):
                raise KeyboardInterrupt

        trainer(Module(), checkpoint_dir=tmp_path / "a/run").fit()
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("given", [{"checkpoint_every": 60}, {"keep_checkpoints": 3}])
def test_settings_of_checkpoints_require_a_folder(given):
    with pytest.raises(un.errors.ArgumentError, match="found no folder for checkpoints; expected checkpoint_dir"):
        trainer(**given)


def test_errors_about_checkpoints(tmp_path):
    trainer(checkpoint_dir=tmp_path).fit()
    with pytest.raises(un.errors.ArgumentError, match=r"no checkpoints of another run. Continue that run with resume="):
        trainer(checkpoint_dir=tmp_path).fit()
    with pytest.raises(un.errors.ArgumentError, match="20 steps already done; expected at most 10"):
        trainer(resume=tmp_path, epochs=1).fit()
    with pytest.raises(un.errors.InputError, match="optimiser sgd; expected adamw. Continue with optimiser=sgd, or "
                                                   r"load only the weights by unstarve.weights.load_torch\(\)"):
        trainer(resume=tmp_path, epochs=3, optimiser="adamw").fit()
    with pytest.raises(un.errors.InputError, match=r'tensor "fc.weight" has shape \[4, 8\]; expected \[5, 8\]'):
        trainer(support.Small(5), classes=5, resume=tmp_path, epochs=3).fit()
    (tmp_path / "empty").mkdir()
    with pytest.raises(un.errors.InputError, match="no checkpoint"):
        trainer(resume=tmp_path / "empty").fit()


# --- ranks ------------------------------------------------------------------------------------------------------------

def run_ranks(folder, mode):
    return subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1",
                           "--nproc-per-node=2", program.__file__, folder, mode], env=ENVIRONMENT, check=False,
                          capture_output=True, text=True, timeout=180)


def test_ranks_of_torchrun_have_equal_weights(tmp_path):
    run = run_ranks(tmp_path, "ranks")
    assert run.returncode == 0, run.stderr
    one, two = (torch.load(tmp_path / f"rank-{rank}.pt") for rank in range(2))
    parameters = [name for name, _ in support.Small().named_parameters()]
    assert all(torch.equal(one["state"][name], two["state"][name]) for name in parameters)
    assert one["history"]["samples"] == 2 * 192 and one["history"]["accuracy"] == two["history"]["accuracy"]
    assert math.isclose(one["history"]["loss_last"], two["history"]["loss_last"])
    assert len(list((tmp_path / "run").iterdir())) == 2


def test_ranks_of_torchrun_prune_the_same_weights(tmp_path):
    run = run_ranks(tmp_path, "pruned")
    assert run.returncode == 0, run.stderr
    one, two = (torch.load(tmp_path / f"rank-{rank}.pt") for rank in range(2))
    assert all(torch.equal(one[name], two[name]) for name in one)
    pruned = [tensor for name, tensor in one.items() if tensor.dim() == 4 and name != "features.0.0.weight"]
    assert [int((tensor == 0).sum()) for tensor in pruned] == [round(0.7 * tensor.numel()) for tensor in pruned]
    assert len(pruned) == 5


@pytest.mark.parametrize(("mode", "message"), [
    ("lengths", "found 10 steps between evaluations on one rank and 11 on another; expected the same on all"),
    ("networks", "ArgumentError: training: the ranks have different networks ("),
    ("labels", "CancelledError: Trainer: another rank failed; its exception names the reason"),
    ("unused", "the loss does not depend on second.weight, second.bias; with several ranks, expected"),
])
def test_what_the_ranks_of_one_run_must_not_do(tmp_path, mode, message):
    run = run_ranks(tmp_path, mode)
    assert run.returncode == 1 and message in run.stderr, run.stderr


def run_without_torchrun(folder, mode):
    """Two ranks, none of which ends the other. Returns their exit codes and their errors."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = [subprocess.Popen([sys.executable, program.__file__, folder, mode], stderr=subprocess.PIPE, text=True,
                              env=ENVIRONMENT | {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                                                 "MASTER_PORT": str(port)}) for rank in range(2)]
    try:
        errors = [rank.communicate(timeout=120)[1] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    return [rank.returncode for rank in ranks], errors


def test_the_end_of_another_rank_in_the_backward_pass_is_an_io_error(tmp_path):
    codes, errors = run_without_torchrun(tmp_path, "killed")
    assert codes[1] == -signal.SIGKILL, errors[1]
    assert "IoError: training: another rank ended after step 4; expected 2 ranks" in errors[0], errors[0]
    assert "/gloo/" not in errors[0].splitlines()[-1], errors[0]


def test_an_exception_in_the_backward_pass_while_gradients_are_exchanged_is_that_of_its_rank(tmp_path):
    codes, errors = run_without_torchrun(tmp_path, "raising")
    assert codes[0] == 1 and errors[0].splitlines()[-1].endswith("ArithmeticError: of rank 0"), (codes, errors[0])
