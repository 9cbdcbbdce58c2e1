"""Fixtures of bucket tests: Swift with a bucket of objects, and the program configured for it."""

import pytest

from reading import run_program
from servers import Swift, has_swift


@pytest.fixture(scope="module")
def swift(tmp_path_factory, objects):
    """Swift's S3 interface; its bucket `data` contains the module's fixture `objects`, {key: bytes}."""
    if not has_swift():
        pytest.fail("python3-swift is missing: make setup installs it")
    with Swift(tmp_path_factory.mktemp("swift")) as server:
        server.client = server.make_client()
        server.client.create_bucket(Bucket="data")
        for key, body in objects.items():
            server.client.put_object(Bucket="data", Key=key, Body=body)
        yield server


@pytest.fixture()
def unstarve(swift, tmp_path):
    """Runs the program with Swift's key and a separate cache. Returns its output, or its message if `code` is not 0."""

    def run(*arguments, code=0, **more):
        done = run_program(tmp_path / "cache", *arguments, code=code, **swift.environment() | more)
        return done.stdout if code == 0 else done.stderr

    return run
