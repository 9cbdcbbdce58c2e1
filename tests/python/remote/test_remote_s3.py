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
        with pytest.raises(Failed, match=r"argument: obtain .* s3://: .*profile \(none\) could not be found"):
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
        for environment, options in [({"AWS_EC2_METADATA_DISABLED": "true"}, {}), (key, {"anonymous": True})]:
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


def test_every_signature_is_botocores(swift, monkeypatch):
    import botocore.auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    rng = random.Random(7)
    alphabet = "abcXYZ019-._~ /+%&=?#:@!$'()*,;[]äß€\u00a0"

    def text(least, most, letters=alphabet):
        return "".join(rng.choice(letters) for _ in range(rng.randint(least, most)))

    with FaultProxy(port_of(swift.endpoint)) as proxy:
        for i in range(20):
            key = [text(1, 20, "ABCDEF0123456789:"), text(1, 40, "abc/+=XYZ019"),
                   rng.choice([None, text(1, 1500, "abc/+=")])]
            region = rng.choice(["us-east-1", "eu-west-3", "auto"])
            environment = dict(zip(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"), key))
            environment = {name: value for name, value in environment.items() if value}
            with Probe(environment | {"AWS_REGION": region, "AWS_ENDPOINT_URL": proxy.url}) as probe:
                for _ in range(15):
                    with pytest.raises(Failed, match="HTTP 40"):
                        if rng.random() < 0.5:
                            probe.list(f"s3://{text(3, 8, 'abc0-')}/{text(0, 30)}")
                        else:
                            probe.open(f"s3://{text(3, 8, 'abc0-')}/{text(1, 30)}")
            for head in proxy.requests:
                first, *lines = head.rstrip().split("\r\n")
                headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
                now = datetime.datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ")
                monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda now=now, **_: now, raising=False)
                signed = {name: headers[name] for name in ("range", "if-match") if name in headers}
                request = AWSRequest("GET", f"http://{headers['host']}{first.split(' ')[1]}", headers=signed)
                botocore.auth.S3SigV4Auth(Credentials(*key), "s3", region).add_auth(request)
                assert headers["authorization"] == request.headers["Authorization"], head
            proxy.requests.clear()
