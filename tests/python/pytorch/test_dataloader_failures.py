"""un.DataLoader: errors and deaths of workers; nothing leaks after loops, exits and kills."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

torch = pytest.importorskip("torch")

import unstarve as un  # noqa: E402
from dataloader_support import Closure, Faulty, Kinds, alive, call, gone, script  # noqa: E402
from unstarve.workers.process_pool import ProcessPool  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


@pytest.mark.parametrize("workers", [2, "fork", "threads"])
def test_an_error_is_raised_in_order_with_its_traceback(workers, load):
    more = {"threads": {"workers": "threads"}, "fork": {"multiprocessing_context": "fork"}}.get(workers, {})
    loader = load(Faulty({9: "value", 15: "key", 20: "special"}), batch_size=4, num_workers=2, **more)
    iterator = iter(loader)
    assert [int(next(iterator)[1][0]) for _ in range(2)] == [0, 4]
    with pytest.raises(ValueError, match=r"(?s)Caught ValueError in DataLoader worker.*__getitem__.*no sample 9"):
        next(iterator)
    with pytest.raises(KeyError, match=r"(?s)Original Traceback.*a key"):
        next(iterator)
    assert int(next(iterator)[1][0]) == 16
    with pytest.raises(RuntimeError, match=r"(?s)Caught Special in.*dataloader_support.py"):
        next(iterator)
    with pytest.raises(StopIteration):
        next(iterator)


def test_an_error_that_cannot_be_pickled_is_raised_as_text(load):
    with pytest.raises(RuntimeError, match=r"(?s)LocalError.*of a function"):
        list(load(Faulty({3: "local"}), num_workers=2))
    with pytest.raises(ValueError, match="^no sample 5$"):
        list(un.DataLoader(Faulty({5: "value"})))


def test_the_text_of_an_error_is_limited_by_its_bytes(load):
    iterator = iter(load(Faulty({0: "long"}, samples=2), num_workers=1))
    with pytest.raises(ValueError, match=r"(?s)Caught ValueError in DataLoader worker.*\[\.\.\.\]") as caught:
        next(iterator)
    assert 16_000 < len(str(caught.value).encode()) < 20_000
    assert int(next(iterator)[1]) == 1


def test_a_thread_reports_that_its_dataset_ends_the_program():
    def end(_):
        raise SystemExit

    loader = un.DataLoader(Faulty({1: "sys.exit"}, samples=3), num_workers=1, workers="threads", timeout=20)
    iterator = iter(loader)
    assert int(next(iterator)[1]) == 0
    with pytest.raises(RuntimeError, match=r"(?s)Caught SystemExit in DataLoader worker thread 0.*no more samples"):
        next(iterator)
    assert int(next(iterator)[1]) == 2
    with pytest.raises(RuntimeError, match="Caught SystemExit in DataLoader worker thread"):
        next(iter(un.DataLoader(Faulty({}), num_workers=1, workers="threads", timeout=20, worker_init_fn=end)))


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_unpicklable_samples_are_collated_by_their_worker(context):
    loader = un.DataLoader(Closure(samples=24), batch_size=8, num_workers=1, collate_fn=call,
                           multiprocessing_context=context)
    assert list(loader) == [list(range(8)), list(range(8, 16)), list(range(16, 24))]
    loader.close()


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_a_dead_worker_ends_the_loop_and_the_next_loop_starts_new_workers(context):
    dataset = Faulty({})
    loader = un.DataLoader(dataset, batch_size=4, num_workers=1, multiprocessing_context=context)
    for what, message in (("kill", "killed by SIGKILL"), ("exit", "exit code 3")):
        dataset.at = {17: what}
        seen = []
        with pytest.raises(RuntimeError, match=rf"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly: {message}"):
            for batch in loader:
                seen += batch[1].tolist()
        assert seen == list(range(16))
    loader.close()


def test_a_batch_that_times_out_is_delivered_later(load):
    loader = load(Faulty({0: 0.8}, samples=2), num_workers=2, timeout=0.2)
    iterator = iter(loader)
    with pytest.raises(RuntimeError, match="timed out after 0.2 seconds"):
        next(iterator)
    time.sleep(1)
    assert int(next(iterator)[1]) == 0


# --- leaks ------------------------------------------------------------------------------------------------------------


def test_loops_left_early_leak_nothing(load):
    def held():
        gc.collect()
        return (len(os.listdir("/proc/self/fd")), threading.active_count(), len(loader._idle_pool._pools[0].pids))

    before = set(os.listdir("/dev/shm"))
    loader = load(Kinds("tensor", samples=200), batch_size=5, num_workers=2, shuffle=True)
    pids = None
    for loop in range(60):
        for number, _ in enumerate(loader):
            if number == loop % 4:
                break
        if loop == 10:
            level, pids = held(), loader._idle_pool._pools[0].pids
    assert held() == level and loader._idle_pool._pools[0].pids == pids
    assert not {name for name in set(os.listdir("/dev/shm")) - before if "unstarve" in name or "psm" in name}
    assert len(list(loader)) == 40


# The garbage collector ran the finalizer of the idle workers before the loop, which the exception refers to, gave its
# workers back.
@pytest.mark.parametrize("options", [{"persistent_workers": True}, {"multiprocessing_context": "spawn"}])
def test_workers_end_after_an_error_in_a_loop(options):
    descriptors, threads, pids = len(os.listdir("/proc/self/fd")), threading.active_count(), []

    def fail():
        iterator = iter(un.DataLoader(Faulty({9: "value"}), batch_size=4, num_workers=2, **options))
        pids.extend(iterator._pool.pids)
        for _ in iterator:
            pass

    for _ in range(3):
        with pytest.raises(ValueError, match="no sample 9"):
            fail()
    gc.collect()
    assert len(pids) == 6 and gone(pids, 5)
    assert len(os.listdir("/proc/self/fd")) <= descriptors and threading.active_count() <= threads


def test_a_pool_that_is_closed_in_its_receiver_thread_ends_that_thread(monkeypatch):
    process_result, pools = ProcessPool._process_result, []

    def closing(pool, worker, answer):  # as a finalizer that the garbage collector runs in this thread
        pools.append(pool)
        pool.close()
        process_result(pool, worker, answer)

    monkeypatch.setattr(ProcessPool, "_process_result", closing)
    loader = un.DataLoader(Kinds("tensor", samples=8), batch_size=2, num_workers=1)
    with pytest.raises((RuntimeError, un.errors.CancelledError)):
        list(loader)
    pools[0]._receiver.join(10)
    assert not pools[0]._receiver.is_alive()


def test_forked_workers_end_with_their_loop_and_leak_nothing():
    loader = un.DataLoader(Kinds("tensor", samples=40), batch_size=5, num_workers=2)
    descriptors, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    for loop in range(8):
        iterator = iter(loader)
        pids = iterator._pool.pids
        for _ in range(loop + 1):
            next(iterator)
        assert all(map(alive, pids))
        del iterator
        assert gone(pids, 0.5)
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= descriptors and threading.active_count() == threads


@pytest.mark.parametrize("options", [{"multiprocessing_context": "spawn"}, {"persistent_workers": True}])
def test_close_and_deletion_end_the_workers(options):
    descriptors = len(os.listdir("/proc/self/fd"))
    loader = un.DataLoader(Kinds(), num_workers=1, **options)
    next(iter(loader))
    pids = loader._idle_pool._pools[0].pids
    assert all(map(alive, pids))
    with pytest.raises(ZeroDivisionError):
        for _ in loader:
            raise ZeroDivisionError
    child = os.fork()  # the forked process holds copies of the sockets
    if child == 0:
        time.sleep(60)
        os._exit(0)
    begin = time.monotonic()
    loader.close()
    assert time.monotonic() - begin < 4 and gone(pids, 0.5)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    del loader
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= descriptors


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_ctrl_c_works_and_workers_end_when_the_parent_is_killed(context):
    code = f"""
        import unstarve as un
        from dataloader_support import Faulty
        loader = un.DataLoader(Faulty({{4: 600.0}}), num_workers=1, multiprocessing_context="{context}")
        iterator = iter(loader)
        next(iterator)
        print(*iterator._pool.pids, flush=True)
        while True:
            try:
                for _ in iterator:
                    pass
            except KeyboardInterrupt:
                print("heard", flush=True)
    """
    with script(code) as parent:
        line = parent.stdout.readline()
        assert line.strip().isdecimal(), line
        worker = int(line)
        time.sleep(0.3)
        for pid in (parent.pid, worker):  # to the process group, as a terminal does
            os.kill(pid, signal.SIGINT)
        assert parent.stdout.readline() == "heard\n"
        assert alive(worker)
        parent.kill()
    assert gone([worker])


def test_an_epoch_that_cannot_begin_ends_the_workers(load):
    dataset = Kinds()
    loader = un.DataLoader(dataset, num_workers=1, multiprocessing_context="spawn")
    next(iter(loader))
    pids = loader._idle_pool._pools[0].pids
    dataset.function = lambda: None
    with pytest.raises(un.errors.ArgumentError, match="cannot be pickled .* expected objects that can be sent"):
        iter(loader)
    assert gone(pids)


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_a_dataset_defined_at_a_prompt_needs_forked_workers(context):
    code = f"""
        import torch, unstarve as un

        class Mine:
            def __len__(self): return 3
            def __getitem__(self, i): return i

        print(list(un.DataLoader(Mine(), num_workers=1, batch_size=3, multiprocessing_context={context!r})))
    """
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)], capture_output=True, text=True,
                          timeout=60)
    if context == "fork":
        assert done.stdout == "[tensor([0, 1, 2])]\n", done.stderr
    else:
        assert done.returncode == 1 and "is defined in a notebook, at a prompt or by `python -c`" in done.stderr


def test_a_dataset_defined_in_a_script_requires_the_main_guard(tmp_path):
    code = """
        import sys
        import torch, unstarve as un

        class Mine:
            def __len__(self): return 3
            def __getitem__(self, i): return i

        def run():
            print(list(un.DataLoader(Mine(), num_workers=1, batch_size=3, multiprocessing_context="spawn")))

        if __name__ == "__main__" or {guarded}:
            run()
    """
    for guarded in (True, False):
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(code).replace("{guarded}", str(not guarded)))
        done = subprocess.run([sys.executable, "-W", "ignore", path], capture_output=True, text=True, timeout=60)
        if guarded:
            assert done.stdout == "[tensor([0, 1, 2])]\n", done.stderr
        else:
            assert done.returncode == 1 and "bootstrapping phase" in done.stderr
