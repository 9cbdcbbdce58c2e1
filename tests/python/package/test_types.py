"""Types: the stub matches the extension module, and the sources and a user's program pass mypy --strict."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import unstarve
from unstarve import _core

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "tests/python/package/typed_program.py"
MODULES = ("arguments", "constructors", "dataloader", "device_operations", "errors", "facts", "functions",
           "functions.draws", "functions.image_arguments", "functions.operations", "functions.single_image",
           "functions.stubs", "jax", "loader", "loaders.base_loader", "loaders.batch_form", "loaders.conversions",
           "loaders.copies", "loaders.description", "loaders.device_part", "loaders.engine", "loaders.engines",
           "loaders.framework_loader", "loaders.run", "loaders.run_state", "mapped_loader", "mapping.bad_samples",
           "mapping.profile", "mapping.workers", "notices", "nvjpeg", "optional_packages", "pipeline", "ray",
           "schedules", "spec_json", "steps", "steps.base", "steps.execution", "steps.image_operations",
           "steps.operations", "steps.selection", "tensorflow", "torch", "torch_datasets.from_torch",
           "torch_datasets.run", "torch_datasets.steps", "torch_datasets.tensors", "training.batches",
           "training.checkpoints", "training.data", "training.interrupt", "training.length", "training.network",
           "training.reader", "training.settings", "training.trainer", "user_code.functions", "user_code.sources",
           "user_code.user_code", "weights")
NEEDS = {"dataloader": "torch", "device_operations": "torch", "jax": "jax", "tensorflow": "tensorflow",
         "torch": "torch", "torch_datasets.from_torch": "torch", "torch_datasets.run": "torch",
         "torch_datasets.steps": "torch", "torch_datasets.tensors": "torch", "training.batches": "torch",
         "training.data": "torch", "training.length": "torch", "training.network": "torch", "training.reader": "torch",
         "training.trainer": "torch"}


def test_the_stub_is_that_of_the_module():
    stubgen = pytest.importorskip("nanobind.stubgen")
    made = stubgen.StubGen(_core)
    made.put(_core)
    stub = ROOT / "python/unstarve/_core.pyi"
    assert stub.read_text() == made.get(), f"regenerate it: python -m nanobind.stubgen -m unstarve._core -o {stub}"


def test_package_and_a_program_that_uses_it_pass_mypy():
    pytest.importorskip("mypy")
    pytest.importorskip("torch")
    # A cache next to the build: reading torch's declarations takes ten seconds.
    cache = Path(_core.__file__).resolve().parents[2] / "mypy"
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--cache-dir", cache,
                           "--no-error-summary", "python/unstarve", PROGRAM.relative_to(ROOT)], cwd=ROOT,
                          capture_output=True, text=True, env={**os.environ, "MYPYPATH": "python"}, check=False)
    assert not done.stderr
    found = [(path, int(line), code) for path, line, code in
             re.findall(r"^(\S+?):(\d+): error: .* (\[[a-z-]+\])$", done.stdout, re.MULTILINE)]
    expected = [(str(PROGRAM.relative_to(ROOT)), number, match[1])
                for number, line in enumerate(PROGRAM.read_text().splitlines(), 1)
                if (match := re.search(r"# wrong: (\S+)$", line))]
    assert found == expected, done.stdout


def public(holder):
    """(name, object) of the functions, classes, methods and properties that `holder` defines for others."""
    for name, value in vars(holder).items():
        if name.startswith("_") or inspect.ismodule(value):
            continue
        if inspect.isclass(value) or inspect.isfunction(value) or isinstance(value, property):
            yield name, value


@pytest.mark.parametrize("module", MODULES)
def test_everything_public_is_documented(module):
    pytest.importorskip(NEEDS.get(module, "unstarve"))
    module = __import__(f"unstarve.{module}", fromlist=["_"])
    missing = []
    for name, value in public(module):
        if getattr(value, "__module__", module.__name__) != module.__name__:
            continue
        missing += [name] if not value.__doc__ else []
        if inspect.isclass(value):
            missing += [f"{name}.{inner}" for inner, method in public(value) if not method.__doc__]
    assert not missing
    assert module.__doc__ and unstarve.__doc__
