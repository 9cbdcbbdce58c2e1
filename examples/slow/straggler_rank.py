"""Rank 1 has large photographs among its small ones, and rank 0 waits for it in every step.

Cause:  every 8th photograph of rank 1 was not scaled down before training; it has 12 megapixels.
Effect: rank 1 decodes most of the time, and rank 0 waits in all_reduce().
Fix:    scale the photographs of all ranks down.
"""

import os
import socket
import subprocess
import sys

import common

RANKS = 2


def start_ranks():
    """Exit code of the ranks, which are started as by torchrun."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
    variables = {"WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    ranks = [subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, **variables, "RANK": str(rank)})
             for rank in range(RANKS)]
    return max(rank.wait() for rank in ranks)


def train(run):
    import numpy as np
    import torch
    import torch.distributed as dist
    from PIL import Image

    class Photos(torch.utils.data.Dataset):
        def __init__(self, photos, large):
            self.photos = [large[i] if large and i % 8 == 0 else photo for i, photo in enumerate(photos)]

        def __len__(self):
            return len(self.photos)

        def __getitem__(self, index):
            path, label = self.photos[index]
            image = Image.open(path).convert("RGB").resize((96, 96), Image.Resampling.BILINEAR)
            return torch.from_numpy(np.array(image)).permute(2, 0, 1) / 255, label

    torch.set_num_threads(1)  # the other rank uses the other core
    dist.init_process_group("gloo")
    slow = dist.get_rank() == 1 and not run.fixed
    loader = torch.utils.data.DataLoader(Photos(common.photos(run.data), common.large_photos(run.data) * slow),
                                         batch_size=16)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 7, stride=4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
                              torch.nn.Flatten(), torch.nn.Linear(256, 200))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        run.count(len(images) * RANKS)
        over = float(dist.get_rank() == 0 and run.is_over())
        gradients = torch.cat([*(one.grad.flatten() for one in net.parameters()), torch.tensor([over])])
        dist.all_reduce(gradients)
        offset = 0
        for one in net.parameters():
            one.grad.copy_(gradients[offset : offset + one.numel()].view_as(one) / RANKS)
            offset += one.numel()
        optimizer.step()
        if gradients[-1] > 0:
            break
    dist.barrier()
    if dist.get_rank() == 0:
        run.print_result()
    os._exit(0)  # the threads of gloo sometimes abort the clean-up of the interpreter


def main():
    run = common.Run(__doc__)
    if "RANK" in os.environ:
        train(run)
    elif start_ranks() != 0:
        sys.exit("a rank failed")


if __name__ == "__main__":
    main()
