"""`unstarve export`, and ONNX files in the real checker and in ONNX Runtime."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest


def run_export(model, out, *options, environment=None):
    """The finished process."""
    command = [os.environ["UNSTARVE"], "export", str(model), "--out", str(out), *map(str, options)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300,
                             env={**os.environ, **(environment or {})})
    if process.returncode == 4 and "no libtorch" in process.stderr:
        pytest.skip("this build has no libtorch: " + process.stderr.strip())
    return process


def require_openvino():
    """Skips in a build without OpenVINO."""
    done = subprocess.run([os.environ["UNSTARVE"], "serve-engine", "openvino"], input='{"load": "none.onnx"}\n',
                          capture_output=True, text=True, check=False)
    if "this build has no OpenVINO" in done.stdout:
        pytest.skip("this build has no OpenVINO")


def sums_may_overflow():
    """Whether sums of 8-bit products overflow: on x86 without VNNI."""
    flags = set(Path("/proc/cpuinfo").read_text().split())
    return "avx2" in flags and flags.isdisjoint({"avx512_vnni", "avx_vnni"})


def exported(model, out, *options):
    """The JSON of an export that succeeds."""
    process = run_export(model, out, *options, "--json")
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def checked(path):
    """The model of a file that the checker of the onnx package accepts, with inferred shapes."""
    import onnx

    onnx.checker.check_model(str(path), full_check=True)
    return onnx.load(path)


def kinds(path):
    return [node.op_type for node in checked(path).graph.node]


def session(path):
    """A session of ONNX Runtime without optimisations: every node of the file is executed."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def outputs(path, images):
    runner = session(path)
    return runner.run(None, {runner.get_inputs()[0].name: images})[0]


def assert_close(found, expected, rtol=2e-5):
    """The largest difference is at most `rtol` of the largest value."""
    assert found.shape == expected.shape
    assert np.abs(expected).max() > 1e-3
    assert np.abs(found - expected).max() <= rtol * np.abs(expected).max()
