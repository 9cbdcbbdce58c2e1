"""As before.py, with two processes that prepare batches, and one operator thread: they share two cores."""

import argparse
import random
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageEnhance

import unstarve as un


class Photos(torch.utils.data.Dataset):
    def __init__(self, folder):
        self.files = sorted(Path(folder).glob("*/*.jpg"))
        self.classes = sorted({file.parent.name for file in self.files})

    def __len__(self):
        return 100_000  # an epoch repeats the photographs

    def __getitem__(self, index):
        file = self.files[index % len(self.files)]
        image = Image.open(file).convert("RGB")
        side = random.randint(min(image.size) // 2, min(image.size))
        left, top = random.randint(0, image.width - side), random.randint(0, image.height - side)
        image = image.crop((left, top, left + side, top + side)).resize((128, 128), Image.Resampling.BILINEAR)
        if random.random() < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        for enhance in (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color):
            image = enhance(image).enhance(random.uniform(0.6, 1.4))
        pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1)
        return pixels / 127.5 - 1, self.classes.index(file.parent.name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("photos")
    parser.add_argument("--steps", type=int, default=200)
    given = parser.parse_args()
    torch.set_num_threads(1)
    data = Photos(given.photos)
    loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True, num_workers=2)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 5, stride=4), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3, stride=2), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, len(data.classes)),
    )  # fmt: skip
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    log = open("train.log", "w")
    for step, (images, labels) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.3f}", file=log, flush=True)
        un.step()
        if step + 1 == given.steps:
            break


if __name__ == "__main__":
    main()
