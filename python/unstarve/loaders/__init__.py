"""The layers below unstarve.Loader, none of which depends on a framework.

    engine             the interface of what produces batches, and shared type aliases
    representation     repr() and HTML
    run_state          the resume position of a run, as a dict
    description        properties and reports of a loader
    conversions        loaders of the same batches with another dtype, layout or device
    base_loader        iteration, lifetime and checkpoints
    framework_loader   base of the loaders of torch tensors and JAX arrays
"""
