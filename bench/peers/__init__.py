"""Peers of the comparison harness, one module each; see docs/benchmarks.md.

A peer module can be imported without its packages (functions import them) and defines:

ENVIRONMENT            virtual environment of bench/setup.py
JOBS                   names of the jobs that it supports
candidates(job)        settings to try on this machine, best guess first; the harness uses the fastest
batches(job, settings) endless iterator of (images, labels): float32 images, NCHW or NHWC, batches of job["batch"]
consume(source, seconds), check(source)    optional, instead of those of serve.py

A job is plain data: {"job": name, "data": folder, "cores": n, "batch": n, "seed": n} and options of the job.
"""
