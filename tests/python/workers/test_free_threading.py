"""Threads without a GIL, spawned processes otherwise; explicit settings take precedence."""

import sys

import pytest

torch = pytest.importorskip("torch")

import unstarve as un  # noqa: E402
from dataloader_support import Kinds, Stream, noisy  # noqa: E402
from map_support import shifted  # noqa: E402
from unstarve.workers.process_pool import ProcessPool  # noqa: E402
from unstarve.workers.thread_pool import ThreadPool  # noqa: E402

DATA = "synthetic:classes=3,images=12,size=8"


@pytest.fixture(params=[None, True, False], ids=["no such question", "with lock", "without lock"])
def free(request, monkeypatch):
    """Whether this interpreter reports that it has no GIL."""
    if request.param is None:
        monkeypatch.delattr(sys, "_is_gil_enabled", raising=False)
    else:
        monkeypatch.setattr(sys, "_is_gil_enabled", lambda: request.param, raising=False)
    return request.param is False


def kind_of(maker):
    pool = maker._new_pool()
    pool.close()
    return type(pool)


def test_functions_of_a_pipeline_run_in_threads_without_a_gil(free):
    def loader(**options):
        return un.open(DATA).map(shifted).options(workers=1, **options).batch(4)

    assert kind_of(loader()._workers) is (ThreadPool if free else ProcessPool)
    assert kind_of(loader(kind="threads")._workers) is ThreadPool
    assert kind_of(loader(kind="processes")._workers) is ProcessPool


def test_a_torch_dataset_is_read_in_threads_without_a_gil(free):
    def loader(dataset=None, **options):
        return un.DataLoader(dataset or Kinds(samples=8), batch_size=4, num_workers=1, **options)

    assert kind_of(loader()) is (ThreadPool if free else ProcessPool)
    assert kind_of(loader(workers="threads")) is ThreadPool
    assert kind_of(loader(workers="processes")) is ProcessPool
    assert kind_of(loader(Stream())) is ProcessPool  # cannot be shared by threads
    chain = un.from_torch(Kinds(samples=8)).map(noisy).options(workers=1).batch(4)
    assert kind_of(chain._loader) is (ThreadPool if free else ProcessPool)
