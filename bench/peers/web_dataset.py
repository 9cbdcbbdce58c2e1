"""The webdataset package reading its shards: members grouped into samples, nothing decoded.

One process, as many as the job has cores (each with its own shards, as DataLoader workers would have), or threads are
not tried: the package is pure Python, so processes are its best. Samples come as (image bytes, label).
"""

ENVIRONMENT = "webdataset"
JOBS = ["tar-read"]


def candidates(job):
    return [{"processes": 1}, {"processes": job["cores"]}]


def samples_of(files):
    """Endlessly, from these shards."""
    import webdataset

    source = webdataset.WebDataset(files, shardshuffle=False, empty_check=False).to_tuple("jpg", "cls").repeat()
    for image, label in source:
        yield image, int(label)


def read_shards(files, batch, queue):
    """A worker: tells how many samples it has grouped; handing the bytes over would be charged to it besides."""
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
    """What a person wants to see: how many records, of how many bytes, which labels."""
    images, labels = next(source)
    lengths = [image if isinstance(image, int) else len(image) for image in images]
    return {"records": len(lengths), "bytes": sum(lengths), "labels": len(set(labels))}
