"""The main process decodes every photograph itself, between two steps of the network.

Cause:  DataLoader(num_workers=0), the default: decoding and training take turns on one core.
Effect: the main process computes all the time, the second core is idle.
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
    workers = 2 if run.fixed else 0
    data = Photos(common.photos(run.data))
    loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True, num_workers=workers)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 7, stride=4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
                              torch.nn.Flatten(), torch.nn.Linear(256, 200))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

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
