"""un.Trainer: trains a torch.nn.Module by the training loop of the library.

    trainer            the arguments, and the run
    settings           names and types of the training settings
    network            the module, as the loop calls it
    data               the training and validation data
    batches            the batches of any iterable, one pass after another
    reader             one batch, as the loop reads it
    length             what ends the run, and when it evaluates
    checkpoints        the folder for checkpoints, and the one to continue from
    outputs            folders for checkpoints and events, tried before a run
    faults             the errors of several arguments as one
    interrupt          Ctrl-C during a run
"""
