"""Images for a small network on a GPU, normalised on the CPU and copied as float32.

Cause:  a batch has four times the bytes of its pixels when it is copied.
Effect: the copies take longer than the kernels.
Fix:    uint8 pixels are copied, and converted and normalised on the GPU.
"""

import torch

import common

BATCHES = 8  # prepared batches, so that only the copies differ


def main():
    run = common.Run(__doc__, common.DEVICE)
    device = common.device_of(run)
    pixels, labels = map(torch.from_numpy, common.pixels(run.data, 96))
    mean = torch.tensor([0.485, 0.456, 0.406]).reshape(1, 3, 1, 1)
    deviation = torch.tensor([0.229, 0.224, 0.225]).reshape(1, 3, 1, 1)

    def normalised(images, mean, deviation):
        return (images.float() / 255 - mean) / deviation

    batches = []
    for _ in range(BATCHES):
        chosen = torch.randint(len(pixels), (512,))
        images = pixels[chosen].permute(0, 3, 1, 2).contiguous()
        batch = [images if run.fixed else normalised(images, mean, deviation), labels[chosen]]
        batches.append([part.pin_memory() for part in batch] if device.type == "cuda" else batch)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 7, stride=4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
                              torch.nn.Flatten(), torch.nn.Linear(512, 200)).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    mean, deviation = mean.to(device), deviation.to(device)

    while not run.is_over():
        for images, targets in batches:
            images = images.to(device, non_blocking=True)
            if run.fixed:
                images = normalised(images, mean, deviation)
            loss = torch.nn.functional.cross_entropy(net(images), targets.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            run.count(len(images))
            if run.is_over():
                break
        common.synchronize(device)  # once in BATCHES steps, so that launches do not run ahead of the count
    run.print_result()


if __name__ == "__main__":
    main()
