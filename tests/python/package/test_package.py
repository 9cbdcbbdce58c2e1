"""The package: imports without torch, version, wheel."""

import os
import re
import subprocess
import sys
import tomllib
import warnings
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def test_extras_are_the_versions_that_the_build_uses():
    """A module works with the minor version that it was built with, that of OpenVINO with the exact one."""
    required = (ROOT / "requirements.txt").read_text()
    pinned = dict(re.findall(r"^(\w+)==(\d+\.\d+)\.", required, re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert extras["torch"] == [f"torch=={pinned['torch']}.*"]
    assert extras["parquet"] == [f"pyarrow=={pinned['pyarrow']}.*"]
    assert extras["infer"] == [re.search(r"^openvino==\S+", required, re.MULTILINE)[0], "onnxruntime"]
    assert {"jax", "ray", "s3", "gs", "az"} <= set(extras)


def test_versions_agree_everywhere():
    import unstarve

    program = subprocess.run([os.environ["UNSTARVE"], "--version"], capture_output=True, text=True, check=True)
    cmake = re.search(r"project\(unstarve VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    assert program.stdout.strip() == unstarve.__version__ == cmake


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel that pip builds from the tree."""
    pytest.importorskip("scikit_build_core")
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation",
                    "-C", f"build-dir={folder}/build", "-w", folder, ROOT], check=True)
    made, = folder.glob("unstarve-*.whl")
    return made


@pytest.mark.long
def test_the_wheel_installs_alone_and_loads(wheel, tmp_path):
    """In an empty environment: NumPy is installed as a dependency, torch is not."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", wheel], check=True)
    code = """if True:
        import importlib.metadata, importlib.util
        import unstarve as un
        (images, labels), = un.open("synthetic:classes=2,images=4,size=8").shuffle(0).flip().batch(4)
        print(images.shape, images.dtype, sorted(labels.tolist()), importlib.util.find_spec("torch"))
        assert un.from_yaml(un.open("synthetic:images=4").batch(2).to_yaml()) and un.schema()
        assert importlib.metadata.version("unstarve") == un.__version__
        print(un.__file__)
    """
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run([python, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True,
                          check=False)
    report, file = done.stdout.splitlines() if done.returncode == 0 else (done.stderr, "")
    assert report == "(4, 3, 8, 8) float32 [0, 0, 1, 1] None" and Path(file).is_relative_to(tmp_path / "venv")


@pytest.mark.long
def test_the_wheel_contains_module_sources_stub_and_marker(wheel, tmp_path):
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {str(path.relative_to(ROOT / "python")) for path in (ROOT / "python/unstarve").rglob("*.py*")
               if path.suffix in (".py", ".pyi")}
    assert sources | {"unstarve/py.typed"} <= names and "unstarve/_core.pyi" in sources
    assert any(re.fullmatch(r"unstarve/_core\.\S+\.so", name) for name in names)
    code = "import unstarve as un; print(len(un.open('synthetic:classes=2,images=8,size=8').batch(4)))"
    zipfile.ZipFile(wheel).extractall(tmp_path / "there")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(tmp_path / "there")}, check=False)
    assert done.stdout == "2\n", done.stderr


def test_a_missing_extension_module_is_named_with_the_command_that_builds_it():
    """The sources of this folder have none: the one of a build is in its folder build/python."""
    done = subprocess.run([sys.executable, "-c", "import unstarve"], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    message = done.stderr.splitlines()[-1]
    assert message.startswith("ImportError: unstarve: found no extension module unstarve/_core*.so")
    assert "run make python" in message


def test_a_missing_package_is_named_with_the_command_that_installs_it():
    code = """if True:
        import sys
        for package in ("torch", "jax", "tensorflow"):
            sys.modules[package] = None  # as if it was not installed
        import unstarve as un
        loader = un.open("synthetic:images=4").batch(2)
        for what, package in ((loader.to_torch, "torch"), (lambda: un.DataLoader, "torch"),
                              (lambda: un.from_torch, "torch"), (lambda: un.Trainer, "torch"),
                              (loader.to_jax, "jax"), (loader.to_tf, "tensorflow")):
            try:
                what()
            except un.errors.MissingError as error:
                assert isinstance(error, ImportError) and error.name == package
                print(error)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        f"{what}: package {package} not found; expected it to be installed. Run: pip install {wanted}"
        for what, package, wanted in (
            ("to_torch", "torch", "'unstarve[torch]'"), ("DataLoader", "torch", "'unstarve[torch]'"),
            ("from_torch", "torch", "'unstarve[torch]'"), ("Trainer", "torch", "'unstarve[torch]'"),
            ("to_jax", "jax", "'unstarve[jax]'"), ("to_tf", "tensorflow", "tensorflow"))], done.stderr


def test_importing_does_not_import_torch():
    code = "import sys, unstarve; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_modules_that_import_torch_are_loaded_on_access():
    torch = pytest.importorskip("torch")
    import unstarve as un

    with pytest.raises(AttributeError, match="no attribute 'Loader2'"):
        un.Loader2  # noqa: B018
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert un.DataLoader is not torch.utils.data.DataLoader
