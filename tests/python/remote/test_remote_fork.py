"""A fork of the process reads remote data over connections of its own."""

import os
import shutil
import subprocess
import sys

import pytest

from fork_support import IN_FORK
from reading import FIXTURES, content, needs_remote, nginx  # noqa: F401

pytestmark = needs_remote

CODE = IN_FORK + """
import unstarve as un

url = sys.argv[1]


def batches(data):
    return [(images.sum(), labels.tolist()) for images, labels in data.sequential().resize((8, 8)).batch(2)]


def child():
    assert batches(un.open(url)) == expected
    assert batches(opened) == expected


opened = un.open(url)
expected = batches(opened)
assert len(expected) == 2
in_fork(child)
assert batches(opened) == expected
print("as ever")
"""


@pytest.mark.parametrize("cached", [False, True])
def test_a_fork_reads_what_was_opened_before_it(nginx, tmp_path, cached):
    environment = {**os.environ, "UNSTARVE_REMOTE_CACHE": str(tmp_path)} if cached else None
    for name, source in (("x.tar", "webdataset/cls.tar"), ("x.parquet", "parquet/plain.parquet")):
        shutil.copy(FIXTURES / source, nginx.www / name)
        run = subprocess.run([sys.executable, "-c", CODE, f"{nginx.url}/{name}"],
                             capture_output=True, text=True, timeout=150, check=False, env=environment)
        assert run.returncode == 0 and run.stdout == "as ever\n", run.stderr
