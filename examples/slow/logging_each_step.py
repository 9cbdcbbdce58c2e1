"""Every step appends to a log, stores eight images of the batch, and waits until all are on the disk.

Cause:  log() runs in every step and calls fsync().
Effect: the main process waits for the disk between two steps.
Fix:    log every 100 steps, and let the operating system write.
"""

import io
import json
import os
import tempfile

import torch
from PIL import Image

import common


def write(path, data, mode="wb"):
    with open(path, mode) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def log(folder, step, loss, images):
    write(f"{folder}/log.jsonl", json.dumps({"step": step, "loss": loss}).encode() + b"\n", "ab")
    for number, image in enumerate(images):
        encoded = io.BytesIO()
        Image.fromarray(image).save(encoded, format="jpeg")
        write(f"{folder}/image{number}.jpg", encoded.getvalue())


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
            chosen = torch.randint(len(pixels), (32,))
            images = pixels[chosen].permute(0, 3, 1, 2) / 255
            loss = torch.nn.functional.cross_entropy(net(images), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if not run.fixed or step % 100 == 0:
                log(folder, step, loss.item(), pixels[chosen[:8]].numpy())
            step += 1
            run.count(len(images))
    run.print_result()


if __name__ == "__main__":
    main()
