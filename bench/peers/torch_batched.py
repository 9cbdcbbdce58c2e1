"""Vectorised torch operations on whole batches, without DataLoader.

Pad crop and flip of a batch, from uint8 images in memory to normalised float32, one tensor operation after another on
all cores, into a ring of preallocated batches. Crop implementations, all in candidates():
rows     every output row is a run of 32 bytes of the padded dataset or of its mirrored copy: one index_select over an
         overlapping strided view copies all rows of a batch (by far the fastest)
gather   one index tensor selects every output pixel; flips are part of the index
shifts   images are grouped by vertical and horizontal shift and copied per group with masks
Not included because they are slower: indexing a strided view of all windows and stacking one slice per image (both 60
times slower than rows); scaling with addcmul (slower than a casting copy and two in-place operations).
"""

from bench.peers.inputs import CIFAR_MEAN, CIFAR_PAD, CIFAR_STD, load_cifar

ENVIRONMENT = "torch"
JOBS = ["cifar-train"]

RING = 4  # batches in memory, as in our loader with default prefetch


def candidates(job):
    # Also one thread: a batch is so little work that waking other threads may not pay off.
    return [{"way": way, "threads": job["cores"]} for way in ("rows", "gather", "shifts")] + [
        {"way": "rows", "threads": 1}
    ]


def batches(job, settings):
    import torch

    torch.set_num_threads(settings["threads"])
    pixels, labels = load_cifar(job["data"])
    labels = torch.from_numpy(labels)
    padded = torch.nn.functional.pad(torch.from_numpy(pixels), (CIFAR_PAD,) * 4)  # once, with zeros
    count, batch, side, wide = len(labels), job["batch"], 32, 32 + 2 * CIFAR_PAD
    image, plane = 3 * wide * wide, wide * wide
    scale = torch.tensor([1 / (255 * s) for s in CIFAR_STD]).view(3, 1, 1)
    bias = torch.tensor([-m / s for m, s in zip(CIFAR_MEAN, CIFAR_STD)]).view(3, 1, 1)
    ring = [torch.empty(batch, 3, side, side) for _ in range(RING)]
    line = torch.arange(side)
    # Offsets of the rows of a crop, relative to its top left corner.
    starts = (torch.arange(3).view(3, 1) * plane + line * wide).view(1, -1)

    if settings["way"] == "rows":
        both = torch.stack([padded, padded.flip(3)]).view(-1)
        stretches = both.as_strided((both.numel() - side + 1, side), (1, 1))

    def rows(ids, dx, dy, flip):
        first = (flip * count + ids) * image + dy * wide + dx
        return torch.index_select(stretches, 0, (first[:, None] + starts).view(-1)).view(batch, 3, side, side)

    def gather(ids, dx, dy, flip):
        column = torch.where(flip[:, None], side - 1 - line, line) + dx[:, None]
        row = starts.view(1, 3, side, 1) + (ids * image + dy * wide).view(-1, 1, 1, 1)
        return padded.view(-1).take(row + column[:, None, None, :])

    def shifts(ids, dx, dy, flip):
        images = padded[ids]
        shifted = torch.empty(batch, 3, side, wide, dtype=torch.uint8)
        out = torch.empty(batch, 3, side, side, dtype=torch.uint8)
        for shift in range(2 * CIFAR_PAD + 1):
            chosen = dy == shift
            shifted[chosen] = images[chosen, :, shift : shift + side]
        for shift in range(2 * CIFAR_PAD + 1):
            chosen = dx == shift
            out[chosen] = shifted[chosen, :, :, shift : shift + side]
        return torch.where(flip.view(-1, 1, 1, 1), out.flip(3), out)

    crop = {"rows": rows, "gather": gather, "shifts": shifts}[settings["way"]]
    slot = 0
    while True:
        order = torch.randperm(count)
        for start in range(0, count - batch + 1, batch):
            ids = order[start : start + batch]
            dx = torch.randint(0, 2 * CIFAR_PAD + 1, (batch,))
            dy = torch.randint(0, 2 * CIFAR_PAD + 1, (batch,))
            slot = (slot + 1) % RING
            ring[slot].copy_(crop(ids, dx, dy, torch.rand(batch) < 0.5)).mul_(scale).add_(bias)
            yield ring[slot], labels[ids]
