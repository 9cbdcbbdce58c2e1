"""`unstarve infer` with real ONNX models and photographs: predictions, engines, crashes, interrupted runs, errors."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from export_support import require_openvino
from onnx_models import resnet

import unstarve as un

PROGRAM = os.environ["UNSTARVE"]
SIZE = 64
FIXED = ["--engine", "openvino", "--batch", 8]  # measures neither engines nor batches, which takes seconds


@pytest.fixture(scope="session", autouse=True)
def openvino():
    """Skips the tests in a build without OpenVINO."""
    require_openvino()


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    resnet(folder / "photos.onnx", classes=100, size=SIZE)
    return folder


def start(*arguments, **environment):
    return subprocess.Popen([PROGRAM, "infer", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env={**os.environ, **environment})


def run(*arguments, **environment):
    process = start(*arguments, **environment)
    process.stdout_text, process.stderr_text = process.communicate()
    return process


def result_of(*arguments, **environment):
    done = run(*arguments, "--json", **environment)
    assert done.returncode == 0, done.stderr_text
    return json.loads(done.stdout_text)


def error_of(*arguments, code, **environment):
    done = run(*arguments, **environment)
    assert done.returncode == code, (done.stdout_text, done.stderr_text)
    return done.stderr_text.strip()


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def reference(model, photographs, size=SIZE):
    """The labels, and the outputs of ONNX Runtime for the batches of the Python loader."""
    loader = (un.open(photographs).sequential().resize(size * 8 // 7).center_crop(size).normalize(*un.IMAGENET)
              .batch(16, last="keep"))
    session = onnxruntime.InferenceSession(model)
    batches = [(session.run(None, {"images": images})[0], labels.copy()) for images, labels in loader]
    return np.concatenate([labels for _, labels in batches]), np.concatenate([outputs for outputs, _ in batches])


def unlabelled(photographs, folder):
    """A spec that declines the labels of the photographs."""
    spec = folder / "unlabelled.yaml"
    mean, std = (list(values) for values in un.IMAGENET)
    spec.write_text(f"source: {{path: {photographs}, labels: none}}\noutput: {{mean: {mean}, std: {std}}}\n")
    return spec


def softmax(outputs):
    exponentials = np.exp(outputs - outputs.max(1, keepdims=True))
    return exponentials / exponentials.sum(1, keepdims=True)


@pytest.mark.parametrize("engine", ["openvino", "onnxruntime", "libtorch"])
def test_the_outputs_are_those_of_onnx_runtime_on_the_same_batches(models, photographs, tmp_path, engine):
    labels, expected = reference(models / "photos.onnx", photographs)
    out = tmp_path / "outputs.npy"
    result = result_of(models / "photos.onnx", photographs, "--out", out, "--engine", engine)
    outputs = np.load(out)
    assert outputs.dtype == np.float32
    np.testing.assert_allclose(outputs, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
    assert result["engine"] == engine and result["engine_version"].count(".") >= 2
    assert result["samples"] == result["labelled"] == len(labels) == 100 and result["resumed"] == 0
    assert result["accuracy"] == pytest.approx((outputs.argmax(1) == labels).mean())
    assert result["samples_per_s"] > 0 and result["limit"] in ("engine", "loader")
    assert 0 <= result["loader_wait"] + result["engine_wait"] <= 1.001
    if engine == "openvino":
        assert result["precision"] == "float32"
        assert sum(count for kernel, count in result["kernels"].items() if kernel.startswith("Convolution")) == 10


@pytest.mark.parametrize("batch", [None, 1, 7])
def test_csv_and_parquet_have_the_most_probable_classes(models, photographs, tmp_path, batch):
    labels, expected = reference(models / "photos.onnx", photographs)
    probabilities = softmax(expected)
    options = ["--engine", "openvino", "--batch", batch] if batch else []
    for name, fixed in (("p.csv", options), ("p.parquet", options or FIXED)):
        result = result_of(models / "photos.onnx", photographs, "--out", tmp_path / name, "--top", 3, *fixed)
        assert result["top"] == 3 and result["batch"] == (batch or result["batch"])
    rows = table(tmp_path / "p.csv")
    classes = sorted(folder.name for folder in photographs.iterdir())
    order = np.argsort(-expected, axis=1, kind="stable")
    for i, row in enumerate(rows):
        assert (int(row["index"]), int(row["label"]), row["label_name"]) == (i, labels[i], classes[labels[i]])
        assert Path(row["name"]).parent.parent == photographs and Path(row["name"]).is_file()
        assert [int(row[key]) for key in ("class", "class_2", "class_3")] == list(order[i, :3])
        assert row["class_name_2"] == classes[order[i, 1]]
        for k, key in enumerate(("probability", "probability_2", "probability_3")):
            assert float(row[key]) == pytest.approx(probabilities[i, order[i, k]], rel=1e-3, abs=1e-6)
    top = (order[:, :3] == labels[:, None]).any(1).mean()
    assert len(rows) == 100 and result["accuracy_top"] == pytest.approx(top)

    parquet = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "p.parquet")
    assert parquet.column_names == list(rows[0])
    assert [str(parquet.schema.field(name).type) for name in ("index", "name", "label", "probability")] == [
        "int64", "string", "int64", "float"]
    for row, other in zip(rows, parquet.to_pylist(), strict=True):
        for key, value in other.items():
            if "probability" in key:
                assert float(row[key]) == pytest.approx(value, rel=1e-3, abs=1e-6)
            else:
                assert row[key] == str(value)


def test_data_without_labels_have_predictions_and_no_accuracy(models, photographs, tmp_path):
    out = tmp_path / "p.parquet"
    result = result_of(models / "photos.onnx", unlabelled(photographs, tmp_path), "--out", out, *FIXED)
    assert result["samples"] == 100 and result["labelled"] == 0 and result["accuracy"] is None
    rows = pytest.importorskip("pyarrow.parquet").read_table(out).to_pylist()
    assert [row["label"] for row in rows] == [None] * 100


def test_a_spec_has_operations_normalisation_and_filters_of_its_own(models, photographs, tmp_path):
    spec = tmp_path / "eval.yaml"
    spec.write_text(f"source: {{path: {photographs}, take: 10}}\n"
                    f"operations: [resize: {{size: [{SIZE}, {SIZE}]}}]\n"
                    "output: {mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25]}\n")
    loader = (un.open(photographs).sequential().resize((SIZE, SIZE)).normalize([0.5] * 3, [0.25] * 3)
              .batch(10, last="keep"))
    images, _ = next(iter(loader))
    expected = onnxruntime.InferenceSession(models / "photos.onnx").run(None, {"images": images})[0]
    result_of(models / "photos.onnx", spec, "--out", tmp_path / "o.npy", *FIXED)
    np.testing.assert_allclose(np.load(tmp_path / "o.npy"), expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


def test_operations_of_another_size_are_an_error(models, photographs, tmp_path):
    spec = tmp_path / "eval.yaml"
    spec.write_text(f"source: {{path: {photographs}}}\noperations: [resize: {{size: [32, 48]}}]\n")
    model = models / "photos.onnx"
    assert error_of(model, spec, *FIXED, code=3) == (
        f"unstarve: infer {model}: the operations make images of 48 x 32 px; expected 64 x 64, the input of the model")


def test_models_with_softmax_fixed_batches_and_any_size(photographs, tmp_path):
    resnet(tmp_path / "soft.onnx", classes=100, size=SIZE, softmax=True, batch=3)
    resnet(tmp_path / "any.onnx", classes=100, size=None)
    resnet(tmp_path / "logits.onnx", classes=100, size=SIZE)
    for name, options in (("soft", ["--engine", "openvino"]), ("any", [*FIXED, "--image-size", SIZE]),
                          ("logits", FIXED)):
        result = result_of(tmp_path / f"{name}.onnx", photographs, "--out", tmp_path / f"{name}.csv", *options)
        assert name != "soft" or result["batch"] == 3
    soft, same, logits = (table(tmp_path / f"{name}.csv") for name in ("soft", "any", "logits"))
    for one, two, three in zip(soft, same, logits, strict=True):
        assert one["class"] == two["class"] == three["class"]
        assert float(one["probability"]) == pytest.approx(float(three["probability"]), rel=1e-3)
    assert error_of(tmp_path / "soft.onnx", photographs, "--batch", 4, code=2) == (
        "unstarve: batch: found 4; expected 3, the first dimension of the model's input")


# --- interrupted runs ---------------------------------------------------------------------------------------------

IMAGES = 1500
SLOW = f"synthetic:classes=10,images={IMAGES},size=32,seed=1"
COLUMNS = ["--engine", "openvino", "--batch", "8", "--image-size", 96]


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slow")
    model = resnet(folder / "any.onnx", size=None)
    result = result_of(model, SLOW, "--out", folder / "whole.csv", *COLUMNS)
    return model, (folder / "whole.csv").read_bytes(), result


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timeout"
        time.sleep(0.002)


def children_of(pid):
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def started_run(model, out):
    """A run that has written some predictions."""
    process = start(model, SLOW, "--out", out, *COLUMNS)
    part = Path(f"{out}.part")
    begun = process.poll() is not None
    wait_for(lambda: process.poll() is not None or part.exists() and part.stat().st_size > 8000)
    assert not begun and process.poll() is None, process.communicate()
    return process, part


@pytest.fixture(scope="session")
def killed(uninterrupted, tmp_path_factory):
    """The part of a killed run."""
    out = tmp_path_factory.mktemp("killed") / "p.csv"
    process, part = started_run(uninterrupted[0], out)
    engines = children_of(process.pid)
    assert len(engines) == 1
    process.kill()
    process.communicate()
    assert not out.exists() and part.exists()
    wait_for(lambda: not Path(f"/proc/{engines[0]}").exists(), 20)  # the engine ends with its parent
    return part


def test_a_killed_run_continues_and_ends_with_the_same_file(uninterrupted, killed, tmp_path):
    model, whole, _ = uninterrupted
    out = tmp_path / "p.csv"
    part = Path(shutil.copy(killed, tmp_path))
    assert error_of(model, SLOW, "--out", out, *COLUMNS, code=2) == (
        f"unstarve: infer --out {out}: found {part} of an interrupted run; expected none. Pass --resume to continue "
        "that run, or delete the file")
    result = result_of(model, SLOW, "--out", out, *COLUMNS, "--resume")
    assert 0 < result["resumed"] < result["samples"] == IMAGES
    assert out.read_bytes() == whole
    assert not part.exists()


def test_a_part_with_a_torn_end_continues_with_another_batch(uninterrupted, killed, tmp_path):
    model, whole, first = uninterrupted
    out = tmp_path / "p.csv"
    part = Path(shutil.copy(killed, tmp_path))
    os.truncate(part, part.stat().st_size - 5)
    columns = [word if word != "8" else "5" for word in COLUMNS]
    result = result_of(model, SLOW, "--out", out, *columns, "--resume")
    assert 0 < result["resumed"] < IMAGES and result["batch"] == 5
    assert result["accuracy"] == first["accuracy"]
    assert [row["class"] for row in table(out)] == [
        row["class"] for row in csv.DictReader(whole.decode().splitlines())]


def test_ctrl_c_stops_in_order_and_says_how_to_continue(uninterrupted, tmp_path):
    model, whole, _ = uninterrupted
    out = tmp_path / "p.csv"
    process, _ = started_run(model, out)
    os.kill(children_of(process.pid)[0], signal.SIGINT)  # as a terminal, which signals the whole group
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130 and f"of {IMAGES} samples; --resume continues" in errors
    assert result_of(model, SLOW, "--out", out, *COLUMNS, "--resume")["resumed"] > 0
    assert out.read_bytes() == whole


def test_a_crash_of_the_engine_is_named_and_the_run_continues(uninterrupted, tmp_path):
    model, whole, _ = uninterrupted
    out = tmp_path / "p.csv"
    process, _ = started_run(model, out)
    os.kill(children_of(process.pid)[0], signal.SIGSEGV)
    _, errors = process.communicate()
    assert process.returncode == 1
    assert errors.strip() == "unstarve: engine openvino: its process ended by signal 11 (SIGSEGV); expected a response"
    assert result_of(model, SLOW, "--out", out, *COLUMNS, "--resume")["resumed"] > 0
    assert out.read_bytes() == whole


def test_the_part_of_another_model_is_not_continued(killed, tmp_path):
    out = tmp_path / "p.csv"
    shutil.copy(killed, tmp_path)
    other = resnet(tmp_path / "other.onnx", size=None, seed=2)
    message = error_of(other, SLOW, "--out", out, *COLUMNS, "--resume", code=3)
    assert message.startswith(f'unstarve: resume {out}.part: found predictions with model "any.onnx", model_sha256 ')


def test_a_part_without_one_of_its_blocks_is_not_continued(uninterrupted, killed, tmp_path):
    out = tmp_path / "p.csv"
    part = Path(shutil.copy(killed, tmp_path))
    content, magic = part.read_bytes(), len(b"unstarve predictions 1\n")
    size, = struct.unpack_from("<I", content, magic)
    begin = magic + 8 + size
    rows, = struct.unpack_from("<I", content, begin)
    values = json.loads(content[magic + 8:begin])["values"]
    block = 8 + rows * (16 + 4 * values)
    part.write_bytes(content[:begin + block] + content[begin + 2 * block:])
    message = error_of(uninterrupted[0], SLOW, "--out", out, *COLUMNS, "--resume", code=3)
    assert re.fullmatch(rf"unstarve: resume {out}.part: found \d+ rows for the first \d+ samples; expected a row "
                        "for each. Delete the file to start again", message), message


def test_policies_that_would_lose_the_numbers_of_samples_are_rejected(models, photographs, tmp_path):
    folder = tmp_path / "photographs"
    shutil.copytree(photographs, folder)
    damaged = sorted(folder.rglob("*.jpg"))[3]
    damaged.write_bytes(b"no image")
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"source: {{path: '{folder}'}}\nerrors: {{policy: replace}}\n")
    message = error_of(models / "photos.onnx", spec, "--out", tmp_path / "p.csv", code=2)
    assert message == ("unstarve: infer: found errors.policy replace, which predicts other samples instead; expected "
                       "fail or skip")
    spec.write_text(f"source: {{path: '{folder}'}}\nerrors: {{policy: skip}}\noutput: {{mean: [0.5, 0.5, 0.5]}}\n")
    assert "expected .csv or .parquet" in error_of(models / "photos.onnx", spec, "--out", tmp_path / "p.npy", code=2)
    result = result_of(models / "photos.onnx", spec, "--out", tmp_path / "p.csv", *FIXED)
    assert (result["samples"], result["bad"]) == (99, 1)
    indices = [int(row["index"]) for row in table(tmp_path / "p.csv")]
    assert indices == [i for i in range(100) if i != 3]


@pytest.mark.long
def test_memory_does_not_grow_with_the_number_of_samples(uninterrupted, tmp_path):
    model, _, _ = uninterrupted

    def peak(images):
        data = f"synthetic:classes=10,images={images},size=64,seed=1"
        process = subprocess.Popen([PROGRAM, "infer", str(model), data, "--out", str(tmp_path / f"{images}.npy"),
                                    *map(str, COLUMNS)], stdout=subprocess.DEVNULL)
        _, status, use = os.wait4(process.pid, 0)
        process.returncode = status
        assert status == 0
        return use.ru_maxrss / 1e3 - images * 3 * 64 * 64 / 1e6  # MB; synthetic data is in memory

    small, large = peak(1000), peak(20000)
    assert large < small + 20, (small, large)


# --- engines ------------------------------------------------------------------------------------------------------


def test_an_engine_that_crashes_is_left_out_by_name(models, photographs, tmp_path):
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\nkill -FPE $$\n")
    script.chmod(0o755)
    result = result_of(models / "photos.onnx", photographs, UNSTARVE_PYTHON=str(script))
    assert result["engine"] == "openvino"
    reason = "engine onnxruntime: its process ended by signal 8 (SIGFPE); expected a response"
    assert result["left_out"] == [{"engine": "onnxruntime", "reason": reason}]
    assert error_of(models / "photos.onnx", photographs, "--engine", "onnxruntime", code=1,
                    UNSTARVE_PYTHON=str(script)) == f"unstarve: {reason}"


def test_a_missing_package_is_one_message_with_the_command_that_installs_it(models, photographs, tmp_path):
    (tmp_path / "openvino-2025.3.0.dist-info").mkdir()
    message = error_of(models / "photos.onnx", photographs, "--engine", "openvino", code=4,
                       UNSTARVE_PACKAGES=str(tmp_path))
    assert message == (f"unstarve: engine openvino: found openvino 2025.3.0 in {tmp_path}; expected openvino 2026.4.*. "
                       "Run: pip install 'unstarve[infer]'   (in a source tree: make setup)")
    script = tmp_path / "python"
    script.write_text('#!/bin/sh\nexec /usr/bin/python3 -S "$@"\n')
    script.chmod(0o755)
    message = error_of(models / "photos.onnx", photographs, "--engine", "onnxruntime", code=4,
                       UNSTARVE_PYTHON=str(script))
    assert "No module named 'onnxruntime'" in message and "Run: pip install 'unstarve[infer]'" in message
    result = result_of(models / "photos.onnx", photographs, UNSTARVE_PACKAGES=str(tmp_path))
    assert result["engine"] == "onnxruntime" and result["left_out"][0]["engine"] == "openvino"


# --- errors -------------------------------------------------------------------------------------------------------


def model_file(path, inputs, classes=100):
    """A model of one node for each input: its mean, as often as there are classes."""
    nodes, results = [], []
    for name, kind, shape in inputs:
        nodes.append(onnx.helper.make_node("Cast", [name], [f"{name}_float"], to=onnx.TensorProto.FLOAT))
        nodes.append(onnx.helper.make_node("ReduceMean", [f"{name}_float"], [f"{name}_mean"],
                                           axes=list(range(1, len(shape))), keepdims=0))
        results.append(f"{name}_mean")
    graph = onnx.helper.make_graph(
        nodes, "means", [onnx.helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs],
        [onnx.helper.make_tensor_value_info(results[0], onnx.TensorProto.FLOAT, [inputs[0][2][0]])])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)
    return path


FLOAT, UINT8 = onnx.TensorProto.FLOAT, onnx.TensorProto.UINT8


@pytest.mark.parametrize(("inputs", "found"), [
    ([("a", FLOAT, [1, 3, 8, 8]), ("b", FLOAT, [1, 3, 8, 8])], "found 2 inputs; expected one, the images"),
    ([("a", UINT8, [1, 3, 8, 8])], "input a is uint8; expected float32"),
    ([("a", FLOAT, [1, 12])], "input a is 1 x 12; expected images: batch x 3 x height x width"),
    ([("a", FLOAT, [1, 8, 8, 3])], "input a is 1 x 8 x 8 x 3; expected images: batch x 3 x height x width"),
    ([("a", FLOAT, [1, 3, 8, 9])], "input a is 1 x 3 x 8 x 9; expected square images"),
    ([("a", FLOAT, ["n", 3, "h", "w"])],
     "input a is ? x 3 x ? x ?, without a size of the images; expected one. Pass --image-size"),
    ([("a", FLOAT, [2, 3, 8, 8])], "the first output is 2 for a batch of 2; expected batch x classes, at least two"),
])
def test_models_of_another_form_are_one_message(photographs, tmp_path, inputs, found):
    model = model_file(tmp_path / "m.onnx", inputs)
    assert error_of(model, photographs, code=3) == f"unstarve: infer {model}: {found}"


def test_files_and_options_that_do_not_fit_are_one_message(models, photographs, tmp_path):
    model = models / "photos.onnx"
    assert error_of("model.pt", photographs, code=2) == (
        'unstarve: infer model.pt: found the extension ".pt"; expected an ONNX file (.onnx). For a '
        "checkpoint, run unstarve export model.pt --out model.onnx")
    assert error_of("none.onnx", photographs, code=3) == "unstarve: open none.onnx: No such file or directory"
    assert error_of(model, tmp_path / "none", code=3).startswith("unstarve: open")
    assert error_of(model, photographs, "--out", "p.txt", code=2) == (
        'unstarve: --out p.txt: found the extension ".txt"; expected .csv, .parquet or .npy')
    unwritable = error_of(model, photographs, "--out", tmp_path / "none/p.csv", *FIXED, code=3)
    assert unwritable.startswith("unstarve: --out: write ")
    assert error_of(model, photographs, "--image-size", 32, *FIXED, code=3) == (
        f"unstarve: infer {model}: --image-size 32: input images is ? x 3 x 64 x 64; expected its size")
    assert error_of(model, photographs, "--top", 101, *FIXED, code=2) == (
        "unstarve: --top: found 101; expected at most 100, the classes of the model")
    assert error_of(model, photographs, "--resume", code=2) == (
        "unstarve: --resume: found no file of predictions; expected --out too")
    assert error_of(model, photographs, "--engine", "abacus", code=2) == (
        'unstarve: engine: found "abacus"; expected auto, openvino, onnxruntime, tensorrt, libtorch')
    missing = error_of(model, photographs, "--engine", "tensorrt", code=4)
    assert missing.startswith("unstarve: engine tensorrt: found the providers ") and "CPUExecutionProvider" in missing
    assert missing.endswith("expected TensorrtExecutionProvider. Run: pip install onnxruntime-gpu tensorrt")


@pytest.mark.parametrize(("name", "length", "found"), [
    ("cut", 0.5, "invalid ONNX model: a field declares"),
    ("text", None, "invalid ONNX model: wire type"),
    ("empty", 0, "found no graph"),
])
def test_damaged_models_are_one_message_that_names_the_file(photographs, tmp_path, name, length, found):
    model = Path(resnet(tmp_path / f"{name}.onnx", classes=100))
    data = model.read_bytes()
    model.write_bytes(b"not a model" if length is None else data[: int(len(data) * length)])
    message = error_of(model, photographs, code=3)
    assert message.startswith(f"unstarve: read '{model}': {found}"), message
    assert "\n" not in message


def test_class_counts_that_differ(photographs, tmp_path):
    few = resnet(tmp_path / "few.onnx", classes=10)
    assert error_of(few, photographs, *FIXED, code=3) == (
        f"unstarve: infer {few}: the model has 10 classes and the data 100; expected at most 10 classes. Pass the "
        "model of this data, or a spec with source.labels: none")
    assert result_of(few, unlabelled(photographs, tmp_path), *FIXED)["accuracy"] is None
    many = resnet(tmp_path / "many.onnx", classes=1000)
    done = run(many, photographs, *FIXED, "--json")
    assert json.loads(done.stdout_text)["accuracy"] is None
    assert "accuracy unknown: the model has 1000 classes and the data 100" in done.stderr_text


@pytest.mark.parametrize("engine", ["openvino", "onnxruntime"])
def test_outputs_that_are_not_numbers_are_an_error_with_the_sample(photographs, tmp_path, engine):
    model = resnet(tmp_path / "nan.onnx", classes=100, weights=np.nan)
    message = error_of(model, photographs, "--engine", engine, "--batch", 8, "--out", tmp_path / "p.csv", code=3)
    assert message.startswith(f"unstarve: infer {model}: the output for {photographs}/")
    assert "is not a finite number" in message
    assert [path.name for path in tmp_path.iterdir()] == ["nan.onnx"]  # nor a part to continue from
