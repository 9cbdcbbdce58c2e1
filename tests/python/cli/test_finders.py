"""`unstarve lr-find` and `unstarve batch-find`: results, reports, limits, and errors."""

import json
import os
import re
import resource
import subprocess
import time
from pathlib import Path

import pytest
from train_support import finish, start_training

DATA = "synthetic:classes=4,images=960,size=32,seed=2"
PATIENT = ["--longest", "3600"]  # a slow machine does not end the doubling
NETWORK = ["--model", "cifar_net", "--precision", "float32", "--seed", "3"]


def run(*arguments, **options):
    done = subprocess.run([os.environ["UNSTARVE"], *map(str, arguments)], capture_output=True, text=True, check=False,
                          **options)
    if done.returncode == 4 and "no libtorch" in done.stderr:
        pytest.skip("this build has no libtorch: " + done.stderr.strip())
    return done


def result_of(*arguments, **options):
    done = run(*arguments, "--json", **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """A sweep of 60 updates, and its report."""
    report = tmp_path_factory.mktemp("sweep") / "lr.html"
    found = result_of("lr-find", DATA, *NETWORK, "--batch", 32, "--from", "1e-5", "--steps", 60, "--report", report)
    return found, report.read_text()


def test_a_sweep_suggests_a_rate_at_which_training_learns(sweep):
    found, _ = sweep
    assert found["end"] in ("complete", "diverged", "not finite")
    assert found["data"] == DATA and found["batch"] == 32 and found["accumulate"] == 1
    rates = [point["learning_rate"] for point in found["points"]]
    assert 20 < len(rates) <= 60 and rates == sorted(rates) and rates[0] == pytest.approx(1e-5)
    rate = found["suggestion"]["learning_rate"]
    assert rate is not None, found["suggestion"]["reason"]
    assert 1e-5 < rate < 1
    assert found["suggestion"]["slope"] < 0
    assert "steep" in found["suggestion"]["reason"]
    trained = result_of("train", DATA, *NETWORK, "--batch", 32, "--learning-rate", rate, "--epochs", 1)
    slow = result_of("train", DATA, *NETWORK, "--batch", 32, "--learning-rate", 1e-5, "--epochs", 1)
    assert trained["loss_last"] < slow["loss_last"] - 0.2


def test_a_sweep_is_repeatable_and_its_report_contains_it(sweep):
    found, report = sweep
    again = result_of("lr-find", DATA, *NETWORK, "--batch", 32, "--from", "1e-5", "--steps", 60)
    assert again["points"] == found["points"]
    assert "<!DOCTYPE html>" in report and "Loss after each update" in report
    island = json.loads(report.split('id="figures">')[1].split("</script>")[0])
    assert len(island["curves"]) == 2
    losses = island["curves"][0]["curves"][0]["points"]
    assert [loss for _, loss in losses] == pytest.approx([point["loss"] for point in found["points"]])


def test_accumulated_batches_are_one_point_per_update():
    found = result_of("lr-find", DATA, *NETWORK, "--batch", 8, "--accumulate", 3, "--from", "1e-4", "--to", "1e-2",
                      "--steps", 12)
    assert len(found["points"]) == 12 and found["accumulate"] == 3


def test_a_range_without_descent_suggests_nothing():
    done = run("lr-find", DATA, *NETWORK, "--batch", 8, "--from", "1e-9", "--to", "1e-7", "--steps", 20)
    assert done.returncode == 0, done.stderr
    assert "no clear descent" in done.stdout and "--learning-rate" not in done.stdout


def test_sizes_are_measured_up_to_the_largest_and_the_flags_train(tmp_path):
    report = tmp_path / "batch.html"
    found = result_of("batch-find", DATA, *NETWORK, "--from", 4, "--to", 32, "--seconds", 0.2, *PATIENT, "--batch", 16,
                      "--learning-rate", 0.01, "--report", report)
    sizes = [point["batch"] for point in found["points"]]
    assert {4, 8, 16, 32} <= set(sizes) and sizes == sorted(sizes)
    for point in found["points"]:
        assert point["low"] <= point["samples_per_s"] <= point["high"] and point["blocks"] >= 4
        assert 0 < point["utilisation"] <= 1 and 0 <= point["data_wait"] < 1
    assert found["largest"]["end"] == "largest" and found["largest"]["batch"] == 32
    use = found["use"]
    assert use["batch"] == found["knee"]["batch"] and use["rule"] == "linear"
    assert use["learning_rate"] == pytest.approx(0.01 * use["batch"] / 16)
    multiples = found["multiple_of_8"]
    if use["batch"] >= 16:
        assert multiples["batch"]["size"] == use["batch"] - 4 and multiples["batch"]["multiple"] == use["batch"]
        assert 0 < multiples["batch"]["low"] <= multiples["batch"]["ratio"] <= multiples["batch"]["high"]
    else:
        assert f"the knee, {use['batch']}, is below 16" in multiples["batch"]["reason"]
    channels = multiples["channels"]
    assert channels["in"] == channels["multiple_in"] - 4 and channels["out"] == channels["multiple_out"] - 4
    assert 0 < channels["low"] <= channels["ratio"] <= channels["high"]
    assert multiples["unaligned_layers"] == []  # cifar_net, apart from image channels and classes
    page = report.read_text()
    assert "Peak memory" in page and "Utilisation" in page
    trained = result_of("train", DATA, *NETWORK, *use["flags"].split(), "--epochs", 0.1)
    assert trained["batch"] == use["batch"]


def test_the_learning_rate_of_adamw_follows_the_square_root():
    found = result_of("batch-find", DATA, *NETWORK, "--optimiser", "adamw", "--learning-rate", 0.001, "--batch", 2,
                      "--from", 8, "--to", 8, "--seconds", 0.2)
    assert found["use"]["rule"] == "square root"
    assert found["use"]["learning_rate"] == pytest.approx(0.002)


def test_samples_repeat_in_a_batch_that_exceeds_the_data():
    found = result_of("batch-find", "synthetic:classes=4,images=5,size=32,seed=2", *NETWORK, "--from", 16,
                      "--seconds", 0.2)
    assert [point["batch"] for point in found["points"]] == [16]
    assert found["largest"]["reason"] == "16 is the largest size to try"


def test_a_memory_limit_ends_the_doubling_before_it_is_reached():
    limit = 420  # the program itself takes 170 MB
    found = result_of("batch-find", DATA, *NETWORK, "--from", 8, "--to", 4096, "--seconds", 0.1, *PATIENT,
                      "--memory-limit", f"{limit}MB")
    assert found["largest"]["end"] == "memory", found["largest"]
    assert found["largest"]["limit_bytes"] <= 0.85 * limit * 1e6
    peaks = [point["memory_bytes"] for point in found["points"] if point["memory_bytes"]]
    assert max(peaks) <= limit * 1e6


def test_wrong_requests_are_rejected():
    done = run("batch-find", DATA, *NETWORK, "--from", 64, "--to", 32)
    assert done.returncode == 2 and "1 <= --from <= --to" in done.stderr
    done = run("lr-find", DATA, *NETWORK, "--from", 1, "--to", 0.1)
    assert done.returncode == 2 and "and rates above 0 that rise (--from below --to)" in done.stderr
    for command in ("lr-find", "batch-find"):
        done = run(command, DATA, "--device", "emulated:h100-resnet50")
        assert done.returncode == 2 and "cannot train" in done.stderr
        done = run(command, DATA, env={**os.environ, "WORLD_SIZE": "2", "RANK": "0"})
        assert done.returncode == 2 and "expected one process" in done.stderr


def peak_address_space(*arguments):
    """The peak of the address space of a training, in bytes."""
    process = start_training(*arguments)
    peak = 0
    while process.poll() is None:
        found = re.search(r"VmPeak:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
        peak = int(found[1]) << 10 if found else peak  # a process that has ended has none
        time.sleep(0.005)
    code, _, errors = finish(process)
    assert code == 0, errors
    return peak


def test_an_allocation_that_fails_ends_the_doubling():
    """With a limit on the address space, sizes that are predicted to fit run out of memory."""
    options = [DATA, *NETWORK, "--threads", 1]
    limit = peak_address_space(*options, "--batch", 16, "--epochs", 0.05) + (60 << 20)

    def limit_address_space():
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    found = result_of("batch-find", *options, "--from", 16, "--to", 16384, "--seconds", 0.1, *PATIENT,
                      preexec_fn=limit_address_space)
    assert found["largest"]["end"] == "memory", found["largest"]
    assert "ran out of memory" in found["largest"]["reason"]
    assert 16 <= found["largest"]["batch"] < 16384
    assert found["use"]["batch"] == found["knee"]["batch"]
