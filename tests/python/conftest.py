"""Fixtures of several subjects."""

import gc
import os
import sys
import tarfile
from pathlib import Path

import pytest

# Modules that tests import: datasets, functions and processes shared by subjects, and the servers of remote reading.
sys.path[:0] = [str(Path(__file__).resolve().parent / folder) for folder in ("support", "remote")]

# Indexes of test data are stored next to it, not in the user's cache folder; test_index_location.py tests both.
os.environ["UNSTARVE_INDEX"] = "next_to_data"

DATA = Path(os.environ.get("UNSTARVE_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


@pytest.fixture(scope="session")
def photographs(tmp_path_factory):
    """A folder of real photographs, a hundred classes with one each."""
    archive = DATA / "imagenet160.tar"
    if not archive.exists():
        pytest.skip(f"{archive} is not here")
    folder = tmp_path_factory.mktemp("photographs")
    with tarfile.open(archive) as tar:
        members = [member for member in tar.getmembers() if member.isfile()]
        chosen = sorted({Path(member.name).parent for member in members})[:100]
        tar.extractall(folder, [member for member in members if Path(member.name).parent in chosen], filter="data")
    return (folder / chosen[0]).parent


@pytest.fixture(scope="session")
def pools():
    """Idle workers shared by the tests, because starting them imports torch, which takes seconds on a busy machine."""
    kept = {}
    yield kept
    for pool in kept.values():
        pool.close()


@pytest.fixture
def load(pools):
    """un.DataLoader with shared workers, which are spawned unless the context is given."""
    import torch

    import unstarve as un

    made = []

    def make(*args, **options):
        if options.get("num_workers") and options.get("workers") != "threads":
            options.setdefault("multiprocessing_context", "spawn")
        loader = un.DataLoader(*args, **options)
        if options.get("multiprocessing_context") == "fork":
            return loader
        key = (loader.num_workers, isinstance(loader.dataset, torch.utils.data.IterableDataset))
        if options.get("workers") != "threads" and loader.num_workers:
            gc.collect()
            idle = (other._idle_pool.take() for other, others in made if others == key)
            pool = pools.pop(key, None) or next(filter(None, idle), None) or loader._new_pool()
            loader._idle_pool.give(pool)
            made.append((loader, key))
        return loader

    yield make
    gc.collect()
    for loader, key in made:
        pool = loader._idle_pool.take()
        if pool is not None and key not in pools:
            pools[key] = pool
        elif pool is not None:
            pool.close()
