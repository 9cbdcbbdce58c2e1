"""Processes of `unstarve train`."""

import subprocess

import pytest


def finish(process, timeout=300):
    """Waits for a process started with pipes for its text.

    Returns its exit code, standard output and standard error. Skips the test if the build has no libtorch; fails it
    after `timeout` seconds.
    """
    try:
        out, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, errors = process.communicate()
        pytest.fail(f"did not end within {timeout} s: {errors}")
    if process.returncode == 4 and "no libtorch" in errors:
        pytest.skip("this build has no libtorch: " + errors.strip())
    return process.returncode, out, errors
