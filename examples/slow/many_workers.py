"""Sixteen workers share two cores, and all of them are started again in every epoch.

Cause:  DataLoader(num_workers=16) for a small dataset, copied from a machine with more cores.
Effect: most of the CPU time is used to start, switch and end workers; the main process waits for a core.
Fix:    as many workers as cores.
"""

import numpy as np
import torch
from PIL import Image

import common


class Photos(torch.utils.data.Dataset):
    def __init__(self, photos):
        self.photos = photos

    def __len__(self):
        return len(self.photos)

    def __getitem__(self, index):
        path, label = self.photos[index]
        image = Image.open(path).convert("RGB").resize((96, 96), Image.Resampling.BICUBIC)
        return torch.from_numpy(np.array(image)).permute(2, 0, 1) / 255, label


def main():
    run = common.Run(__doc__)
    torch.set_num_threads(1)  # the workers use the other core
    workers = 2 if run.fixed else 16
    data = Photos(common.photos(run.data)[:320])
    loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True, num_workers=workers)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 7, stride=4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
                              torch.nn.Flatten(), torch.nn.Linear(256, 200))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    while not run.is_over():  # epochs
        for images, labels in loader:
            loss = torch.nn.functional.cross_entropy(net(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            run.count(len(images))
            if run.is_over():
                break
    run.print_result()


if __name__ == "__main__":
    main()
