"""Remote reading against real servers on loopback (nginx, Swift's S3 interface), and against faults between them."""

import datetime
import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "remote"))

from fault_proxy import FaultProxy, ShapedLink  # noqa: E402
from servers import NGINX, Failed, Nginx, Probe, Swift, has_swift  # noqa: E402

pytestmark = pytest.mark.skipif("UNSTARVE_REMOTE_PROBE" not in os.environ, reason="this build has no remote reading")

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


# --- HTTP -------------------------------------------------------------------------------------------------------------


def test_exact_ranges(nginx, probe, content):
    source = probe.open(nginx.url + "/data.bin")
    assert source["size"] == BYTES
    before = probe.statistics()["received_bytes"]
    ranges = [(0, 1), (BYTES - 1, 1), (5, 0), (17, 70_001), (1000, 10), (1010, 10)]
    check(probe, source, content, ranges)
    # Nothing but what was asked for was sent.
    assert probe.statistics()["received_bytes"] - before == sum(n for _, n in ranges)
    check(probe, source, content, [(0, BYTES)])


def test_many_ranges_from_one_and_from_many_callers(nginx, content):
    with Probe(in_flight=64, split_bytes=65536, hedge_factor=0) as probe:
        source = probe.open(nginx.url + "/data.bin")
        check(probe, source, content, random_ranges(600, 100_000))
        check(probe, source, content, random_ranges(600, 100_000, 1), threads=24)
        statistics = probe.statistics()
        assert statistics["connections"] <= 64  # kept and shared
        assert statistics["retries"] == 0


def test_a_range_beyond_the_end_is_the_callers_mistake(nginx, probe):
    source = probe.open(nginx.url + "/data.bin")
    for bad in [(BYTES, 1), (BYTES - 1, 2), (2**64 - 1, 1)]:
        with pytest.raises(Failed, match="argument: .*data.bin"):
            probe.read(source, [bad])


def test_an_empty_object_opens(nginx, probe):
    source = probe.open(nginx.url + "/empty.bin")
    assert source["size"] == 0
    probe.read(source, [(0, 0)])


def test_an_object_that_is_not_there(nginx, probe):
    with pytest.raises(Failed, match=r"io: open http://127.*/nothing: HTTP 404, not found"):
        probe.open(nginx.url + "/nothing")
    assert probe.statistics()["requests"] == 1  # trying again would not help


def test_redirects_passwords_and_secrets(nginx, probe, content):
    check(probe, probe.open(nginx.url + "/moved/?to=data.bin"), content, [(5, 100)])
    private = nginx.url.replace("://", "://user:pass%20word@") + "/private/data.bin"
    source = probe.open(private)
    assert source["name"] == nginx.url + "/private/data.bin"
    check(probe, source, content, [(7, 100)])
    with pytest.raises(Failed, match="HTTP 401, refused") as failure:
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
        with pytest.raises(Failed, match="io: open"):  # never from https to http
            probe.open(nginx.tls_url + "/down/?to=data.bin")
    with Probe() as probe, pytest.raises(Failed, match="(?i)certificate"):
        probe.open(nginx.tls_url + "/data.bin")


def test_a_server_without_ranges_costs_no_memory(nginx, probe, content):
    source = probe.open(nginx.url + "/no-ranges/data.bin")
    assert source["size"] == BYTES
    check(probe, source, content, [(100, 1000), (BYTES - 10, 10), (0, 5)])
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


@pytest.mark.parametrize("folder", ["", "/no-etag"])
def test_an_object_that_changes_meanwhile_is_an_error(nginx, probe, content, folder):
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
def test_urls_that_make_no_sense(probe, url):
    with pytest.raises(Failed, match="^argument: ") as failure:
        probe.open(url)
    assert "S3CRET" not in str(failure.value)


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
def test_a_fault_is_healed_by_another_attempt(nginx, content, name):
    with FaultProxy(nginx.port, {1: FAULTS[name], 2: FAULTS[name]}) as proxy, Probe(hedge_factor=0) as probe:
        source = probe.open(proxy.url + "/data.bin")
        check(probe, source, content, [(200_000, 100_000)])
        assert probe.statistics()["retries"] == 2


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_stays_is_an_error_that_says_what(nginx, content, name):
    with FaultProxy(nginx.port, {0: {}}, FAULTS[name]) as proxy, Probe(attempts=3, hedge_factor=0) as probe:
        source = probe.open(proxy.url + "/data.bin")
        with pytest.raises(Failed, match=r"io: read http.*/data.bin at offset \d+ \(\d+ bytes\): .+; 3 attempts in"):
            # The first to fail ends the others of its call.
            probe.read(source, [(200_000, 100_000), (50, 100_000), (400_000, 100_000)])
        proxy.always = {}
        check(probe, source, content, [(200_000, 100_000)])


def test_a_broken_body_is_continued_where_it_broke(nginx, content):
    with FaultProxy(nginx.port, {1: {"reset": 60_000}}) as proxy, Probe() as probe:
        source = probe.open(proxy.url + "/data.bin")
        check(probe, source, content, [(1000, 100_000)])
        assert "Range: bytes=61000-100999" in proxy.requests[2]
        assert 'If-Match: "' in proxy.requests[2]


def test_retry_after_is_honoured(nginx, content):
    with FaultProxy(nginx.port, {1: {"status": 503, "headers": {"Retry-After": "1"}}}) as proxy, Probe() as probe:
        source = probe.open(proxy.url + "/data.bin")
        assert probe.read(source, [(0, 10)])["seconds"] >= 1.0
        # One that exceeds the total time is an error at once.
    with FaultProxy(nginx.port, {0: {}}, {"status": 503, "headers": {"Retry-After": "900"}}) as proxy, Probe() as probe:
        source = probe.open(proxy.url + "/data.bin")
        started = time.monotonic()
        with pytest.raises(Failed, match="HTTP 503"):
            probe.read(source, [(0, 10)])
        assert time.monotonic() - started < 5


def test_a_straggler_is_asked_for_again(nginx, content):
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


def test_total_time_out(nginx, content):
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


def test_a_reply_that_ignores_ranges_only_now_and_then(nginx, content):
    whole = {"drop": ["range"]}
    with FaultProxy(nginx.port, {1: whole, 3: whole}) as proxy, Probe(join_bytes=1) as probe:
        source = probe.open(proxy.url + "/data.bin")
        check(probe, source, content, [(1_000_000, 10_000), (2_000_000, 10_000), (0, 1)])


# --- S3 ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def swift(tmp_path_factory, content):
    if not has_swift():
        pytest.fail("python3-swift is missing: make setup installs it")
    with Swift(tmp_path_factory.mktemp("swift")) as server:
        client = server.make_client()
        client.create_bucket(Bucket="bucket")
        for key in ["data.bin", *ODD_KEYS]:
            client.put_object(Bucket="bucket", Key=key, Body=content[:100_000])
        client.put_object(Bucket="bucket", Key="empty", Body=b"")
        server.client = client
        yield server


ODD_KEYS = ["a b+c&d=e.bin", "ümlaut/ß.bin", "x/../y.bin", "per%20cent", "q?x=1#f", "tilde~(1)!*'.bin", "deep//slash"]


def s3_environment(swift, **more):
    return swift.environment(**more)


@pytest.mark.parametrize("key", ["data.bin", *ODD_KEYS])
def test_s3_objects_whatever_their_keys(swift, content, key):
    with Probe(s3_environment(swift)) as probe:
        source = probe.open(f"s3://bucket/{key}")
        assert source["size"] == 100_000
        assert source["name"] == f"s3://bucket/{key}"
        check(probe, source, content, random_ranges(20, 5000, size=100_000))


def test_s3_empty_and_missing(swift):
    with Probe(s3_environment(swift)) as probe:
        assert probe.open("s3://bucket/empty")["size"] == 0
        with pytest.raises(Failed, match="io: open s3://bucket/none: HTTP 404, not found"):
            probe.open("s3://bucket/none")
        with pytest.raises(Failed, match="NoSuchBucket"):
            probe.list("s3://no-such-bucket/")


def test_s3_refuses_a_wrong_secret_key_and_none(swift):
    refused = r"HTTP 403, refused \((SignatureDoesNotMatch|AccessDenied)"
    wrong = {"AWS_SECRET_ACCESS_KEY": "wr0ng"}, {"AWS_ACCESS_KEY_ID": "test:nobody"}
    for change in wrong:
        with Probe(s3_environment(swift, **change)) as probe:
            for call in (lambda: probe.open("s3://bucket/data.bin"), lambda: probe.list("s3://bucket/")):
                with pytest.raises(Failed, match=refused) as failure:
                    call()
                assert "wr0ng" not in str(failure.value)
    with Probe(s3_environment(swift), anonymous=True) as probe, pytest.raises(Failed, match="HTTP 40[013]"):
        probe.open("s3://bucket/data.bin")


def test_s3_credentials_from_files(swift, tmp_path, content):
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(
        f"[default]\naws_access_key_id = x\naws_secret_access_key = y\n"
        f"[mine]\naws_access_key_id={swift.KEY}\naws_secret_access_key = {swift.SECRET}\n")
    (tmp_path / ".aws" / "config").write_text(
        f"[profile mine]\nregion = us-east-1\nendpoint_url = {swift.endpoint}\ns3 =\n  addressing_style = path\n")
    with Probe({"HOME": str(tmp_path), "AWS_PROFILE": "mine"}) as probe:
        check(probe, probe.open("s3://bucket/data.bin"), content, [(10, 10)])
    with Probe({"HOME": str(tmp_path), "AWS_ENDPOINT_URL": swift.endpoint}) as probe:
        with pytest.raises(Failed, match="refused"):
            probe.open("s3://bucket/data.bin")
    with Probe({"HOME": str(tmp_path), "AWS_PROFILE": "none"}) as probe:
        with pytest.raises(Failed, match="argument: AWS_PROFILE=none: no such profile"):
            probe.open("s3://bucket/data.bin")


def test_gs_is_read_by_its_s3_interface(swift, content):
    environment = {"GS_ACCESS_KEY_ID": swift.KEY, "GS_SECRET_ACCESS_KEY": swift.SECRET,
                   "GS_ENDPOINT_URL": swift.auto_endpoint}
    with Probe(environment) as probe:
        check(probe, probe.open("gs://bucket/data.bin"), content, [(10, 1000)])
        assert probe.list("gs://bucket/deep") == [["gs://bucket/deep//slash", 100_000]]
    with Probe(environment | {"GS_SECRET_ACCESS_KEY": "wr0ng"}) as probe:
        with pytest.raises(Failed, match="HTTP 403, refused"):
            probe.open("gs://bucket/data.bin")


def test_without_credentials_requests_are_not_signed(nginx, content):
    (nginx.www / "public").mkdir()
    (nginx.www / "public" / "a b.bin").write_bytes(content)
    with FaultProxy(nginx.port) as proxy:
        key = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}
        for environment, options in [({}, {}), (key, {"anonymous": True})]:
            with Probe(environment | {"AWS_ENDPOINT_URL_S3": proxy.url}, **options) as probe:
                check(probe, probe.open("s3://public/a b.bin"), content, [(10, 10)])
        assert not any("authorization" in head.lower() for head in proxy.requests)


def test_the_buckets_own_region_is_used_when_the_server_tells_it(swift, nginx, content):
    told = {"status": 301, "headers": {"x-amz-bucket-region": "auto"}}
    port = int(swift.auto_endpoint.rsplit(":", 1)[1])
    with FaultProxy(port, {0: told}) as proxy, Probe(s3_environment(swift, AWS_ENDPOINT_URL=proxy.url)) as probe:
        check(probe, probe.open("s3://bucket/data.bin"), content, [(10, 10)])
        assert "/us-east-1/s3/" in proxy.requests[0] and "/auto/s3/" in proxy.requests[2]


def test_s3_lists_in_pages(swift):
    keys = sorted(["data.bin", "empty", *ODD_KEYS], key=str.encode)
    with Probe(s3_environment(swift)) as probe:
        assert [url for url, _ in probe.list("s3://bucket/")] == [f"s3://bucket/{key}" for key in keys]
        assert probe.list("s3://bucket/deep/") == [["s3://bucket/deep//slash", 100_000]]
        assert probe.list("s3://bucket/nothing-begins-so") == []
        swift.client.create_bucket(Bucket="many")
        for i in range(53):
            swift.client.put_object(Bucket="many", Key=f"shard-{i:05}.tar", Body=b"x")
        listed = probe.list("s3://many/shard-")
        assert listed == [[f"s3://many/shard-{i:05}.tar", 1] for i in range(53)]


def test_every_signature_is_botocores(probe, monkeypatch):
    import botocore.auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    rng = random.Random(7)
    alphabet = "abcXYZ019-._~ /+%&=?#:@!$'()*,;[]äß€\u00a0"

    def text(least, most, letters=alphabet):
        return "".join(rng.choice(letters) for _ in range(rng.randint(least, most)))

    for _ in range(1000):
        now = datetime.datetime.fromtimestamp(rng.randint(0, 2**32), datetime.timezone.utc)
        key = [text(1, 20, "ABCDEF0123456789:"), text(1, 40, "abc/+=XYZ019"), rng.choice(["", text(1, 300, "abc/+=")])]
        region, bucket, name = rng.choice(["us-east-1", "eu-west-3", "auto"]), text(3, 8, "abc0-"), text(1, 30)
        endpoint, addressing = f"http://h{rng.choice(['', ':80', ':9000'])}", rng.choice(["path", "virtual"])
        url = probe.ask(address={"endpoint": endpoint, "addressing": addressing, "region": region, "bucket": bucket,
                                 "key": name})["url"]
        host, path = url.removeprefix("http://").split("/", 1)
        query = [[name, text(0, 12)] for name in {text(1, 8) for _ in range(rng.randint(0, 4))}]
        headers = rng.sample([["Range", f"bytes={rng.randint(0, 9**9)}-{10**9}"],
                              ["If-Match", '"' + text(1, 9, "abc-") + '"'],
                              ["X-Amz-Meta-Odd", "  a   b  " + text(0, 5, "ab ")]], rng.randint(0, 3))
        ours = probe.ask(sign={"method": "GET", "host": host, "path": "/" + path, "query": query, "headers": headers,
                               "key": key, "region": region, "service": "s3", "time": int(now.timestamp())})

        monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda now=now, **_: now, raising=False)
        full = url + ("?" + ours["query"] if ours["query"] else "")
        request = AWSRequest("GET", full, headers=dict(headers))
        botocore.auth.S3SigV4Auth(Credentials(*key[:2], key[2] or None), "s3", region).add_auth(request)
        assert ours["headers"]["Authorization"] == request.headers["Authorization"], (url, query, headers)


# --- Disk cache -------------------------------------------------------------------------------------------------------


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


def test_a_changed_object_is_another_object_to_the_cache(nginx, content, tmp_path):
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


def test_the_limit_holds_and_the_oldest_goes_first(nginx, content, tmp_path):
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
        # One that would take more than a tenth is not kept.
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


def test_a_kill_leaves_a_cache_that_works(nginx, content, tmp_path):
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


def test_a_full_disk_is_passed_by_with_one_warning(nginx, content, tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", folder], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("mounting a small tmpfs is not allowed here: " + mounted.stderr.decode().strip())
    try:
        with Probe(cache_folder=str(folder)) as probe:
            source = probe.open(nginx.url + "/data.bin")
            for i in range(10):
                check(probe, source, content, [(i * 100_000, 100_000)])
            (warning,) = probe.statistics()["warnings"]
            assert "No space left" in warning
            received = probe.statistics()["received_bytes"]
            check(probe, source, content, [(0, 100_000)])  # what fitted is still served
            assert probe.statistics()["received_bytes"] == received
        assert not list(folder.rglob(".partial*"))
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_cache_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Failed, match="io: make disk cache"):
        Probe(cache_folder=str(tmp_path / "file" / "below"))


# --- Speed ------------------------------------------------------------------------------------------------------------


def test_ranges_in_flight_hide_the_round_trip(nginx, content):
    # Not a timing test: 64 requests one after the other take 64 round trips of half a second at least.
    with ShapedLink(nginx.port, 1e9, 0.5) as link, Probe(join_bytes=1, hedge_factor=0, stall_timeout=20) as probe:
        source = probe.open(link.url + "/data.bin")
        ranges = [(i * 40_000, 30_000) for i in range(64)]
        assert probe.read(source, ranges)["seconds"] < 16
        check(probe, source, content, ranges)
