"""A checkpoint is written every five steps, and training waits for it.

Cause:  torch.save() of network and optimiser, with fsync(), in the training loop.
Effect: the main process is stopped for longer than the five steps take.
Fix:    checkpoints after minutes instead of steps; here every 500 steps.
"""

import os
import tempfile

import torch

import common


def save(folder, net, optimizer, step):
    with open(f"{folder}/new.pt", "wb") as file:
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{folder}/new.pt", f"{folder}/last.pt")


def main():
    run = common.Run(__doc__)
    torch.set_num_threads(1)  # the network is small
    pixels, labels = map(torch.from_numpy, common.pixels(run.data, 32))
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 256), torch.nn.ReLU(),
                              torch.nn.Linear(256, 200))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
    every = 500 if run.fixed else 5

    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        step = 0
        while not run.is_over():
            chosen = torch.randint(len(pixels), (16,))
            images = pixels[chosen].permute(0, 3, 1, 2) / 255
            loss = torch.nn.functional.cross_entropy(net(images), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % every == 0:
                save(folder, net, optimizer, step)
            run.count(len(images))
    run.print_result()


if __name__ == "__main__":
    main()
