"""The disk cache of remote objects: what it serves, its limit, damage, kills and full disks."""

import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from reading import BYTES, check, content, needs_remote, nginx, random_ranges  # noqa: F401
from servers import Failed, Probe
from small_disk_support import SmallDisk

pytestmark = needs_remote


def entries(folder):
    return [path for path in Path(folder).rglob("*-*") if path.is_file() and path.name[0].isdigit()]


def test_the_cache_serves_what_was_read_and_fetches_the_rest(nginx, content, tmp_path):
    with Probe(cache_folder=str(tmp_path)) as probe:
        source = probe.open(nginx.url + "/data.bin")
        check(probe, source, content, [(1000, 200_000), (500_000, 300)])
        received = probe.statistics()["received_bytes"]
        check(probe, source, content, [(1000, 200_000), (2000, 70_000), (66_536, 65_536), (500_299, 1)])
        assert probe.statistics()["received_bytes"] == received
        check(probe, source, content, [(0, 600_000)])  # around both
        assert probe.statistics()["received_bytes"] == received + 600_000 - 200_300
    with Probe(cache_folder=str(tmp_path)) as probe:  # another process
        source = probe.open(nginx.url + "/data.bin")
        check(probe, source, content, [(0, 600_000), (7, 400_000)])
        assert probe.statistics()["received_bytes"] <= 1


def test_the_cache_does_not_serve_a_changed_object(nginx, content, tmp_path):
    path = nginx.www / "cached.bin"
    path.write_bytes(content)
    os.utime(path, (1e9, 1e9))
    with Probe(cache_folder=str(tmp_path)) as probe:
        check(probe, probe.open(nginx.url + "/cached.bin"), content, [(0, 1000)])
        path.write_bytes(content[::-1])
        check(probe, probe.open(nginx.url + "/cached.bin"), content[::-1], [(0, 1000)])


def test_damage_is_found_and_fetched_again(nginx, content, tmp_path):
    ranges = [(0, 200_000)]
    with Probe(cache_folder=str(tmp_path)) as probe:
        check(probe, probe.open(nginx.url + "/data.bin"), content, ranges)
    (entry,) = entries(tmp_path)
    whole = entry.read_bytes()
    rng = random.Random(1)
    damages = [lambda b: b[:-1], lambda b: b + b"x", lambda b: b""]
    damages += [lambda b, at=at: b[:at] + bytes([b[at] ^ 1]) + b[at + 1:]
                for at in [*range(0, 80, 3), *(rng.randrange(len(whole)) for _ in range(20))]]
    for count, damage in enumerate(damages, 1):
        entry.write_bytes(damage(whole))
        with Probe(cache_folder=str(tmp_path)) as probe:
            check(probe, probe.open(nginx.url + "/data.bin"), content, ranges)
            assert probe.statistics()["cache_damaged"] == 1, count
        assert entry.read_bytes() == whole


def disk_bytes(folder):
    return sum((path.stat().st_size + 4095) // 4096 * 4096 for path in entries(folder))


def test_the_cache_stays_within_its_limit_and_evicts_the_oldest(nginx, content, tmp_path):
    limit = 2 << 20
    with Probe(cache_folder=str(tmp_path), cache_bytes=limit) as probe:
        source = probe.open(nginx.url + "/data.bin")
        for i in range(10):
            check(probe, source, content, [(i * 100_000, 100_000)])
        for age, entry in enumerate(sorted(entries(tmp_path), key=lambda path: int(path.name.split("-")[0]))):
            os.utime(entry, (time.time() - 1000 + age,) * 2)
        check(probe, source, content, [(0, 100_000)])  # used now: no longer the oldest
        for i in range(10, 25):
            check(probe, source, content, [(i * 100_000, 100_000)])
            assert disk_bytes(tmp_path) <= limit
        kept = {int(path.name.split("-")[0]) // 100_000 for path in entries(tmp_path)}
        assert 0 in kept and 1 not in kept and 24 in kept
        # An object larger than a tenth of the cache is not stored.
        check(probe, source, content, [(0, 1_000_000)])
        assert disk_bytes(tmp_path) <= limit


def test_several_processes_share_a_cache_within_its_limit(nginx, content, tmp_path):
    limit, worst = 2 << 20, 0
    probes = [Probe(cache_folder=str(tmp_path), cache_bytes=limit) for _ in range(4)]
    failures = []

    def work(child, seed):
        try:
            source = child.open(nginx.url + "/data.bin")
            for i in range(15):
                check(child, source, content, random_ranges(10, 60_000, seed=seed % 2 + 10 * i), threads=4)
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(child, seed)) for seed, child in enumerate(probes)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        try:
            worst = max(worst, disk_bytes(tmp_path))
        except FileNotFoundError:
            pass
        time.sleep(0.01)
    assert not failures
    assert 0 < worst <= limit
    assert sum(child.statistics()["cache_hit_bytes"] for child in probes) > 0
    for child in probes:
        child.__exit__()


def test_the_cache_works_after_a_kill(nginx, content, tmp_path):
    for i in range(5):
        probe = Probe(cache_folder=str(tmp_path))
        source = probe.open(nginx.url + "/data.bin")
        probe.process.stdin.write('{"read": %d, "ranges": [[%d, 2000000]]}\n' % (source["source"], i))
        probe.process.stdin.flush()
        time.sleep(0.004 * i)
        probe.process.send_signal(signal.SIGKILL)
        probe.process.wait()
        probe.process.stdin.close()
        probe.process.stdout.close()
    with Probe(cache_folder=str(tmp_path)) as probe:
        source = probe.open(nginx.url + "/data.bin")
        check(probe, source, content, [(0, BYTES)])
        assert probe.statistics()["cache_damaged"] == 0


def test_a_full_disk_skips_the_cache_with_one_warning(nginx, content, tmp_path):
    disk = SmallDisk(tmp_path / "small", "300k")
    try:
        with Probe(prefix=disk.prefix, cache_folder=str(disk.path)) as probe:
            source = probe.open(nginx.url + "/data.bin")
            for i in range(10):
                check(probe, source, content, [(i * 100_000, 100_000)])
            (warning,) = probe.statistics()["warnings"]
            assert "No space left" in warning
            received = probe.statistics()["received_bytes"]
            check(probe, source, content, [(0, 100_000)])  # stored objects are still served
            assert probe.statistics()["received_bytes"] == received
        assert entries(disk.seen) and not list(disk.seen.rglob(".partial*"))
        disk.grow("20M")
        with Probe(prefix=disk.prefix, cache_folder=str(disk.path)) as probe:
            source = probe.open(nginx.url + "/data.bin")
            for _ in range(2):
                check(probe, source, content, [(0, 1_000_000)])
            assert probe.statistics()["received_bytes"] < 1_000_000
            assert probe.statistics()["cache_damaged"] == 0 and probe.statistics()["warnings"] == []
    finally:
        disk.close()


def test_a_cache_folder_that_cannot_be_created_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Failed, match="io: make disk cache"):
        Probe(cache_folder=str(tmp_path / "file" / "below"))
