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
    for fault in ("--learning-rate: found -1", "--clip-norm: found -2", f"--allocator: {MISSING}: found no",
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
    for fault in ("train.classes: found 2; expected at least the 4 of the data", "--momentum: found 7",
                  "validation data: classes", "cuda"):
        assert fault in errors, errors
    code, _, errors = finish(start_training("--config", file, "--momentum", 7, "--val", "/no/such/folder",
                                            "--weights", "/no/such/file", "--resume", "/no/such/file"))
    assert code == 2
    for fault in ("train.classes: found 2", "--momentum: found 7", "--val: open /no/such/folder",
                  "found --resume and --weights"):
        assert fault in errors, errors


def test_the_image_size_and_the_classes_of_batch_operations_are_listed_together(tmp_path):
    file = tmp_path / "settings.yaml"
    pipeline = f"source: {{path: '{DATA}'}}, batch: {{size: 8}}"
    sizes = "train.image_size: the operations make images of {0}x{0} px; expected {1}x{1}. Set train.image_size"
    run = ["--config", file, "--epochs", 1, "--model", "cifar_net"]
    file.write_text(f"unstarve: 1\npipeline: {{{pipeline}, batch_operations: [mixup]}}\n"
                    "train: {image_size: 16, classes: 12}\n")
    code, _, errors = finish(start_training(*run, "--momentum", 7))
    assert code == 2
    for fault in (sizes.format(32, 16), "train.classes: found 12; expected the 4 of the data", "--momentum: found 7"):
        assert errors.count(fault) == 1, errors
    file.write_text(f"unstarve: 1\npipeline: {{{pipeline}, operations: [resize: {{size: 16}}]}}\n"
                    "train: {image_size: 32}\n")
    code, _, errors = finish(start_training(*run))
    assert code == 2 and errors.startswith("unstarve: " + sizes.format(16, 32)), errors
    file.write_text(file.read_text().replace("image_size: 32", "image_size: 16"))
    code, _, errors = finish(start_training(*run))
    assert code == 0, errors


def test_a_duplicate_key_does_not_hide_other_faults(tmp_path):
    file = settings_file(tmp_path, "  classes: 4\n  momentum: 0.9\n  classes: 5\n")
    code, _, errors = finish(start_training("--config", file, "--learning-rate", -1))
    assert code == 2
    for fault in ("train.classes: line 8: found a second time, first on line 6", "train.momentum: line 7: unknown key",
                  "--learning-rate: found -1"):
        assert fault in errors, errors


def test_faults_of_all_kinds_of_flags_are_listed_together():
    """Text that is not a number, values out of range, outputs, files, the device and the validation data."""
    code, _, errors = finish(start_training(DATA, "--epochs", "many", "--learning-rate", -2, "--batch", "x",
                                            "--report", "/no/such/r.html", "--trace", "/no/such/t.json", "--device",
                                            "cuda:9", "--val", "/no/such/folder", "--weights", "/no/such/weights"))
    assert code == 2
    for fault in ('--epochs: found "many"', "--learning-rate: found -2", '--batch: found "x"', "/no/such/r.html",
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
    assert "--graph: found on for the device cpu" in errors and "--momentum: found 7" in errors


@pytest.mark.parametrize(("command", "flags"), [("lr-find", ["--steps", "x"]), ("batch-find", ["--to", "x"])])
def test_the_finders_list_faults_together(command, flags):
    done = subprocess.run([os.environ["UNSTARVE"], command, DATA, *flags, "--from", "y", "--report", "/no/such/r.html"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    for fault in (f'{flags[0]}: found "x"', '--from: found "y"', "/no/such/r.html"):
        assert done.stderr.count(fault) == 1, done.stderr


@pytest.mark.parametrize("verb", ["train", "lr-find", "batch-find"])
def test_missing_data_and_devices_do_not_hide_other_faults(verb, tmp_path):
    flags = ["--momentum", 7, "--average", 2, "--device", "toaster", "--report", "/no/such/r.html"]
    expected = ["open /no/such/data: ", "--momentum: found 7", "--average: found 2", "/no/such/r.html",
                '--device: found "toaster"; expected cpu, cuda or cuda:N']
    expected += {"train": ["--epochs: found"], "lr-find": ["(--from below --to)"],
                 "batch-find": ["expected 1 <= --from <= --to"]}[verb]
    more = {"train": ["--epochs", 0], "lr-find": ["--from", 1, "--to", 0.1],
            "batch-find": ["--from", 4, "--to", 2]}[verb]
    # Named by DATA, and by a settings file that has another fault.
    (tmp_path / "settings.yaml").write_text("unstarve: 1\npipeline: {source: {path: /no/such/data}}\n"
                                            "train: {learning_rate: -1, label_smoothing: 0.2}\n")
    of_file = "settings.yaml.train.learning_rate: line 3: found -1"
    for data, also in (["/no/such/data"], []), (["--config", tmp_path / "settings.yaml"], [of_file]):
        done = subprocess.run([os.environ["UNSTARVE"], verb, *map(str, [*data, *flags, *more])], capture_output=True,
                              text=True, timeout=120)
        assert done.returncode == 2
        for fault in [*expected, *also]:
            assert done.stderr.count(fault) == 1, (fault, done.stderr)
        assert len(done.stderr.splitlines()) == len(expected) + len(also), done.stderr
        assert "emulated" not in done.stderr


def test_a_split_that_does_not_exist_does_not_hide_other_faults(tmp_path):
    subprocess.run([os.environ["UNSTARVE"], "synth", tmp_path / "shapes", "--classes", "2", "--images", "64", "--size",
                    "32", "--test-images", "16"], check=True, stdout=subprocess.DEVNULL)
    code, _, errors = finish(start_training(tmp_path / "shapes", "--split", "other", "--learning-rate", -2))
    assert code == 2
    assert "other" in errors and "--learning-rate: found -2" in errors, errors
    assert len(errors.splitlines()) == 2, errors


def test_a_value_is_named_by_the_flag_or_by_the_key_that_gives_it(tmp_path):
    file = settings_file(tmp_path, "  model: cifar_net\n  classes: 4\n  image_size: 32\n  graph: 'on'\n")
    code, _, errors = finish(start_training("--config", file, "--epochs", 1, "--accumulate", 0, "--model", "alexnet"))
    assert code == 2
    lines = errors.removeprefix("unstarve: ").splitlines()
    assert [line.split(": ")[0] for line in lines] == ["--model", "--accumulate", "train.graph"], errors


@pytest.mark.parametrize("option", ["--report", "--trace", "--out", "--quarantine", "--dawnbench", "--checkpoint-dir",
                                    "--tensorboard"])
def test_outputs_that_cannot_be_written_are_found_before_the_first_step(option, tmp_path):
    (tmp_path / "file").write_text("")
    for place in ("/proc/x", "/proc/x/y", tmp_path / "file" / "x"):
        code, out, errors = finish(start_training(DATA, "--val", DATA, "--epochs", 0.1, "--model", "cifar_net", option,
                                                  place))
        assert code == 3 and out == ""
        assert errors.startswith(f"unstarve: {option}: write ") and len(errors.splitlines()) == 1, errors
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


WITHOUT_EFFECT = {
    ("--beta1", "0.9"): "--beta1: no effect with --optimiser sgd; expected adamw or lamb. Remove it, or change "
                        "--optimiser",
    ("--optimiser", "adamw", "--momentum", "0.9"): "--momentum: no effect with --optimiser adamw; expected sgd or lars",
    ("--power", "2"): "--power: no effect with --schedule linear; expected polynomial",
    ("--schedule", "one_cycle", "--initial-share", "0.1"): "--initial-share: no effect with --schedule one_cycle",
    ("--lookahead-decay", "0.5"): "--lookahead-decay: no effect without --lookahead; expected both or neither",
    ("--qat-begin", "0.5"): "--qat-begin: no effect without --qat; expected both or neither",
    ("--prune-every", "5"): "--prune-every: no effect without --prune; expected both or neither",
    ("--progressive-samples-ramp", "0,1"): "--progressive-samples-ramp: no effect without --progressive-samples",
    ("--whitening-epochs", "1"): "--whitening-epochs: no effect with --model cifar_net; expected cifar_speed",
    ("--val-split", "test"): "--val-split: no effect without --val; expected both or neither",
    ("--evaluate-every", "0.5"): "--evaluate-every: no effect without --val; expected both or neither",
    ("--error-limit", "5"): "--error-limit: no effect without --on-error skip or replace; expected both or neither",
    ("--cache-mb", "5"): "--cache-mb: no effect without --cache; expected both or neither",
}


@pytest.mark.parametrize("flags", WITHOUT_EFFECT, ids=" ".join)
def test_a_flag_without_effect_is_a_fault(flags):
    code, _, errors = finish(start_training(DATA, "--model", "cifar_net", "--epochs", 0.1, *flags))
    assert code == 2
    assert errors.startswith(f"unstarve: {WITHOUT_EFFECT[flags]}"), errors
    assert len(errors.splitlines()) == 1


def test_a_key_without_effect_is_a_fault_unless_it_has_a_default(tmp_path):
    keys = "  model: cifar_net\n  classes: 4\n  image_size: 32\n"
    file = settings_file(tmp_path, keys + "  optimiser: {beta1: 0.8, beta2: 0.999}\n  lookahead: {decay: 0.5}\n")
    run = ["--config", file, "--epochs", 0.1]
    code, _, errors = finish(start_training(*run))
    assert code == 3
    assert errors.splitlines() == [
        f"unstarve: {file}.train.optimiser.beta1: line 9: no effect with optimiser.name sgd; expected adamw or lamb. "
        "Remove it, or change optimiser.name",
        f"{file}.train.lookahead.decay: line 10: no effect without lookahead.every; expected both or neither"]
    # Flags give them an effect.
    code, _, errors = finish(start_training(*run, "--optimiser", "adamw", "--lookahead", 5))
    assert code == 0, errors
    # A flag that makes a key of the file ineffective replaces it.
    file = settings_file(tmp_path, keys + "  optimiser: {momentum: 0.5}\n")
    code, _, errors = finish(start_training(*run, "--optimiser", "adamw"))
    assert code == 0, errors
    # `bench`, `explain` and `tune` read the same files.
    file = settings_file(tmp_path, keys + "  schedule: {power: 3}\n")
    done = subprocess.run([os.environ["UNSTARVE"], "explain", "--config", file], capture_output=True, text=True)
    assert done.returncode == 3 and "schedule.power: line 9: no effect with schedule.name linear" in done.stderr


def test_a_single_fault_keeps_its_kind(tmp_path):
    file = settings_file(tmp_path, "  model: cifar_net\n  classes: 4\n  image_size: 32\n")
    for arguments, code in ((["--val", "/no/such/folder"], 3), (["--val", OTHER_CLASSES], 3), (["--momentum", 7], 2)):
        assert finish(start_training("--config", file, "--epochs", 1, *arguments))[0] == code
