"""The layers below unstarve.Loader, none of which depends on a framework.

    engine             the interface of what produces batches, and shared type aliases
    engines            the running engine, and the reports of earlier ones
    batch_form         dtype, layout and parts of the batches
    device_part        memory and work of the device that uses the batches
    representation     repr() and HTML
    run_state          the resume position of a run, as a dict
    run                the length of the epochs and the resume position of a loader
    copies             warns if to_torch() is called in every epoch
    description        properties and reports of a loader
    conversions        loaders of the same batches with another dtype, layout or device
    base_loader        iteration, lifetime and checkpoints
    framework_loader   base of the loaders of torch tensors and JAX arrays
"""
