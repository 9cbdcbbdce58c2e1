"""The loaders under torchrun: two ranks share the data exactly, and one rank resumes their run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import torchrun_program as program  # noqa: E402

WORLD = 2


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """The samples and states of each rank."""
    folder = tmp_path_factory.mktemp("torchrun")
    # The rendezvous uses a free port; gloo would otherwise resolve the host name.
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    run = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1",
                          f"--nproc-per-node={WORLD}", program.__file__, folder], env=environment, check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert run.returncode == 0, run.stdout
    assert sorted(path.name for path in Path(folder).iterdir()) == [f"rank-{rank}.pt" for rank in range(WORLD)]
    return [torch.load(folder / f"rank-{rank}.pt") for rank in range(WORLD)]


def together(ranks, name, what):
    """Samples in the order of the global batches."""
    steps = zip(*(rank[name][what] for rank in ranks), strict=True)
    return [sample for step in steps for part in step for sample in part]


@pytest.mark.parametrize(("name", "samples"),
                         [("opened", program.ODD), ("relaxed", program.ODD), ("chained", program.EVEN),
                                               ("drop_in", program.EVEN)])
def test_the_ranks_have_every_sample_once_and_equally_many_batches(ranks, name, samples):
    assert sorted(together(ranks, name, "epoch")) == list(range(samples))
    least = -(-samples // (8 * WORLD))
    assert all(rank[name]["counts"] == [least] * WORLD and len(rank[name]["epoch"]) == least for rank in ranks)
    assert together(ranks, name, "epoch") != list(range(samples))


@pytest.mark.parametrize(("name", "make", "samples"), [("opened", program.opened, program.ODD),
                                                       ("chained", program.chained, program.EVEN)])
def test_one_rank_resumes_the_run_of_two(ranks, name, make, samples, monkeypatch):
    for key in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(key, raising=False)
    states = [rank[name]["state"] for rank in ranks]
    assert states[0] == states[1] and states[0]["epoch"] == 1
    alone = make()
    alone.load_state_dict(states[0])
    rest = [sample for batch in alone for sample in program.samples_of(batch)]
    begun = together(ranks, name, "begun")
    assert len(begun) == 8 * WORLD * program.STOP and sorted(begun + rest) == list(range(samples))
    # The order equals that of one rank from the start.
    whole = make()
    whole.set_epoch(1)
    assert [sample for batch in whole for sample in program.samples_of(batch)] == begun + rest


def test_one_rank_resumes_two_in_relaxed_order(ranks, monkeypatch):
    for key in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(key, raising=False)
    states = ranks[0]["relaxed"]["states"]
    assert states == ranks[1]["relaxed"]["states"] == [rank["relaxed"]["state"] for rank in ranks]
    alone = program.relaxed()
    alone.load_state_dict(states)
    rest = [sample for batch in alone for sample in program.samples_of(batch)]
    assert sorted(together(ranks, "relaxed", "begun") + rest) == list(range(program.ODD))


def test_each_rank_resumes_with_its_distributed_sampler(ranks):
    for rank, seen in enumerate(ranks):
        resumed = program.drop_in(num_replicas=WORLD, rank=rank)
        resumed.load_state_dict(seen["drop_in"]["state"])
        # Without set_epoch() every epoch has the order of the first, as in torch.
        assert [program.samples_of(batch) for batch in resumed] == seen["drop_in"]["epoch"][program.STOP:]
        resumed.close()
