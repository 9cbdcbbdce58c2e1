"""The pipelines that killed_driver.py runs, by name.

Each is small and augmented randomly, so that a repeated sample differs from its first occurrence.
"""

import os
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import unstarve as un

SMALL = "synthetic:classes=5,images=200,size=8,seed=1"
OTHER = "synthetic:classes=5,images=130,size=12,seed=2"
WIDE = "synthetic:classes=5,images=70,size=20,seed=3"

PHOTOS = "photos"  # a folder of 120 in the current one


@dataclass
class Variant:
    length: int  # samples of an epoch
    chain: Callable  # maps a folder (for a cache) to the pipeline up to batch()
    holds: Callable  # checks the counts of the ids of a whole epoch
    batch: dict = field(default_factory=dict)  # other arguments of batch()
    workers: bool = False  # whether workers make its samples instead of only the library's threads
    relaxed: bool = True  # whether out-of-order delivery is possible
    ordered: bool = True  # whether the exact order is independent of the batch size

    def options(self, choice):
        """Random settings that do not change which samples an epoch has; in relaxed order they change when."""
        if self.workers:
            kind = choice.choice(("threads", "threads", "threads", "processes"))
            return {"workers": choice.randint(0, 2), "kind": kind, "prefetch": choice.randint(1, 3)}
        return {"threads": choice.randint(1, 4), "prefetch": choice.randint(0, 3), "read_ahead": choice.choice((0, 4)),
                "order": choice.choice(("exact", "relaxed")) if self.relaxed else "exact"}

    def loader(self, folder, options, rank, world, size, last):
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(world))  # as set by a launcher
        return self.chain(folder).options(**options).batch(size, last=last, **self.batch)


def given(loader):
    """Returns the samples of each batch of an epoch: (id, checksum of the result)."""
    if not hasattr(loader, "batches"):  # from_torch: batches are the results of its function
        for ids, drawn in loader:
            yield [(int(i), int(value)) for i, value in zip(ids, drawn, strict=True)]
        return
    for images, labels, ids, *sizes in loader.batches():
        batch = []
        for at, (image, label, i) in enumerate(zip(images, labels, ids, strict=True)):
            if sizes:  # without the padding, which follows from the others in its batch
                height, width = sizes[0][at]
                assert not image[height:].any() and not image[:, width:].any()
                image = image[:height, :width]
            batch.append((int(i), zlib.crc32(np.ascontiguousarray(image).tobytes() + label.tobytes())))
        yield batch


# --- expected epochs --------------------------------------------------------------------------------------------------


def once(samples):
    return lambda ids: ids == Counter(range(samples))


def labelled(*labels):
    data = un.open(SMALL)
    return [i for i in range(len(data)) if data.read(i)["label"] in labels]


def shares(ids):
    """Seven of ten from the first source; a sample repeats only after a pass of its source has ended."""
    first, second = (sum(ids[i] for i in part) for part in (range(200), range(200, 330)))
    return (first, second) == (196, 84) and max(ids.values()) <= 2


def threefold(ids):
    """Three times as many samples of the first class as of each other class."""
    classes = Counter()
    for label in range(5):
        classes[label] = sum(ids[i] for i in labelled(label))
    return list(classes.values()) == [90, 30, 30, 30, 30]


# --- user functions and data ----------------------------------------------------------------------------------------


def wide_or_early(facts):
    return facts.width > 10 or facts.label < 2


def drawn(image, label, rng):
    return image[:4, :4], float(label) + rng.random()


def with_number(sample, rng):
    return sample, int(rng.integers(1 << 30))


class Numbers:
    """A map-style dataset whose samples are their indices."""

    def __len__(self):
        return 200

    def __getitem__(self, i):
        return i


# --- the variants -----------------------------------------------------------------------------------------------------


def opened(*data):
    pipelines = [un.open(one) for one in data]
    return pipelines[0] if len(pipelines) == 1 else un.mix(pipelines)


def augmented(pipeline):
    return pipeline.pad_crop(8, 2).flip()


def filtered(_):
    parts = [un.open(data).filter(wide_or_early) for data in (SMALL, OTHER)]
    return un.mix(parts).shuffle(3).resize((8, 8)).flip()


def cached(folder):
    """The cache's file is being filled when a process is killed; the next ones use it."""
    return augmented(un.open(PHOTOS).shuffle(3).resize((9, 9)).cache("pixels", folder=folder))


VARIANTS = {
    "plain": Variant(200, lambda _: augmented(opened(SMALL).shuffle(3)), once(200)),
    "window": Variant(200, lambda _: augmented(opened(SMALL).shuffle(3, window=70)), once(200)),
    "labels": Variant(120, lambda _: augmented(opened(SMALL).filter(labels=[0, 2, 3]).shuffle(3)),
                      lambda ids: ids == Counter(labelled(0, 2, 3))),
    "filter": Variant(210, filtered, lambda ids: ids == Counter([*labelled(0, 1), *range(200, 330)])),
    "bucket": Variant(400, lambda _: opened(SMALL, OTHER, WIDE).shuffle(3).flip().output("uint8", "NHWC"), once(400),
                      {"pad": True, "bucket": 64}, relaxed=False, ordered=False),
    "mixture": Variant(280, lambda _: augmented(un.mix([opened(SMALL), opened(OTHER)], [0.7, 0.3], epoch=280)
                                                .shuffle(3)).resize((8, 8)), shares),
    "repeat": Variant(270, lambda _: augmented(opened(SMALL).take(90).shuffle(3).repeat(3)),
                      lambda ids: ids == Counter([*range(90)] * 3)),
    "balance": Variant(210, lambda _: augmented(opened(SMALL).balance({"0": 3}, epoch=210).shuffle(3)), threefold),
    "cache": Variant(120, cached, once(120)),
    "map": Variant(200, lambda _: augmented(opened(SMALL).shuffle(3)).map(drawn), once(200), workers=True,
                   relaxed=False),
    "from_torch": Variant(200, lambda _: un.from_torch(Numbers()).shuffle(3).map(with_number), once(200), workers=True,
                          relaxed=False),
}
