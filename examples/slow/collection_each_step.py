"""Every step runs Python's garbage collector over a large index.

Cause:  gc.collect() in the training loop, and a dataset whose index is a list of 100,000 dictionaries.
Effect: the collector visits all objects in every step; the main process computes, but does not train.
Fix:    no gc.collect(): reference counts free what a step leaves.
"""

import gc

import torch

import common


def main():
    run = common.Run(__doc__)
    torch.set_num_threads(1)  # the network is small
    pixels, labels = map(torch.from_numpy, common.pixels(run.data, 64))
    index = [{"photo": i % len(pixels), "size": [64, 64], "tags": {"source": "camera"}} for i in range(100_000)]
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 5, stride=2), torch.nn.ReLU(), torch.nn.Conv2d(32, 32, 3),
                              torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(),
                              torch.nn.Linear(512, 200))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    while not run.is_over():
        chosen = torch.tensor([index[i]["photo"] for i in torch.randint(len(index), (64,)).tolist()])
        images = pixels[chosen].permute(0, 3, 1, 2) / 255
        loss = torch.nn.functional.cross_entropy(net(images), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if not run.fixed:
            gc.collect()  # "saves memory"
        run.count(len(images))
    run.print_result()


if __name__ == "__main__":
    main()
