"""Runs epochs in children that are killed by SIGKILL at random moments and go on elsewhere; a program of its own, since
its children are forked before any thread runs. Prints what it saw as JSON; see test_killed.py.

Each child runs some ranks in step, in exact or relaxed order, and after every batch replaces the file of the state and
of the ids used so far in the epoch: what a training job does with its checkpoint.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import unstarve as un

SAMPLES = 500
LEAST_LEFT = 100  # below this one rank finishes the epoch, so that no last batch is dropped or filled up


def read(path):
    return json.loads(path.read_text()) if path.exists() else {"states": [], "used": [], "epochs": []}


def replace(path, kept):
    part = path.with_suffix(".part")
    part.write_text(json.dumps(kept))
    part.replace(path)


def loaders(kept, choice):
    """(the ranks' loaders at the kept state, whether one rank finishes the epoch)."""
    alone = SAMPLES - len(kept["used"]) < LEAST_LEFT
    world = 1 if alone else choice.randint(1, 3)
    batch = choice.randint(1, 12)
    options = {"threads": choice.randint(1, 4), "prefetch": choice.randint(0, 3), "read_ahead": choice.choice((0, 4)),
               "order": choice.choice(("exact", "relaxed"))}
    made = []
    for rank in range(world):
        pipeline = un.open(f"synthetic:images={SAMPLES},size=8").shuffle(3).shard(rank, world)
        made.append(pipeline.options(**options).batch(batch, drop_last=not alone))
        if kept["states"]:
            made[-1].load_state_dict(kept["states"])
    return made, alone


def child(path, seed, pipe):
    """Until the epoch is over, or nearly over for several ranks."""
    kept = read(path)
    ranks, alone = loaders(kept, random.Random(seed))
    running = [loader.batches() for loader in ranks]
    epoch = ranks[0].epoch
    while ranks[0].epoch == epoch and (alone or SAMPLES - len(kept["used"]) >= LEAST_LEFT):
        for batches in running:
            kept["used"] += [int(sample) for sample in next(batches)[2]]
        kept["states"] = [loader.state_dict() for loader in ranks]
        if ranks[0].epoch != epoch:
            kept["epochs"].append(kept["used"])
            kept["used"] = []
        replace(path, kept)
        os.write(pipe, b".")


def run(path, seed):
    """A child that is killed after a random number of batches; whether it was still running."""
    choice = random.Random(seed)
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        try:
            child(path, seed, theirs)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    os.close(theirs)
    for _ in range(choice.randint(0, 12)):
        if not os.read(ours, 1):
            break
    time.sleep(choice.random() / 500)  # somewhere between two batches
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(ours)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
        raise SystemExit(f"seed {seed}: the child failed")
    return os.WIFSIGNALED(status)


def main():
    path, kills, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    killed = 0
    while killed < kills:
        killed += run(path, seed)
        seed += 1
    print(json.dumps({"killed": killed, "samples": SAMPLES, **{key: read(path)[key] for key in ("epochs", "used")}}))


if __name__ == "__main__":
    main()
