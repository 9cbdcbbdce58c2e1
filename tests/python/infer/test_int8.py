"""`unstarve export --int8` with real photographs: OpenVINO and ONNX Runtime compute the file in int8, and their outputs
follow those in float32."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from export_support import checked, exported, kinds, require_openvino, run_export, sums_may_overflow

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("openvino")

from onnx import numpy_helper  # noqa: E402
from onnx_models import resnet  # noqa: E402

SIZE = 64


@pytest.fixture(scope="session", autouse=True)
def openvino():
    require_openvino()


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    return resnet(tmp_path_factory.mktemp("int8") / "photos.onnx", classes=100, size=SIZE)


@pytest.fixture(scope="session")
def quantised(model, photographs, tmp_path_factory):
    out = tmp_path_factory.mktemp("int8") / "photos-int8.onnx"
    return exported(model, out, "--int8", photographs), out


def outputs(path, photographs, folder, engine="onnxruntime"):
    """The outputs of `infer` for all photographs."""
    done = subprocess.run([os.environ["UNSTARVE"], "infer", path, photographs, "--out", folder / "o.npy", "--engine",
                           engine, "--batch", "4", "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return np.load(folder / "o.npy")


def correlation(a, b):
    """Of outputs without what is the same for all images."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))


@pytest.fixture(scope="session")
def expected(model, photographs, tmp_path_factory):
    return outputs(model, photographs, tmp_path_factory.mktemp("expected"))


@pytest.mark.parametrize("engine", ["openvino", "onnxruntime"])
def test_outputs_follow_those_in_float32(engine, quantised, expected, photographs, tmp_path):
    found = outputs(quantised[1], photographs, tmp_path, engine)
    assert correlation(found, expected) > 0.98
    assert np.abs(found - expected).mean() < 0.1 * np.abs(expected - expected.mean(axis=0)).mean()


def test_every_layer_is_quantised_and_computed_in_int8(quantised, model):
    result, out = quantised
    layers = sum(kind in ("Conv", "Gemm") for kind in kinds(out))
    int8 = result["int8"]
    assert int8["layers"] == layers == 11
    assert (int8["method"], int8["weight_bits"], int8["images"], int8["engine"]) == ("mse", 8, 100, "openvino")
    assert int8["int8_kernels"] == layers, int8["kernels"]
    assert sum(int8["kernels"].values()) == layers
    assert result["weight_bytes"] < 0.3 * os.path.getsize(model)


def test_parameters_in_int8_count(quantised, model, tmp_path):
    assert quantised[0]["parameters"] == exported(model, tmp_path / "float.onnx")["parameters"]


def test_onnx_runtime_computes_the_layers_in_int8(quantised, tmp_path):
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(quantised[1]), options, providers=["CPUExecutionProvider"])
    found = [node.op_type for node in onnx.load(tmp_path / "optimised.onnx").graph.node]
    assert found.count("QLinearConv") == 10
    assert found.count("QLinearAdd") == 3
    assert "Conv" not in found and "FusedConv" not in found


def test_the_kernels_of_onnx_runtime_are_reported(quantised, model, photographs):
    def kernels(path):
        done = subprocess.run([os.environ["UNSTARVE"], "infer", path, photographs, "--engine", "onnxruntime", "--batch",
                               "4", "--json"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["kernels"]

    found = kernels(quantised[1])  # the linear layer: as the version of ONNX Runtime decides
    assert found["QLinearConv cpu_I8"] == 10 and sum(found.values()) == 11, found
    assert kernels(model) == {"Conv cpu_F32": 10, "Gemm cpu_F32": 1}


def test_an_engine_that_computes_nothing_in_int8_fails(model, photographs, tmp_path):
    """ONNX Runtime without its optimisations, and without OpenVINO."""
    (tmp_path / "openvino-2025.3.0.dist-info").mkdir()
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nexec {sys.executable} "
                      """"$1" "$2" "$(printf %s "$3" | sed s/optimise=True/optimise=False/)" "$4"\n""")
    python.chmod(0o755)
    environment = {"UNSTARVE_PACKAGES": f"{tmp_path}:{os.environ.get('UNSTARVE_PACKAGES', '')}"}
    out = tmp_path / "o.onnx"
    done = run_export(model, out, "--int8", photographs, "--json", environment=environment)
    assert done.returncode == 0, done.stderr
    int8 = json.loads(done.stdout)["int8"]
    assert (int8["engine"], int8["int8_kernels"]) == ("onnxruntime", 10)
    out.unlink()
    done = run_export(model, out, "--int8", photographs, environment={**environment, "UNSTARVE_PYTHON": str(python)})
    assert done.returncode == 3
    assert "engine onnxruntime computes none of the 11 quantised layers in int8; expected at least one" in done.stderr
    assert not out.exists()


def test_scales_are_positive_and_weights_symmetric(quantised):
    graph = checked(quantised[1]).graph
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    int8 = [array for array in weights.values() if array.dtype == np.int8 and array.ndim > 1]
    assert len(int8) == 11
    assert all(array.min() >= -127 and np.abs(array).max() == 127 for array in int8)
    for node in graph.node:
        if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            assert (weights[node.input[1]] > 0).all()
            assert all((weights[name] == 0).all() for name in node.input[2:])


@pytest.mark.parametrize("method", ["min-max", "percentile", "entropy"])
def test_every_method_of_calibration_keeps_the_outputs(method, model, photographs, expected, tmp_path):
    out = tmp_path / "int8.onnx"
    assert exported(model, out, "--int8", photographs, "--int8-method", method)["int8"]["method"] == method
    assert correlation(outputs(out, photographs, tmp_path), expected) > 0.97


def test_seven_bits_and_fewer_images(model, photographs, expected, tmp_path):
    out = tmp_path / "int8.onnx"
    int8 = exported(model, out, "--int8", photographs, "--int8-images", 20, "--weight-bits", 7)["int8"]
    assert (int8["images"], int8["weight_bits"], int8["may_overflow"]) == (20, 7, False)
    arrays = [numpy_helper.to_array(tensor) for tensor in checked(out).graph.initializer]
    assert max(np.abs(a).max() for a in arrays if a.dtype == np.int8 and a.ndim > 1) == 63
    assert correlation(outputs(out, photographs, tmp_path), expected) > 0.97


def test_a_cpu_without_vnni_is_reported(model, photographs, tmp_path):
    process = run_export(model, tmp_path / "int8.onnx", "--int8", photographs, "--int8-images", 8)
    assert process.returncode == 0
    assert ("has no VNNI instructions: sums may overflow here" in process.stdout) == sums_may_overflow()


def test_signed_activations(model, photographs, expected, quantised, tmp_path):
    def quantised_types(path):
        """uint8 is the type without a zero point."""
        types = {tensor.name: tensor.data_type for tensor in checked(path).graph.initializer}
        return {types[node.input[2]] if len(node.input) == 3 else onnx.TensorProto.UINT8
                for node in checked(path).graph.node if node.op_type == "QuantizeLinear"}

    out = tmp_path / "int8.onnx"
    assert exported(model, out, "--int8", photographs, "--signed-activations")["int8"]["signed_activations"]
    assert quantised_types(out) == {onnx.TensorProto.INT8}
    assert onnx.TensorProto.UINT8 in quantised_types(quantised[1])
    assert correlation(outputs(out, photographs, tmp_path), expected) > 0.97


def test_the_same_images_give_the_same_file(model, photographs, quantised, tmp_path):
    exported(model, tmp_path / "again.onnx", "--int8", photographs)
    assert (tmp_path / "again.onnx").read_bytes() == quantised[1].read_bytes()


def test_weights_of_linear_layers_alone(model, photographs, expected, tmp_path):
    out = tmp_path / "weights.onnx"
    assert exported(model, out, "--int8-weights")["int8"] is None
    graph = checked(out).graph
    assert [node.op_type for node in graph.node].count("DequantizeLinear") == 1
    assert sum(tensor.data_type == onnx.TensorProto.INT8 and len(tensor.dims) == 2 for tensor in graph.initializer) == 1
    assert os.path.getsize(out) < os.path.getsize(model) - 3 * 64 * 100 + 2000
    for engine in ("openvino", "onnxruntime"):
        assert correlation(outputs(out, photographs, tmp_path, engine), expected) > 0.999


def message(model, out, *options, code):
    process = run_export(model, out, *options)
    assert process.returncode == code, (process.stdout, process.stderr)
    assert not out.exists()
    return process.stderr.strip()


def test_options_and_models_that_do_not_fit_are_rejected(model, quantised, photographs, tmp_path):
    out = tmp_path / "o.onnx"
    (tmp_path / "empty").mkdir()
    assert "--int8-method: found \"kl\"; expected min-max" in message(
        model, out, "--int8", photographs, "--int8-method", "kl", code=2)
    assert "--int8-weights: found --int8" in message(model, out, "--int8", photographs, "--int8-weights", code=2)
    assert ("found --weight-bits or --signed-activations for a model in float32; expected them with --int8, or for a "
            "checkpoint of training with --qat") in message(model, out, "--weight-bits", 7, code=2)
    assert "The layers are quantised: prune the model in float32" in message(quantised[1], out, "--prune-channels", 0.5,
                                                                             code=3)
    assert str(tmp_path / "none") in message(model, out, "--int8", tmp_path / "none", code=3)
    assert str(tmp_path / "empty") in message(model, out, "--int8", tmp_path / "empty", code=3)
    assert "found no Conv, Gemm or MatMul with constant float32 weights" in message(
        quantised[1], out, "--int8", photographs, code=3)


def test_an_interrupted_calibration_leaves_no_file(model, photographs, tmp_path):
    import signal
    import time

    out = tmp_path / "o.onnx"
    spec = tmp_path / "large.yaml"
    spec.write_text(json.dumps({"source": {"path": str(photographs)}, "order": {"repeat": 1000}}))
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    (tmp_path / "temporary").mkdir()
    process = subprocess.Popen([os.environ["UNSTARVE"], "export", model, "--out", out, "--int8", photographs,
                                "--int8-images", "100"], stderr=subprocess.PIPE, text=True, env=environment)
    deadline = time.monotonic() + 60
    while not list((tmp_path / "temporary").glob("*.onnx")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=60)[1]
    if process.returncode == 130:
        assert "stopped" in errors
        assert not out.exists()
    else:  # it was faster
        assert process.returncode == 0, errors
    assert not list((tmp_path / "temporary").iterdir())
