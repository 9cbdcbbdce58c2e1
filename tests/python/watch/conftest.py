"""Runs of programs that mostly sleep: those of a file run concurrently, because they take seconds each."""

import inspect
from concurrent.futures import ThreadPoolExecutor

import pytest

AT_A_TIME = 4


def pytest_configure(config):
    config.addinivalue_line("markers", "begin(run=...): run(folder), with parameters of the test if it has any, begins "
                                       "with those of the other tests; the fixture `begun` is its result")


def arguments_of(run, item, folder):
    given = {"folder": folder, **getattr(getattr(item, "callspec", None), "params", {})}
    return {name: given[name] for name in inspect.signature(run).parameters}


@pytest.fixture(scope="module")
def _runs(request, tmp_path_factory):
    """The folders and the future results of the marks `begin`, by test."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        runs = {}
        for item in request.session.items:
            mark = item.get_closest_marker("begin")
            if mark and item.module is request.module:
                run, folder = mark.kwargs["run"], tmp_path_factory.mktemp("run")
                runs[item.nodeid] = folder, pool.submit(run, **arguments_of(run, item, folder))
        yield runs


@pytest.fixture
def folder(request, _runs):
    return _runs[request.node.nodeid][0]


@pytest.fixture
def begun(request, _runs):
    return _runs[request.node.nodeid][1].result()
