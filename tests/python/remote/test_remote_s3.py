"""Objects in buckets: Swift's S3 interface, credentials, listings, and signatures equal to botocore's."""

import datetime
import random

import pytest

from buckets import swift  # noqa: F401
from fault_proxy import FaultProxy
from reading import check, content, needs_remote, nginx, probe, random_ranges  # noqa: F401
from servers import Failed, Probe, port_of

pytestmark = needs_remote

ODD_KEYS = ["a b+c&d=e.bin", "ümlaut/ß.bin", "x/../y.bin", "per%20cent", "q?x=1#f", "tilde~(1)!*'.bin", "deep//slash"]


@pytest.fixture(scope="module")
def objects(content):
    return {key: content[:100_000] for key in ["data.bin", *ODD_KEYS]} | {"empty": b""}


@pytest.mark.parametrize("key", ["data.bin", *ODD_KEYS])
def test_s3_objects_whatever_their_keys(swift, content, key):
    with Probe(swift.environment()) as probe:
        source = probe.open(f"s3://data/{key}")
        assert source["size"] == 100_000
        assert source["name"] == f"s3://data/{key}"
        check(probe, source, content, random_ranges(20, 5000, size=100_000))


def test_s3_empty_and_missing(swift):
    with Probe(swift.environment()) as probe:
        assert probe.open("s3://data/empty")["size"] == 0
        with pytest.raises(Failed, match="io: open s3://data/none: HTTP 404, not found"):
            probe.open("s3://data/none")
        with pytest.raises(Failed, match="NoSuchBucket"):
            probe.list("s3://no-such-bucket/")


def test_s3_rejects_a_wrong_or_missing_secret_key(swift):
    denied = r"HTTP 403, access denied \((SignatureDoesNotMatch|AccessDenied)"
    wrong = {"AWS_SECRET_ACCESS_KEY": "wr0ng"}, {"AWS_ACCESS_KEY_ID": "test:nobody"}
    for change in wrong:
        with Probe(swift.environment(**change)) as probe:
            for call in (lambda: probe.open("s3://data/data.bin"), lambda: probe.list("s3://data/")):
                with pytest.raises(Failed, match=denied) as failure:
                    call()
                assert "wr0ng" not in str(failure.value)
    with Probe(swift.environment(), anonymous=True) as probe, pytest.raises(Failed, match="HTTP 40[013]"):
        probe.open("s3://data/data.bin")


def test_s3_credentials_from_files(swift, tmp_path, content):
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(
        f"[default]\naws_access_key_id = x\naws_secret_access_key = y\n"
        f"[mine]\naws_access_key_id={swift.KEY}\naws_secret_access_key = {swift.SECRET}\n")
    (tmp_path / ".aws" / "config").write_text(
        f"[profile mine]\nregion = us-east-1\nendpoint_url = {swift.endpoint}\ns3 =\n  addressing_style = path\n")
    with Probe({"HOME": str(tmp_path), "AWS_PROFILE": "mine"}) as probe:
        check(probe, probe.open("s3://data/data.bin"), content, [(10, 10)])
    with Probe({"HOME": str(tmp_path), "AWS_ENDPOINT_URL": swift.endpoint}) as probe:
        with pytest.raises(Failed, match="access denied"):
            probe.open("s3://data/data.bin")
    with Probe({"HOME": str(tmp_path), "AWS_PROFILE": "none"}) as probe:
        with pytest.raises(Failed, match="argument: AWS_PROFILE=none: no such profile"):
            probe.open("s3://data/data.bin")


def test_gs_is_read_by_its_s3_interface(swift, content):
    environment = {"GS_ACCESS_KEY_ID": swift.KEY, "GS_SECRET_ACCESS_KEY": swift.SECRET,
                   "GS_ENDPOINT_URL": swift.auto_endpoint}
    with Probe(environment) as probe:
        check(probe, probe.open("gs://data/data.bin"), content, [(10, 1000)])
        assert probe.list("gs://data/deep") == [["gs://data/deep//slash", 100_000]]
    with Probe(environment | {"GS_SECRET_ACCESS_KEY": "wr0ng"}) as probe:
        with pytest.raises(Failed, match="HTTP 403, access denied"):
            probe.open("gs://data/data.bin")


def test_without_credentials_requests_are_not_signed(nginx, content):
    (nginx.www / "public").mkdir()
    (nginx.www / "public" / "a b.bin").write_bytes(content)
    with FaultProxy(nginx.port) as proxy:
        key = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}
        for environment, options in [({}, {}), (key, {"anonymous": True})]:
            with Probe(environment | {"AWS_ENDPOINT_URL_S3": proxy.url}, **options) as probe:
                check(probe, probe.open("s3://public/a b.bin"), content, [(10, 10)])
        assert not any("authorization" in head.lower() for head in proxy.requests)


def test_the_region_that_the_server_reports_is_used(swift, nginx, content):
    report = {"status": 301, "headers": {"x-amz-bucket-region": "auto"}}
    port = port_of(swift.auto_endpoint)
    with FaultProxy(port, {0: report}) as proxy, Probe(swift.environment(AWS_ENDPOINT_URL=proxy.url)) as probe:
        check(probe, probe.open("s3://data/data.bin"), content, [(10, 10)])
        assert "/us-east-1/s3/" in proxy.requests[0] and "/auto/s3/" in proxy.requests[2]


def test_s3_lists_in_pages(swift):
    keys = sorted(["data.bin", "empty", *ODD_KEYS], key=str.encode)
    with Probe(swift.environment()) as probe:
        assert [url for url, _ in probe.list("s3://data/")] == [f"s3://data/{key}" for key in keys]
        assert probe.list("s3://data/deep/") == [["s3://data/deep//slash", 100_000]]
        assert probe.list("s3://data/nothing-begins-so") == []
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
