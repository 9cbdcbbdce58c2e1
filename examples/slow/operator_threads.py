"""Operators use 16 threads on two cores.

Cause:  torch.set_num_threads(16), copied from a machine with more cores.
Effect: every operator waits until the last of its threads had a core.
Fix:    as many threads as cores, which is the default.
"""

import torch

import common


def main():
    run = common.Run(__doc__)
    torch.set_num_threads(2 if run.fixed else 16)
    pixels, labels = map(torch.from_numpy, common.pixels(run.data, 64))
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.BatchNorm2d(32), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(32, 64, 3, padding=1), torch.nn.BatchNorm2d(64), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(), torch.nn.Linear(64, 200))  # fmt: skip
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    while not run.is_over():
        chosen = torch.randint(len(pixels), (16,))
        images = pixels[chosen].permute(0, 3, 1, 2) / 255
        loss = torch.nn.functional.cross_entropy(net(images), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.count(len(images))
    run.print_result()


if __name__ == "__main__":
    main()
