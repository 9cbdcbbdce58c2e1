"""un.from_torch(): pipelines over the user's torch dataset.

    from_torch         the pipeline and its loader
    run                the resume position of the loader
    steps              the steps that change samples: operations, normalisation, functions of the user
    tensors            batches as tensors on a device
"""
