"""Petastorm's batch reader over a plain Parquet store: row groups as NumPy arrays of `bytes` objects and labels.

make_batch_reader is the documented way to read a store written by Spark or pyarrow. (make_reader requires a store
written by Petastorm and is slower: it creates a Python object per row.)
Petastorm 0.13.1 uses the legacy ParquetDataset of pyarrow. With pyarrow 16 it fails on import ("No module named
'pyarrow.filesystem'"), with 15 on opening ("unexpected keyword argument 'validate_schema'"); the environment has 14. It
silently drops struct columns, so both sides read the image as a plain binary column.
PySpark is needed only for writing stores and is not installed.
"""

ENVIRONMENT = "petastorm"
JOBS = ["parquet-read"]


def candidates(job):
    cores = job["cores"]
    return [
        {"pool": "thread", "workers": cores, "early": True},
        {"pool": "thread", "workers": 2 * cores, "early": True},
        {"pool": "thread", "workers": 10, "early": True},  # the default of Petastorm
        {"pool": "thread", "workers": 10, "early": False},
        {"pool": "process", "workers": cores, "early": False},  # supports tables only
        {"pool": "dummy", "workers": 1, "early": False},
    ]


def batches(job, settings):
    import warnings

    warnings.simplefilter("ignore")  # pyarrow 14 emits a deprecation warning per row group
    from pathlib import Path

    from petastorm import make_batch_reader

    reader = make_batch_reader(Path(job["data"].partition("#")[0]).resolve().as_uri(), schema_fields=["image", "label"],
                               reader_pool_type=settings["pool"], workers_count=settings["workers"], num_epochs=None,
                               shuffle_row_groups=False, convert_early_to_numpy=settings["early"])
    for rows in reader:
        yield rows.image, rows.label


def check(source):
    """Returns the number of records, bytes and distinct labels of one batch."""
    images, labels = next(source)
    return {"records": len(images), "bytes": sum(len(image) for image in images), "labels": len(set(labels.tolist()))}
