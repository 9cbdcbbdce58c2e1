"""The installed wheel: package and program, with and without pyarrow and torch, before and after other packages."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.wheel.conftest import ROOT

PARQUET = ROOT / "tests/fixtures/formats/parquet/plain.parquet"
READ = """if True:
    import sys
    import unstarve as un
    batches = list(un.open(sys.argv[1]).resize((16, 16)).batch(4, last="keep"))
    print(sum(len(labels) for _, labels in batches), batches[0][0].shape[1:])
"""
TRAIN = ("train", "synthetic:classes=4,images=200,size=32,seed=1", "--model", "cifar_net", "--epochs", "0.5",
         "--batch", "32")


def test_the_package_imports_alone(plain):
    code = """if True:
        import importlib.metadata, sys
        import unstarve as un
        assert importlib.metadata.version("unstarve") == un.__version__
        print(un.__version__, [name for name in ("torch", "pyarrow") if name in sys.modules], un.__file__)
    """
    version, loaded, file = plain.python(code).split()
    assert loaded == "[]" and file.startswith(str(plain.folder))
    assert plain.unstarve("--version").strip() == version


def test_a_folder_is_read_by_package_and_program(plain, photos):
    assert plain.python(READ, photos) == "24 (3, 16, 16)"
    report = json.loads(plain.unstarve("inspect", photos, "--json"))
    assert report["samples"] == 24


def test_the_program_needs_no_numpy(plain):
    """The command starts without importing the package."""
    loaded = plain.python("""if True:
        import sys, unstarve_program
        print("numpy" in sys.modules, "unstarve" in sys.modules)
    """)
    assert loaded == "False False"


class NotFound(BaseHTTPRequestHandler):
    """A server that has nothing."""

    def do_GET(self) -> None:
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()


def test_without_botocore_a_rejected_request_names_the_command(plain):
    code = """if True:
        import unstarve as un
        try:
            un.open("s3://bucket/train.tar")
        except un.Error as error:
            print(error)
    """
    with ThreadingHTTPServer(("127.0.0.1", 0), NotFound) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}"}
        messages = [plain.run("unstarve", "inspect", "s3://bucket/train.tar", **endpoint).stderr,
                    plain.run("python", "-c", code, **endpoint).stdout]
        server.shutdown()
    for message in messages:
        assert f"{plain.folder}/bin/python" in message, message
        assert "has no botocore; expected botocore. Run: pip install 'unstarve[s3]'" in message


def test_without_pyarrow_parquet_names_the_command(plain):
    expected = (f"open parquet {PARQUET}: package pyarrow not found: lib", "; expected pyarrow 26.0.*. "
                "Run: pip install 'unstarve[parquet]'")
    code = """if True:
        import sys
        import unstarve as un
        try:
            un.open(sys.argv[1])
        except un.errors.MissingError as error:
            print(error)
    """
    done = plain.run("unstarve", "inspect", PARQUET)
    assert done.returncode == 4
    for message in (plain.python(code, PARQUET), done.stderr):
        assert expected[0] in message and expected[1] in message
        assert len(message.strip().splitlines()) == 1


def test_without_torch_train_names_the_command(plain):
    done = plain.run("unstarve", *TRAIN)
    assert done.returncode == 4
    assert "unstarve: train: package torch not found: lib" in done.stderr
    assert "; expected torch 2.13.*. Run: pip install 'unstarve[torch]'" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    report = json.loads(plain.unstarve("doctor", "--json"))
    assert {"libtorch", "parquet"} <= {finding["topic"] for finding in report["findings"]}


@pytest.mark.parametrize("before", ["", "import pyarrow.parquet", "import unstarve, pyarrow.parquet"])
def test_with_pyarrow_parquet_is_read(with_parquet, before):
    assert with_parquet.python(f"{before}\n{READ}", PARQUET) == "5 (3, 16, 16)"


def test_pyarrow_works_after_unstarve_has_loaded_its_libraries(with_parquet):
    code = """if True:
        import sys
        import unstarve as un
        size = len(un.open(sys.argv[1]).batch(1))
        import pyarrow.parquet
        print(size == pyarrow.parquet.read_table(sys.argv[1]).num_rows)
    """
    assert with_parquet.python(code, PARQUET) == "True"


def test_the_program_reads_and_writes_parquet(with_parquet, photos):
    with_parquet.unstarve("pack", photos, "packed", "--format", "parquet")
    report = json.loads(with_parquet.unstarve("inspect", "packed", "--json"))
    assert report["format"] == "parquet" and report["samples"] == 24


def demo(environment, photos, *command):
    """Runs the demo in a few seconds; returns its lines and the report."""
    done = environment.run(*command, "demo", photos, "--thumbnails", "synthetic:images=300,size=32",
                           "--minutes", "0.02", "--folder", "demo")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), (environment.folder / "work/demo/report.html").read_text()


def test_the_demo_compares_with_pillow_where_torch_is_absent(with_pillow, photos):
    lines, report = demo(with_pillow, photos, "python", "-m", "unstarve")
    assert re.match(r"[\d.]+ \[.*\] times the images per second of Pillow in a pool, \d+ (thread|process)", lines[0])
    assert re.search(r'<p class="headline"><b><a href="#command-comparison">[\d.]+ ×</a></b>', report)
    assert f"command: python -m unstarve.comparison {photos} --pairs 6 --seconds 0.1" in lines
    command = f"unstarve tune {photos} --device emulated:h100-resnet50 --batch 24 --minutes 0.01"
    assert f"command: {command}" in lines and command in report
    missing = "training run left out: train: package torch not found: lib"
    assert [line for line in lines if line.startswith(missing)] and missing in report


def test_the_demo_without_pillow_names_the_command(plain, photos):
    reason = ("comparison with other loaders left out: compare with Pillow: package pillow not found; expected it to "
              "be installed. Run: pip install pillow")
    lines, report = demo(plain, photos, "unstarve")
    assert lines[0] == reason and reason in report and 'class="headline"' not in report


def test_another_version_is_named(plain, tmp_path):
    """The metadata of a package decides before its libraries are loaded."""
    (tmp_path / "torch-2.12.1.dist-info").mkdir()
    done = plain.run("unstarve", *TRAIN, PYTHONPATH=str(tmp_path))
    assert done.returncode == 4
    assert f"unstarve: train: found torch 2.12.1 in {tmp_path}; expected torch 2.13.*. " in done.stderr


def test_with_torch_the_program_trains(with_torch):
    assert "cifar_net on cpu: 0.5 epochs, 3 steps of 32" in with_torch.unstarve(*TRAIN)
    report = json.loads(with_torch.unstarve("doctor", "--json"))
    assert report["build"]["libtorch"].startswith("2.13.") and report["build"]["arrow"].startswith("26.0.")


def test_with_torch_a_python_module_is_trained(with_torch, photos):
    code = """if True:
        import sys
        import torch
        import unstarve as un
        loader = un.open(sys.argv[1]).resize((16, 16)).batch(4)
        module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, 2))
        history = un.Trainer(module, loader, epochs=2, learning_rate=0.001, checkpoint_dir="run").fit()
        print(history["steps"] == 2 * len(loader))
    """
    assert with_torch.python(code, photos) == "True"


@pytest.mark.parametrize("order", [("torch", "unstarve", "pyarrow.parquet"), ("unstarve", "pyarrow.parquet", "torch"),
                                   ("pyarrow.parquet", "torch", "unstarve")])
def test_torch_and_pyarrow_share_the_process(with_torch, photos, order):
    code = """if True:
        import importlib, sys
        for name in sys.argv[3].split(","):
            importlib.import_module(name)
        import pyarrow.parquet, torch
        import unstarve as un
        rows = pyarrow.parquet.read_table(sys.argv[2]).num_rows
        assert len(un.open(sys.argv[2]).batch(1)) == rows
        loader = un.open(sys.argv[1]).resize((16, 16)).batch(4).to_torch("cpu")
        total = sum(images.float().mean().item() for images, _ in loader)
        weights = torch.nn.Linear(4, 4)(torch.ones(1, 4)).sum()
        weights.backward()
        print(total > 0)
    """
    assert with_torch.python(code, photos, PARQUET, ",".join(order)) == "True"
