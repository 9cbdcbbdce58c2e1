"""Batches of two photographs for a small network.

Cause:  batch size 2: Python and the dispatch of operators take more time than their arithmetic.
Effect: one core computes all the time, but few samples are trained.
Fix:    batch size 64, with the learning rate that belongs to it.
"""

import torch

import common


def main():
    run = common.Run(__doc__)
    torch.set_num_threads(1)  # the network is small
    batch = 64 if run.fixed else 2
    pixels, labels = map(torch.from_numpy, common.pixels(run.data, 32))
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 5, stride=2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
                              torch.nn.Flatten(), torch.nn.Linear(256, 200))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0005 * batch, momentum=0.9)

    while not run.is_over():
        chosen = torch.randint(len(pixels), (batch,))
        images = pixels[chosen].permute(0, 3, 1, 2) / 255
        loss = torch.nn.functional.cross_entropy(net(images), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.count(len(images))
    run.print_result()


if __name__ == "__main__":
    main()
