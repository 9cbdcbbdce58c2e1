"""`unstarve train --prune`: zeros of the saved weights, sizes, resuming, ranks, export, accuracy, errors."""

import json
import os
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
from export_support import checked, exported
from train_support import finish, start_training, trained
from unstarve import weights

DATA = "synthetic:classes=4,images=48,size=32,seed=2"
RUN = ["--model", "cifar_net", "--batch", "8", "--precision", "float32", "--operator-threads", "1", "--seed", "3"]
FOUR = ["--learning-rate", "0.01", "--epochs", "4"]
ONE = ["--learning-rate", "0.01", "--epochs", "1"]
# Everything that keeps copies of weights.
COPIES = ["--optimiser", "adamw", "--learning-rate", "0.002", "--epochs", "4", "--average", "0.9", "--lookahead", "2",
          "--accumulate", "2"]
DENSE = {"features.0.0.weight": "first convolution", "fc.weight": "last linear layer"}
ARCHIVE = Path(os.environ.get("UNSTARVE_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))
ARCHIVE /= "cifar10-jpeg.tar.zst"


def test_the_saved_weights_have_the_zeros_of_the_result(tmp_path):
    out = tmp_path / "model.safetensors"
    result = trained(DATA, "--val", DATA, *RUN, *COPIES, "--prune", "0.7", "--out", out)
    pruning = result["pruning"]
    assert pruning["target"] == 0.7 and pruning["pattern"] is None
    assert pruning["sparsity"] == pytest.approx(0.7, abs=1e-4)
    assert {layer["name"]: layer["reason"] for layer in pruning["dense"]} == DENSE
    assert len(pruning["layers"]) == 5
    assert pruning["weights"] == sum(layer["weights"] for layer in pruning["layers"])
    saved = weights.load(out, optimiser=True)
    for layer in pruning["layers"]:
        name = layer["name"]
        assert layer["zeros"] == round(0.7 * layer["weights"]) and layer["weights"] == saved[name].size
        assert layer["sparsity"] == layer["zeros"] / layer["weights"]
        for prefix in ("", "training.", "lookahead."):
            assert np.array_equal(saved[prefix + name] == 0, saved["pruned." + name] != 0), prefix + name
        assert not np.signbit(saved[name][saved[name] == 0]).any()
    assert not any((saved[name] == 0).any() for name in DENSE)


def test_the_sizes_are_those_of_a_zip_archive_of_the_weights(tmp_path):
    out = tmp_path / "model.safetensors"
    sizes = trained(DATA, *RUN, *FOUR, "--prune", "0.8", "--out", out)["pruning"]["sizes"]
    weights.convert(weights.load(out), tmp_path / "plain")
    with zipfile.ZipFile(tmp_path / "zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.write(tmp_path / "plain")
        packed = archive.infolist()[0]
    assert sizes["float32_bytes"] == pytest.approx(packed.file_size, rel=0.01)
    assert sizes["zip_bytes"] == pytest.approx(packed.compress_size, rel=0.01)
    assert sizes["zip_bytes"] < 0.45 * sizes["float32_bytes"]


def test_a_pattern_leaves_n_of_m_input_channels_and_the_text_has_it(tmp_path):
    out = tmp_path / "model.safetensors"
    code, text, errors = finish(start_training(DATA, *RUN, *FOUR, "--prune-pattern", "2:4", "--out", out))
    assert code == 0, errors
    assert "pruned    50.00 % of " in text and "of 5 layers, pattern 2:4; dense: features.0.0.weight" in text
    assert "size      float32 " in text and ", zip " in text and "only engines for this pattern" in text
    for name, values in weights.load(out).items():
        if values.ndim == 4 and name not in DENSE:
            groups = np.moveaxis(values, 1, -1).reshape(-1, 4)
            assert ((groups != 0).sum(1) == 2).all(), name


def test_a_network_without_pruning_has_no_result_of_it():
    assert trained(DATA, *RUN, *ONE)["pruning"] is None


@pytest.mark.parametrize("options", [["--prune", "0.5", *COPIES],
                                     pytest.param(["--prune-pattern", "1:4", "--prune-every", "2", *FOUR],
                                                  marks=pytest.mark.long)])
def test_a_run_resumes_bit_equal_while_the_sparsity_rises(tmp_path, options):
    run = [DATA, *RUN, *options]
    whole = trained(*run, "--checkpoint-dir", tmp_path, "--keep-checkpoints", "9")
    steps = sorted(tmp_path.glob("step-*.safetensors"))
    expected = weights.load(steps[-1], optimiser=True)
    assert len(steps) == 4
    # After the first epoch, in the middle of the ramp, and after it.
    for at, step in enumerate(steps[:3]):
        rest = trained(*run, "--resume", step, "--out", tmp_path / f"{at}.out")
        assert rest["pruning"] == whole["pruning"]
        found = weights.load(tmp_path / f"{at}.out", optimiser=True)
        assert found.keys() == expected.keys()
        for name, values in expected.items():
            assert np.array_equal(found[name], values), (at, name)


def test_a_checkpoint_resumes_only_with_its_settings_of_pruning(tmp_path):
    out = tmp_path / "model.safetensors"
    trained(DATA, *RUN, *ONE, "--prune", "0.5", "--out", out)
    code, _, errors = finish(start_training(DATA, *RUN, *FOUR, "--resume", out))
    assert code == 3 and "the checkpoint has the pruning 0.5 between 0.1 and 0.6 of the run; expected none" in errors
    result = trained(DATA, *RUN, *ONE, "--weights", out, "--prune", "0.6")
    assert result["pruning"]["sparsity"] == pytest.approx(0.6, abs=1e-4)


def test_an_exported_file_has_the_zeros(tmp_path):
    out = tmp_path / "model.safetensors"
    pruning = trained(DATA, *RUN, *FOUR, "--prune", "0.5", "--out", out)["pruning"]
    exported(out, tmp_path / "model.onnx", "--image-size", 32)
    import onnx

    zeros = sorted(int((onnx.numpy_helper.to_array(tensor) == 0).sum())
                   for tensor in checked(tmp_path / "model.onnx").graph.initializer if len(tensor.dims) == 4)
    assert zeros == sorted([0, *(layer["zeros"] for layer in pruning["layers"])])


def photographs(folder):
    """Part of CIFAR-10: 2,000 images for training, 1,000 for validation."""
    if not ARCHIVE.exists():
        pytest.skip(f"{ARCHIVE} is not here")
    subprocess.run(["tar", "--zstd", "-xf", ARCHIVE, "-C", folder, "--wildcards", "cifar10/train/*/0[01]??.jpg",
                    "cifar10/test/*/00??.jpg"], check=True)
    return folder / "cifar10"


@pytest.mark.long
def test_half_of_the_weights_are_sufficient_for_nearly_the_same_accuracy(tmp_path):
    data = photographs(tmp_path)
    run = [data / "train", "--val", data / "test", "--model", "cifar_net", "--batch", "64", "--learning-rate", "0.02",
           "--epochs", "8", "--evaluate-every", "0", "--seed", "1"]
    dense, half = trained(*run), trained(*run, "--prune", "0.5")
    assert dense["accuracy"] > 0.35, dense["accuracy"]
    assert half["pruning"]["sparsity"] == pytest.approx(0.5, abs=1e-4)
    # Of 1,000 images; the deviation of a difference is about two points.
    assert half["accuracy"] > dense["accuracy"] - 0.1


@pytest.mark.parametrize(("options", "message"), [
    (["--prune", "1"], "--prune: found 1; expected at least 0 and less than 1"),
    (["--prune", "-0.5"], "--prune: found -0.5; expected at least 0 and less than 1"),
    (["--prune", "half"], '--prune: found "half"; expected a number'),
    (["--prune-pattern", "rows"], '--prune-pattern: found "rows"; expected any, channels, or N:M with N from 1 to'),
    (["--prune-pattern", "4:2"], 'found "4:2"; expected any, channels, or N:M with N from 1 to M - 1 and M up to 64'),
    (["--prune", "0.6", "--prune-pattern", "2:4"], "found 2:4 with the sparsity 0.6; expected 0.5, which follows"),
    (["--prune", "0.5", "--prune-ramp", "0.6,0.1"], "--prune-ramp: found 0.6, 0.1; expected two shares"),
    (["--prune-pattern", "1:5"], "found no layer that can be pruned"),
    (["--prune-pattern", "1:5"], "features.1.0.weight: 32 input channels, not a multiple of 5"),
])
def test_errors_have_the_reason(options, message):
    code, _, errors = finish(start_training(DATA, *RUN, *ONE, *options))
    assert code == 2 and message in errors, errors


def test_settings_files_have_the_settings_of_pruning(tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text('unstarve: 1\npipeline: {source: {path: "%s"}, batch: {size: 32}}\n'
                    'train: {model: cifar_net, prune: {pattern: "1:2", sparsity_ramp: [0, 0.5]}}\n' % DATA)
    explained = subprocess.run([os.environ["UNSTARVE"], "explain", "--config", path, "--json"], capture_output=True,
                               text=True, check=True)
    assert json.loads(explained.stdout)["settings"]["train"]["prune"] == {
        "sparsity": 0.0, "pattern": "1:2", "sparsity_ramp": [0.0, 0.5], "every": 0}
    result = trained("--config", path, "--epochs", "1", "--operator-threads", "1")
    assert result["pruning"]["pattern"] == "1:2" and result["pruning"]["sparsity"] == 0.5
