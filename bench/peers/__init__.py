"""Peers of the comparison harness, one file each; see docs/benchmarks.md.

A peer's file may be imported without its packages (they are imported where they are used) and holds:

ENVIRONMENT    which virtual environment of bench/setup.py it runs in
JOBS           names of the jobs it can do
candidates(job)        settings worth trying on this machine, best guess first; the harness keeps the fastest
batches(job, settings) endless iterator of (images, labels): float32 images, NCHW or NHWC, job["batch"] at a time
consume(source, seconds), check(source)    optional, in place of those of serve.py

A job is plain data: {"job": name, "data": folder, "cores": n, "batch": n, "seed": n} and what the job needs besides.
"""
