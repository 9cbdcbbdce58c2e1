"""Training by several processes: mpirun with the program, torchrun with the Python package."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from train_support import finish

def long(*values):
    """A parameter whose path another one of `make test` has as well."""
    return pytest.param(*values, marks=pytest.mark.long)


DATA = "synthetic:classes=4,images=192,size=32,seed=2"
SETTINGS = ["--precision", "float32", "--seed", "3", "--label-smoothing", "0", "--operator-threads", "1", "--threads",
            "1"]
NETWORK = ["--model", "cifar_net", "--learning-rate", "0.002", *SETTINGS]


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def command_of(launcher, ranks):
    program = os.environ["UNSTARVE"]
    if ranks == 1:
        return [program]
    if launcher == "mpirun":
        if shutil.which("mpirun") is None or not (Path(program).parent / "libunstarve_mpi.so").exists():
            pytest.skip("mpirun and libunstarve_mpi.so are required")
        return ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "btl_vader_single_copy_mechanism", "none",
                "-n", str(ranks), program]
    return [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks), "--master-addr",
            "127.0.0.1", "--master-port", str(free_port()), "-m", "unstarve"]


def start(launcher, ranks, *arguments):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    return subprocess.Popen([*command_of(launcher, ranks), "train", *map(str, arguments)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=environment)


def trained(launcher, ranks, *arguments):
    code, out, errors = finish(start(launcher, ranks, *arguments, "--json"))
    assert code == 0, errors
    assert "Warning" not in errors
    return json.loads(out)


def tensors(path):
    """The float32 tensors of a safetensors file."""
    data = Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    result = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            result[name] = np.frombuffer(data[8 + size + begin:8 + size + end], np.float32).reshape(entry["shape"])
    return result


def processes_below(root):
    """The process ids of `unstarve train` started by process `root`."""
    children = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, todo = [], [root]
    while todo:
        for child in children.get(todo.pop(), []):
            todo.append(child)
            words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            if b"train" in words and b"mpirun" not in words[0] and b"torch.distributed.run" not in words:
                found.append(child)
    return found


@contextlib.contextmanager
def running(launcher, folder, count=2):
    """Ranks that train until they are stopped, after their first checkpoint: the launcher, the ids of the ranks."""
    process = start(launcher, count, DATA, *NETWORK, "--batch", 48 // count, "--epochs", 2000, "--evaluate-every", "0",
                    "--checkpoint-dir", folder, "--checkpoint-every", "0.2s")
    try:
        until = time.monotonic() + 120
        while not list(folder.glob("step-*.safetensors")):
            assert process.poll() is None and time.monotonic() < until, process.communicate(timeout=10)
            time.sleep(0.05)
        ranks = sorted(processes_below(process.pid))
        assert len(ranks) == count, ranks
        yield process, ranks
    finally:
        if process.poll() is None:
            process.kill()


@pytest.fixture(scope="module")
def one_process(tmp_path_factory):
    """Result and weights of one process with the joined batch: 48 samples per step."""
    path = tmp_path_factory.mktemp("one") / "model.safetensors"
    result = trained("", 1, DATA, "--val", DATA, *NETWORK, "--batch", 48, "--epochs", 2, "--out", path)
    return result, tensors(path)


@pytest.mark.parametrize("launcher", ["mpirun", long("torchrun")])
def test_ranks_with_images_on_the_device_train_on_their_shares(launcher):
    results = [trained(launcher, 2, DATA, "--val", DATA, *NETWORK, "--batch", 24, "--epochs", 2, "--resident", use)
               for use in ("on", "off")]
    assert results[0]["resident"]["images"] == 192 and results[1]["resident"] is None
    for key in ("loss_first", "loss_last", "accuracy", "val_loss", "samples"):
        assert results[0][key] == results[1][key], key


@pytest.mark.parametrize(("launcher", "ranks"), [("mpirun", 2), long("torchrun", 3)])
def test_the_whitening_filters_are_those_of_the_first_batches_of_all_ranks(tmp_path, launcher, ranks):
    # The sum of the products of each filter with itself is (second moments of the patches + 5e-4)^-1.
    products = []
    for count, path in ((1, tmp_path / "one.safetensors"), (ranks, tmp_path / "ranks.safetensors")):
        trained(launcher, count, DATA, "--model", "cifar_speed", "--learning-rate", "0.0001", *SETTINGS, "--batch",
                48 // count, "--epochs", "0.5", "--out", path)
        filters = tensors(path)["whitening.weight"][:12].reshape(12, 12).astype(np.float64)
        products.append(filters.T @ filters)
    assert np.abs(products[0]).max() > 1
    np.testing.assert_allclose(products[1], products[0], atol=1e-4 * np.abs(products[0]).max())


@pytest.mark.parametrize(("launcher", "ranks"), [("mpirun", 2), ("mpirun", 4), ("torchrun", 2), long("torchrun", 4)])
def test_ranks_train_like_one_process_with_the_joined_batch(tmp_path, one_process, launcher, ranks):
    path = tmp_path / "model.safetensors"
    result = trained(launcher, ranks, DATA, "--val", DATA, *NETWORK, "--batch", 48 // ranks, "--epochs", 2,
                     "--sync-batch-norm", "true", "--out", path)
    expected, weights = one_process
    assert result["steps"] == expected["steps"]
    assert result["samples"] == expected["samples"]
    assert result["ranks"]["world"] == ranks
    assert 0 <= result["ranks"]["exposed_ms"] <= result["ranks"]["exchange_ms"]
    assert result["loss_first"] == pytest.approx(expected["loss_first"], rel=1e-5)
    assert result["loss_last"] == pytest.approx(expected["loss_last"], rel=5e-2)
    assert result["val_loss"] == pytest.approx(expected["val_loss"], rel=5e-2)
    assert tensors(path).keys() == weights.keys()


@pytest.mark.parametrize(("launcher", "ranks"), [("mpirun", 2), ("mpirun", 4), ("torchrun", 2)])
def test_the_gradients_of_ranks_are_those_of_the_joined_batch(tmp_path, launcher, ranks):
    """One update without momentum: the change of the weights is the gradient.

    The images are small, so that no element of a maximum or of ReLU changes its side by rounding.
    """
    small = "synthetic:classes=4,images=64,size=16,seed=2"
    update = ["--model", "cifar_net", *SETTINGS, "--momentum", "0", "--nesterov", "false", "--weight-decay", "0",
              "--warmup", "0", "--schedule", "constant", "--evaluate-every", "0", "--epochs", "0.1"]

    def weights(name, launcher, ranks, rate, *more):
        path = tmp_path / name
        result = trained(launcher, ranks, small, *update, "--learning-rate", rate, "--batch", 8 // ranks, "--out", path,
                         *more)
        assert result["steps"] == 1
        return {key: value for key, value in tensors(path).items() if key.endswith((".weight", ".bias"))
                and not key.startswith("optimiser.")}

    before = weights("before", "", 1, "1e-30")
    one = weights("one", "", 1, "0.05")
    joined = weights("joined", launcher, ranks, "0.05", "--sync-batch-norm", "true")
    apart = weights("apart", launcher, ranks, "0.05")
    assert len(one) == 20
    for name, start_value in before.items():
        gradient = one[name] - start_value
        norm = np.linalg.norm(gradient)
        assert norm > 0, name
        assert np.linalg.norm(joined[name] - one[name]) <= 1e-4 * norm, name
    # With the batch norm of each rank the gradients are others.
    name = "features.0.0.weight"
    assert np.linalg.norm(apart[name] - one[name]) > 0.1 * np.linalg.norm(one[name] - before[name])


@pytest.mark.parametrize(("launcher", "ranks"), [("mpirun", 2), ("mpirun", 4), long("torchrun", 2)])
@pytest.mark.parametrize("average", ["0", "0.9"])
def test_an_evaluation_has_the_statistics_of_its_checkpoint(tmp_path, launcher, ranks, average):
    path = tmp_path / "model.safetensors"
    run = [DATA, "--val", DATA, *NETWORK, "--average", average, "--epochs", 1]
    of_ranks = trained(launcher, ranks, *run, "--batch", 48 // ranks, "--out", path)
    alone = trained("", 1, *run, "--batch", 48, "--resume", path)  # all steps are done: only evaluates
    assert alone["samples"] == 0 and alone["steps"] == of_ranks["steps"]
    assert alone["val_loss"] == pytest.approx(of_ranks["val_loss"], rel=2e-6)


@pytest.mark.parametrize("launcher", ["mpirun", long("torchrun")])
def test_ranks_with_evaluations_and_an_average_resume_bit_equal(tmp_path, launcher):
    run = [DATA, "--val", DATA, *NETWORK, "--batch", 24, "--epochs", 4, "--average", "0.9"]
    whole = trained(launcher, 2, *run, "--checkpoint-dir", tmp_path, "--keep-checkpoints", 9)
    steps = sorted(tmp_path.glob("step-*.safetensors"))
    resumed = trained(launcher, 2, *run, "--resume", steps[1], "--out", tmp_path / "resumed")
    assert resumed["val_loss"] == whole["val_loss"]
    found, expected = tensors(tmp_path / "resumed"), tensors(steps[-1])
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize("launcher", ["mpirun", long("torchrun")])
def test_pruned_ranks_resume_bit_equal(tmp_path, launcher):
    """The ranks choose weights apart: different ones would lead to other gradients than those of the whole run."""
    run = [DATA, *NETWORK, "--batch", 24, "--epochs", 4, "--prune-pattern", "2:4", "--average", "0.9"]
    whole = trained(launcher, 2, *run, "--checkpoint-dir", tmp_path, "--keep-checkpoints", 9)
    assert whole["pruning"]["sparsity"] == 0.5
    steps = sorted(tmp_path.glob("step-*.safetensors"))
    trained(launcher, 2, *run, "--resume", steps[1], "--out", tmp_path / "resumed")
    found, expected = tensors(tmp_path / "resumed"), tensors(steps[-1])
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize(("launcher", "ranks"), [("mpirun", 2), ("mpirun", 4), long("torchrun", 2)])
def test_ranks_with_fewer_channels_resume_bit_equal(tmp_path, launcher, ranks):
    dense, half, folder = tmp_path / "dense", tmp_path / "half", tmp_path / "checkpoints"
    run = [DATA, *NETWORK, "--batch", 48 // ranks, "--epochs", 2]
    trained("", 1, *run[:-1], 1, "--out", dense)
    pruned = ["--prune", "0.5", "--prune-pattern", "channels"]
    whole = trained(launcher, ranks, *run, *pruned, "--weights", dense, "--checkpoint-dir", folder)
    assert whole["pruning"]["parameters_after"] == whole["parameters"] < whole["pruning"]["parameters"]
    first, last = sorted(folder.glob("step-*.safetensors"))
    trained(launcher, ranks, *run, "--resume", first, "--out", half)
    found, expected = tensors(half), tensors(last)
    assert found.keys() == expected.keys()
    assert all(np.array_equal(found[name], expected[name]) for name in expected)
    assert trained("", 1, *run, "--resume", first)["parameters"] == whole["parameters"]  # with another number of ranks


@pytest.mark.parametrize("launcher", ["mpirun", long("torchrun")])
def test_ranks_that_train_for_int8_resume_bit_equal(tmp_path, launcher):
    """All ranks have the limits of rank 0 after a resume: other ones before would lead to other gradients."""
    run = [DATA, *NETWORK, "--batch", 24, "--epochs", 4, "--qat"]
    trained(launcher, 2, *run, "--checkpoint-dir", tmp_path, "--keep-checkpoints", 9)
    steps = sorted(tmp_path.glob("step-*.safetensors"))
    trained(launcher, 2, *run, "--resume", steps[1], "--out", tmp_path / "resumed")
    found, expected = tensors(tmp_path / "resumed"), tensors(steps[-1])
    assert (expected["quantisation.limits"] > 0).all()
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize("launcher", ["mpirun", long("torchrun")])
def test_only_steps_with_an_update_exchange_gradients(tmp_path, launcher):
    trace = tmp_path / "trace.json"
    result = trained(launcher, 2, DATA, *NETWORK, "--batch", 24, "--epochs", 6, "--accumulate", 2, "--trace", trace)
    assert result["steps"] == 24
    assert result["loss_last"] < result["loss_first"]
    events = json.loads(trace.read_text())["traceEvents"]
    exchanged = {event["args"]["step"] for event in events if event["name"].startswith("exchange")}
    assert {event["args"]["step"] for event in events} == set(range(4, 24))
    assert exchanged == set(range(4, 24, 2))


@pytest.mark.parametrize("launcher", ["mpirun", long("torchrun")])
def test_every_validation_sample_counts_once(launcher):
    """49 samples on two ranks: one of them has a filler, which does not count."""
    validation = "synthetic:classes=4,images=49,size=32,seed=9"
    result = trained(launcher, 2, DATA, "--val", validation, *NETWORK, "--batch", 24, "--epochs", 0.25)
    correct = result["accuracy"] * 49
    assert correct == pytest.approx(round(correct), abs=1e-9)


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """Folders to train and to evaluate with, and their files that cannot be read."""
    folder, files = tmp_path_factory.mktemp("damaged"), set()
    for name, images, step in (("train", 192, 20), ("val", 60, 14)):
        made = subprocess.run([os.environ["UNSTARVE"], "synth", folder / name, "--classes", "4", "--images",
                               str(images), "--size", "32", "--seed", "2"], capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
        for path in sorted((folder / name).glob("*/*.jpg"))[::step]:
            path.write_bytes(path.read_bytes()[:300])
            files.add(str(path))
    assert len(files) == 15  # in every class
    return folder / "train", folder / "val", files


def files_in(*lists):
    return [json.loads(line)["file"] for path in lists for line in Path(path).read_text().splitlines()]


@pytest.mark.parametrize("launcher", ["mpirun", long("torchrun")])
def test_the_bad_samples_of_all_ranks_are_listed_once(tmp_path, launcher, damaged):
    train, val, files = damaged
    result = trained(launcher, 2, train, "--val", val, *NETWORK, "--batch", 24, "--epochs", 2, "--on-error", "replace",
                     "--quarantine", tmp_path / "bad.jsonl")
    assert sorted(files_in(tmp_path / "bad.jsonl")) == sorted(files)
    assert sorted(bad["location"] for bad in result["bad"]) == sorted(files)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.jsonl"]


@pytest.mark.parametrize("launcher", ["mpirun", long("torchrun")])
def test_a_rank_may_have_no_batch_of_an_evaluation(tmp_path, launcher, damaged):
    """Both samples of one of two ranks cannot be read."""
    train, val, files = damaged
    for number, folder in enumerate(sorted(path for path in val.iterdir() if path.is_dir())):
        (tmp_path / folder.name).mkdir()
        name = next(path for path in sorted(folder.iterdir()) if (str(path) in files) == (number < 2))
        shutil.copy(name, tmp_path / folder.name)
    result = trained(launcher, 2, train, "--val", tmp_path, *NETWORK, "--batch", 24, "--epochs", 0.5, "--on-error",
                     "replace")
    assert result["accuracy"] in (0, 0.5, 1)


def test_a_rank_without_an_evaluation_averages_the_statistics_of_the_training(tmp_path):
    """Not those of the averaged weights, with which other ranks have evaluated."""
    states = []
    for images in (1, 2):  # the second rank has none, one
        folder = tmp_path / str(images)
        trained("mpirun", 2, "synthetic:classes=4,images=192,size=32,seed=2", "--val",
                f"synthetic:classes=4,images={images},size=32,seed=5", "--model", "cifar_net", "--precision", "float32",
                "--seed", 3, "--batch", 24, "--epochs", 2, "--average", 0.9, "--checkpoint-dir", folder)
        states.append(tensors(max(folder.glob("*.safetensors"))))
    assert states[0].keys() == states[1].keys() and any("running_mean" in name for name in states[0])
    for name, values in states[0].items():
        assert np.array_equal(values, states[1][name]), name


def test_the_ranks_of_a_run_that_is_stopped_list_their_bad_samples(tmp_path, damaged):
    train, _, files = damaged
    folder = tmp_path / "checkpoints"
    process = start("mpirun", 2, train, *NETWORK, "--batch", 24, "--epochs", 2000, "--checkpoint-dir", folder,
                    "--checkpoint-every", "0.2s", "--on-error", "skip", "--quarantine", tmp_path / "bad.jsonl")
    until = time.monotonic() + 120
    while not any(int(path.stem.split("-")[1]) > 40 for path in folder.glob("step-*.safetensors")):
        assert process.poll() is None and time.monotonic() < until, process.communicate(timeout=10)
        time.sleep(0.05)
    for rank in processes_below(process.pid):
        os.kill(rank, signal.SIGTERM)
    code, _, errors = finish(process, 60)
    assert code != 0 and "training was stopped after step" in errors
    listed = files_in(tmp_path / "bad.jsonl", tmp_path / "bad.jsonl.rank-1")
    assert set(listed) == {file for file in files if file.startswith(str(train))}


@pytest.mark.parametrize(("launcher", "killed"),
                         [("mpirun", 0), long("mpirun", 1), long("torchrun", 0), ("torchrun", 1)])
def test_if_a_rank_dies_all_end_and_the_run_resumes_with_another_number(tmp_path, launcher, killed):
    folder = tmp_path / "checkpoints"
    with running(launcher, folder) as (process, ranks):
        os.kill(ranks[killed], signal.SIGKILL)
        died = time.monotonic()
        code, _, errors = finish(process, 60)
        assert code != 0
        assert time.monotonic() - died < 30
    while [rank for rank in ranks if Path(f"/proc/{rank}").exists()]:
        assert time.monotonic() - died < 30
        time.sleep(0.05)
    if launcher == "torchrun":
        messages = re.findall(r"another rank ended after step \d+.*", errors)
    else:
        messages = re.findall(rf"rank {killed} \(process {ranks[killed]}\) ended without an error message.*", errors)
        assert "on signal 9" in errors, errors  # mpirun's own message
    assert len(messages) == 1, errors
    assert f"Continue with --resume {folder}" in messages[0]
    newest = max(int(path.stem.split("-")[1]) for path in folder.glob("step-*.safetensors"))
    result = trained("", 1, DATA, *NETWORK, "--batch", 48, "--epochs", newest / 4 + 1, "--resume", folder)
    assert result["steps"] > newest


def test_if_one_of_four_ranks_dies_one_of_the_others_reports_it(tmp_path):
    with running("mpirun", tmp_path / "checkpoints", 4) as (process, ranks):
        os.kill(ranks[2], signal.SIGKILL)
        code, _, errors = finish(process, 60)
    assert code != 0
    assert len(re.findall("^unstarve: training: rank", errors, re.M)) == 1, errors
    assert f"rank 2 (process {ranks[2]}) ended" in errors


def test_the_default_batch_has_at_most_the_samples_of_a_rank():
    result = trained("mpirun", 2, "synthetic:classes=2,images=5,size=32,seed=2", *NETWORK, "--epochs", 1)
    assert result["batch"] == 2


def test_an_error_of_one_rank_during_training_is_the_only_message(tmp_path):
    """A file is damaged in the share of one of two ranks."""
    photos = tmp_path / "photos"
    made = subprocess.run([os.environ["UNSTARVE"], "synth", photos, "--classes", "2", "--images", "64", "--size", "32"],
                          capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    sorted(photos.glob("*/*.jpg"))[20].write_bytes(b"no image")
    code, _, errors = finish(start("mpirun", 2, photos, *NETWORK, "--batch", 4, "--epochs", 4))
    assert code != 0
    messages = [line for line in errors.splitlines() if line.startswith("unstarve: rank")]
    assert len(messages) == 1 and ".jpg" in messages[0], errors
    assert "ended without an error message" not in errors


@pytest.mark.parametrize("launcher", ["mpirun", long("torchrun")])
def test_a_stop_of_all_ranks_writes_one_checkpoint(tmp_path, launcher):
    folder = tmp_path / "checkpoints"
    with running(launcher, folder) as (process, ranks):
        for rank in ranks:
            os.kill(rank, signal.SIGTERM)
        code, _, errors = finish(process, 60)
    assert code != 0
    messages = re.findall(r"training was stopped after step (\d+); continue with --resume (\S+)", errors)
    assert len(messages) == 1, errors
    assert Path(messages[0][1]).exists()
    result = trained("", 1, DATA, *NETWORK, "--batch", 48, "--epochs", int(messages[0][0]) / 4 + 1, "--resume", folder)
    assert result["steps"] > int(messages[0][0])


@pytest.mark.parametrize("launcher", ["mpirun", "torchrun"])
@pytest.mark.parametrize(("arguments", "message"), [
    (["/no/such/data", "--epochs", 1], "/no/such/data: "),
    ([DATA, "--lr", 1], "train has no option --lr"),
    ([DATA, "--epochs", 0], '--epochs: found "0"'),
    ([DATA, "--epochs", 1, "--learning-rate", -1], "--learning-rate: found -1"),
])
def test_an_error_of_all_ranks_is_printed_once(launcher, arguments, message):
    code, out, errors = finish(start(launcher, 2, *arguments, "--model", "cifar_net", "--json"))
    assert code != 0
    assert errors.count(message) == 1, errors
    assert "rank 1" not in re.findall(rf".*{re.escape(message)}", errors)[0]
    assert message.strip() in json.loads(out)["error"]["message"]


@pytest.mark.parametrize("second", [["/no/such/data"], [DATA, "--no-such-option"]])
def test_an_error_of_one_rank_is_printed_by_that_rank(second):
    first = [*command_of("mpirun", 2)[:-2], "1", os.environ["UNSTARVE"], "train", DATA, *NETWORK, "--epochs", "1"]
    process = subprocess.Popen([*first, ":", "-n", "1", os.environ["UNSTARVE"], "train", *second, *NETWORK],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    code, _, errors = finish(process)
    assert code != 0
    assert errors.count(second[-1]) == 1, errors
    assert re.search(rf"unstarve: rank 1: .*{second[-1]}", errors), errors


@pytest.mark.parametrize("launcher", ["mpirun", "torchrun"])
def test_the_trace_shows_exchange_during_the_backward_pass(tmp_path, launcher):
    """ResNet-18 has two buckets: all but the last one are exchanged during the backward pass."""
    trace = tmp_path / "trace.json"
    trained(launcher, 2, DATA, "--model", "cifar_resnet18", *SETTINGS, "--batch", 2, "--epochs", 0.5, "--trace", trace)
    events = json.loads(trace.read_text())["traceEvents"]
    steps = {event["args"]["step"] for event in events}
    assert len(steps) == 20
    hidden = 0
    for step in steps:
        parts = {event["name"]: event for event in events if event["args"]["step"] == step}
        begin, end = (parts["backward"]["ts"], parts["backward"]["ts"] + parts["backward"]["dur"])
        buckets = [event for name, event in parts.items() if name.startswith("exchange bucket")]
        assert len(buckets) >= 2
        assert all(begin <= bucket["ts"] <= end for bucket in buckets)
        last = max(bucket["ts"] for bucket in buckets)
        hidden += any(bucket["ts"] + bucket["dur"] <= last for bucket in buckets)
    assert hidden >= 15  # of 20 steps: a bucket was complete before the last gradients were computed


def test_torchrun_requires_the_package():
    environment = {**os.environ, "RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}
    run = subprocess.run([os.environ["UNSTARVE"], "train", DATA, *NETWORK, "--epochs", "1"], capture_output=True,
                         text=True, env=environment, timeout=60)
    assert run.returncode == 4
    assert "torchrun --nproc-per-node N -m unstarve train" in run.stderr
