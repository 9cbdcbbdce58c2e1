"""Measures un.open's loader against the loaders that people use: `python -m unstarve.comparison photos/`.

    __main__            the command line
    measurement         which loaders, in which order; the result
    search              the fastest settings of a loader
    compare             interleaved measurement, ratios with 95 % intervals
    child               one loader as a child process, stopped while another one is measured
    serve               the program of a child
    inputs              files, labels, random crops of the other loaders

Loaders, one module each: `candidates(job)` are settings to try, `batches(job, settings)` is an endless iterator of
(images, labels).

    unstarve_loader     un.open
    pillow              Pillow in torch's DataLoader
    torchvision         torchvision in torch's DataLoader
    torch_loader        torch's DataLoader, shared by these two
    pillow_pool         Pillow in a pool of threads or processes, without torch

The benchmarks of the repository (bench/) run these modules as `bench.peers`, in environments without this package.
They therefore import each other relatively, and nothing else of the package.
"""
