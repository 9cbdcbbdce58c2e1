"""pyarrow's scanner over Parquet files: the image and label columns as record batches.

The comparison measures reading only: values stay in Arrow arrays. The dataset scanner decodes row groups in parallel
and prefetches; the alternative is ParquetFile.iter_batches on one file after another.
"""

ENVIRONMENT = ""  # the project requires pyarrow, too
JOBS = ["parquet-read"]


def candidates(job):
    dataset = [{"way": "dataset", "columns": columns, "batch_readahead": readahead}
               for columns in ("struct", "bytes") for readahead in (2, 16)]
    return dataset + [{"way": "file", "columns": "struct"}]


def batches(job, settings):
    import pyarrow

    pyarrow.set_cpu_count(job["cores"])
    folder = job["data"].partition("#")[0]
    while True:
        yield from (dataset_batches if settings["way"] == "dataset" else file_batches)(folder, job, settings)


def dataset_batches(folder, job, settings):
    from pyarrow import dataset

    columns = ["image", "label"]
    if settings["columns"] == "bytes":
        columns = {"image": dataset.field("image", "bytes"), "label": dataset.field("label")}
    scanner = dataset.dataset(folder, format="parquet").scanner(
        columns=columns, batch_size=job["batch"], batch_readahead=settings["batch_readahead"], use_threads=True)
    for batch in scanner.to_batches():
        if batch.num_rows:
            yield batch.column(0), batch.column(1)


def file_batches(folder, job, settings):
    from pathlib import Path

    from pyarrow import parquet

    for path in sorted(Path(folder).glob("*.parquet")):
        file = parquet.ParquetFile(path, memory_map=True, pre_buffer=True)
        for batch in file.iter_batches(job["batch"], columns=["image.bytes", "label"], use_threads=True):
            yield batch.column(0), batch.column(1)


def check(source):
    """Returns the number of records, bytes and distinct labels of one batch."""
    images, labels = next(source)
    if images.type.num_fields:
        images = images.field(0)
    lengths = [len(image.as_py()) for image in images]
    return {"records": len(lengths), "bytes": sum(lengths), "labels": len(set(labels.to_pylist()))}
