"""How unstarve.mapped_loader makes the batches of a pipeline with map().

    workers        the processes or threads that make the samples
    engine         the batches of a run
    bad_samples    the bad samples of a run, and their limits
    profile        the measurements of a run
"""
