"""Large batches for a small network on a GPU, copied from pageable memory.

Cause:  the batches of the DataLoader are in pageable memory, and .to() waits for each copy.
Effect: the driver copies each batch to memory of its own first; no kernel runs meanwhile.
Fix:    pin_memory=True and non_blocking=True.
"""

import torch

import common


class Photographs(torch.utils.data.Dataset):
    def __init__(self, pixels, labels):
        self.pixels, self.labels = pixels, labels

    def __len__(self):
        return common.SAMPLES

    def __getitem__(self, i):
        return self.pixels[i % len(self.pixels)], self.labels[i % len(self.labels)]


def main():
    run = common.Run(__doc__, common.DEVICE)
    device = common.device_of(run)
    pins = run.fixed and device.type == "cuda"
    pixels, labels = map(torch.from_numpy, common.pixels(run.data, 96))
    loader = torch.utils.data.DataLoader(Photographs(pixels, labels), batch_size=512, num_workers=2, pin_memory=pins,
                                         persistent_workers=True)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 7, stride=4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
                              torch.nn.Flatten(), torch.nn.Linear(512, 200)).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    while not run.is_over():
        for images, targets in loader:
            images = images.to(device, non_blocking=pins).permute(0, 3, 1, 2) / 255
            loss = torch.nn.functional.cross_entropy(net(images), targets.to(device, non_blocking=pins))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            run.count(len(images))
            if run.is_over():
                break
    common.synchronize(device)
    run.print_result()


if __name__ == "__main__":
    main()
