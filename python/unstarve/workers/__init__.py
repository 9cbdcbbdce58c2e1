"""Workers that make samples: processes or threads. Private.

    job                what workers execute: fetches samples, assembles batches
    torch_job          the job of a torch dataset;  map_job: of a pipeline with map()
    scheduler          which part of which batch is made next
    pool               the interface of all pools, the pool without workers, and the idle pool of a loader
    process_pool       a pool of worker processes
    worker_processes   its processes and sockets;  launch: starts them;  process_main, worker: what runs in each
    pool_memory        the memory that it shares with them;  sent_jobs: the jobs in it
    thread_pool        a pool of threads
    transport          objects between processes through shared memory;  tensor_pickling: torch tensors in them
    batch_memory       stacks the tensors of a batch in shared memory
    job_pickling       jobs on their way to new processes
    epoch              the iterator of a DataLoader
    epoch_order        the indices of an epoch, as torch draws them;  streams: those of an iterable dataset
    pinning            takes the batches of an epoch, page-locked if requested
    order              the sample order of from_torch(), by rank, from any position
    seeding            seeds the global generators for a sample
    generator_states   states of the generators that determine the order of an epoch
    exceptions         exceptions of workers on their way to the consumer
    mismatch           finds the sample that cannot be stacked with the others
"""
