"""The history of the loss keeps the graphs of all steps.

Cause:  losses.append(loss) keeps the tensor of the loss with its graph, so that means of losses are graphs, too.
Effect: memory grows by hundreds of megabytes, and every step is slower than the one before it.
Fix:    losses.append(loss.item()).
"""

import torch

import common


def main():
    run = common.Run(__doc__)
    torch.set_num_threads(1)  # the network is small
    pixels, labels = map(torch.from_numpy, common.pixels(run.data, 32))
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 5, stride=2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
                              torch.nn.Flatten(), torch.nn.Linear(256, 200))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    losses, means = [], []

    while not run.is_over():
        chosen = torch.randint(len(pixels), (32,))
        images = pixels[chosen].permute(0, 3, 1, 2) / 255
        loss = torch.nn.functional.cross_entropy(net(images), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item() if run.fixed else loss)
        means.append(sum(losses) / len(losses))  # for a smooth curve
        run.count(len(images))
    print(f"mean loss {means[-1]:.3f}")
    run.print_result()


if __name__ == "__main__":
    main()
