"""`unstarve train --recipe`: settings, what overrides them, and resumed runs."""

import pytest
from train_support import finish, start_training, trained

DATA = "synthetic:classes=4,images=64,size=32,seed=2"
SHORT = ["--batch", "16", "--precision", "float32", "--operator-threads", "1", "--seed", "3"]


@pytest.fixture(scope="module")
def whole():
    """Two epochs of four steps, with the learning rate for the smaller batch."""
    return trained(DATA, "--val", DATA, "--recipe", "cifar-speed", *SHORT, "--epochs", 2)


def test_a_recipe_sets_network_schedule_and_evaluation(whole):
    assert (whole["model"], whole["batch"], whole["steps"]) == ("cifar_speed", 16, 8)
    assert whole["parameters"] == 1_971_352 - 256 * 6  # 4 classes instead of 10
    # 1.5 at batch 1024; the warm-up of 23 % of 8 steps has 2, from a share of 0.2.
    peak = 1.5 * 16 / 1024
    rates = [point["learning_rate"] for point in whole["points"]]
    assert rates[:2] == pytest.approx([peak * 0.6, peak])
    assert rates[-1] == pytest.approx(peak * (0.07 + 0.93 / 6))
    assert [evaluation["step"] for evaluation in whole["evaluations"]] == [8]


def test_a_recipe_has_a_length_of_its_own():
    short = ["--batch", "64", *SHORT[2:]]
    assert trained(DATA, "--recipe", "cifar-speed", *short, "--model", "cifar_net")["epochs"] == 10


def test_flags_override_the_recipe():
    result = trained(DATA, "--val", DATA, "--recipe", "cifar-speed", *SHORT, "--epochs", 1, "--model", "cifar_net",
                     "--learning-rate", "0.01", "--initial-share", "1", "--evaluate-every", "0.5", "--lookahead", "0",
                     "--augmentation", "standard")
    assert result["model"] == "cifar_net"
    assert result["points"][0]["learning_rate"] == 0.01
    assert [evaluation["step"] for evaluation in result["evaluations"]] == [2, 4]


def test_a_settings_file_may_begin_with_a_recipe(tmp_path, whole):
    file = tmp_path / "fast.yaml"
    file.write_text(f"unstarve: 1\nrecipe: cifar-speed\npipeline: {{source: {{path: '{DATA}'}}, batch: {{size: 16}}, "
                    f"order: {{seed: 3}}}}\ntrain: {{classes: 4, seed: 3, learning_rate: {1.5 * 16 / 1024}}}\n")
    result = trained("--config", file, "--val", DATA, *SHORT[2:], "--epochs", 2)
    assert result["loss_last"] == whole["loss_last"]
    assert result["evaluations"][-1]["loss"] == whole["evaluations"][-1]["loss"]
    file.write_text("unstarve: 1\nrecipe: cifar-sped\npipeline: {source: {path: x}}\n")
    code, _, errors = finish(start_training("--config", file))
    assert code == 3
    assert 'fast.yaml.recipe: line 2: found "cifar-sped"; expected one of cifar-speed' in errors


@pytest.mark.parametrize("key", [True, False])
def test_a_recipe_of_a_settings_file_fits_the_data_as_by_the_flag(tmp_path, key):
    """Fewer samples than a batch, and images of up to 40 px: batch, learning rate and size."""
    file = tmp_path / "fast.yaml"
    fixed = [*SHORT[2:], "--epochs", 2, "--evaluate-every", 1, "--val", DATA]
    for recipe, more in ("cifar-speed", []), ("imagenet", ["--model", "cifar_net", "--batch", "16"]):
        file.write_text(f"unstarve: 1\npipeline: {{source: {{path: '{DATA}'}}}}\n" + f"recipe: {recipe}\n" * key)
        of_file = trained("--config", file, *fixed, *more, *([] if key else ["--recipe", recipe]))
        by_flag = trained(DATA, "--recipe", recipe, *fixed, *more)
        for name in ("batch", "steps", "macs", "loss_first", "loss_last"):
            assert of_file[name] == by_flag[name], (recipe, name)
        assert [p["learning_rate"] for p in of_file["points"]] == [p["learning_rate"] for p in by_flag["points"]]


def test_keys_of_the_file_are_not_fitted_to_the_data(tmp_path):
    file = tmp_path / "fast.yaml"
    file.write_text(f"unstarve: 1\nrecipe: cifar-speed\npipeline: {{source: {{path: '{DATA}'}}, batch: {{size: 16}}, "
                    "operations: [resize: {size: 24}]}\ntrain: {learning_rate: 0.01, schedule: {initial_share: 1}}\n")
    result = trained("--config", file, *SHORT[2:], "--epochs", 1, "--model", "cifar_net")
    assert (result["batch"], result["points"][0]["learning_rate"]) == (16, 0.01)
    file.write_text(file.read_text().replace("16", "128"))
    code, _, errors = finish(start_training("--config", file, "--epochs", 1))
    assert code != 0 and "no full batch: 64 samples, batch 128" in errors, errors


def test_an_optimiser_by_the_flag_keeps_a_learning_rate_of_the_file(tmp_path):
    file = tmp_path / "s.yaml"
    for key, rate in ("learning_rate: 0.02, ", 0.02), ("", 0.001 * (16 / 256) ** 0.5):
        file.write_text(f"unstarve: 1\npipeline: {{source: {{path: '{DATA}'}}, batch: {{size: 16}}}}\n"
                        f"train: {{{key}model: cifar_net, schedule: {{name: constant, warmup: 0}}}}\n")
        result = trained("--config", file, "--optimiser", "adamw", *SHORT[2:], "--epochs", 1)
        assert result["points"][-1]["learning_rate"] == pytest.approx(rate)


def test_an_unknown_recipe_is_rejected_with_the_known_ones():
    code, _, errors = finish(start_training("no/such/data", "--recipe", "cifar-sped"))
    assert code == 2
    assert 'unknown recipe "cifar-sped"; expected one of cifar-speed' in errors


@pytest.mark.parametrize("epochs", [pytest.param("0.5", marks=pytest.mark.long), "1.25"])
def test_a_run_with_a_recipe_resumes_bit_equal(tmp_path, whole, epochs):
    """Across the first batch of the whitening layer, averages of lookahead and the epochs of the alternating flip."""
    few = DATA.replace("images=64", "images=8")
    trained(DATA, "--val", few, "--recipe", "cifar-speed", *SHORT, "--epochs", 2, "--evaluate-every", "0.25",
            "--checkpoint-dir", tmp_path, "--keep-checkpoints", 100)
    at = tmp_path / f"step-{round(float(epochs) * 4):08}.safetensors"
    resumed = trained(DATA, "--val", DATA, "--recipe", "cifar-speed", *SHORT, "--epochs", 2, "--resume", at)
    assert resumed["loss_last"] == whole["loss_last"]
    assert resumed["evaluations"][-1] == whole["evaluations"][-1] | {"seconds": resumed["evaluations"][-1]["seconds"]}
