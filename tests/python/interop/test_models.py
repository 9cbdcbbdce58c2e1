"""Weights are exchanged between Python and C++; the recorded golden values are torchvision's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "golden"))

import make_models  # noqa: E402
from unstarve import weights  # noqa: E402

GOLDEN = json.loads(make_models.GOLDEN.read_text())


def models_test_program() -> Path:
    build = Path(os.environ["UNSTARVE"]).parent if "UNSTARVE" in os.environ else ROOT / "build"
    program = build / "unstarve_models_test"
    if not program.exists():
        pytest.skip(f"{program} is not built: this build has no libtorch")
    return program


def formula_state(name: str) -> dict[str, np.ndarray]:
    model = GOLDEN[name]
    return {key: make_models.formula(key, tuple(shape), model["gain"]) for key, shape in model["shapes"].items()}


def test_arrays_round_trip(tmp_path):
    arrays = {
        "a.weight": np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(2, 0, 1),
        "count": np.array(7, np.int64),
        "empty": np.zeros((0, 3), np.uint8),
        "flag": np.array([True, False]),
    }
    weights.convert(arrays, tmp_path / "x.safetensors")
    back = weights.load(tmp_path / "x.safetensors")
    assert back.keys() == arrays.keys()
    for key, array in arrays.items():
        assert back[key].dtype == array.dtype
        np.testing.assert_array_equal(back[key], array)


def test_a_pth_file_round_trips_through_safetensors(tmp_path):
    torch = pytest.importorskip("torch")
    state = {
        "w": torch.randn(4, 3, 2, 2).contiguous(memory_format=torch.channels_last),
        "h": torch.randn(5).bfloat16(),
        "n": torch.tensor(3),
    }
    torch.save({"state_dict": state, "epoch": 1}, tmp_path / "x.pth")
    weights.convert(tmp_path / "x.pth", tmp_path / "x.safetensors")
    back = weights.load_torch(tmp_path / "x.safetensors")
    for key, tensor in state.items():
        assert back[key].dtype == tensor.dtype
        assert torch.equal(back[key], tensor)


def test_invalid_state_dicts_are_rejected_without_leaving_a_file(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save([1, 2], tmp_path / "list.pth")
    with pytest.raises(ValueError, match="expected a state_dict"):
        weights.convert(tmp_path / "list.pth", tmp_path / "x.safetensors")
    with pytest.raises(ValueError, match="complex"):
        weights.convert({"a": np.zeros(2, np.complex64)}, tmp_path / "x.safetensors")
    for wrong, message in (({"a": 3}, "'a': found int; expected a tensor"),
                           (torch.optim.SGD([torch.zeros(1)], 0.1).state_dict(), "'state': found dict; expected a ten"),
                           ({"a": torch.eye(3).to_sparse()}, "'a': found layout torch.sparse_coo; expected a dense"),
                           ({1: torch.zeros(1)}, "the name 1; expected a text"),
                           ({"__metadata__": torch.zeros(1)}, "the name '__metadata__'")):
        with pytest.raises(ValueError, match=message):
            weights.convert(wrong, tmp_path / "x.safetensors")
    assert [p.name for p in tmp_path.iterdir()] == ["list.pth"]


def test_files_that_are_no_state_dict_of_torch_are_named(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.nn.Linear(2, 2), tmp_path / "module.pth")
    (tmp_path / "truncated.pth").write_bytes((tmp_path / "module.pth").read_bytes()[:100])
    (tmp_path / "text.pth").write_text("hello")
    for name in ("module.pth", "truncated.pth", "text.pth"):
        with pytest.raises(ValueError, match=rf"convert {tmp_path / name}: torch.load\(weights_only=True\) failed: "):
            weights.convert(tmp_path / name, tmp_path / "x.safetensors")
    with pytest.raises(FileNotFoundError):
        weights.convert(tmp_path / "none.pth", tmp_path / "x.safetensors")


@pytest.mark.parametrize("content", [b"", b"\xff" * 20, b"\x02" + bytes(7) + b"[]"])
def test_invalid_safetensors_files_are_rejected(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ValueError, match="invalid safetensors file"):
        weights.load(tmp_path / "x")


def test_a_truncated_file_is_rejected(tmp_path):
    weights.convert({"a": np.zeros(8, np.float32)}, tmp_path / "x")
    (tmp_path / "x").write_bytes((tmp_path / "x").read_bytes()[:-1])
    with pytest.raises(ValueError, match="tensor 'a' exceeds the file"):
        weights.load(tmp_path / "x")


def check_logits_of_program(name, path, **environment):
    """Runs the C++ test that loads `path` and compares logits, by default with the recorded ones."""
    program = models_test_program()
    environment = os.environ | {"UNSTARVE_TEST_WEIGHTS": str(path), "UNSTARVE_TEST_MODEL": name} | environment
    run = subprocess.run([program, "[.python]"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "All tests passed" in run.stdout


@pytest.mark.parametrize("name", ["resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0"])
def test_the_program_loads_converted_weights_and_computes_torchvisions_logits(name, tmp_path):
    path = tmp_path / f"{name}.safetensors"
    weights.convert(formula_state(name), path)
    check_logits_of_program(name, path)


def import_torchvision():
    pytest.importorskip("torch")
    try:
        return make_models.import_torchvision()
    except ImportError:
        pytest.skip("torchvision is not installed (pip install --no-deps torchvision)")


def state_dict_of_torchvision(name, path):
    """Saves the state_dict of a network with initial weights and the statistics of one batch. Returns its logits."""
    import torch

    torch.manual_seed(1)
    network = make_models.network_of(name)
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = None  # the statistics of the batch alone
    with torch.no_grad():
        network.train()(torch.rand(8, 3, make_models.IMAGE_SIZE, make_models.IMAGE_SIZE) - 0.5)
        logits = network.eval()(torch.from_numpy(make_models.input_image()))[0]
    torch.save(network.state_dict(), path)
    return logits.tolist()


@pytest.mark.parametrize("name", ["mobilenet_v2_0.5", "cifar_mobilenet_v2_0.5", "mobilenet_v3_large",
                                  "mobilenet_v3_small", "efficientnet_b0"])
def test_a_state_dict_saved_by_torchvision_gives_its_logits(name, tmp_path):
    import_torchvision()
    logits = state_dict_of_torchvision(name, tmp_path / "x.pth")
    assert np.std(logits) > 0.01
    weights.convert(tmp_path / "x.pth", tmp_path / "x.safetensors")
    recorded = tmp_path / "logits.json"
    recorded.write_text(json.dumps({"image_size": make_models.IMAGE_SIZE, "logits": logits}))
    check_logits_of_program(name, tmp_path / "x.safetensors", UNSTARVE_TEST_LOGITS=str(recorded))


def test_the_recorded_values_are_torchvisions():
    import_torchvision()
    made = make_models.make()
    assert made.keys() == GOLDEN.keys()
    for name, model in made.items():
        assert model.get("shapes") == GOLDEN[name].get("shapes")
        for key in ("parameters", "gain"):
            assert model[key] == GOLDEN[name][key]
        assert model.get("deviations", {}).keys() == GOLDEN[name].get("deviations", {}).keys()
        scale = np.abs(model["logits"]).max()
        np.testing.assert_allclose(GOLDEN[name]["logits"], model["logits"], rtol=0, atol=2e-5 * scale)
