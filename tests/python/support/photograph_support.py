"""Small synthetic photographs."""

import random

from PIL import Image, ImageDraw


def make_photographs(folder, count=24, classes=("cats", "dogs")):
    """Writes `count` JPEG files of varying size into class folders, one deeper than the others. Returns `folder`."""
    draw = random.Random(0)
    for index in range(count):
        size = draw.randint(160, 320), draw.randint(160, 320)
        image = Image.new("RGB", size, tuple(draw.randbytes(3)))
        for _ in range(20):
            x, y = draw.randrange(size[0]), draw.randrange(size[1])
            ImageDraw.Draw(image).ellipse((x - 30, y - 20, x + 30, y + 20), tuple(draw.randbytes(3)))
        class_folder = folder / classes[index % len(classes)]
        class_folder.mkdir(parents=True, exist_ok=True)
        image.save(class_folder / f"{index:03}.jpg", quality=90)
    return folder
