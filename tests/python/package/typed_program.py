"""A program that test_types.py checks with mypy and never runs."""

from collections.abc import Iterator
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
import torch

import unstarve as un

pipeline = un.open("photos", "train").shuffle(seed=1).decode().random_resized_crop(224).flip()
assert_type(pipeline, un.Pipeline)
assert_type(pipeline.classes, list[str])
assert_type(pipeline.random_split([0.9, 0.1]), list[un.Pipeline])
assert_type(pipeline.subset(range(5)).weights([1.0] * 9).one_of("invert", ("hue", {"shift": 0.1})), un.Pipeline)
assert_type(pipeline.read(0)["image"], int | bytes | npt.NDArray[np.uint8])
kept = pipeline.normalize(*un.IMAGENET).cache("pixels", folder="kept").options(threads=2)
loader = kept.batch(256, last="pad", pad=(300, 400), bucket=0)
assert_type(loader, un.Loader)
assert_type(len(loader), int)
for images, labels in loader:
    assert_type(images, npt.NDArray[Any])
    assert_type(labels, npt.NDArray[Any])
for _, _, ids in loader.batches():
    assert_type(ids, npt.NDArray[Any])
state: dict[str, Any] = loader.state_dict()
loader.load_state_dict(state)
assert_type(loader.explain(), str)
assert_type(loader.bad_samples(), list[tuple[int, str, str]])
assert_type(loader.write_quarantine("bad.jsonl"), int)



def augment(image: npt.NDArray[np.uint8], label: int, rng: np.random.Generator) -> tuple[npt.NDArray[np.float32], int]:
    return image.astype(np.float32) * np.float32(rng.random()), label


mapped = un.open("photos").filter(lambda facts: facts.width > 64 and facts.class_name != "dog").decode().map(augment)
assert_type(mapped.options(workers=2, kind="threads").batch(64), un.Loader)
assert_type(un.from_source([(b"...", 3)], ["cat"], concurrency=2), un.Pipeline)

for tensors, targets in loader.to_torch("cuda", normalize=un.IMAGENET, dtype=torch.bfloat16, channels_last=True):
    assert_type(tensors, torch.Tensor)
    assert_type(targets, torch.Tensor)
for named in loader.to_torch(names=("pixel_values", "labels")):
    assert_type(named, dict[str, torch.Tensor])


assert_type(un.decode(b"...", region=(0, 0, 8, 8), size=64), npt.NDArray[np.uint8])
assert_type(un.decode(torch.zeros(9, dtype=torch.uint8)), torch.Tensor)
assert_type(un.image_info("photo.jpg").height, int)
pixels = un.random_resized_crop("photo.jpg", 224, seed=(1, 2, 3))
assert_type(pixels, npt.NDArray[np.uint8])
assert_type(un.functions.solarize(torch.zeros(3, 8, 8, dtype=torch.uint8), threshold=100), torch.Tensor)
assert_type(un.encode_jpeg(pixels, quality=90), bytes)


class Mine(torch.utils.data.Dataset[int]):
    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> int:
        return index


def iterate() -> Iterator[Any]:
    dropped_in = un.DataLoader(Mine(), batch_size=2, shuffle=True, num_workers=2, workers="threads")
    torchs: torch.utils.data.DataLoader[int] = dropped_in
    yield from torchs
    yield from un.from_torch(Mine()).shuffle(0).map(lambda sample: sample + 1).batch(64)
    yield from un.from_torch(Mine()).flip().normalize(*un.IMAGENET).batch(64).to_torch("cuda", channels_last=True)


network = torch.nn.Linear(2, 3)
trainer = un.Trainer(network, loader, epochs=2, optimiser="adamw", schedule="cosine", step_at=[0.5])
assert_type(trainer.fit(), dict[str, Any])

try:
    un.open("nowhere")
except un.errors.IoError as error:
    found: OSError = error

loader.batch(3)  # wrong: [attr-defined]
un.open(3)  # wrong: [arg-type]
pipeline.shuffle(seed="x")  # wrong: [arg-type]
pipeline.resize((1, 2, 3))  # wrong: [arg-type]
pipeline.options(kind="fibres")  # wrong: [arg-type]
pipeline.output("uint9")  # wrong: [arg-type]
pipeline.batch(8, last="none")  # wrong: [arg-type]
pipeline.batch(8, num_workers=4)  # wrong: [call-arg]
pipeline.rotation(interpolation="cubic")  # wrong: [arg-type]
un.from_source(b"", concurrency="2")  # wrong: [arg-type]
un.resize(pixels)  # wrong: [call-overload]
un.solarize(pixels, threshold="x")  # wrong: [call-overload]
un.decode(3)  # wrong: [call-overload]
un.DataLoader(Mine(), shufle=True)  # wrong: [call-arg]
un.from_torch(Mine()).options(workers="many")  # wrong: [arg-type]
un.Trainer(network, loader, epochs=2, optimiser="adam")  # wrong: [arg-type]
un.Trainer(network, loader, epochs=2, optimizer="adamw")  # wrong: [call-arg]
