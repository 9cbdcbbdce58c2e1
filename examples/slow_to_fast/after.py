"""As workers.py, with the loader of unstarve."""

import argparse

import torch

import unstarve as un


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("photos")
    parser.add_argument("--steps", type=int, default=200)
    given = parser.parse_args()
    torch.set_num_threads(1)
    photos = un.open(given.photos).shuffle(seed=0).random_resized_crop(128, scale=(0.25, 1), ratio=(1, 1)).flip()
    loader = photos.color_jitter(hue=0).batch(32).to_torch("cpu", normalize=un.IMAGENET)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 5, stride=4), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3, stride=2), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, len(photos.classes)),
    )  # fmt: skip
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    log = open("train.log", "w")
    batches = (batch for epoch in range(1_000_000) for batch in loader)
    for step, (images, labels) in enumerate(batches):
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
