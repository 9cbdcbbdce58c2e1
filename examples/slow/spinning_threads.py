"""Operator threads busy-wait on the cores that the workers need.

Cause:  the main process uses one operator thread per core, which is the default, and so do the workers together.
Effect: an operator ends when its last thread had a core. Until then, the others occupy theirs.
Fix:    torch.set_num_threads(1); OMP_WAIT_POLICY=passive has a similar effect.
"""

import os

import common

os.environ.pop("OMP_WAIT_POLICY", None)  # must be unset before torch is imported

import numpy as np  # noqa: E402
import torch  # noqa: E402
from PIL import Image  # noqa: E402


class Photos(torch.utils.data.Dataset):
    def __init__(self, photos):
        self.photos = photos

    def __len__(self):
        return len(self.photos)

    def __getitem__(self, index):
        path, label = self.photos[index]
        image = Image.open(path).convert("RGB").resize((128, 128), Image.Resampling.BICUBIC)
        return torch.from_numpy(np.array(image)).permute(2, 0, 1) / 255, label


def main():
    run = common.Run(__doc__)
    torch.set_num_threads(1 if run.fixed else 2)
    data = Photos(common.photos(run.data))
    loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True, num_workers=2)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 5, stride=4), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3, stride=2), torch.nn.ReLU(),
        torch.nn.Conv2d(32, 32, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
        torch.nn.Linear(32, 200))  # fmt: skip
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
