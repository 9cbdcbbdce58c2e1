"""Checkpoints of `unstarve train`: killed, interrupted and resumed runs, full disks, damaged files."""

import json
import math
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import time
import zlib
from pathlib import Path

import pytest
from safetensors_file import SafetensorsFile
from train_support import finish

RUN = ["train", "synthetic:classes=4,images=240,size=32,seed=2", "--model", "cifar_net", "--batch", "8",
       "--seed", "3", "--precision", "float32", "--epochs", "4", "--evaluate-every", "0"]
OPTIMISER = ["--optimiser", "adamw", "--learning-rate", "0.002", "--average", "0.99", "--clip-norm", "1",
             "--accumulate", "2"]


def start(*arguments, **options):
    return subprocess.Popen([os.environ["UNSTARVE"], *map(str, arguments)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **options)


def completed(*arguments):
    code, out, errors = finish(start(*arguments, "--json"))
    assert code == 0, errors
    return json.loads(out)


def metadata(path):
    """The metadata of a safetensors file, after its checksum was compared."""
    data = Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    end = max(entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__")
    assert len(data) == 8 + size + end
    assert f"{zlib.crc32(data[8 + size:]):08x}" == header["__metadata__"]["unstarve.crc32"]
    return header["__metadata__"]


@pytest.fixture(scope="module")
def whole():
    """The result of the run without interruption."""
    return completed(*RUN, *OPTIMISER)


def test_a_killed_run_leaves_complete_checkpoints_and_resumes_bit_equal(tmp_path, whole):
    folder, unfinished = tmp_path / "checkpoints", tmp_path / "unfinished"
    draws = random.Random(5)
    resume = []
    for _ in range(6):
        process = start(*RUN, *OPTIMISER, "--checkpoint-dir", folder, "--checkpoint-every", "0.1s", *resume)
        before = set(folder.glob("*.safetensors")) if folder.exists() else set()
        until = time.monotonic() + 60
        while time.monotonic() < until and process.poll() is None:
            if folder.exists() and set(folder.glob("*.safetensors")) - before:
                break
            time.sleep(0.01)
        time.sleep(draws.uniform(0, 0.3))
        process.kill()
        code, _, errors = finish(process)
        assert code in (-signal.SIGKILL, 0), errors
        files = sorted(folder.glob("step-*.safetensors"))
        assert 1 <= len(files) <= 3  # two to keep, and one that a killed process had not removed yet
        for file in files:
            assert int(metadata(file)["unstarve.step"]) == int(file.stem.split("-")[1])
        resume = ["--resume", folder]
        if int(metadata(files[-1])["unstarve.step"]) == whole["steps"]:
            break  # a fast machine finishes within the six runs
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(folder, unfinished)
    resumed = completed(*RUN, *OPTIMISER, "--checkpoint-dir", unfinished, "--resume", unfinished)
    assert resumed["steps"] == whole["steps"]
    assert resumed["loss_last"] == whole["loss_last"]
    assert len(list(unfinished.iterdir())) == 2  # nor partial files of killed processes


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_saves_and_names_the_command_to_continue(tmp_path, whole, number):
    folder = tmp_path / "checkpoints"
    process = start(*RUN, *OPTIMISER, "--checkpoint-dir", folder, "--checkpoint-every", "0.1s")
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None and not list(tmp_path.glob("checkpoints/*.safetensors")):
        time.sleep(0.01)
    process.send_signal(number)
    code, _, errors = finish(process)
    assert code == 128 + number, errors
    found = re.search(r"stopped after step (\d+); continue with --resume (\S+)", errors)
    assert found, errors
    assert int(metadata(found[2])["unstarve.step"]) == int(found[1])
    resumed = completed(*RUN, *OPTIMISER, "--resume", found[2])
    assert (resumed["steps"], resumed["loss_last"]) == (whole["steps"], whole["loss_last"])


def test_a_second_signal_of_the_other_kind_ends_the_process_immediately():
    process = start("train", "synthetic:classes=4,images=960,size=32,seed=2", "--model", "cifar_resnet18", "--batch",
                    "960", "--epochs", "100")
    assert "nothing of this run is saved" in process.stderr.readline()  # the training begins, and handles signals
    time.sleep(2)  # into a step, which takes seconds
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    code, _, errors = finish(process)
    assert code == -signal.SIGTERM, errors


def test_a_folder_belongs_to_one_run(tmp_path):
    folder = tmp_path / "checkpoints"
    completed(*RUN[:-4], "--epochs", "0.2", "--checkpoint-dir", folder)
    code, _, errors = finish(start(*RUN, "--checkpoint-dir", folder))
    assert code == 2
    assert "expected no checkpoints of another run" in errors
    assert f"--resume {folder}" in errors


@pytest.mark.parametrize("file", [False, True])
def test_a_resumed_run_writes_to_the_resumed_folder(tmp_path, file):
    folder = tmp_path / "checkpoints"
    completed(*RUN[:-4], "--epochs", "0.2", "--checkpoint-dir", folder)
    [first] = folder.glob("step-*")
    code, _, errors = finish(start(*RUN[:-4], "--epochs", "0.4", "--resume", first if file else folder))
    assert code == 0, errors
    assert f"resuming from {first}; checkpoints are written to {folder}\n" in errors
    assert sorted(path.name for path in folder.iterdir()) == [first.name, "step-00000012.safetensors"]


def test_a_resumed_file_and_out_write_only_the_latter(tmp_path):
    first, last = tmp_path / "first.safetensors", tmp_path / "last.safetensors"
    completed(*RUN[:-4], "--epochs", "0.2", "--out", first)
    completed(*RUN[:-4], "--epochs", "0.4", "--resume", first, "--out", last)
    assert sorted(tmp_path.iterdir()) == [first, last]


def test_a_run_that_saves_nothing_announces_it(tmp_path):
    process = start(*RUN[:-4], "--epochs", "1000", cwd=tmp_path)
    first = process.stderr.readline()
    assert first == "unstarve: nothing of this run is saved; to save it, use --checkpoint-dir DIR or --out FILE\n"
    process.send_signal(signal.SIGINT)
    code, _, errors = finish(process)
    assert code == 128 + signal.SIGINT
    assert re.search(r"after step \d+; no checkpoint was written, because the run has no --checkpoint-dir", errors)


@pytest.mark.parametrize("limit", [1000, 6000], ids=["scalars", "charts"])
def test_event_files_on_a_full_disk_are_a_warning_and_training_completes(tmp_path, limit):
    process = start(*RUN[:-4], "--epochs", "1", "--tensorboard", tmp_path / "events", "--json",
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
                    restore_signals=False)  # SIGXFSZ stays ignored
    code, out, errors = finish(process)
    assert code == 0, errors
    assert json.loads(out)["epochs"] == 1
    [events] = (tmp_path / "events").iterdir()
    assert events.stat().st_size == limit
    assert errors.count(f"warning: events of TensorBoard not written: write {events}: ") == 1, errors
    assert errors.count("training continues without them") == 1


def test_a_full_disk_keeps_the_earlier_checkpoint_and_is_reported(tmp_path):
    folder = tmp_path / "checkpoints"
    completed(*RUN[:-4], "--epochs", "0.2", "--checkpoint-dir", folder)
    [before] = folder.glob("step-*")
    limit = before.stat().st_size // 2
    process = start(*RUN[:-4], "--epochs", "0.4", "--checkpoint-dir", folder, "--resume", folder, "--checkpoint-every",
                    "0.1s",
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    code, _, errors = finish(process)
    assert code == 3
    assert f"write {folder}" in errors
    assert f"; the newest is {before}\n" in errors
    assert list(folder.iterdir()) == [before]
    metadata(before)


def test_a_damaged_checkpoint_is_rejected(tmp_path):
    file = tmp_path / "model.safetensors"
    completed(*RUN[:-4], "--epochs", "0.2", "--out", file)
    data = bytearray(file.read_bytes())
    data[-5] ^= 4
    file.write_bytes(data)
    for option in ("--resume", "--weights"):
        code, _, errors = finish(start(*RUN, option, file))
        assert code == 3
        assert "model.safetensors: damaged: the checksum of the tensors is" in errors


def test_damaged_metadata_are_found(tmp_path):
    file = tmp_path / "model.safetensors"
    completed(*RUN[:-4], "--epochs", "0.2", "--out", file)
    data = file.read_bytes()
    file.write_bytes(data.replace(b'"unstarve.step":"6"', b'"unstarve.step":"7"'))
    assert file.read_bytes() != data
    for option in ("--resume", "--weights"):
        code, _, errors = finish(start(*RUN, option, file))
        assert code == 3
        assert "model.safetensors: damaged: the checksum of the metadata is" in errors


def test_a_run_without_finite_loss_names_the_checkpoint_that_it_resumed(tmp_path):
    completed(*RUN[:-4], "--epochs", "0.2", "--checkpoint-dir", tmp_path)
    [file] = tmp_path.iterdir()
    huge = SafetensorsFile(file)
    kind, shape, data = huge.tensors["fc.weight"]
    huge.tensors["fc.weight"] = kind, shape, struct.pack("f", 3e38) * (len(data) // 4)
    huge.write(file)
    code, _, errors = finish(start(*RUN, "--resume", tmp_path))
    assert code == 1
    assert re.search(rf"the loss at step \d+ is nan; .*; the last checkpoint is {file}\n", errors), errors


@pytest.mark.parametrize(("first", "then", "expected"), [
    ([], ["--average", "0.9"], "lacks a moving average; expected one. Continue without --average, or load only"),
    (["--average", "0.9"], [], "has a moving average; expected none. Continue with --average, or load only"),
    ([], ["--precision", "float16"], "lacks a loss scale of float16; expected one. Continue without"),
    (["--lookahead", "3"], [], "has a state of lookahead; expected none. Continue with --lookahead, or load only")])
def test_a_checkpoint_without_the_parts_of_the_settings_is_rejected(first, then, expected, tmp_path):
    run = [word for word in RUN if word not in ("--precision", "float32")]
    completed(*run[:-4], "--epochs", "0.2", "--checkpoint-dir", tmp_path, *first)
    code, _, errors = finish(start(*run, "--resume", tmp_path, *then))
    assert code == 3
    assert expected in errors, errors


def test_a_checkpoint_of_another_version_is_rejected(tmp_path):
    completed(*RUN[:-4], "--epochs", "0.2", "--checkpoint-dir", tmp_path)
    [file] = tmp_path.iterdir()
    later = SafetensorsFile(file)
    assert later.metadata["unstarve.version"] == "1"
    later.metadata["unstarve.version"] = "2"
    later.write(file)
    code, _, errors = finish(start(*RUN, "--resume", tmp_path))
    assert code == 3
    assert 'checkpoint of version "2"; expected 1' in errors, errors


def test_a_checkpoint_with_nan_is_rejected(tmp_path):
    completed(*RUN[:-4], "--epochs", "0.2", "--checkpoint-dir", tmp_path)
    [file] = tmp_path.iterdir()
    damaged = SafetensorsFile(file)
    damaged.tensors["fc.bias"] = "F32", [4], struct.pack("4f", math.nan, 0, 0, 0)
    damaged.write(file)
    code, _, errors = finish(start(*RUN, "--resume", tmp_path))
    assert code == 3
    assert f'{file}: tensor "fc.bias" contains NaN or infinity; expected finite numbers' in errors, errors


def test_statistics_that_became_infinite_end_the_run(tmp_path):
    code, _, errors = finish(start(*RUN, "--learning-rate", "900", "--warmup", "0", "--schedule", "constant",
                                   "--checkpoint-dir", tmp_path, "--checkpoint-every", "0.1s"))
    assert code == 1
    newest = max(tmp_path.iterdir(), default=None)
    end = r"Lower the learning rate \(now 900\)" + (f"; the last checkpoint is {newest}" if newest else "")
    # The loss is NaN in some runs.
    assert re.search(rf"(running_var\" contains NaN or infinity; expected finite numbers|the loss at .*)\. {end}$",
                     errors.strip()), errors


def test_a_folder_cannot_be_the_file_of_a_checkpoint(tmp_path):
    code, _, errors = finish(start(*RUN, "--out", tmp_path))
    assert (code, errors) == (3, f"unstarve: --out: write {tmp_path}: Is a directory\n")


def test_a_damaged_newest_checkpoint_names_the_intact_one_before(tmp_path):
    folder = tmp_path / "checkpoints"
    completed(*RUN[:-4], "--epochs", "0.2", "--checkpoint-dir", folder)
    [older] = folder.iterdir()
    completed(*RUN[:-4], "--epochs", "0.4", "--resume", folder)
    [newest] = set(folder.iterdir()) - {older}
    newest.write_bytes(newest.read_bytes()[:-9])
    code, _, errors = finish(start(*RUN, "--resume", folder))
    assert code == 3
    assert f". {older} is intact: to continue from it, remove {newest}\n" in errors
    newest.unlink()
    completed(*RUN[:-4], "--epochs", "0.4", "--resume", folder)
    older.write_bytes(older.read_bytes()[:-9])  # not the newest one, and none is before it
    code, _, errors = finish(start(*RUN, "--resume", older))
    assert code == 3
    assert f"{older.name}: " in errors
    assert "intact" not in errors and "list checkpoints" not in errors


def test_weights_of_other_classes_initialise_the_head_and_are_listed(tmp_path):
    file = tmp_path / "model.safetensors"
    completed(*RUN[:-4], "--epochs", "0.2", "--out", file)
    other = ["train", "synthetic:classes=6,images=120,size=32,seed=2", *RUN[2:-4], "--epochs", "0.2"]
    code, _, errors = finish(start(*other, "--weights", file))
    assert code == 0
    assert "initialised, because the file has other classes: fc.weight, fc.bias" in errors
    code, _, errors = finish(start(*other, "--resume", file))
    assert code == 3
    assert "fc.weight" in errors
    assert "The file has the network" not in errors
    code, _, errors = finish(start(*(word.replace("cifar_net", "cifar_resnet18") for word in other), "--weights", file))
    assert code == 3
    assert ". The file has the network cifar_net; expected cifar_resnet18: use --model cifar_net\n" in errors


@pytest.mark.parametrize("name", ["WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"])
def test_several_processes_do_not_train_copies(name):
    code, _, errors = finish(start(*RUN, env={**os.environ, name: "2"}))
    message = {"WORLD_SIZE": "environment variable RANK",
               "SLURM_STEP_NUM_TASKS": "srun started 2 processes without MPI"}.get(name, "MPI found one process")
    assert message in errors or "this build has no MPI" in errors
    assert code in (2, 4)
