"""Fixtures of remote reading: 3 MB of content, a server and a reader of it, ranges, the program."""

import hashlib
import os
import random
import subprocess
from pathlib import Path

import pytest

from servers import NGINX, Nginx, Probe, without_settings

needs_remote = pytest.mark.skipif("UNSTARVE_REMOTE_PROBE" not in os.environ, reason="this build has no remote reading")

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "formats"
BYTES = 3_000_017


@pytest.fixture(scope="module")
def content():
    return random.Random(4).randbytes(BYTES)


@pytest.fixture(scope="module")
def nginx(tmp_path_factory, content):
    if not os.access(NGINX, os.X_OK):
        pytest.fail("nginx is missing: make setup installs it")
    with Nginx(tmp_path_factory.mktemp("nginx")) as server:
        (server.www / "data.bin").write_bytes(content)
        (server.www / "empty.bin").write_bytes(b"")
        (server.www / "private").mkdir()
        (server.www / "private" / "data.bin").write_bytes(content)
        yield server


@pytest.fixture()
def probe():
    with Probe() as child:
        yield child


def expected(content, ranges):
    return hashlib.sha256(b"".join(content[a:a + n] for a, n in ranges)).hexdigest()


def random_ranges(count, longest, seed=0, size=BYTES):
    rng = random.Random(seed)
    lengths = [rng.randint(0, longest) for _ in range(count)]
    return [(rng.randint(0, size - n), n) for n in lengths]


def check(child, source, content, ranges, **more):
    assert child.read(source, ranges, **more)["sha256"] == expected(content, ranges)


def run_program(cache, *arguments, code=0, **environment):
    """The completed process. It runs without the AWS settings and proxies of this process, and with `environment`."""
    settings = without_settings() | {"XDG_CACHE_HOME": str(cache)} | environment
    done = subprocess.run([os.environ["UNSTARVE"], *map(str, arguments)], env=settings, capture_output=True, text=True,
                          check=False)
    assert done.returncode == code, done.stderr
    return done
