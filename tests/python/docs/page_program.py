"""Runs a program of a page of docs/guide/coming-from and stores its batches: page_program.py PAGE NUMBER OUT.npz

The program defines `train` and `val`, one epoch of which is read. Runs in the environment of the other library, so it
imports nothing else.
"""

import pathlib
import re
import runpy
import sys

import numpy


def programs(text):
    """The Python programs of a page: the one of the other library, then ours."""
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def batches(loader):
    """(images, labels) of one epoch as NumPy arrays, channels first."""
    if hasattr(loader, "epoch_size"):  # a DALI pipeline repeats its last samples to fill the last batch
        loader.build()
        left = loader.epoch_size("reader")
        pairs = []
        while left > 0:
            images, labels = (numpy.array(part.as_tensor())[:left] for part in loader.run())
            pairs.append((images, labels.reshape(-1)))
            left -= len(images)
    else:
        pairs = ((batch["image"], batch["label"]) if isinstance(batch, dict) else batch for batch in loader)
    for images, labels in pairs:
        images = numpy.array(images)
        yield images.transpose(0, 3, 1, 2) if images.shape[-1] == 3 else images, numpy.array(labels)


def main(page, number, out):
    with open(page, encoding="utf-8") as file:
        program = programs(file.read())[int(number)]
    script = pathlib.Path(out).with_suffix(".py")  # TensorFlow reads the source of functions
    script.write_text(program, encoding="utf-8")
    names = runpy.run_path(str(script), run_name="__main__")
    result = {}
    for split in ("train", "val"):
        images, labels = zip(*batches(names[split]), strict=True)
        result |= {f"{split}_sizes": [len(part) for part in labels], f"{split}_labels": numpy.concatenate(labels),
                   f"{split}_images": numpy.concatenate(images)}
    numpy.savez(out, **result)


if __name__ == "__main__":
    main(*sys.argv[1:])
