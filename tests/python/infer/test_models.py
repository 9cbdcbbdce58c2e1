"""`unstarve models`: figures of networks, interleaved latencies, accuracy, the Pareto front, the report, errors."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from export_support import require_openvino, run_export
from train_support import trained

PROGRAM = os.environ["UNSTARVE"]
QUICK = ["--seconds", "0.5"]


@pytest.fixture(scope="session", autouse=True)
def engines():
    """Skips the tests in a build without OpenVINO."""
    require_openvino()


def run(*arguments, **environment):
    return subprocess.run([PROGRAM, "models", *map(str, arguments)], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


def result_of(*arguments, **environment):
    done = run(*arguments, *QUICK, "--json", **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def error_of(*arguments, code, **environment):
    done = run(*arguments, *QUICK, **environment)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stderr.strip()


def by_name(result):
    return {row["network"]: row for row in result["networks"]}


@pytest.fixture(scope="session")
def compared(tmp_path_factory):
    """Two networks with published accuracies at 96 px and one without, as JSON and as a report."""
    report = tmp_path_factory.mktemp("models") / "models.html"
    result = result_of("--networks", "mobilenet_v2_0.5,mobilenet_v2_0.35,mobilenet_v3_small", "--size", 96, "--report",
                       report)
    return result, report


def test_networks_have_their_figures_and_are_sorted_by_latency(compared):
    result, _ = compared
    rows = by_name(result)
    assert (result["image_size"], result["engine"], result["precision"]) == (96, "openvino", "float32")
    assert result["rounds"] == 9 and result["rejected"] == [] and result["left_out"] == []
    assert len(rows) == 3 and rows["mobilenet_v3_small"]["parameters"] == 2542856
    # MACs of TensorFlow Slim at 96 px, in millions.
    assert rows["mobilenet_v2_0.5"]["multiply_adds"] == pytest.approx(18e6, abs=1e6)
    assert rows["mobilenet_v2_0.35"]["multiply_adds"] == pytest.approx(11e6, abs=1e6)
    medians = [row["latency_ms"]["p50"] for row in result["networks"]]
    assert medians == sorted(medians)
    for row in rows.values():
        latency, rate = row["latency_ms"], row["images_per_s"]
        rounds = sorted(latency["rounds"])
        assert len(rounds) == 9 and (latency["low"], latency["high"]) == (rounds[1], rounds[7])
        assert rounds[0] <= latency["p50"] <= rounds[8] and latency["p50"] <= latency["p99"]
        assert latency["images"] >= 9 and 0 < rate["low"] <= rate["median"] <= rate["high"]
        assert row["weights"] is None and row["classes"] == 1000 and row["accuracy"] is None
        assert 0.97 * 4 * row["parameters"] < row["weight_bytes"] < 1.001 * 4 * row["parameters"]


def test_the_front_is_by_published_accuracies_of_this_size(compared):
    result, _ = compared
    rows = by_name(result)
    assert result["front_by"] == "published"
    assert rows["mobilenet_v2_0.5"]["published"] == {"top1": pytest.approx(0.512), "source": "TensorFlow Slim"}
    assert rows["mobilenet_v3_small"]["published"] is None and rows["mobilenet_v3_small"]["front"] is None
    assert rows["mobilenet_v2_0.5"]["front"] is True  # the most accurate one
    faster = (rows["mobilenet_v2_0.35"]["latency_ms"]["p50"] < rows["mobilenet_v2_0.5"]["latency_ms"]["p50"])
    assert rows["mobilenet_v2_0.35"]["front"] is faster


def test_the_report_has_the_networks_and_the_chart(compared):
    _, report = compared
    page = report.read_text()
    for part in ("mobilenet_v2_0.35", "Pareto front", "Published ImageNet top-1 accuracy over latency",
                 "Latency of one image", "without one are not compared"):
        assert part in page, part


def test_the_text_is_a_table_with_notes():
    done = run("--networks", "cifar_net,mobilenet_v1_0.25", "--size", 32, "--classes", 10, *QUICK)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("openvino ") and "images of 32 px" in lines[0] and "9 interleaved rounds" in lines[0]
    assert lines[2].split()[0] == "network" and {line.split()[0] for line in lines[3:5]} == {"cifar_net",
                                                                                            "mobilenet_v1_0.25"}
    assert "no Pareto front: no accuracy of these networks at 32 px is known" in done.stdout
    assert "random weights" in done.stdout


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    """A folder of checkpoints of a short training of cifar_net, and data with its classes."""
    folder, data = tmp_path_factory.mktemp("trained") / "checkpoints", "synthetic:classes=10,images=200,size=32,seed=2"
    trained(data, "--model", "cifar_net", "--batch", "32", "--epochs", "2", "--evaluate-every", "0",
            "--checkpoint-dir", folder, "--precision", "float32")
    return folder, data


def test_accuracies_are_those_of_infer(checkpoint, tmp_path):
    folder, data = checkpoint
    onnx = tmp_path / "model.onnx"
    assert run_export(folder, onnx, "--image-size", 32).returncode == 0
    done = subprocess.run([PROGRAM, "infer", onnx, data, "--json"], capture_output=True, text=True, check=True)
    inferred = json.loads(done.stdout)
    result = result_of("--weights", f"cifar_net={folder}", onnx, "--size", 32, "--val", data)
    assert result["front_by"] == "measured" and result["validation"] == data and len(result["networks"]) == 2
    for row in result["networks"]:
        accuracy = row["accuracy"]
        assert accuracy["top1"] == pytest.approx(inferred["accuracy"])
        assert accuracy["labelled"] == inferred["labelled"]
        assert accuracy["low"] < accuracy["top1"] < accuracy["high"] or accuracy["top1"] in (0, 1)
    assert {row["network"] for row in result["networks"]} == {"cifar_net", "model"}
    assert any(row["front"] for row in result["networks"])


def test_random_networks_have_the_classes_of_the_weights_and_prevent_measured_fronts(checkpoint):
    folder, data = checkpoint
    result = result_of("--weights", folder, "--networks", "cifar_speed", "--size", 32, "--val", data)
    assert len({row["classes"] for row in result["networks"]}) == 1
    assert result["front_by"] is None and all(row["front"] is None for row in result["networks"])
    assert [row["accuracy"] is None for row in sorted(result["networks"], key=lambda row: row["network"])] == [False,
                                                                                                             True]


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """An ONNX file of 10 classes for images of 32 px, in two folders, the second in int8."""
    onnx = pytest.importorskip("onnx")
    from onnx_models import resnet

    folder = tmp_path_factory.mktemp("small")
    (folder / "int8").mkdir()
    resnet(folder / "model.onnx", classes=10, size=32)
    done = run_export(folder / "model.onnx", folder / "int8/model.onnx", "--int8",
                      "synthetic:classes=10,images=20,size=32,seed=1")
    assert done.returncode == 0, done.stderr
    assert onnx.load(folder / "int8/model.onnx").graph.name
    return folder


def test_a_file_in_int8_has_the_parameters_of_its_layers(small, tmp_path):
    result = result_of("--weights", small / "model.onnx", small / "int8/model.onnx", "--size", 32)
    rows = {row["weights"]: row["parameters"] for row in result["networks"]}
    original = rows[str(small / "model.onnx")]
    assert original > 10000
    # The biases that correct the rounding are new.
    assert original <= rows[str(small / "int8/model.onnx")] < 1.03 * original


def test_files_of_the_user_have_no_published_accuracy(small, tmp_path):
    named = tmp_path / "mobilenet_v2_0.5.onnx"
    named.write_bytes((small / "model.onnx").read_bytes())
    dynamic = tmp_path / "resnet18.onnx"
    from onnx_models import resnet
    resnet(dynamic, classes=1000, size=96)
    result = result_of("--weights", dynamic, "--networks", "mobilenet_v2_0.5", "--size", 96)
    rows = by_name(result)
    assert rows["resnet18"]["published"] is None and rows["resnet18"]["front"] is None
    assert rows["mobilenet_v2_0.5"]["published"] is not None
    result = result_of("--networks", "mobilenet_v2_0.5", "--classes", 10, "--size", 96)
    assert result["networks"][0]["published"] is None and result["front_by"] is None


def test_files_with_the_same_name_are_distinguished_by_path_or_name(small):
    files = [small / "model.onnx", small / "int8/model.onnx"]
    done = run("--weights", *files, "--size", 32, *QUICK)
    assert done.returncode == 0, done.stderr
    for file in files:
        assert f"model ({file})" in done.stdout
    assert set(by_name(result_of("--weights", f"before={files[0]}", f"after={files[1]}", "--size", 32))) == {"before",
                                                                                                            "after"}


def test_an_onnx_file_of_another_size_names_the_option(small):
    assert error_of("--weights", small / "model.onnx", code=2) == (
        f"unstarve: --weights: {small / 'model.onnx'} has images of 32 pixels; expected 224, the value of --size. Pass "
        "--size 32")


def crashing_python(folder, condition="true"):
    """A Python interpreter whose process of an engine is killed by SIGFPE."""
    script = folder / "python"
    script.write_text(f'#!/bin/sh\n{condition} && kill -FPE $$\nexec /usr/bin/env python3 "$@"\n')
    script.chmod(0o755)
    return str(script)


def test_networks_on_which_the_engine_crashes_are_listed(tmp_path):
    done = run("--networks", "cifar_net", "--size", 32, "--engine", "onnxruntime", *QUICK, "--json",
               UNSTARVE_PYTHON=crashing_python(tmp_path))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    reason = "engine onnxruntime: its process ended by signal 8 (SIGFPE); expected a response"
    assert result["networks"] == [] and result["rejected"] == [{"network": "cifar_net", "weights": None,
                                                                "reason": reason}]


def test_the_engine_with_one_stream_has_latencies_and_rates():
    result = result_of("--networks", "cifar_net", "--size", 32, "--engine", "libtorch")
    assert result["rejected"] == [] and result["engine"] == "libtorch"
    assert result["networks"][0]["images_per_s"]["median"] > 0


def test_auto_is_the_first_engine_that_is_installed(tmp_path):
    (tmp_path / "openvino-2025.3.0.dist-info").mkdir()
    packages = f"{tmp_path}:{os.environ.get('UNSTARVE_PACKAGES', '')}"
    result = result_of("--networks", "cifar_net", "--size", 32, UNSTARVE_PACKAGES=packages)
    assert result["engine"] == "onnxruntime" and result["left_out"][0]["engine"] == "openvino"
    message = error_of("--networks", "cifar_net", "--size", 32, code=4, UNSTARVE_PACKAGES=packages,
                       UNSTARVE_PYTHON=bare_python(tmp_path))
    assert "engine openvino: found openvino 2025.3.0" in message and "No module named 'onnxruntime'" in message


def bare_python(folder):
    script = folder / "bare"
    script.write_text('#!/bin/sh\nexec /usr/bin/python3 -S "$@"\n')
    script.chmod(0o755)
    return str(script)


def test_wrong_input_is_one_message(checkpoint, tmp_path):
    folder, data = checkpoint
    message = error_of("--networks", "resnet18,resnet19", code=2)
    assert message.startswith('unstarve: --networks: unknown model "resnet19"; expected one of ')
    assert "resnet18" in message
    assert error_of("--networks", "cifar_net,cifar_net", code=2) == (
        "unstarve: --networks: found cifar_net twice; expected each network once")
    message = error_of("--networks", "cifar_speed", "--size", 8, code=3)
    assert message.startswith("unstarve: prepare cifar_speed: found images of 8 x 8 pixels, which the "
                              "network cannot process (")
    assert error_of("--networks", "cifar_net", "--val", data, code=2) == (
        "unstarve: --val: found no weights, and random ones have no accuracy; expected --weights")
    assert error_of("--weights", f"resnet18={folder}", code=2).endswith("expected weights of resnet18")
    renamed = tmp_path / "my.safetensors"
    renamed.write_bytes(unnamed_weights())
    assert error_of("--weights", renamed, code=2) == (
        f"unstarve: --weights: {renamed} does not name its network; expected the name in front of it, for example "
        f"resnet50={renamed}")
    assert "found no weights of the last layer of resnet18" in error_of("--weights", f"resnet18={renamed}", code=3)
    assert error_of("--networks", "cifar_net", "--engine", "abacus", code=2) == (
        'unstarve: engine: found "abacus"; expected auto, openvino, onnxruntime, tensorrt, libtorch')
    assert error_of("--weights", tmp_path / "none.safetensors", code=3).endswith("No such file or directory")
    assert error_of("--report", tmp_path / "no/models.html", code=3).startswith("unstarve: --report: write ")


def unnamed_weights():
    """A safetensors file of one tensor, without metadata."""
    header = json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + bytes(4)
