"""`unstarve compress` with real images: the ledger, the bound of the accuracy, the files, errors."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from export_support import checked, require_openvino

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("openvino")

from onnx_models import resnet  # noqa: E402

SIZE = 64
PROGRAM = os.environ["UNSTARVE"]


@pytest.fixture(scope="session", autouse=True)
def openvino():
    require_openvino()


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    return resnet(tmp_path_factory.mktemp("compress") / "photos.onnx", classes=100, size=SIZE)


@pytest.fixture(scope="session")
def unlabelled(photographs, tmp_path_factory):
    """A random network has no accuracy: what counts is the agreement with it."""
    spec = tmp_path_factory.mktemp("spec") / "photos.yaml"
    spec.write_text(json.dumps({"source": {"path": str(photographs), "labels": "none"},
                                "output": {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}}))
    return spec


def run(*arguments):
    return subprocess.run([PROGRAM, "compress", "--pairs", "6", *map(str, arguments)], capture_output=True, text=True,
                          check=False)


@pytest.fixture(scope="session")
def compressed(model, unlabelled, tmp_path_factory):
    out = tmp_path_factory.mktemp("compressed") / "small"
    done = run(model, "--data", unlabelled, "--max-accuracy-loss", "0.3", "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), out


def test_the_ledger_has_every_step_with_its_figures(compressed):
    result, _ = compressed
    names = [step["name"] for step in result["steps"]]
    assert names[:3] == ["original", "fold", "int8"]
    assert {"bfloat16", "engine", "threads"} <= set(names)
    assert (result["layers"], result["labelled"], result["calibration_images"]) == (11, False, 50)
    for step in result["steps"]:
        assert step["state"] in ("original", "kept", "reverted", "skipped")
        if step["state"] in ("reverted", "skipped"):
            assert step["reason"]
        if step["speed"] is not None:
            assert 0 < step["speed"]["low"] <= step["speed"]["ratio"] <= step["speed"]["high"]
            assert step["speed"]["pairs"] >= 6
        if step["state"] == "kept":
            assert step["loss"]["share"] <= 0.3
            assert step["speed"]["high"] >= 1
    original = result["steps"][0]
    assert original["accuracy"] == {"share": 1, "low": pytest.approx(0.93, abs=0.01), "high": pytest.approx(1),
                                    "images": 50}


def test_int8_is_a_quarter_of_the_size_and_runs_in_int8(compressed):
    result, _ = compressed
    original, int8 = result["steps"][0], next(step for step in result["steps"] if step["name"] == "int8")
    assert int8["change"].startswith("11 of 11 layers, limits by ")
    assert int8["int8_kernels"] == 11, int8["kernels"]
    assert int8["bytes"] < 0.35 * original["bytes"]
    assert int8["zip_bytes"] < int8["bytes"]
    assert int8["loss"]["share"] <= 0.3
    assert int8["speed"] is not None


def test_the_files_are_those_of_the_result(compressed, photographs):
    result, out = compressed
    assert sorted(path.name for path in out.iterdir()) == ["ledger.json", "model.onnx", "settings.json"]
    assert json.loads((out / "ledger.json").read_text()) == result
    checked(out / "model.onnx")
    assert os.path.getsize(out / "model.onnx") == result["after"]["bytes"]
    settings = json.loads((out / "settings.json").read_text())
    assert settings["model"] == "model.onnx"
    assert settings["engine"] == result["after"]["engine"]
    assert settings["latency"]["batch"] == 1
    assert settings["image_size"] == SIZE
    assert settings["mean"] == pytest.approx([0.485, 0.456, 0.406])
    done = subprocess.run([PROGRAM, "infer", out / "model.onnx", photographs, "--json"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr


def infer(model, data, *options, code=0):
    done = subprocess.run([PROGRAM, "infer", model, data, "--json", *map(str, options)], capture_output=True, text=True,
                          check=False)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.fixture
def copied(compressed, tmp_path):
    """The result in a folder of its own, and a function that changes its settings."""
    folder = tmp_path / "small"
    shutil.copytree(compressed[1], folder)
    file = folder / "settings.json"

    def change(**fields):
        file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))

    return folder, change


def test_infer_uses_the_settings_that_the_ledger_chose(copied, photographs):
    folder, change = copied
    model, file = folder / "model.onnx", str(folder / "settings.json")
    change(engine="onnxruntime", throughput={"streams": 1, "threads": 1, "batch": 3, "precision": "float32"})
    result, errors = infer(model, photographs)
    assert (result["engine"], result["streams"], result["threads"], result["batch"]) == ("onnxruntime", 1, 1, 3)
    assert result["settings"] == {"file": file, "used": ["engine", "precision", "streams", "threads", "batch"]}
    assert "settings.json" not in errors
    done = subprocess.run([PROGRAM, "infer", model, photographs], capture_output=True, text=True, check=False)
    assert f"settings  engine, precision, streams, threads, batch of {file}\n" in done.stdout

    result, _ = infer(model, photographs, "--batch", 5)
    assert (result["engine"], result["batch"]) == ("onnxruntime", 5)
    assert result["settings"]["used"] == ["engine", "precision"]
    result, _ = infer(model, photographs, "--engine", "openvino", "--batch", 5)
    assert (result["engine"], result["settings"]) == ("openvino", None)
    change(cpus=json.loads((folder / "settings.json").read_text())["cpus"] + 1)
    result, _ = infer(model, photographs)
    assert (result["engine"], result["settings"]["used"]) == ("onnxruntime", ["engine", "precision"])


def test_settings_of_another_model_are_not_used(copied, model, photographs):
    folder, change = copied
    (folder / "other.onnx").write_bytes(open(model, "rb").read())
    result, errors = infer(folder / "other.onnx", photographs, "--batch", 4)
    assert (result["settings"], errors) == (None, "")
    (folder / "model.onnx").write_bytes(open(model, "rb").read())
    result, errors = infer(folder / "model.onnx", photographs, "--batch", 4)
    assert result["settings"] is None
    assert f"{folder}/settings.json is of another version of {folder}/model.onnx: the engines are measured" in errors
    (folder / "settings.json").write_text("[1, 2]")  # of another program
    result, errors = infer(folder / "model.onnx", photographs, "--batch", 4)
    assert (result["settings"], errors) == (None, "")


def test_wrong_settings_are_one_message(copied, photographs, tmp_path):
    folder, change = copied
    change(throughput={"streams": 0, "threads": 1, "batch": 1, "precision": "float32"})
    message = infer(folder / "model.onnx", photographs, code=3)[1]
    assert message == (f"unstarve: read '{folder}/settings.json': throughput: \"streams\" is 0; expected 1 to 65536\n")
    python = tmp_path / "bare"
    python.write_text('#!/bin/sh\nexec /usr/bin/python3 -S "$@"\n')
    python.chmod(0o755)
    change(engine="onnxruntime", throughput={"streams": 1, "threads": 1, "batch": 1, "precision": "float32"})
    done = subprocess.run([PROGRAM, "infer", folder / "model.onnx", photographs], capture_output=True, text=True,
                          check=False, env={**os.environ, "UNSTARVE_PYTHON": str(python)})
    assert done.returncode == 4
    assert f"The engine is that of {folder}/settings.json; --engine auto uses another one" in done.stderr


def test_the_result_is_compared_with_the_original(compressed):
    result, _ = compressed
    assert result["speed"]["pairs"] >= 10
    assert result["before"]["accuracy"]["share"] == 1
    for figures in (result["before"], result["after"]):
        assert 0 < figures["p50_ms"] <= figures["p99_ms"]
        assert figures["throughput"]["samples_per_s"] > 0
    assert result["loss"]["share"] == pytest.approx(1 - result["after"]["accuracy"]["share"])


def test_the_result_is_compared_with_libtorch(compressed):
    reference = compressed[0]["reference"]
    assert (reference["engine"], reference["failure"]) == ("libtorch", None)
    assert 0 < reference["speed"]["low"] <= reference["speed"]["ratio"] <= reference["speed"]["high"]
    assert reference["p50_ms"] > 0


def test_the_engine_with_one_stream_calibrates_and_checks(model, unlabelled, tmp_path):
    done = run(model, "--data", unlabelled, "--images", "8", "--val-images", "8", "--max-accuracy-loss", "1",
               "--out", tmp_path / "small", "--engine", "libtorch", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["after"]["engine"] == "libtorch"
    assert next(step for step in result["steps"] if step["name"] == "int8")["accuracy"]["images"] == 8


def test_a_step_in_bfloat16_is_followed_by_engines_in_float32(compressed):
    result, _ = compressed
    engine = next(step for step in result["steps"] if step["name"] == "engine")
    assert "precision bfloat16" not in (engine["reason"] or "")


def test_a_bound_that_nothing_meets_leaves_the_folded_model(model, unlabelled, tmp_path):
    out = tmp_path / "small"
    done = run(model, "--data", unlabelled, "--max-accuracy-loss", "0", "--out", out, "--engine", "openvino",
               "--val-images", "20")
    assert done.returncode == 0, done.stderr
    result = json.loads((out / "ledger.json").read_text())
    assert result["loss"]["share"] <= 0
    assert result["after"]["accuracy"]["share"] == 1
    assert_text(done.stdout, result["loss"], out)


def assert_text(text, loss, out):
    """The text of a result with 20 images and the bound 0."""
    assert "agreement with the original" in text
    assert "loss         " in text
    assert ("20 images cannot exclude a loss above 0.00 %" in text) == (loss["high"] > 0)
    assert "streams/threads/batch" in text
    assert f"written      {out}/model.onnx" in text


def test_layers_return_to_float32_if_int8_loses_too_much(model, unlabelled, tmp_path):
    # A layer whose activations int8 cannot represent: one channel is 3,000 times the others. In ONNX Runtime: OpenVINO
    # may compute a mix of int8 and float32 layers differently in two processes.
    graph = onnx.load(model)
    weights = {tensor.name: tensor for tensor in graph.graph.initializer}
    convs = [node for node in graph.graph.node if node.op_type == "Conv"]
    first = onnx.numpy_helper.to_array(weights[convs[0].input[1]]).copy()
    first[0] *= 3000
    weights[convs[0].input[1]].CopyFrom(onnx.numpy_helper.from_array(first, convs[0].input[1]))
    for reader in convs[1:]:
        if reader.input[0] != "Relu_1":
            continue
        later = onnx.numpy_helper.to_array(weights[reader.input[1]]).copy()
        later[:, 0] /= 3000
        weights[reader.input[1]].CopyFrom(onnx.numpy_helper.from_array(later, reader.input[1]))
    onnx.save(graph, tmp_path / "wide.onnx")
    done = run(tmp_path / "wide.onnx", "--data", unlabelled, "--max-accuracy-loss", "0.3", "--out", tmp_path / "small",
               "--engine", "onnxruntime", "--json")
    assert done.returncode == 0, done.stderr
    steps = {step["name"]: step for step in json.loads(done.stdout)["steps"]}
    assert steps["int8"]["state"] == "reverted"
    assert "%; at most 30.00 % is allowed" in steps["int8"]["reason"]
    fewer = steps["int8 layers"]
    assert fewer["loss"]["share"] <= 0.3, fewer
    assert 1 <= int(fewer["change"].split(" of 11 layers")[0]) < 11


def test_int8_on_other_cpus_is_checked(model, unlabelled, tmp_path):
    """As on a CPU with VNNI, whose int8 is then limited to AVX2."""
    out = tmp_path / "small"

    def portability(bound, *options):
        report = tmp_path / "r.html"
        done = subprocess.run([PROGRAM, "compress", "--pairs", "6", model, "--data", unlabelled, "--max-accuracy-loss",
                               str(bound), "--out", out, "--report", report, *options], capture_output=True, text=True,
                              check=False, env={**os.environ, "UNSTARVE_VNNI": "1"})
        assert done.returncode == 0, done.stderr
        result = json.loads((out / "ledger.json").read_text())
        assert "weights of 7 bits" not in result["steps"][2]["change"]
        return result["portability"], done.stdout, report.read_text()

    (out).mkdir()
    (out / "model-7bits.onnx").write_text("of an earlier run")
    found, text, page = portability(0.9)
    assert found["failure"] is None and found["loss"]["images"] == 50
    assert found["seven_bits_loss"] is None and found["seven_bits_model"] is None
    assert "without VNNI " in text and "measured in OpenVINO with AVX2 only" in text
    assert "On x86 CPUs without VNNI: " in page and "measured in OpenVINO with AVX2 only" in page
    assert "layers are computed in int8: " in page and "streams/threads/batch" in page
    assert not (out / "model-7bits.onnx").exists()


def test_weights_of_linear_layers_are_tried_if_int8_is_reverted(unlabelled, tmp_path):
    """In ONNX Runtime without its optimisations, which computes nothing in int8."""
    model = tmp_path / "linear.onnx"
    weights = np.random.default_rng(1).normal(0, 0.05, (3 * 16 * 16, 512)).astype(np.float32)
    last = np.random.default_rng(2).normal(0, 0.05, (512, 10)).astype(np.float32)
    nodes = [onnx.helper.make_node("Flatten", ["images"], ["flat"]),
             onnx.helper.make_node("Gemm", ["flat", "w"], ["hidden"]), onnx.helper.make_node("Relu", ["hidden"], ["r"]),
             onnx.helper.make_node("Gemm", ["r", "v"], ["classes"])]
    graph = onnx.helper.make_graph(
        nodes, "linear", [onnx.helper.make_tensor_value_info("images", onnx.TensorProto.FLOAT, ["batch", 3, 16, 16])],
        [onnx.helper.make_tensor_value_info("classes", onnx.TensorProto.FLOAT, ["batch", 10])],
        [onnx.numpy_helper.from_array(weights, "w"), onnx.numpy_helper.from_array(last, "v")])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), model)
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nexec {sys.executable} "
                      """"$1" "$2" "$(printf %s "$3" | sed s/optimise=True/optimise=False/)" "$4"\n""")
    python.chmod(0o755)
    done = subprocess.run([PROGRAM, "compress", "--pairs", "6", model, "--data", unlabelled, "--max-accuracy-loss",
                           "0.5", "--out", tmp_path / "small", "--engine", "onnxruntime", "--json"],
                          capture_output=True, text=True, check=False,
                          env={**os.environ, "UNSTARVE_PYTHON": str(python)})
    assert done.returncode == 0, done.stderr
    steps = {step["name"]: step for step in json.loads(done.stdout)["steps"]}
    assert steps["int8"]["reason"] == "engine onnxruntime computes no layer in int8"
    assert steps["int8"]["int8_kernels"] == 0
    assert steps["int8 weights"]["change"] == "2 linear layers"
    assert steps["int8 weights"]["bytes"] < 0.3 * steps["original"]["bytes"]
    assert steps["int8 weights"]["loss"]["share"] <= 0.5


def test_wrong_arguments_and_data_are_rejected(model, photographs, unlabelled, tmp_path):
    def message(*arguments, code):
        done = run(*arguments)
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stderr

    out = tmp_path / "out"
    assert "none.onnx" in message(tmp_path / "none.onnx", "--data", photographs, "--out", out, code=3)
    assert str(tmp_path / "empty") in message(model, "--data", empty(tmp_path), "--out", out, code=3)
    assert "--val-split: found no --val" in message(model, "--data", photographs, "--val-split", "val", "--out", out,
                                                    code=2)
    model_folder = tmp_path / "folder"
    model_folder.mkdir()
    (model_folder / "model.onnx").write_bytes(open(model, "rb").read())
    own = message(model_folder / "model.onnx", "--data", photographs, "--out", model_folder, code=2)
    assert "whose model.onnx is the model itself" in own
    (model_folder / "model.onnx").rename(model_folder / "model-7bits.onnx")
    assert "whose model-7bits.onnx is the model itself" in message(
        model_folder / "model-7bits.onnx", "--data", photographs, "--out", model_folder, code=2)
    assert "--max-accuracy-loss" in message(model, "--data", photographs, "--max-accuracy-loss", "2", "--out", out,
                                            code=2)
    few = resnet(tmp_path / "few.onnx", classes=5, size=SIZE)
    assert f"compress {few}: the model has 5 classes and the data 100" in message(few, "--data", photographs, "--out",
                                                                                 out, code=3)
    assert f"--out: found the file {model}; expected a folder, or a new name" in message(
        model, "--data", photographs, "--out", model, code=2)
    assert not out.exists()


def empty(folder):
    (folder / "empty").mkdir()
    return folder / "empty"
