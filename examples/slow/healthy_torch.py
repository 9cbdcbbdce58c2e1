"""A healthy program: the network limits the speed, and a worker prepares the next batches in time.

--fixed changes nothing.
"""

import numpy as np
import torch
from PIL import Image

import common


class Photos(torch.utils.data.Dataset):
    def __init__(self, photos):
        self.photos = photos

    def __len__(self):
        return 2_000_000  # the photographs again and again: an epoch lasts longer than any run

    def __getitem__(self, index):
        path, label = self.photos[index % len(self.photos)]
        image = Image.open(path).convert("RGB").resize((96, 96), Image.Resampling.BILINEAR)
        return torch.from_numpy(np.array(image)).permute(2, 0, 1) / 255, label


def main():
    run = common.Run(__doc__)
    torch.set_num_threads(1)  # the worker uses the other core
    loader = torch.utils.data.DataLoader(Photos(common.photos(run.data)), batch_size=32, shuffle=True, num_workers=1)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 32, 3, stride=2), torch.nn.ReLU(), torch.nn.Conv2d(32, 64, 3), torch.nn.ReLU(),
        torch.nn.Conv2d(64, 64, 3, stride=2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
        torch.nn.Linear(64, 200))  # fmt: skip
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
