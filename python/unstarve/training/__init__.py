"""un.Trainer: trains a torch.nn.Module by the training loop of the library.

    trainer            the arguments, and the run
    settings           names and types of the training settings
    network            the module, as the loop calls it
    batches            the batches of any iterable, as the loop reads them
    outputs            folders for checkpoints and events, tried before a run
    interrupt          Ctrl-C during a run
"""
