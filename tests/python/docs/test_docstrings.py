"""The docstrings of what users call tell the arguments there are, the errors that are raised, and what there is to see
elsewhere: what can be told of them by the sources alone, so that none of it goes stale."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[3] / "python" / "unstarve"
# What users call; the others are the package's own.
MODULES = ("choosing", "converted", "converting", "dataloader", "errors", "facts", "jax", "loader", "opening",
           "operating", "pipeline", "ray", "schedules", "telling", "tensorflow", "torch", "torch_dataset", "weights")
# Told in the form of an argument, and none: parts of a batch, arguments of users' functions, a kind of object.
BESIDE = {"images", "labels", "image", "label", "rng"}


def parsed(name):
    return ast.parse((PACKAGE / f"{name}.py").read_text())


def overloaded(function):
    return any(isinstance(decorator, ast.Name) and decorator.id == "overload" for decorator in function.decorator_list)


def arguments(function):
    spec = function.args
    return [one.arg for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs) if one.arg not in ("self", "cls")]


def public(tree):
    """(name, function, docstring) of all that is public; a class is its __init__, with the docstring of the class."""
    def of(body, around=""):
        for node in body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not overloaded(node):
                yield around + node.name, node, ast.get_docstring(node) or ""
            elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                made = [inner for inner in node.body if isinstance(inner, ast.FunctionDef) and inner.name == "__init__"]
                doc = ast.get_docstring(node) or ""
                # Made by users, where its docstring tells any of the arguments; else by a step of the chain.
                if made and any(re.search(rf"\b{name}:", doc) for name in arguments(made[0])):
                    yield around + node.name, made[0], doc
                yield from of(node.body, f"{around}{node.name}.")
    yield from of(tree.body)


PUBLIC = [(f"{module}.{name}", function, doc) for module in MODULES for name, function, doc in public(parsed(module))]
NAMES = {name: doc for name, _, doc in PUBLIC} | {
    f"{module}.{node.name}": ast.get_docstring(node) for module in MODULES for node in parsed(module).body
    if isinstance(node, ast.ClassDef | ast.FunctionDef)}


def seen(doc):
    """The docstring, and those that it sends its reader to: "see unstarve.torch.TorchLoader"."""
    return doc + "".join(NAMES[name] or "" for name in re.findall(r"[sS]ee unstarve\.([\w.]+\w)", doc) if name in NAMES)


def test_this_looks_at_what_there_is():
    assert len(PUBLIC) > 100
    assert {"opening.open", "pipeline.Pipeline.batch", "torch.TorchLoader", "converting.Converting.to_torch",
            "jax.JaxLoader", "tensorflow.dataset", "dataloader.DataLoader"} <= ({name for name, _, _ in PUBLIC}
                                                                                | NAMES.keys())


@pytest.mark.parametrize(("name", "function", "doc"), PUBLIC, ids=[name for name, _, _ in PUBLIC])
def test_a_docstring_tells_every_argument_and_no_other(name, function, doc):
    assert doc, "no docstring"
    told = set(re.findall(r"\w+", seen(doc)))
    assert set(arguments(function)) <= told, "arguments that it does not name"
    # "size: ..." or "scale, ratio: ..." at the beginning of a line, or behind a full stop, describes an argument.
    described = {word for words in re.findall(r"(?:^|\. ) *([a-z_]+(?:, [a-z_]+)*): ", doc, re.MULTILINE)
                 for word in words.split(", ")}
    assert described <= {*arguments(function), *BESIDE}, "described, and no argument"


@pytest.mark.parametrize(("name", "function", "doc"), PUBLIC, ids=[name for name, _, _ in PUBLIC])
def test_a_docstring_tells_the_errors_that_the_function_raises(name, function, doc):
    raised = {ast.unparse(node.exc.func) for node in ast.walk(function)
              if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)}
    assert {error for error in raised if not error.startswith("_")} <= set(re.findall(r"\w+", doc))


@pytest.mark.parametrize(("name", "function", "doc"), PUBLIC, ids=[name for name, _, _ in PUBLIC])
def test_a_docstring_of_what_gives_arrays_tells_their_shape_and_dtype(name, function, doc):
    gives = ast.unparse(function.returns) if function.returns is not None else ""
    if re.search(r"\bBatch\b|NDArray|Tensor\b|jax\.Array", gives):
        assert re.search(r"shape|\(batch|HWC|see unstarve", seen(doc)), doc
        assert re.search(r"u?int\d|float\d|dtype", seen(doc)), doc


@pytest.mark.parametrize("module", MODULES)
def test_what_docstrings_refer_to_is_there(module):
    text = "\n".join(ast.get_docstring(node) or "" for node in ast.walk(parsed(module))
                     if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef))
    for kind, attribute in re.findall(r"\b(Loader|Pipeline)\.(\w+)", text):
        homes = {"Loader": ["loader.Loader", "telling.Telling", "converting.Converting"],
                 "Pipeline": ["pipeline.Pipeline", "choosing.Choosing", "operating.Operating"]}
        assert any(f"{home}.{attribute}" in NAMES for home in homes[kind]), f"{kind}.{attribute}"
    initial = parsed("__init__")
    exported = {word for node in ast.walk(initial) if isinstance(node, ast.List)
                for word in map(ast.literal_eval, node.elts)}
    exported |= {"DataLoader", "from_torch"}
    for attribute in re.findall(r"\bun\.(\w+)", text):
        assert attribute in exported, f"un.{attribute}"
    for path in re.findall(r"\bunstarve\.([a-z_]+(?:\.\w+)?)", text):
        first = path.split(".")[0]
        found = first in exported or (PACKAGE / f"{first}.py").exists() or (PACKAGE / first).is_dir()
        assert found and ("." not in path or first == "errors" or path in NAMES
                          or not (PACKAGE / f"{first}.py").exists()), path
