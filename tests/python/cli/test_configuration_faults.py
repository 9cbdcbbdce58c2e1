"""All faults of a configuration of `unstarve train` are listed together, with their paths."""

import os
import subprocess
import sys
from ctypes.util import find_library

import pytest
from train_support import finish, start_training

DATA = "synthetic:classes=4,images=64,size=32,seed=2"
OTHER_CLASSES = "synthetic:classes=3,images=64,size=32,seed=2"
# An allocator that this machine lacks.
MISSING = next((name for name, library in (("mimalloc", "mimalloc"), ("tcmalloc", "tcmalloc_minimal"),
                                           ("jemalloc", "jemalloc")) if find_library(library) is None), None)
missing_allocator = pytest.mark.skipif(MISSING is None, reason="all allocators are installed")


def settings_file(folder, train, host=""):
    file = folder / "settings.yaml"
    file.write_text(f"unstarve: 1\npipeline:\n  source: {{path: '{DATA}'}}\n  batch: {{size: 8}}\n"
                    f"train:\n{train}host:\n  wait_policy: passive\n{host}")
    return file


@missing_allocator
def test_a_missing_allocator_is_listed_with_faults_of_flags():
    code, _, errors = finish(start_training(DATA, "--epochs", 1, "--learning-rate", -1, "--clip-norm", -2,
                                            "--allocator", MISSING, "--target", 0.5))
    assert code == 2
    for fault in ("train.learning_rate: found -1", "train.clip_norm: found -2", f"host.allocator: {MISSING}: found no",
                  "found a target accuracy but no validation data"):
        assert errors.count(fault) == 1, errors


@missing_allocator
@pytest.mark.parametrize("command", ["train", "lr-find", "bench"])
def test_a_missing_allocator_alone_is_a_missing_component(command, tmp_path):
    file = settings_file(tmp_path, "  model: cifar_net\n  classes: 4\n  image_size: 32\n", f"  allocator: {MISSING}\n")
    for program in ([os.environ["UNSTARVE"]], [sys.executable, "-m", "unstarve"]):
        done = subprocess.run([*program, command, "--config", file], capture_output=True, text=True, timeout=120)
        assert done.returncode == 4, done.stderr
        assert done.stderr.startswith(f"unstarve: host.allocator: {MISSING}: found no "), done.stderr
        assert "apt-get install" in done.stderr


@missing_allocator
def test_a_missing_allocator_is_listed_with_faults_of_a_file(tmp_path):
    file = settings_file(tmp_path, "  classes: 1\n  learning_rate: -1\n", f"  allocator: {MISSING}\n")
    code, _, errors = finish(start_training("--config", file, "--epochs", 1))
    assert code == 3
    for path, line in (("train.classes", 6), ("train.learning_rate", 7), ("host.allocator", 10)):
        assert f"settings.yaml.{path}: line {line}: " in errors, errors
    file.write_text(file.read_text().replace("classes: 1", "classes: 4").replace("rate: -1", "rate: 0.1"))
    code, _, errors = finish(start_training("--config", file, "--allocator", "system", "--model", "cifar_net",
                                            "--epochs", 1))
    assert code == 0, errors


def test_classes_data_and_ranges_are_listed_together(tmp_path):
    file = settings_file(tmp_path, "  model: cifar_net\n  classes: 2\n  image_size: 32\n")
    code, _, errors = finish(start_training("--config", file, "--val", OTHER_CLASSES, "--momentum", 7, "--epochs", 1,
                                            "--device", "cuda"))
    assert code == 2
    for fault in ("train.classes: found 2; expected at least the 4 of the data", "train.optimiser.momentum: found 7",
                  "validation data: classes", "cuda"):
        assert fault in errors, errors
    code, _, errors = finish(start_training("--config", file, "--momentum", 7, "--val", "/no/such/folder",
                                            "--weights", "/no/such/file", "--resume", "/no/such/file"))
    assert code == 2
    for fault in ("train.classes: found 2", "train.optimiser.momentum: found 7", "--val: open /no/such/folder",
                  "found --resume and --weights"):
        assert fault in errors, errors


def test_faults_of_all_kinds_of_flags_are_listed_together():
    """Text that is not a number, values out of range, outputs, files, the device and the validation data."""
    code, _, errors = finish(start_training(DATA, "--epochs", "many", "--learning-rate", -2, "--batch", "x",
                                            "--report", "/no/such/r.html", "--trace", "/no/such/t.json", "--device",
                                            "cuda:9", "--val", "/no/such/folder", "--weights", "/no/such/weights"))
    assert code == 2
    for fault in ('--epochs: found "many"', "train.learning_rate: found -2", '--batch: found "x"', "/no/such/r.html",
                  "/no/such/t.json", "cuda:9", "--val: open /no/such/folder", "open /no/such/weights"):
        assert errors.count(fault) == 1, (fault, errors)


def test_faults_of_the_settings_file_do_not_hide_those_of_flags(tmp_path):
    file = settings_file(tmp_path, "  model: cifar_net\n  classes: many\n  image_size: 32\n")
    for host in ([], ["--wait-policy", "sometimes"]):
        code, _, errors = finish(start_training("--config", file, "--epochs", 0, "--report", "/no/such/r.html", *host))
        assert code == 2
        for fault in ("train.classes", "--epochs", "/no/such/r.html", *host[:1]):
            assert fault in errors, (fault, errors)


def test_a_graph_on_the_cpu_is_a_fault():
    code, _, errors = finish(start_training(DATA, "--epochs", 1, "--graph", "on", "--momentum", 7))
    assert code == 2
    assert "train.graph: found on for the device cpu" in errors and "train.optimiser.momentum: found 7" in errors


@pytest.mark.parametrize(("command", "flags"), [("lr-find", ["--steps", "x"]), ("batch-find", ["--to", "x"])])
def test_the_finders_list_faults_together(command, flags):
    done = subprocess.run([os.environ["UNSTARVE"], command, DATA, *flags, "--from", "y", "--report", "/no/such/r.html"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    for fault in (f'{flags[0]}: found "x"', '--from: found "y"', "/no/such/r.html"):
        assert done.stderr.count(fault) == 1, done.stderr


def test_a_single_fault_keeps_its_kind(tmp_path):
    file = settings_file(tmp_path, "  model: cifar_net\n  classes: 4\n  image_size: 32\n")
    for arguments, code in ((["--val", "/no/such/folder"], 3), (["--val", OTHER_CLASSES], 3), (["--momentum", 7], 2)):
        assert finish(start_training("--config", file, "--epochs", 1, *arguments))[0] == code
