"""Using a loader in a fork of its process is an error and does not disturb the parent."""

import subprocess
import sys
import textwrap

CODE = """
    import os
    import signal
    import sys
    import unstarve as un

    def fresh():
        return un.open("synthetic:images=400,size=16").shuffle(1).options(threads=3).batch(10)

    expected = [ids.tolist() for _, _, ids in fresh().batches()]
    loader = fresh()
    running = loader.batches()
    kept = [next(running) for _ in range(3)]
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)  # must not wait for threads, which do not exist in this process
        try:
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
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0, status
    ids = [batch[2].tolist() for batch in kept] + [ids.tolist() for _, _, ids in running]
    assert ids == expected
    print("as ever")
"""


def test_a_fork_raises_an_error_and_does_not_disturb_the_parent():
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(CODE)], capture_output=True, text=True, timeout=120,
                         check=False)
    assert run.returncode == 0 and run.stdout == "as ever\n", run.stderr
