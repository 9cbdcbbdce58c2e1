"""Using a loader in a fork of its process is an error and does not disturb the parent."""

import subprocess
import sys

from fork_support import IN_FORK

CODE = IN_FORK + """
import unstarve as un


def fresh():
    return un.open("synthetic:images=400,size=16").shuffle(1).options(threads=3).batch(10)


def child():
    global kept, loader, running
    for use in (lambda: next(running), lambda: next(loader.batches()), loader.profile, loader.memory):
        try:
            use()
        except un.errors.ArgumentError as error:
            assert f"started in process {os.getppid()}" in str(error), error
        else:
            raise AssertionError(f"{use} worked")
    del kept, running
    loader.close()
    del loader
    again = fresh()  # a new loader
    assert [ids.tolist() for _, _, ids in again.batches()] == expected


expected = [ids.tolist() for _, _, ids in fresh().batches()]
loader = fresh()
running = loader.batches()
kept = [next(running) for _ in range(3)]
in_fork(child)
ids = [batch[2].tolist() for batch in kept] + [ids.tolist() for _, _, ids in running]
assert ids == expected
print("as ever")
"""


def test_a_fork_raises_an_error_and_does_not_disturb_the_parent():
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120,
                         check=False)
    assert run.returncode == 0 and run.stdout == "as ever\n", run.stderr
