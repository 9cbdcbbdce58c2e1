"""Petastorm's batch reader over a plain Parquet store: row groups as NumPy arrays of `bytes` objects and labels.

make_batch_reader is its published way to read a store that Spark or pyarrow wrote (make_reader wants one that Petastorm
itself wrote, and is slower: it makes a Python object per row).
Petastorm 0.13.1 uses pyarrow's legacy ParquetDataset: with pyarrow 16 and later it fails on import ("No module named
'pyarrow.filesystem'"), with 15 on opening ("unexpected keyword argument 'validate_schema'"), so pyarrow 14 it is. It
drops columns that are structs without an error, so both sides read the image as a plain column of bytes.
PySpark, which only writing stores needs, is left out of the environment.
"""

ENVIRONMENT = "petastorm"
JOBS = ["parquet-read"]


def candidates(job):
    cores = job["cores"]
    return [
        {"pool": "thread", "workers": cores, "early": True},
        {"pool": "thread", "workers": 2 * cores, "early": True},
        {"pool": "thread", "workers": 10, "early": True},  # ten is its default
        {"pool": "thread", "workers": 10, "early": False},
        {"pool": "process", "workers": cores, "early": False},  # sends tables only
        {"pool": "dummy", "workers": 1, "early": False},
    ]


def batches(job, settings):
    import warnings

    warnings.simplefilter("ignore")  # pyarrow 14 tells of the deprecation at every row group
    from pathlib import Path

    from petastorm import make_batch_reader

    reader = make_batch_reader(Path(job["data"].partition("#")[0]).resolve().as_uri(), schema_fields=["image", "label"],
                               reader_pool_type=settings["pool"], workers_count=settings["workers"], num_epochs=None,
                               shuffle_row_groups=False, convert_early_to_numpy=settings["early"])
    for rows in reader:
        yield rows.image, rows.label


def check(source):
    """What a person wants to see: how many records, of how many bytes, which labels."""
    images, labels = next(source)
    return {"records": len(images), "bytes": sum(len(image) for image in images), "labels": len(set(labels.tolist()))}
