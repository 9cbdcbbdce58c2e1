"""Photographs of 12 megapixels are decoded completely, although the network sees 224 x 224 pixels.

Cause:  Image.open(path).convert("RGB") decodes 4000 x 3000 pixels, which resize() then reduces.
Effect: all workers decode all the time; the main process waits for them.
Fix:    Image.draft() lets the JPEG decoder reduce by 2, 4 or 8 while it decodes.
"""

import numpy as np
import torch
from PIL import Image

import common


class Photos(torch.utils.data.Dataset):
    def __init__(self, photos, draft):
        self.photos = photos
        self.draft = draft

    def __len__(self):
        return len(self.photos)

    def __getitem__(self, index):
        path, label = self.photos[index]
        image = Image.open(path)
        if self.draft:
            image.draft("RGB", (448, 448))  # the decoded image has at least this size
        image = image.convert("RGB").resize((224, 224), Image.Resampling.BILINEAR)
        return torch.from_numpy(np.array(image)).permute(2, 0, 1) / 255, label


def main():
    run = common.Run(__doc__)
    torch.set_num_threads(1)  # the workers use the other core
    data = Photos(common.large_photos(run.data), draft=run.fixed)
    loader = torch.utils.data.DataLoader(data, batch_size=4, shuffle=True, num_workers=2)
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
