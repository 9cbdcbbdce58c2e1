"""Runs epochs in children that are killed by SIGKILL at random moments. Prints the results as JSON; see test_killed.py.

    killed_driver.py VARIANT KILLS SEED      # in an empty folder, except for the data of the variant

A separate program, because its children are forked before any thread runs. Each child runs some ranks in step. After
every batch of all ranks it replaces the file with the state and the samples used in the epoch, as a training job writes
checkpoints. The next child uses other ranks, batch sizes and threads.
"""

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from killed_variants import VARIANTS, given

# Two of the largest batches of all ranks. If fewer samples are left, one rank finishes the epoch and drops none.
LEAST_LEFT = 80


def read(path):
    return json.loads(path.read_text()) if path.exists() else {"states": [], "used": [], "epochs": []}


def replace(path, kept):
    part = path.with_suffix(".part")
    part.write_text(json.dumps(kept))
    part.replace(path)


def few_left(variant, kept):
    return variant.length - len(kept["used"]) < LEAST_LEFT


def loaders(variant, folder, kept, choice):
    """Returns the loaders of all ranks at the saved state."""
    world = 1 if few_left(variant, kept) else choice.randint(1, 3)
    size = choice.randint(1, 12)
    options = variant.options(choice)
    for rank in range(world):
        loader = variant.loader(folder, options, rank, world, size, "keep" if world == 1 else "drop")
        if kept["states"]:
            loader.load_state_dict(kept["states"] if len(kept["states"]) > 1 else kept["states"][0])
        yield loader


def child(variant, path, seed, pipe):
    """Epoch after epoch with one rank, or until too few samples of an epoch are left for several ranks."""
    kept = read(path)
    ranks = list(loaders(variant, path.parent, kept, random.Random(seed)))
    while True:
        epoch = ranks[0].epoch
        running = [given(loader) for loader in ranks]
        while ranks[0].epoch == epoch:
            if len(ranks) > 1 and few_left(variant, kept):
                return
            for batches in running:
                kept["used"] += next(batches)
            kept["states"] = [loader.state_dict() for loader in ranks]
            if len(kept["states"]) > 1 and all(state == kept["states"][0] for state in kept["states"]):
                del kept["states"][1:]  # except in relaxed order, the states of all ranks are equal
            if ranks[0].epoch != epoch:
                kept["epochs"].append(kept["used"])
                kept["used"] = []
            replace(path, kept)
            os.write(pipe, b".")


def run(variant, path, seed):
    """A child that is killed after a random number of batches; whether it was still running."""
    choice = random.Random(seed)
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        try:
            child(variant, path, seed, theirs)
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


def undisturbed(variant, folder, epochs):
    """N epochs of a run that is not killed."""
    folder.mkdir()
    options = {"workers": 0} if variant.workers else {"threads": 1}
    loader = variant.loader(folder, options, 0, 1, 12, "keep")
    with loader:
        return [[sample for batch in given(loader) for sample in batch] for _ in range(epochs)]


def main():
    variant, kills, seed = VARIANTS[sys.argv[1]], int(sys.argv[2]), int(sys.argv[3])
    folder = Path("run")
    folder.mkdir()
    path = folder / "state.json"
    if sys.argv[1] == "from_torch":
        import torch  # noqa: F401  (once, not in every child)
    killed = 0
    while killed < kills or not read(path)["epochs"]:
        killed += run(variant, path, seed)
        seed += 1
    kept = read(path)
    holds = [variant.holds(Counter(i for i, _ in epoch)) for epoch in kept["epochs"]]
    print(json.dumps({"killed": killed, "epochs": kept["epochs"], "used": kept["used"], "holds": holds,
                      "undisturbed": undisturbed(variant, Path("alone"), len(kept["epochs"]) + 1)}))


if __name__ == "__main__":
    main()
