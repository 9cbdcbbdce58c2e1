"""The webdataset package reading shards: members are grouped into samples, nothing is decoded.

Candidates: one process, and one process per core with its own shards (like DataLoader workers). Threads are not tried:
the package is pure Python. Samples are (image bytes, label).
"""

ENVIRONMENT = "webdataset"
JOBS = ["tar-read"]


def candidates(job):
    return [{"processes": 1}, {"processes": job["cores"]}]


def samples_of(files):
    """Endless iterator over the samples of the shards."""
    import webdataset

    source = webdataset.WebDataset(files, shardshuffle=False, empty_check=False).to_tuple("jpg", "cls").repeat()
    for image, label in source:
        yield image, int(label)


def read_shards(files, batch, queue):
    """A worker. Sends image sizes instead of bytes, so that the transfer is not measured."""
    some = samples_of(files)
    while True:
        queue.put([(len(image), label) for image, label in (next(some) for _ in range(batch))])


def batches(job, settings):
    from pathlib import Path

    files = sorted(str(path) for path in Path(job["data"]).glob("*.tar"))
    if settings["processes"] == 1:
        some = samples_of(files)
        while True:
            pairs = [next(some) for _ in range(job["batch"])]
            yield [image for image, _ in pairs], [label for _, label in pairs]
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    queue = context.Queue(4)
    for number in range(settings["processes"]):
        mine = files[number :: settings["processes"]]
        context.Process(target=read_shards, args=(mine, job["batch"], queue), daemon=True).start()
    while True:
        pairs = queue.get()
        yield [length for length, _ in pairs], [label for _, label in pairs]


def check(source):
    """Returns the number of records, bytes and distinct labels of one batch."""
    images, labels = next(source)
    lengths = [image if isinstance(image, int) else len(image) for image in images]
    return {"records": len(lengths), "bytes": sum(lengths), "labels": len(set(labels))}
