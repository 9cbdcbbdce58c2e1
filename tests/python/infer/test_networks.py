"""`unstarve export` of every network of the zoo.

The onnx checker accepts the file, and ONNX Runtime computes the logits of torchvision, or those of libtorch, within
2e-5 of the largest one, before and after every pass.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from export_support import assert_close, checked, exported, kinds, outputs, run_export
from train_support import trained

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "golden"))

import make_models  # noqa: E402
from unstarve import weights  # noqa: E402

GOLDEN = json.loads(make_models.GOLDEN.read_text())
PASSES = ["remove_identities", "fold_constants", "fold_batch_norm"]


def off(*passes):
    return ["--passes", ",".join(f"{name}=off" for name in passes)] if passes else []


def formula_file(name, folder):
    """A state_dict with torchvision's names and weights by a formula, for which torchvision's logits are recorded."""
    model = GOLDEN[name]
    path = folder / f"{name}.safetensors"
    weights.convert({key: make_models.formula(key, tuple(shape), model["gain"])
                     for key, shape in model["shapes"].items()}, path)
    return path


def logits(name):
    return np.array([GOLDEN[name]["logits"]])


@pytest.mark.parametrize("name", make_models.MODELS)
def test_the_file_has_no_batch_norm_and_computes_torchvisions_logits(name, tmp_path):
    out = tmp_path / "model.onnx"
    result = exported(formula_file(name, tmp_path), out, "--model", name, "--image-size", make_models.IMAGE_SIZE)
    assert not {"BatchNormalization", "Dropout", "Identity"} & set(kinds(out))
    assert_close(outputs(out, make_models.input_image()), logits(name))
    assert result["input"] == {"type": "float32", "shape": ["batch", 3, 64, 64]}
    assert result["output"] == {"type": "float32", "shape": ["batch", 10]}
    assert result["file_bytes"] == out.stat().st_size
    assert result["weight_bytes"] < result["file_bytes"] < 1.03 * result["weight_bytes"] + 40000
    assert [entry["name"] for entry in result["passes"]] == PASSES
    assert result["passes"][2]["changed"] > 15
    assert result["passes"][2]["nodes_after"] == result["nodes"] == len(kinds(out))


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v3_small", "efficientnet_b0"])
def test_every_pass_keeps_the_logits(name, tmp_path):
    path = formula_file(name, tmp_path)
    counts = []
    for first in range(len(PASSES) + 1):
        out = tmp_path / f"{first}.onnx"
        exported(path, out, "--model", name, "--image-size", make_models.IMAGE_SIZE, *off(*PASSES[first:]))
        assert_close(outputs(out, make_models.input_image()), logits(name))
        counts.append(len(kinds(out)))
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[0] - 15


def test_any_batch_size_gives_the_same_logits(tmp_path):
    out = tmp_path / "model.onnx"
    exported(formula_file("mobilenet_v2", tmp_path), out, "--model", "mobilenet_v2", "--image-size", 64)
    images = np.concatenate([make_models.input_image(), -make_models.input_image(), make_models.input_image()])
    found = outputs(out, images)
    for i in range(3):
        assert_close(found[i:i + 1], outputs(out, images[i:i + 1]), rtol=1e-5)
    assert_close(found[2:], logits("mobilenet_v2"))


def libtorch_agrees(name, weights_file, image_size, found):
    """The C++ test that loads weights with libtorch and compares its logits with those of a file."""
    program = Path(os.environ["UNSTARVE"]).parent / "unstarve_models_test"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    recorded = weights_file.with_suffix(".json")
    recorded.write_text(json.dumps({"image_size": image_size, "logits": found[0].astype(float).tolist()}))
    environment = os.environ | {"UNSTARVE_TEST_WEIGHTS": str(weights_file), "UNSTARVE_TEST_MODEL": name,
                                "UNSTARVE_TEST_LOGITS": str(recorded)}
    run = subprocess.run([program, "[.python]"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "All tests passed" in run.stdout


@pytest.mark.parametrize(("name", "options"), [
    ("cifar_net", ["--average", "0.5", "--optimiser", "adamw", "--learning-rate", "0.01"]),
    ("cifar_speed", []), ("mobilenet_v2_0.35", []), pytest.param("cifar_resnet18", [], marks=pytest.mark.long),
])
def test_checkpoints_of_the_trainer_agree_with_libtorch(name, options, tmp_path):
    """Trained for a few steps, with the statistics of batch norm that they leave, and the average of the weights."""
    trained("synthetic:classes=10,images=32,size=32,seed=2", "--model", name, "--batch", "16", "--epochs", "1",
            "--evaluate-every", "0", "--checkpoint-dir", tmp_path / "checkpoints", "--precision", "float32", *options)
    out = tmp_path / "model.onnx"
    exported(tmp_path / "checkpoints", out, "--image-size", 32, "--classes", 10)
    assert "BatchNormalization" not in kinds(out)
    checkpoint = max((tmp_path / "checkpoints").glob("*.safetensors"))
    state = {key: value for key, value in weights.load(checkpoint).items()
             if not key.startswith(("optimiser.", "training.", "average.", "lookahead."))}
    weights.convert(state, tmp_path / "plain.safetensors")
    image = make_models.uniform("input", 3 * 32 * 32).astype(np.float32).reshape(1, 3, 32, 32)
    libtorch_agrees(name, tmp_path / "plain.safetensors", 32, outputs(out, image))


def test_an_exported_file_is_read_again_and_stays_the_same(tmp_path):
    first, second = tmp_path / "first.onnx", tmp_path / "second.onnx"
    exported(formula_file("mobilenet_v3_small", tmp_path), first, "--model", "mobilenet_v3_small", "--image-size", 64)
    result = exported(first, second)
    assert [entry["changed"] for entry in result["passes"]] == [0, 0, 0]
    assert kinds(first) == kinds(second)
    assert {i.name for i in checked(first).graph.initializer} == {i.name for i in checked(second).graph.initializer}
    assert_close(outputs(second, make_models.input_image()), logits("mobilenet_v3_small"))


def test_the_text_is_a_table_of_passes(tmp_path):
    path = formula_file("resnet18", tmp_path)
    process = run_export(path, tmp_path / "x.onnx", "--model", "resnet18", "--image-size", 64)
    assert process.returncode == 0, process.stderr
    assert f"{path}: float32 [batch, 3, 64, 64] to float32 [batch, 10]" in process.stdout
    rows = [line.split() for line in process.stdout.splitlines() if line.startswith("  fold_batch_norm")]
    assert rows == [["fold_batch_norm", "20", "69", "49"]]


@pytest.mark.parametrize(("options", "expected"), [
    (["--model", "resnet50"], 'tensor "layer1.0.conv1.weight" has shape [64, 64, 3, 3]; expected [64, 64, 1, 1]'),
    (["--model", "mobilenet_v2"], "found no weights of the last layer of mobilenet_v2"),
    ([], "the file does not name its network; expected --model"),
    (["--model", "resnet18", "--classes", "7"], "found weights for 10 classes; expected the requested 7"),
    (["--model", "resnet18", "--passes", "fold=off"], '--passes: found "fold=off"; expected NAME=on or NAME=off'),
])
def test_weights_that_do_not_fit_are_rejected(options, expected, tmp_path):
    process = run_export(formula_file("resnet18", tmp_path), tmp_path / "x.onnx", *options)
    assert process.returncode in (2, 3)
    assert expected in process.stderr
    assert not (tmp_path / "x.onnx").exists()


def test_weights_with_nan_are_rejected(tmp_path):
    path = formula_file("resnet18", tmp_path)
    state = dict(weights.load(path))
    state["layer2.0.conv1.weight"] = state["layer2.0.conv1.weight"].copy()
    state["layer2.0.conv1.weight"].flat[5] = np.nan
    weights.convert(state, path)
    process = run_export(path, tmp_path / "x.onnx", "--model", "resnet18")
    assert process.returncode == 3
    assert f'{path}: tensor "layer2.0.conv1.weight" contains NaN or infinity; expected finite' in process.stderr
