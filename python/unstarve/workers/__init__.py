"""What a DataLoader's samples are loaded by: helper processes or threads. Nothing here is public.

    schedule      which part of which batch is made next
    tasks         fetching samples, seeding the generators, assembling batches
    processes     the pool of helper processes;  process_main, helper: what runs in each;  transport: between them
    threads       the pool of threads, with the same calls
    generators    the states of the generators that an epoch's order is drawn from
"""
