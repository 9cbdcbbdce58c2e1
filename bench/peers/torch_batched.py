"""Vectorised torch on whole batches: what remains of DataLoader's cost when it is left out altogether.

Pad crop and flip of a batch, from uint8 images in memory to normalised float32, one tensor operation at a time on all
cores. Ways tried, all in candidates():
gather   one index tensor picks every output pixel of a padded set (flips are part of the index)
shifts   the images of a batch grouped by vertical and horizontal shift, copied group by group with masks
unfold   a strided view of all windows of the padded images, indexed by sample and shift
"""

from bench.peers.inputs import CIFAR_MEAN, CIFAR_PAD, CIFAR_STD, load_cifar

ENVIRONMENT = "torch"
JOBS = ["cifar-train"]


def candidates(job):
    return [{"way": way, "threads": job["cores"]} for way in ("gather", "shifts", "unfold")]


def batches(job, settings):
    import torch

    torch.set_num_threads(settings["threads"])
    pixels, labels = load_cifar(job["data"])
    labels = torch.from_numpy(labels)
    padded = torch.nn.functional.pad(torch.from_numpy(pixels), (CIFAR_PAD,) * 4)  # once, zeros as the others pad
    count, batch, side, wide = len(labels), job["batch"], 32, 32 + 2 * CIFAR_PAD
    scale = torch.tensor([1 / (255 * s) for s in CIFAR_STD]).view(3, 1, 1)
    bias = torch.tensor([-m / s for m, s in zip(CIFAR_MEAN, CIFAR_STD)]).view(3, 1, 1)
    line = torch.arange(side)
    planes = torch.arange(3).view(1, 3, 1, 1) * wide * wide
    flat = padded.view(-1)

    def gather(ids, dx, dy, flip):
        column = torch.where(flip[:, None], side - 1 - line, line) + dx[:, None]
        row = (line + dy[:, None]) * wide
        index = ids.view(-1, 1, 1, 1) * (3 * wide * wide) + planes + row[:, None, :, None] + column[:, None, None, :]
        return flat.take(index)

    def shifts(ids, dx, dy, flip):
        images = padded[ids]
        rows = torch.empty(batch, 3, side, wide, dtype=torch.uint8)
        out = torch.empty(batch, 3, side, side, dtype=torch.uint8)
        for shift in range(2 * CIFAR_PAD + 1):
            chosen = dy == shift
            rows[chosen] = images[chosen, :, shift : shift + side]
        for shift in range(2 * CIFAR_PAD + 1):
            chosen = dx == shift
            out[chosen] = rows[chosen, :, :, shift : shift + side]
        return torch.where(flip.view(-1, 1, 1, 1), out.flip(3), out)

    def unfold(ids, dx, dy, flip):
        windows = padded.unfold(2, side, 1).unfold(3, side, 1)  # [N, 3, 9, 9, 32, 32], a view
        out = windows[ids, :, dy, dx]
        return torch.where(flip.view(-1, 1, 1, 1), out.flip(3), out)

    way = {"gather": gather, "shifts": shifts, "unfold": unfold}[settings["way"]]
    while True:
        order = torch.randperm(count)
        for start in range(0, count - batch + 1, batch):
            ids = order[start : start + batch]
            dx = torch.randint(0, 2 * CIFAR_PAD + 1, (batch,))
            dy = torch.randint(0, 2 * CIFAR_PAD + 1, (batch,))
            images = way(ids, dx, dy, torch.rand(batch) < 0.5)
            yield images.float().mul_(scale).add_(bias), labels[ids]
