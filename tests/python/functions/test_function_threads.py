"""The functions in several threads and in forked processes."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import unstarve as un
from image_support import encoded, pixels

FILES = [encoded(pixels(200 + 40 * i, 300 - 20 * i, i), quality=90) for i in range(6)]


def work(number):
    data = FILES[number % len(FILES)]
    crop = un.random_resized_crop(data, 64, seed=number)
    return un.encode_jpeg(un.color_jitter(crop, seed=number)), un.decode(data, size=(40, 50)).tobytes()


def test_results_do_not_depend_on_threads():
    expected = [work(number) for number in range(60)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(60))) == expected


def test_the_global_lock_is_released():
    """While one thread decodes, another runs Python code: it counts far more often than between calls only."""
    data = encoded(pixels(3000, 4000), quality=95)
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    during = 0
    for _ in range(3):
        before = counted[0]
        un.decode(data)  # without a lock held, the other thread runs for all of its time, tens of milliseconds
        during = max(during, counted[0] - before)
    stop.set()
    thread.join()
    assert during > 1000


def test_a_fork_can_call_the_functions():
    expected = work(1)
    with ThreadPoolExecutor(2) as pool:
        busy = [pool.submit(work, number) for number in range(40)]
        for _ in range(4):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                os._exit(0 if work(1) == expected else 1)
            assert os.waitpid(child, 0)[1] == 0
        for one in busy:
            one.result()


def test_large_and_small_images_alternate():
    large, small = pixels(1500, 2000), pixels(8, 8)
    for _ in range(3):
        assert np.array_equal(un.invert(un.invert(large, probability=1), probability=1), large)
        assert np.array_equal(un.vertical_flip(un.vertical_flip(small, probability=1), probability=1), small)


def test_the_memory_of_results_is_reused_only_after_they_are_deleted():
    image = pixels(300, 400)
    held = [un.invert(image, probability=1) for _ in range(30)]
    assert len({made.ctypes.data for made in held}) == 30
    before = {made.ctypes.data for made in held}
    part = held[7][10:20]  # a view keeps the memory of its image
    copy = part.copy()
    del held
    again = [un.horizontal_flip(image, probability=1) for _ in range(29)]
    assert len(before & {made.ctypes.data for made in again}) == 29 and np.array_equal(part, copy)
    assert all(np.array_equal(made, image[:, ::-1]) for made in again)


def test_at_most_64_mb_of_deleted_results_are_kept():
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    image = pixels(1000, 1000)
    un.invert(image)
    before = resident()
    held = [un.invert(image) for _ in range(60)]  # 180 MB
    assert resident() - before > 150 << 20
    del held
    assert resident() - before < 90 << 20
