"""What a DataLoader's samples are loaded by: helper processes or threads. Nothing here is public.

    schedule      which part of which batch is made next
    job           what workers are given to do;  tasks: a torch dataset;  caught: what their exceptions become
    order         the order of from_torch(), by ranks and from any place
    epoch         one epoch's iterator: asks ahead, hands over in order;  pinning: through page-locked memory
    unlike        which sample cannot be stacked with the others
    pools         what every pool of workers can do, and the pool without any
    processes     the pool of helper processes;  process_main, helper: what runs in each
    transport     objects between processes;  tensors: torch's;  jobs: on their way to new ones
    threads       the pool of threads
    seeding       the global generators, seeded for a sample
    generators    the states of the generators that an epoch's order is drawn from
"""
