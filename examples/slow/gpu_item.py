"""A small network on a GPU, whose loss and accuracy are read in each step.

Cause:  .item() waits until the GPU has computed the step; only then does Python launch the next one.
Effect: the GPU is idle while Python launches, in each step.
Fix:    sums stay on the GPU and are read every 100 steps.
"""

import torch

import common


def main():
    run = common.Run(__doc__, common.DEVICE)
    device = common.device_of(run)
    pixels, labels = (torch.from_numpy(array).to(device) for array in common.pixels(run.data, 32))
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3), torch.nn.ReLU(), torch.nn.Conv2d(32, 32, 3, stride=2),
                              torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(),
                              torch.nn.Linear(512, 200)).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    sums = torch.zeros(2, device=device)
    mean_loss = right = step = 0

    while not run.is_over():
        chosen = torch.randint(len(pixels), (256,), device=device)
        images = pixels[chosen].permute(0, 3, 1, 2) / 255
        outputs = net(images)
        loss = torch.nn.functional.cross_entropy(outputs, labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct = (outputs.argmax(1) == labels[chosen]).sum()
        if run.fixed:
            sums += torch.stack([loss.detach(), correct])
            step += 1
            if step % 100 == 0:
                mean_loss, right = sums.tolist()
        else:
            mean_loss += loss.item()
            right += correct.item()
        run.count(len(images))
    common.synchronize(device)
    run.print_result()


if __name__ == "__main__":
    main()
