"""`unstarve train --dawnbench`: the two files of an entry, as the tests of DAWNBench's repository check them."""

import csv
import datetime
import json

import pytest
from train_support import finish, start_training, trained

SHORT = ["--model", "cifar_net", "--batch", "48", "--precision", "float32", "--operator-threads", "1", "--epochs", 2]


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.mark.parametrize(("classes", "columns"), [
    (10, ["epoch", "hours", "top1Accuracy"]),
    (12, ["epoch", "hours", "top1Accuracy", "top5Accuracy"]),
])
def test_the_files_have_the_fields_of_dawnbench(tmp_path, classes, columns):
    data = f"synthetic:classes={classes},images=96,size=32,seed=2"
    result = trained(data, "--val", data, *SHORT, "--price-per-hour", "3.5", "--dawnbench", tmp_path / "entry.tsv",
                     "--author", "Ada Lovelace <ada@example.org>")
    rows = rows_of(tmp_path / "entry.tsv")
    assert list(rows[0]) == columns
    assert [row["epoch"] for row in rows] == ["1", "2"]
    for row, point in zip(rows, result["evaluations"], strict=True):
        assert float(row["top1Accuracy"]) == pytest.approx(100 * point["accuracy"], abs=1e-3)
        if classes > 10:
            assert float(row["top5Accuracy"]) == pytest.approx(100 * point["accuracy_top5"], abs=1e-3)
            assert float(row["top5Accuracy"]) >= float(row["top1Accuracy"])
        # With the preparation, without evaluations.
        assert result["preparation_seconds"] < 3600 * float(row["hours"])
        assert 3600 * float(row["hours"]) < result["preparation_seconds"] + point["seconds"]
    entry = json.loads((tmp_path / "entry.json").read_text())
    assert (entry["version"], entry["author"], entry["authorEmail"]) == ("v1.0", "Ada Lovelace", "ada@example.org")
    assert entry["costPerHour"] == 3.5 and entry["model"] == "cifar_net"
    assert entry["framework"].startswith("unstarve ") and " CPU" in entry["hardware"]
    datetime.datetime.strptime(entry["timestamp"], "%Y-%m-%d")
    assert entry["misc"]["batch"] == 48


def test_without_a_price_and_an_author_the_entry_has_no_cost(tmp_path):
    data = "synthetic:classes=4,images=96,size=32,seed=2"
    trained(data, "--val", data, *SHORT, "--dawnbench", tmp_path / "entry")
    entry = json.loads((tmp_path / "entry.json").read_text())
    assert "costPerHour" not in entry and entry["author"] == entry["authorEmail"] == ""
    assert len(rows_of(tmp_path / "entry.tsv")) == 2


@pytest.mark.parametrize(("options", "message"), [
    (["--dawnbench", "entry"], "--dawnbench: found no validation data"),
    (["--author", "Ada <a@b>"], "--author: found without --dawnbench"),
    (["--dawnbench", "entry", "--val", "x", "--author", "Ada"], '--author: found "Ada"; expected a name and'),
    (["--dawnbench", "entry", "--val", "x", "--resume", "run"], "--dawnbench: found --resume"),
    (["--dawnbench", "no/such/entry", "--val", "x"], "no/such/entry"),
    (["--dawnbench", "entry", "--val", "x", "--out", "entry.json"],
     "--dawnbench: found entry.json, the file of --out; expected another file"),
    (["--dawnbench", "entry.json", "--val", "x", "--report", "entry.tsv"],
     "--dawnbench: found entry.tsv, the file of --report; expected another file"),
    (["--dawnbench", "folder", "--val", "x"], "--dawnbench: write folder.tsv: Is a directory"),
    (["--dawnbench", "data", "--val", "data.json"], "--dawnbench: found data.json, which this command reads"),
    (["--report", "same", "--trace", "same"], "--trace: found same, the file of --report; expected another file"),
])
def test_wrong_options_are_reported_before_the_data_is_opened(tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.tsv").mkdir()
    (tmp_path / "data.json").write_text("[]")
    code, _, errors = finish(start_training("missing", *options))
    assert code in (2, 3) and message in errors, errors
