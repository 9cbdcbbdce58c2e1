"""From a folder of photographs to a trained net, cell by cell; under a minute for CIFAR-10's first thousands.

    python examples/folder_to_net.py cifar10 --epochs 6 --out plots

The folder has train/ and test/, a folder per class in each. Editors that know the marks `# %%` run it as a notebook. It
needs torch; what was seen and learnt is drawn to files of --out where matplotlib is installed.
"""

# %% The arguments; in a notebook change them here.
import argparse
from pathlib import Path

import torch

import unstarve as un

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("data", help="a folder with train/ and test/, or whatever un.open() takes that has these splits")
parser.add_argument("--epochs", type=int, default=6)
parser.add_argument("--out", type=Path, help="folder for the plots")
given = parser.parse_args()
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)

# %% What is there? Nothing is read but the names.
train, test = un.open(given.data, "train"), un.open(given.data, "test")
print(f"{train}: {len(train.classes)} classes, the first sample is {train.location(0)}")

# %% The chain: random 32 x 32 parts of the image with a border, mirrored at random, in batches of 64.
SIZE = 32
loader = train.shuffle(seed=0).decode().pad_crop(SIZE, padding=4).flip().batch(64)
print(loader.explain())

# %% One batch, as a torch training loop takes it. The same batches come in every run.
data = loader.to_torch(device, normalize=un.CIFAR10, channels_last=True)
images, labels = next(iter(data))
print(f"images {tuple(images.shape)} {images.dtype}, labels {tuple(labels.shape)} {labels.dtype} on {images.device}")
data.set_epoch(0)

# %% A small net, and training it: every loop over `data` is an epoch, in another order and with other crops.
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
    torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.BatchNorm2d(32), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
    torch.nn.Conv2d(32, 64, 3, padding=1), torch.nn.BatchNorm2d(64), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(), torch.nn.Linear(64, len(loader.classes)),
).to(device, memory_format=torch.channels_last)  # fmt: skip
optimiser = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 0.1, total_steps=given.epochs * len(data))
losses = []
for epoch in range(given.epochs):
    for images, labels in data:
        loss = torch.nn.functional.cross_entropy(net(images), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
    print(f"epoch {epoch + 1}: loss {sum(losses[-len(data):]) / len(data):.3f}")

# %% How good is it on images that it has not seen? In their order, all of them, nothing random.
net.eval()
right, confusion = 0, torch.zeros(len(loader.classes), len(loader.classes), dtype=torch.int64)
with torch.inference_mode():
    for images, labels in (test.sequential().decode().resize(SIZE).center_crop(SIZE).batch(256, drop_last=False)
                           .to_torch(device, normalize=un.CIFAR10, channels_last=True)):
        guesses = net(images).argmax(1)
        right += int((guesses == labels).sum())
        confusion.index_put_((labels.cpu(), guesses.cpu()), torch.ones(1, dtype=torch.int64), accumulate=True)
print(f"accuracy {right / len(test):.3f} of {len(test)} images")

# %% Where did the loader's time go? Seconds of its threads, stage by stage.
for stage in data.profile()["stages"]:
    print(f"{stage['name']:10} {stage['samples']:8} samples {stage['busy_ns'] / 1e9:8.3f} s")
data.close()

# %% Plots, where matplotlib is there and --out says whereto.
if given.out is not None:
    try:
        import matplotlib
    except ImportError:
        print("no plots: matplotlib is not installed")
        raise SystemExit from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    given.out.mkdir(parents=True, exist_ok=True)
    pixels, labels = next(iter(loader.with_output("uint8", "NHWC")))
    figure, axes = pyplot.subplots(4, 8, figsize=(12, 6.5), layout="constrained")
    for axis, image, label in zip(axes.flat, pixels, labels, strict=False):
        axis.imshow(image)
        axis.set_title(loader.classes[label], fontsize=8)
        axis.set_axis_off()
    figure.savefig(given.out / "batch.png", dpi=80)
    figure, (left, middle) = pyplot.subplots(1, 2, figsize=(12, 5), layout="constrained")
    left.plot(losses)
    left.set(title="training loss", xlabel="step", ylabel="cross entropy")
    middle.imshow(confusion)
    middle.set(title="test images", xlabel="guessed class", ylabel="class")
    figure.savefig(given.out / "training.png", dpi=80)
    print(f"plots in {given.out}")
