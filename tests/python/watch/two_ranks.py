"""Two ranks that average their gradients in every step by gloo: python two_ranks.py CAUSE SECONDS

CAUSE is what rank 1 has and rank 0 lacks: none, loader (a slow one), thread (that computes in Python).
"""

import os
import sys
import threading
import time

import torch
import torch.distributed as dist

import unstarve as un

CAUSE, SECONDS = sys.argv[1], float(sys.argv[2])
SLOW = int(os.environ["RANK"]) == 1


class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 10**9

    def __getitem__(self, index):
        if CAUSE == "loader" and SLOW:
            time.sleep(0.01)
        return torch.randn(256)


def compute_forever():
    while True:
        sum(range(1000))


def weigh(samples):
    """Some work in Python."""
    return samples * sum(i * i for i in range(20_000)) / 1e13


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    if CAUSE == "thread" and SLOW:
        threading.Thread(target=compute_forever, daemon=True).start()
    net = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    until = time.monotonic() + SECONDS
    over = torch.zeros(1)
    for samples in torch.utils.data.DataLoader(Samples(), batch_size=8):
        optimizer.zero_grad()
        net(weigh(samples)).square().mean().backward()
        over[0] = time.monotonic() > until
        exchanged = torch.cat([*(one.grad.flatten() for one in net.parameters()), over])
        dist.all_reduce(exchanged)
        optimizer.step()
        un.step()
        if exchanged[-1] > 0:
            break
    dist.barrier()  # both have received the last gradients
    os._exit(0)  # the threads of gloo sometimes abort the clean-up of the interpreter


if __name__ == "__main__":
    main()
