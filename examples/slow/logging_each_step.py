"""Every step appends to a log, stores an image of the batch, and waits until both are on the disk.

Cause:  log() runs in every step and calls fsync().
Effect: the main process waits for the disk between two steps.
Fix:    log every 100 steps, and let the operating system write.
"""

import json
import os
import tempfile

import torch
from PIL import Image

import common


def log(folder, step, loss, image):
    with open(f"{folder}/log.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps({"step": step, "loss": loss}) + "\n")
        file.flush()
        os.fsync(file.fileno())
    with open(f"{folder}/image{step % 50}.bmp", "wb") as file:
        Image.fromarray(image).save(file, format="bmp")
        file.flush()
        os.fsync(file.fileno())


def main():
    run = common.Run(__doc__)
    torch.set_num_threads(1)  # the network is small
    pixels, labels = map(torch.from_numpy, common.pixels(run.data, 64))
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 5, stride=2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
                              torch.nn.Flatten(), torch.nn.Linear(256, 200))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        step = 0
        while not run.is_over():
            chosen = torch.randint(len(pixels), (16,))
            images = pixels[chosen].permute(0, 3, 1, 2) / 255
            loss = torch.nn.functional.cross_entropy(net(images), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if not run.fixed or step % 100 == 0:
                log(folder, step, loss.item(), pixels[chosen[0]].numpy())
            step += 1
            run.count(len(images))
    run.print_result()


if __name__ == "__main__":
    main()
