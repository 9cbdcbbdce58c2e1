"""Processes of `unstarve train`."""

import json
import os
import subprocess

import pytest


def start_training(*arguments):
    """Starts `unstarve train` with pipes for its text."""
    return subprocess.Popen([os.environ["UNSTARVE"], "train", *map(str, arguments)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def trained(*arguments):
    """The result of a training that succeeds, from its JSON."""
    code, out, errors = finish(start_training(*arguments, "--json"))
    assert code == 0, errors
    return json.loads(out)


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
