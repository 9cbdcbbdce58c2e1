"""A training program without training, run by torchrun on every rank.

Iterates once over each kind of loader, begins a second epoch, and writes the samples and the states to rank-N.pt in the
folder given as first argument. The ranks agree over torch.distributed (gloo, loopback) on the number of batches.
"""

import os
import sys
from pathlib import Path

import torch
from torch.utils.data import DistributedSampler

import unstarve as un

ODD, EVEN = 101, 96  # samples: the ranks' batches come out even of the second
STOP = 2  # batches of the second epoch


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return EVEN

    def __getitem__(self, i):
        return i


def opened(**options):
    """The label of a sample is its number."""
    pipeline = un.open(f"synthetic:classes={ODD},images={ODD},size=8").shuffle(3).flip().options(**options)
    return pipeline.batch(8, last="pad").to_torch(normalize=un.IMAGENET)


def relaxed():
    return opened(order="relaxed")


def chained():
    return un.from_torch(Numbers()).shuffle(3).options(workers=0).batch(8)


def drop_in(**ranks):
    """`ranks`: num_replicas and rank; without them those of torch.distributed."""
    sampler = DistributedSampler(Numbers(), shuffle=True, seed=3, **ranks)
    return un.DataLoader(Numbers(), batch_size=8, sampler=sampler, num_workers=1)


def samples_of(batch):
    """Numbers of the samples in a batch, without copies that fill it up."""
    if isinstance(batch, torch.Tensor):
        return batch.tolist()
    _, labels, valid = batch
    return labels[valid].tolist()


def looped(loader):
    """Returns the batches of an epoch, the first of the next, and the state after them."""
    epoch = [samples_of(batch) for batch in loader]
    assert len(epoch) == len(loader)
    batches = iter(loader)
    begun = [samples_of(next(batches)) for _ in range(STOP)]
    return {"epoch": epoch, "begun": begun, "state": loader.state_dict()}


def main():
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    assert (rank, torch.distributed.get_world_size()) == (int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    seen = {}
    for name, make in (("opened", opened), ("relaxed", relaxed), ("chained", chained), ("drop_in", drop_in)):
        loader = make()
        seen[name] = looped(loader)
        counts = [torch.zeros(1, dtype=torch.int64) for _ in range(torch.distributed.get_world_size())]
        torch.distributed.all_gather(counts, torch.tensor([len(seen[name]["epoch"])]))
        seen[name]["counts"] = [int(count) for count in counts]
        if name == "relaxed":  # within an epoch each rank knows only its own samples
            seen[name]["states"] = [None for _ in counts]
            torch.distributed.all_gather_object(seen[name]["states"], seen[name]["state"])
        del loader
    torch.save(seen, Path(sys.argv[1]) / f"rank-{rank}.pt")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
