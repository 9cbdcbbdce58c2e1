"""Lifetime of batches and loaders: held and released batches, close(), interrupts."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

import unstarve as un
from loader_support import SMALL, copies, equal


def test_ctrl_c_works_while_data_are_opened(tmp_path):
    shard = tmp_path / "train-00000-of-00001"
    with shard.open("wb") as file:  # a terabyte of zeros without a record, which takes hours to scan
        file.truncate(1 << 40)
    code = f"import unstarve as un; un.open({str(shard) + '#image=x'!r})"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) as process:
        try:
            # Opening has begun when the shard is mapped.
            while str(shard) not in Path(f"/proc/{process.pid}/maps").read_text():
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, report = process.communicate(timeout=120)
        finally:
            process.kill()
    assert report.endswith("KeyboardInterrupt\n") and process.returncode == -signal.SIGINT
    assert [path.name for path in tmp_path.iterdir()] == [shard.name]


def test_ctrl_c_works_while_a_server_does_not_answer():
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/train.tar"
        with subprocess.Popen([sys.executable, "-c", f"import unstarve as un; un.open({url!r})"],
                              stderr=subprocess.PIPE,
                              text=True) as process:
            try:
                server.settimeout(1)
                while True:
                    try:
                        connection, _ = server.accept()
                        break
                    except TimeoutError:
                        if process.poll() is not None:
                            report = process.stderr.read()
                            assert "MissingError" in report, report
                            pytest.skip("this build reads nothing remote")
                process.send_signal(signal.SIGINT)
                _, report = process.communicate(timeout=120)
                connection.close()
            finally:
                process.kill()
    assert report.endswith("KeyboardInterrupt\n") and process.returncode == -signal.SIGINT


def test_batches_may_be_held():
    loader = un.open(SMALL).shuffle(0).batch(10)
    expected = copies(loader)
    loader.set_epoch(0)
    kept = list(loader.batches())
    assert equal(kept, expected)
    del loader
    assert equal(kept, expected)  # the arrays keep their memory alive


def test_a_plain_loop_has_memory_for_three_batches():
    loader = un.open(SMALL).batch(10)
    for images, labels in loader:
        held, _ = loader.memory()["batches"]
        assert 3 * images.nbytes <= held < 3.1 * images.nbytes


class Watched:
    """The running loader; each call checks whether the previous batch was released."""

    def __init__(self, core):
        self.core, self.before, self.freed = core, None, []

    def __getattr__(self, name):
        return getattr(self.core, name)

    def next(self):
        if self.before is not None:
            self.freed.append(self.before() is None)
        batch = self.core.next()
        self.before = weakref.ref(batch[0])
        return batch


@pytest.mark.parametrize("torch", [False, True])
def test_released_batches_are_freed_before_the_next_request(torch):
    if torch:
        pytest.importorskip("torch")
    iterated = un.open(SMALL).batch(10).to_torch("cpu") if torch else un.open(SMALL).batch(10)
    begun = iter(iterated)
    next(begun)
    loader = iterated._loader if torch else iterated
    loader._engines.running = watched = Watched(loader._engines.running)
    for images, labels in begun:
        del images, labels
    assert len(watched.freed) == 18 and all(watched.freed)


def test_batches_may_use_external_memory():
    lent = []

    def allocate(size):
        buffer = np.zeros(size, np.uint8)
        lent.append(buffer)
        return buffer.ctypes.data, buffer

    plain = un.open(SMALL).shuffle(0).output("uint8").batch(50)
    for ours, theirs in zip(plain._with_output(allocate=allocate).batches(), plain.batches(), strict=True):
        assert any(buffer.ctypes.data == ours[0].ctypes.data for buffer in lent)
        assert np.array_equal(ours[0], theirs[0])
    assert len(lent) == 4


def test_a_thousand_loops_left_early_leak_nothing():
    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

    def cycle():
        with un.open("sleep:ms=0,images=1000,size=32").shuffle(0).pad_crop(32).batch(50) as loader:
            for _ in loader:
                break

    for _ in range(100):
        cycle()
    threads, memory = len(os.listdir("/proc/self/task")), resident()
    for _ in range(1000):
        cycle()
    assert len(os.listdir("/proc/self/task")) <= threads
    assert resident() - memory < 8 << 20


def test_a_newer_loop_ends_the_older_one():
    loader = un.open(SMALL).batch(10)
    older, newer = iter(loader), iter(loader)
    next(older)
    next(newer)
    with pytest.raises(un.errors.CancelledError, match="newer loop"):
        next(older)


@pytest.mark.parametrize("after", [0.1, 1.0])  # while the loader starts, while its first batch is made
def test_close_ends_a_loop_that_waits(after):
    loader = un.open("sleep:ms=40,images=1000,size=32").options(threads=1).batch(1000)
    closer = threading.Timer(after, loader.close)
    closer.start()
    begin = time.monotonic()
    with pytest.raises(un.errors.CancelledError, match="closed"):
        next(iter(loader))
    assert time.monotonic() - begin < 30
    closer.join()


@pytest.mark.parametrize("waiting", ["next(iter(pipeline.batch(1000)))", "pipeline.filter(min_side=1).batch(10)",
                                     "pipeline.filter(lambda facts: facts.width > 1).batch(10)",
                                     "pipeline.batch(10, pad=True)"])
def test_ctrl_c_works_while_waiting(waiting):
    code = f"""
        import unstarve as un
        pipeline = un.open("sleep:ms=300,images=1000,size=32").options(threads=1)
        try:
            print("begun", flush=True)
            {waiting}
        except KeyboardInterrupt:
            print("heard", flush=True)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "heard\n"
    assert process.returncode == 0


@pytest.mark.parametrize("daemon", [True, False])
def test_objects_of_a_daemon_thread_are_not_reported_as_leaks_at_exit(daemon):
    code = f"""
        import threading, time
        import unstarve as un

        def hold():
            loader = un.open({SMALL!r}).batch(16)
            batches = iter(loader)
            next(batches)
            started.set()
            time.sleep({1000 if daemon else 0})

        started = threading.Event()
        threading.Thread(target=hold, daemon={daemon}).start()
        started.wait()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == ""


@pytest.mark.parametrize("work", [
    f"for batch in itertools.cycle(un.open({SMALL!r}).batch(4)): started.set()",
    "started.set(); list(un.open('sleep:ms=5,images=1000,size=32').batch(100))",
    "pixels = un.decode(un.encode_jpeg(np.zeros((64, 64, 3), np.uint8)))\n"
    "while True: started.set(); un.resize(pixels, (32, 32))",
    "list(un.from_source(Source()).batch(50))",
    "list(un.from_source(Source()).batch(50))  # ends at once",  # while the source is being opened
    "Source.seconds = 0.1\nun.from_source(Source()).batch(50)",  # the program ends while batch() reads sizes
])
def test_a_daemon_thread_that_uses_the_library_does_not_abort_the_program_at_its_end(work):
    # CPython 3.11 ends such a thread where it requests the GIL, which unwinds C++ frames.
    code = f"""
import itertools, sys, threading, time
import numpy as np
import unstarve as un

class Source:
    seconds = 0.001
    def __len__(self): return 5000
    def __getitem__(self, index):
        started.set()
        time.sleep(self.seconds)
        return np.zeros((32, 32, 3), np.uint8), 1

started = threading.Event()

def run():
{textwrap.indent(work, "    ")}

threading.Thread(target=run, daemon=True).start()
started.wait(30)
time.sleep({0 if "at once" in work else "Source.seconds * 2.5 + 0.05"})
sys.exit(3)
"""
    for _ in range(2):
        runs = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) for _ in range(4)]
        ends = [(run.communicate(timeout=60)[1], run.returncode) for run in runs]
        assert all(status == 3 and "terminate" not in text for text, status in ends), ends
