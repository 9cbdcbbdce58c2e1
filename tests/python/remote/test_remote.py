"""Remote reading from a real server on loopback (nginx), with and without injected faults."""

import os
import threading
import time
from pathlib import Path

import pytest

from fault_proxy import FaultProxy, ShapedLink
from reading import BYTES, check, content, needs_remote, nginx, probe, random_ranges  # noqa: F401
from servers import DialectServer, Failed, Nginx, Probe

pytestmark = needs_remote


def test_only_the_requested_ranges_are_sent(nginx, probe, content):
    source = probe.open(nginx.url + "/data.bin")
    assert source["size"] == BYTES
    before = probe.statistics()["received_bytes"]
    ranges = [(0, 1), (BYTES - 1, 1), (5, 0), (17, 70_001), (1000, 10), (1010, 10)]
    check(probe, source, content, ranges)
    # Only the requested bytes were sent.
    assert probe.statistics()["received_bytes"] - before == sum(n for _, n in ranges)
    check(probe, source, content, [(0, BYTES)])


def test_many_ranges_from_one_and_from_many_callers(nginx, content):
    with Probe(in_flight=64, split_bytes=65536, hedge_factor=0) as probe:
        source = probe.open(nginx.url + "/data.bin")
        check(probe, source, content, random_ranges(600, 100_000))
        check(probe, source, content, random_ranges(600, 100_000, 1), threads=24)
        statistics = probe.statistics()
        assert statistics["connections"] <= 64  # reused and shared
        assert statistics["retries"] == 0


def test_a_range_beyond_the_end_is_an_argument_error(nginx, probe):
    source = probe.open(nginx.url + "/data.bin")
    for bad in [(BYTES, 1), (BYTES - 1, 2), (2**64 - 1, 1)]:
        with pytest.raises(Failed, match="argument: .*data.bin"):
            probe.read(source, [bad])


def test_an_empty_object_opens(nginx, probe):
    source = probe.open(nginx.url + "/empty.bin")
    assert source["size"] == 0
    probe.read(source, [(0, 0)])


def test_a_missing_object(nginx, probe):
    with pytest.raises(Failed, match=r"io: open http://127.*/nothing: HTTP 404, not found"):
        probe.open(nginx.url + "/nothing")
    assert probe.statistics()["requests"] == 1  # a retry would not help


def test_redirects_passwords_and_secrets(nginx, probe, content):
    check(probe, probe.open(nginx.url + "/moved/?to=data.bin"), content, [(5, 100)])
    private = nginx.url.replace("://", "://user:pass%20word@") + "/private/data.bin"
    source = probe.open(private)
    assert source["name"] == nginx.url + "/private/data.bin"
    check(probe, source, content, [(7, 100)])
    with pytest.raises(Failed, match="HTTP 401, access denied") as failure:
        probe.open(private.replace("pass%20word", "hunter2"))
    assert "hunter2" not in str(failure.value)
    with pytest.raises(Failed, match=r"/nothing\?X-Amz-Signature=\.\.\.") as failure:
        probe.open(nginx.url + "/nothing?X-Amz-Signature=hunter2")
    assert "hunter2" not in str(failure.value)


def test_https_with_http2_and_certificates(nginx, content):
    with Probe({"SSL_CERT_FILE": str(nginx.cert)}) as probe:
        source = probe.open(nginx.tls_url + "/data.bin")
        check(probe, source, content, random_ranges(100, 50_000))
        assert "HTTP/2.0" in (nginx.folder / "access.log").read_text()
        with pytest.raises(Failed, match="io: open"):  # redirects from https to http are not followed
            probe.open(nginx.tls_url + "/down/?to=data.bin")
    with Probe() as probe, pytest.raises(Failed, match="(?i)certificate"):
        probe.open(nginx.tls_url + "/data.bin")


def test_a_server_without_ranges_sends_an_object_once_and_large_ones_cost_no_memory(nginx, probe, content):
    source = probe.open(nginx.url + "/no-ranges/data.bin")
    assert source["size"] == BYTES
    check(probe, source, content, [(100, 1000), (BYTES - 10, 10), (0, 5)])
    before = probe.statistics()
    check(probe, source, content, random_ranges(50, 10_000))
    assert probe.statistics()["requests"] == before["requests"]
    assert before["received_bytes"] < 2 * BYTES
    big = nginx.www / "big.bin"
    with open(big, "wb") as file:
        file.truncate(400 << 20)
    source = probe.open(nginx.url + "/no-ranges/big.bin")
    before = resident_kb(probe)
    probe.read(source, [(300 << 20, 1000)])
    big.unlink()
    assert resident_kb(probe) - before < 20_000


def resident_kb(child):
    status = Path(f"/proc/{child.process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


@pytest.mark.parametrize("length", ["chunked", "no total", "weak"])
def test_replies_without_a_size_and_with_weak_etags(content, length):
    with DialectServer(content, length) as server, Probe() as probe:
        source = probe.open(server.url + "/data.bin")
        assert source["size"] == BYTES
        check(probe, source, content, random_ranges(20, 10_000))


def test_objects_without_a_size_count_in_the_memory_of_the_process(content):
    with DialectServer(content, "chunked") as server, Probe(held_bytes=5_000_000) as probe:
        source = probe.open(server.url + "/data.bin")
        with pytest.raises(Failed, match="does not fit into the 4 MiB .* 2 MiB are used; expected a Content-Length"):
            probe.open(server.url + "/data.bin")
        probe.ask(close=source["source"])
        check(probe, probe.open(server.url + "/data.bin"), content, [(0, BYTES)])


@pytest.mark.parametrize("folder", ["", "/no-etag"])
def test_an_object_that_changes_during_the_run_is_an_error(nginx, probe, content, folder):
    path = nginx.www / "changing.bin"
    path.write_bytes(content)
    os.utime(path, (1e9, 1e9))
    source = probe.open(f"{nginx.url}{folder}/changing.bin")
    check(probe, source, content, [(10, 10)])
    path.write_bytes(bytes(BYTES))  # of the same size
    with pytest.raises(Failed, match="io: read .*/changing.bin at offset 20 .10 bytes.: the object was changed"):
        probe.read(source, [(20, 10)])
    again = probe.open(f"{nginx.url}{folder}/changing.bin")
    assert again["stamp"] != source["stamp"]


@pytest.mark.parametrize("url", ["http://", "http://a b/", "http://h:0/x", "http://h:99999/x", "s3://", "s3://b",
                                 "s3:///k", "ftp://h/x", "http://h/a\r\nX: y", "s3://AK:S3CRET/x@bucket/key",
                                 "http://u:%zz@h/"])
def test_invalid_urls_are_rejected_without_secrets(probe, url):
    with pytest.raises(Failed, match="^argument: ") as failure:
        probe.open(url)
    assert "S3CRET" not in str(failure.value)


def test_ranges_in_flight_hide_the_round_trip(nginx, content):
    # Not a timing test: 64 requests one after the other take 64 round trips of half a second at least.
    with ShapedLink(nginx.port, 1e9, 0.5) as link, Probe(join_bytes=1, hedge_factor=0, stall_timeout=20) as probe:
        source = probe.open(link.url + "/data.bin")
        ranges = [(i * 40_000, 30_000) for i in range(64)]
        assert probe.read(source, ranges)["seconds"] < 16
        check(probe, source, content, ranges)


# --- Faults -----------------------------------------------------------------------------------------------------------

FAULTS = {
    "reset before any byte": {"reset": 0},
    "reset in the body": {"reset": 20_001},
    "body that stalls": {"stall": 5, "at": 1000},
    "answer that stalls": {"delay": 5},
    "too short": {"short": 7},
    "too long": {"long": 7},
    "length that lies": {"lie": 7},
    "another range": {"replace": {"content-range": f"bytes 0-99999/{BYTES}"}},
    "no range": {"replace": {"content-range": None}},
    "garbled range": {"replace": {"content-range": "bytes 99999999999999999999-1/x"}},
    "503": {"status": 503},
    "429": {"status": 429},
    "500": {"status": 500},
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_transient_fault_is_retried(nginx, content, name):
    with FaultProxy(nginx.port, {1: FAULTS[name], 2: FAULTS[name]}) as proxy, Probe(hedge_factor=0) as probe:
        source = probe.open(proxy.url + "/data.bin")
        check(probe, source, content, [(200_000, 100_000)])
        assert probe.statistics()["retries"] == 2


@pytest.mark.parametrize("name", FAULTS)
def test_a_permanent_fault_is_an_error_that_names_it(nginx, content, name):
    with FaultProxy(nginx.port, {0: {}}, FAULTS[name]) as proxy, Probe(attempts=3, hedge_factor=0) as probe:
        source = probe.open(proxy.url + "/data.bin")
        with pytest.raises(Failed, match=r"io: read http.*/data.bin at offset \d+ \(\d+ bytes\): .+; 3 attempts in"):
            # The first to fail ends the others of its call.
            probe.read(source, [(200_000, 100_000), (50, 100_000), (400_000, 100_000)])
        proxy.always = {}
        check(probe, source, content, [(200_000, 100_000)])


def test_an_interrupted_response_is_continued(nginx, content):
    with FaultProxy(nginx.port, {1: {"reset": 60_000}}) as proxy, Probe() as probe:
        source = probe.open(proxy.url + "/data.bin")
        check(probe, source, content, [(1000, 100_000)])
        assert "Range: bytes=61000-100999" in proxy.requests[2]
        assert 'If-Match: "' in proxy.requests[2]


def test_retry_after_is_honoured(nginx, content):
    with FaultProxy(nginx.port, {1: {"status": 503, "headers": {"Retry-After": "1"}}}) as proxy, Probe() as probe:
        source = probe.open(proxy.url + "/data.bin")
        assert probe.read(source, [(0, 10)])["seconds"] >= 1.0
        # A request that exceeds the total time fails immediately.
    with FaultProxy(nginx.port, {0: {}}, {"status": 503, "headers": {"Retry-After": "900"}}) as proxy, Probe() as probe:
        source = probe.open(proxy.url + "/data.bin")
        started = time.monotonic()
        with pytest.raises(Failed, match="HTTP 503"):
            probe.read(source, [(0, 10)])
        assert time.monotonic() - started < 5


def test_a_slow_request_is_sent_again(nginx, content):
    slow = {60: {"delay": 20}, 70: {"stall": 20, "at": 100}}
    with FaultProxy(nginx.port, slow) as proxy, Probe(join_bytes=1, stall_timeout=60) as probe:
        source = probe.open(proxy.url + "/data.bin")
        ranges = [(i * 10_000, 9_000) for i in range(100)]
        assert probe.read(source, ranges)["seconds"] < 10
        check(probe, source, content, ranges)
        statistics = probe.statistics()
        assert statistics["hedges_won"] >= 2
        assert statistics["retries"] == 0
        assert statistics["hedges"] <= 30


def test_the_failure_of_a_second_request_is_not_that_of_the_first(nginx, content):
    faults = {60: {"delay": 2}} | {number: {"status": 403} for number in range(101, 140)}
    with FaultProxy(nginx.port, faults) as proxy, Probe(join_bytes=1, stall_timeout=60) as probe:
        source = probe.open(proxy.url + "/data.bin")
        check(probe, source, content, [(i * 10_000, 9_000) for i in range(100)])
        statistics = probe.statistics()
        assert statistics["hedges"] >= 1 and statistics["hedges_won"] == 0


def test_a_read_ends_after_the_total_timeout(nginx, content):
    with FaultProxy(nginx.port, {0: {}}, {"delay": 60}) as proxy:
        with Probe(total_timeout=1500, stall_timeout=50, hedge_factor=0) as probe:
            source = probe.open(proxy.url + "/data.bin")
            started = time.monotonic()
            with pytest.raises(Failed, match="(?i)timed out"):
                probe.read(source, [(0, 10)])
            assert time.monotonic() - started < 5


def test_a_server_that_dies_and_comes_back(tmp_path, content):
    with Nginx(tmp_path) as server, Probe(first_wait=100, longest_wait=500, attempts=20) as probe:
        (server.www / "data.bin").write_bytes(content)
        source = probe.open(server.url + "/data.bin")
        check(probe, source, content, [(0, 1000)])
        server.stop()
        back = threading.Timer(1.0, server.start)
        back.start()
        try:
            check(probe, source, content, random_ranges(50, 10_000))
        finally:
            back.join()
        assert probe.statistics()["retries"] >= 1
        server.stop()
        with Probe(attempts=2) as other, pytest.raises(Failed, match="io: open .*; 2 attempts in"):
            other.open(server.url + "/data.bin")


def test_a_server_that_sometimes_ignores_ranges(nginx, content):
    whole = {"drop": ["range"]}
    with FaultProxy(nginx.port, {1: whole, 3: whole}) as proxy, Probe(join_bytes=1) as probe:
        source = probe.open(proxy.url + "/data.bin")
        check(probe, source, content, [(1_000_000, 10_000), (2_000_000, 10_000), (0, 1)])
