"""What a DataLoader's samples are loaded by: helper processes or threads. Nothing here is public.

    schedule      which part of which batch is made next
    tasks         fetching samples, seeding the generators, assembling batches
    epoch         one epoch's iterator: asks ahead, hands over in order;  pinning: through page-locked memory
    pools         what every pool of workers can do, and the pool without any
    processes     the pool of helper processes;  process_main, helper: what runs in each;  transport, jobs: between them
    threads       the pool of threads
    generators    the states of the generators that an epoch's order is drawn from
"""
