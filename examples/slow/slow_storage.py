"""Photographs are read from a server with one request at a time.

Cause:  the server answers after 20 ms, and the next request begins after the answer.
Effect: the program waits for the network and uses little CPU time.
Fix:    16 concurrent requests.
"""

import io
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from PIL import Image

import common


def load(url):
    with urllib.request.urlopen(url) as response:
        image = Image.open(io.BytesIO(response.read()))
    return np.array(image.convert("RGB").resize((96, 96), Image.Resampling.BILINEAR))


def main():
    run = common.Run(__doc__, {"--server": "URL of photo_server.py; default: starts one"})
    torch.set_num_threads(1)  # the network is small
    server = common.photo_url(run)
    files = [(Path(path), label) for path, label in common.photos(run.data)]
    photos = [(f"{server}/{path.parent.name}/{path.name}", label) for path, label in files]
    pool = ThreadPoolExecutor(16)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 7, stride=4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
                              torch.nn.Flatten(), torch.nn.Linear(256, 200))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    for first in range(0, len(photos), 16):
        urls, labels = zip(*photos[first : first + 16], strict=True)
        images = list(pool.map(load, urls)) if run.fixed else [load(url) for url in urls]
        batch = torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2) / 255
        loss = torch.nn.functional.cross_entropy(net(batch), torch.tensor(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.count(len(batch))
        if run.is_over():
            break
    run.print_result()


if __name__ == "__main__":
    main()
