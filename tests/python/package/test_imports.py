"""The modules of the package import each other without cycles, including imports in functions and for type checkers."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[3] / "python" / "unstarve"


def module_name(path):
    name = ".".join(["unstarve", *path.relative_to(PACKAGE).with_suffix("").parts])
    return name.removesuffix(".__init__")


MODULES = {module_name(path): ast.parse(path.read_text()) for path in PACKAGE.rglob("*.py")}


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                if full in MODULES:
                    yield full
                elif full != "unstarve._core":
                    yield node.module


def test_there_is_no_import_cycle():
    graph = {name: set(imported(tree)) for name, tree in MODULES.items()}
    assert graph["unstarve.pipeline"] >= {"unstarve.loader", "unstarve.steps"}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the modules
