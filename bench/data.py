"""The datasets of the comparisons, unpacked or generated once under build/bench-data.

The archives imagenet160.tar and cifar10-jpeg.tar.zst are read from the folder in UNSTARVE_DATA, or from ../shared/data.
If an archive is missing, `unstarve synth` generates a similar dataset, and the results name it.
"""

import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

# Copies of each photograph: 1,280 files are five whole batches, and 140 MB do not fit into a last-level cache, unlike
# the 18 MB of the 160 photographs.
COPIES = 8
CIFAR_CLASSES = "airplane automobile bird cat deer dog frog horse ship truck".split()


def _archive(name):
    given = os.environ.get("UNSTARVE_DATA")
    path = (Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data") / name
    return path if path.exists() else None


def _finished(part, folder):
    part.rename(folder)
    return folder


def photographs(root, program):
    """Returns a class-per-folder tree of at least 1,280 photographs, and its description."""
    archive = _archive("imagenet160.tar")
    if archive is None:
        folder = Path(root) / "photographs-synthetic"
        if not folder.exists():
            part = _fresh(folder)
            _synth(program, part, images=1280, size=500)
            _finished(part, folder)
        return folder, "synthetic photographs, 500 px"
    folder = Path(root) / "photographs"
    if not folder.exists():
        part = _fresh(folder)
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.isfile() and member.name.lower().endswith((".jpg", ".jpeg")):
                    name = Path(member.name)
                    target = part / name.parent.name
                    target.mkdir(exist_ok=True)
                    data = tar.extractfile(member).read()
                    for copy in range(COPIES):
                        (target / f"{name.stem}_{copy}{name.suffix}").write_bytes(data)
        _finished(part, folder)
    return folder, f"160 ImageNet photographs, {COPIES} copies each"


def infer_models(root, program, job):
    """Makes the models of an "infer" job with our side of the comparison, and returns their folder."""
    folder = Path(root) / "infer-models"
    if not (folder / f"{job['network']}-int8.onnx").exists():
        make = job | {"models": str(folder), "precision": "int8"}
        subprocess.run([program, "infer", json.dumps(make)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       check=True)
    return folder


def photographs_linked(root, program):
    """Every photograph under five names, so that start and end of a run matter as little as for real datasets."""
    photos, what = photographs(root, program)
    folder = Path(root) / f"{photos.name}-linked"
    if not folder.exists():
        part = _fresh(folder)
        for file in sorted(photos.glob("*/*.jp*g")):
            target = part / file.parent.name
            target.mkdir(exist_ok=True)
            for copy in range(5):
                os.link(file, target / f"{file.stem}_{copy}{file.suffix}")
        _finished(part, folder)
    return folder, what + ", under five names each"


def cifar(root, program):
    """Returns CIFAR-10 in its binary form (five training files, one test file), and its description."""
    archive = _archive("cifar10-jpeg.tar.zst")
    folder = Path(root) / ("cifar10" if archive else "cifar10-synthetic")
    if not folder.exists():
        part = _fresh(folder)
        images = part / "jpeg"
        images.mkdir()
        train, test = _cifar_files(images, archive, program)
        records = _records(train)
        each = len(records) // 5
        for number in range(5):
            (part / f"data_batch_{number + 1}.bin").write_bytes(b"".join(records[number * each : (number + 1) * each]))
        (part / "test_batch.bin").write_bytes(b"".join(_records(test)))
        (part / "batches.meta.txt").write_text("\n".join(CIFAR_CLASSES) + "\n")
        shutil.rmtree(images)
        _finished(part, folder)
    return folder, "CIFAR-10" if archive else "synthetic images, 32 px"


def cifar_folder(root, program):
    """The 50,000 training images of CIFAR-10 as JPEG files, one folder per class, all in the page cache."""
    archive = _archive("cifar10-jpeg.tar.zst")
    folder = Path(root) / ("cifar10-folder" if archive else "cifar10-folder-synthetic")
    if not folder.exists():
        part = _fresh(folder)
        unpacked = part / "unpacked"
        unpacked.mkdir()
        train, _ = _cifar_files(unpacked, archive, program)
        for each in train.iterdir():
            each.rename(part / each.name)
        shutil.rmtree(unpacked)
        _finished(part, folder)
    for path in folder.glob("*/*"):  # a warm-up block would read only some of the files
        path.read_bytes()
    return folder, "CIFAR-10, 50,000 JPEG files" if archive else "synthetic images, 32 px, 50,000 files"


def _cifar_files(into, archive, program):
    """Returns the training and the test tree, unpacked or generated in the folder `into`."""
    if archive:
        _run(["tar", "--zstd", "-xf", str(archive), "-C", str(into)])
        return into / "cifar10" / "train", into / "cifar10" / "test"
    train, test = into / "train", into / "test"
    _synth(program, train, images=50_000, size=32)
    _synth(program, test, images=10_000, size=32)
    return train, test


def tfrecord(root, program):
    """The photographs as eight TFRecord files of tf.train.Example, each twice: 280 MB exceed any cache."""
    photos, what = photographs(root, program)
    folder = Path(root) / (photos.name + "-tfrecord")
    if not folder.exists():
        from bench.peers.inputs import image_files

        part = _fresh(folder)
        records = {}  # by content: copies reuse the record and its checksum
        shards = [open(part / f"train.tfrecord-{number:05d}-of-00008", "wb") for number in range(8)]
        for index, (path, label) in enumerate(image_files(photos) * 2):
            key = (Path(path).read_bytes(), label)
            if key not in records:
                records[key] = tfrecord_of(*key)
            shards[index % 8].write(records[key])
        for shard in shards:
            shard.close()
        _finished(part, folder)
    return folder, what + ", as TFRecord, twice"


def webdataset(root, program):
    """The photographs as eight WebDataset shards, each twice."""
    photos, what = photographs(root, program)
    return _webdataset(photos, 2), what + ", as WebDataset shards, twice"


def webdataset_small(root, program):
    """The 50,000 training images of CIFAR-10 as eight WebDataset shards: records of 1 kB instead of 100 kB."""
    files, what = cifar_folder(root, program)
    return _webdataset(files, 1), what + ", as WebDataset shards"


def raw_256(root, program):
    """The photographs as pixels of 256 x 256 in one NumPy array, 252 MB."""
    photos, what = photographs(root, program)
    folder = Path(root) / (photos.name + "-raw-256")
    if not folder.exists():
        import numpy
        from PIL import Image

        from bench.peers.inputs import image_files

        part = _fresh(folder)
        files = image_files(photos)
        images = numpy.lib.format.open_memmap(part / "images.npy", "w+", numpy.uint8, (len(files), 256, 256, 3))
        for index, (path, _) in enumerate(files):
            with Image.open(path) as image:
                images[index] = numpy.asarray(image.convert("RGB").resize((256, 256), Image.Resampling.BILINEAR))
        images.flush()
        numpy.save(part / "labels.npy", numpy.array([label for _, label in files], numpy.int64))
        _finished(part, folder)
    return folder, what + ", as pixels of 256 x 256"


def _webdataset(images, times):
    """Eight shards of a class-per-folder tree, next to it; each image is stored `times` times."""
    folder = images.with_name(images.name + "-webdataset")
    if not folder.exists():
        import io
        import tarfile

        from bench.peers.inputs import image_files

        part = _fresh(folder)
        shards = [tarfile.open(part / f"train-{number:06d}.tar", "w", format=tarfile.USTAR_FORMAT)
                  for number in range(8)]
        for index, (path, label) in enumerate(image_files(images) * times):
            for extension, content in (("jpg", Path(path).read_bytes()), ("cls", str(label).encode())):
                member = tarfile.TarInfo(f"{index:08d}.{extension}")
                member.size = len(content)
                shards[index % 8].addfile(member, io.BytesIO(content))
        for shard in shards:
            shard.close()
        _finished(part, folder)
    return folder


def tfrecord_of(image, label):
    """One record, as tensorflow/core/lib/io/record_writer.h and example.proto describe it."""
    import struct

    def field(number, value):
        return _varint(number << 3 | 2) + _varint(len(value)) + value

    def feature(name, value):
        return field(1, field(1, name) + field(2, value))

    example = field(1, feature(b"image/class/label", field(3, field(1, _varint(label))))
                    + feature(b"image/encoded", field(1, field(1, image))))
    length = struct.pack("<Q", len(example))
    return length + struct.pack("<I", _masked_crc32c(length)) + example + struct.pack("<I", _masked_crc32c(example))


def _varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def _crc32c_table():
    table = []
    for crc in range(256):
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


_CRC32C = _crc32c_table()


def _masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC32C[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def parquet(root, program):
    """The photographs, twice, as `datasets` writes them by default: Snappy, 100 rows per row group.

    The path limits our cache, so that our side decodes row groups repeatedly like the scanner.
    """
    import pyarrow

    image_type = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])

    def column(paths):
        images = [{"bytes": Path(path).read_bytes(), "path": Path(path).name} for path in paths]
        return pyarrow.array(images, image_type)

    return _parquet(root, program, "parquet", column)


def parquet_flat(root, program):
    """The same with the image as a plain binary column, as Spark writes it; some readers do not support structs."""
    import pyarrow

    def column(paths):
        return pyarrow.array([Path(path).read_bytes() for path in paths], pyarrow.binary())

    return _parquet(root, program, "parquet-flat", column)


def _parquet(root, program, name, column):
    """Writes eight files; `column` returns the Arrow array of the images at the given paths."""
    photos, what = photographs(root, program)
    folder = Path(root) / f"{photos.name}-{name}"
    if not folder.exists():
        import pyarrow
        from pyarrow import parquet as file_format

        from bench.peers.inputs import image_files

        part = _fresh(folder)
        rows = image_files(photos) * 2
        for shard in range(8):
            mine = rows[shard::8]
            table = pyarrow.table({"image": column([path for path, _ in mine]),
                                   "label": pyarrow.array([label for _, label in mine], pyarrow.int64())})
            file_format.write_table(table, part / f"train-{shard:05d}-of-00008.parquet", row_group_size=100)
        _finished(part, folder)
    return f"{folder}#cache_mb=64", what + ", as Parquet, twice"


def _records(root):
    """CIFAR binary records of a class-per-folder tree, in random order like the original."""
    import numpy
    from PIL import Image

    from bench.peers.inputs import image_files

    records = []
    for path, label in image_files(root):
        with Image.open(path) as image:
            pixels = numpy.asarray(image.convert("RGB").resize((32, 32)) if image.size != (32, 32) else
                                   image.convert("RGB"))
        records.append(bytes([label]) + pixels.transpose(2, 0, 1).tobytes())
    order = numpy.random.default_rng(0).permutation(len(records))
    return [records[index] for index in order]


def _fresh(folder):
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    return part


def _synth(program, folder, images, size):
    _run([str(program), "synth", str(folder), "--classes", "10", "--images", str(images), "--size", str(size),
          "--seed", "1"])


def _run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench: `{' '.join(command)}` failed: {done.stderr.strip() or done.stdout.strip()}")
