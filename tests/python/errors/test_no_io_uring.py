"""Without io_uring (denied by kernel or container) threads read the same bytes, and the program reports it."""

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest
from seccomp_support import IO_URING_SETUP, denying

ANSWERS = {"EPERM": errno.EPERM, "ENOSYS": errno.ENOSYS}

# read_ahead is set explicitly because the files are in the page cache; only then is a folder read in batches.
EPOCH = """
    import hashlib, sys
    import unstarve as un
    loader = un.open(sys.argv[1]).shuffle(1).random_resized_crop(64).options(threads=2, read_ahead=8).batch(10)
    digest = hashlib.sha256()
    for images, labels in loader:
        digest.update(images.tobytes() + labels.tobytes())
    print(digest.hexdigest())
"""


def run(command, answer):
    try:
        return subprocess.run(command, preexec_fn=answer and denying(IO_URING_SETUP, *answer), capture_output=True,
                              text=True, check=False)
    except subprocess.SubprocessError as error:
        pytest.skip(f"a seccomp filter cannot be set here: {error}")


def unstarve(*arguments, answer=None):
    done = run([os.environ["UNSTARVE"], *map(str, arguments)], answer)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    data = tmp_path_factory.mktemp("no_io_uring") / "data"
    subprocess.run([os.environ["UNSTARVE"], "synth", data, "--classes", "4", "--images", "40", "--size", "200"],
                   check=True, stdout=subprocess.DEVNULL)
    return data


def allowed_here():
    return not any(finding["topic"] == "io_uring" for finding in unstarve("doctor", "--json")["findings"])


@pytest.mark.parametrize("name", ANSWERS)
def test_the_program_reports_its_reader(folder, name):
    answer = ANSWERS[name]
    probe = ["inspect", folder, "--io", "--json", "--seconds", "0.1"]
    denied = unstarve(*probe, answer=[answer])
    assert denied["reader"] == "pread pool"
    assert all(row["reads_per_s"] > 0 for row in denied["rows"])
    assert unstarve(*probe)["reader"] == ("io_uring" if allowed_here() else "pread pool")
    findings = unstarve("doctor", "--json", answer=[answer])["findings"]
    (found,) = [finding["found"] for finding in findings if finding["topic"] == "io_uring"]
    assert found.endswith(": " + os.strerror(answer))


def test_an_epoch_has_the_same_bytes(folder):
    epoch = [sys.executable, "-c", textwrap.dedent(EPOCH), str(folder)]
    plain = run(epoch, None)
    assert plain.returncode == 0, plain.stderr
    assert len(plain.stdout.strip()) == 64
    # The process is killed when it requests a ring, which proves that it does.
    assert run(epoch, [None]).returncode == -signal.SIGSYS
    for answer in ANSWERS.values():
        denied = run(epoch, [answer])
        assert (denied.returncode, denied.stdout, denied.stderr) == (0, plain.stdout, plain.stderr)
