"""Fixtures of several test files."""

import gc

import pytest


@pytest.fixture(scope="session")
def pools():
    """Idle helpers handed from test to test: starting them means importing torch, seconds on a busy machine."""
    kept = {}
    yield kept
    for pool in kept.values():
        pool.close()


@pytest.fixture
def load(pools):
    """un.DataLoader with the kept helpers."""
    import torch

    import unstarve as un

    made = []

    def make(*args, **options):
        loader = un.DataLoader(*args, **options)
        key = (loader.num_workers, isinstance(loader.dataset, torch.utils.data.IterableDataset))
        if options.get("workers") != "threads" and loader.num_workers:
            gc.collect()
            idle = (other._home.take() for other, others in made if others == key)
            pool = pools.pop(key, None) or next(filter(None, idle), None) or loader._new_pool()
            loader._home.give(pool)
            made.append((loader, key))
        return loader

    yield make
    gc.collect()
    for loader, key in made:
        pool = loader._home.take()
        if pool is not None and key not in pools:
            pools[key] = pool
        elif pool is not None:
            pool.close()
