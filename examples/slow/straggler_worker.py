"""One worker has all large photographs, and the batches of the other one wait for its batches.

Cause:  each worker reads a contiguous part of the list, and the large photographs are its first half.
Effect: one worker computes all the time, the other one sleeps; batches come from both in turn.
Fix:    deal the photographs to the workers one by one, photos[worker::workers].
"""

import numpy as np
import torch
from PIL import Image

import common


class Photos(torch.utils.data.IterableDataset):
    def __init__(self, photos, contiguous):
        self.photos = photos
        self.contiguous = contiguous

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        part = len(self.photos) // info.num_workers
        if self.contiguous:
            mine = self.photos[info.id * part : (info.id + 1) * part]
        else:
            mine = self.photos[info.id :: info.num_workers]
        for path, label in mine:
            image = Image.open(path)
            image.draft("RGB", (192, 192))  # decoded at reduced scale: large images are not a second cause
            image = image.convert("RGB").resize((96, 96), Image.Resampling.BILINEAR)
            yield torch.from_numpy(np.array(image)).permute(2, 0, 1) / 255, label


def main():
    run = common.Run(__doc__)
    torch.set_num_threads(1)  # the workers use the other core
    large, small = common.large_photos(run.data), common.photos(run.data)
    if run.fixed:  # large, large, small, small, large ...: every worker gets both sizes
        photos = [photo for i in range(0, len(large), 2) for photo in (*large[i : i + 2], *small[i : i + 2])]
    else:
        photos = large + small
    loader = torch.utils.data.DataLoader(Photos(photos, contiguous=not run.fixed), batch_size=4, num_workers=2)
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
