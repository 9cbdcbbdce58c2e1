"""Peers of the comparison harness, one module each; see docs/benchmarks.md.

A peer module can be imported without its packages (functions import them) and defines:

ENVIRONMENT            virtual environment of bench/setup.py
JOBS                   names of the jobs that it supports
candidates(job)        settings to try on this machine, best guess first; the harness uses the fastest
batches(job, settings) endless iterator of (images, labels): float32 images, NCHW or NHWC, batches of job["batch"]
consume(source, seconds), check(source)    optional, instead of those of serve.py

A job is plain data: {"job": name, "data": folder, "cores": n, "batch": n, "seed": n} and options of the job.

The modules of python/unstarve/comparison are modules of this package too: bench.peers.serve, bench.peers.pillow, ...
"""

from pathlib import Path

__path__.append(str(Path(__file__).resolve().parents[2] / "python" / "unstarve" / "comparison"))
