"""A child of fork(), for programs that tests run: `IN_FORK` goes before their code."""

IN_FORK = '''
import os
import signal
import sys


def in_fork(work):
    """Calls work() in a forked child, for 60 s at most: it must not wait for threads, which do not exist there."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        try:
            work()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0, status
'''
