"""Docstrings name every argument and error of their function, and refer to existing names.

Only the sources are read, so that this runs without the extension module.
"""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[3] / "python" / "unstarve"
# The modules that users call.
MODULES = ("constructors", "dataloader", "errors", "facts", "functions.__init__", "jax", "loader",
           "loaders.base_loader", "loaders.conversions", "loaders.description", "loaders.framework_loader",
           "pipeline", "ray", "schedules", "steps.execution", "steps.image_operations", "steps.operations",
           "steps.selection", "tensorflow", "torch", "torch_datasets.from_torch",
           "torch_datasets.tensors", "training.trainer", "weights")
OPERATIONS = re.findall(r"^OPERATION\((\w+),", (PACKAGE.parents[1] / "unstarve/ops/operation_table.inl").read_text(),
                        re.MULTILINE)
# Words that look like a described argument and are the parts of a batch.
PARTS = {"images", "labels", "image", "label"}


def parsed(name):
    return ast.parse((PACKAGE / f"{name.replace('.', '/')}.py").read_text())


def overloaded(function):
    return any(isinstance(decorator, ast.Name) and decorator.id == "overload" for decorator in function.decorator_list)


def arguments(function):
    spec = function.args
    named = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *filter(None, (spec.vararg, spec.kwarg))]
    return [one.arg for one in named if one.arg not in ("self", "cls")]


def public(tree):
    """(name, function, docstring) of the public functions; a class is its __init__ with the docstring of the class."""
    def of(body, around=""):
        for node in body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not overloaded(node):
                yield around + node.name, node, ast.get_docstring(node) or ""
            elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                methods = [inner for inner in node.body if isinstance(inner, ast.FunctionDef)]
                initialisers = [method for method in methods if method.name == "__init__"]
                doc = ast.get_docstring(node) or ""
                # Users create it if its docstring describes any argument; otherwise a step creates it.
                if initialisers and any(re.search(rf"\b{name}:", doc) for name in arguments(initialisers[0])):
                    yield around + node.name, initialisers[0], doc
                yield from of(node.body, f"{around}{node.name}.")
    yield from of(tree.body)


PUBLIC = [(f"{module}.{name}", function, doc) for module in MODULES for name, function, doc in public(parsed(module))]
NAMES = {name: doc for name, _, doc in PUBLIC} | {
    f"{module}.{node.name}": ast.get_docstring(node) for module in MODULES for node in parsed(module).body
    if isinstance(node, ast.ClassDef | ast.FunctionDef)}


def seen(doc):
    """The docstring, and those to which it refers: "see unstarve.torch.TorchLoader"."""
    return doc + "".join(NAMES[name] or "" for name in re.findall(r"[sS]ee unstarve\.([\w.]+\w)", doc) if name in NAMES)


def test_the_public_functions_are_found():
    assert len(PUBLIC) > 100
    assert {"constructors.open", "pipeline.Pipeline.batch", "torch.TorchLoader", "loader.Loader.to_torch",
            "jax.JaxLoader", "tensorflow.dataset", "dataloader.DataLoader"} <= ({name for name, _, _ in PUBLIC}
                                                                                | NAMES.keys())


@pytest.mark.parametrize(("name", "function", "doc"), PUBLIC, ids=[name for name, _, _ in PUBLIC])
def test_a_docstring_names_every_argument_and_no_other(name, function, doc):
    assert doc, "no docstring"
    words = set(re.findall(r"\w+", seen(doc)))
    assert set(arguments(function)) <= words, "arguments that it does not name"
    # "size: ..." or "scale, ratio: ..." at the beginning of a line or sentence describes an argument.
    described = {word for words in re.findall(r"(?:^|\. ) *([a-z_]+(?:, [a-z_]+)*): ", doc, re.MULTILINE)
                 for word in words.split(", ")}
    assert described <= {*arguments(function), *PARTS}, "describes what is not an argument"


@pytest.mark.parametrize(("name", "function", "doc"), PUBLIC, ids=[name for name, _, _ in PUBLIC])
def test_a_docstring_names_the_errors_that_the_function_raises(name, function, doc):
    raised = {ast.unparse(node.exc.func) for node in ast.walk(function)
              if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)}
    assert {error for error in raised if not error.startswith("_")} <= set(re.findall(r"\w+", doc))


@pytest.mark.parametrize(("name", "function", "doc"), PUBLIC, ids=[name for name, _, _ in PUBLIC])
def test_the_docstring_of_a_function_that_returns_arrays_has_their_shape_and_dtype(name, function, doc):
    returned = ast.unparse(function.returns) if function.returns is not None else ""
    if re.search(r"\bBatch\b|NDArray|Tensor\b|jax\.Array", returned):
        assert re.search(r"shape|\(batch|HWC|see unstarve", seen(doc)), doc
        assert re.search(r"u?int\d|float\d|dtype", seen(doc)), doc


@pytest.mark.parametrize("module", MODULES)
def test_docstrings_refer_to_existing_names(module):
    text = "\n".join(ast.get_docstring(node) or "" for node in ast.walk(parsed(module))
                     if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef))
    for kind, attribute in re.findall(r"\b(Loader|Pipeline)\.(\w+)", text):
        homes = {"Loader": ["loader.Loader", "loaders.base_loader.BaseLoader", "loaders.description.LoaderDescription",
                            "loaders.conversions.LoaderConversions"],
                 "Pipeline": ["pipeline.Pipeline", "steps.selection.SelectionSteps", "steps.operations.OperationSteps",
                              "steps.image_operations.ImageOperationSteps",
                              "steps.execution.ExecutionSteps"]}
        assert any(f"{home}.{attribute}" in NAMES for home in homes[kind]), f"{kind}.{attribute}"
    initial = parsed("__init__")
    exported = {word for node in ast.walk(initial) if isinstance(node, ast.List)
                for word in map(ast.literal_eval, node.elts)}
    exported |= {"DataLoader", "Trainer", "from_torch", *OPERATIONS}
    for attribute in re.findall(r"\bun\.(\w+)", text):
        assert attribute in exported, f"un.{attribute}"
    for path in re.findall(r"\bunstarve\.([a-z_]+(?:\.\w+)?)", text):
        first = path.split(".")[0]
        found = first in exported or (PACKAGE / f"{first}.py").exists() or (PACKAGE / first).is_dir()
        assert found and ("." not in path or first == "errors" or path in NAMES
                          or not (PACKAGE / f"{first}.py").exists()), path
