"""Credentials that the providers' packages obtain: from files, roles, SSO, containers, instances, service accounts.

The endpoints are those of credential_server.py. Swift verifies the signatures that the issued AWS keys make.
"""

import base64
import hashlib
import json
import subprocess
import sys
import time

import pytest

from buckets import swift  # noqa: F401
from credential_server import ROLE, CredentialServer, ObjectServer, is_account_sas
from fault_proxy import FaultProxy
from reading import FIXTURES, check, content, needs_remote, run_program  # noqa: F401
from servers import Failed, Probe, port_of, without_settings

pytestmark = needs_remote

NO_INSTANCE = {"AWS_EC2_METADATA_DISABLED": "true"}


@pytest.fixture(scope="module")
def objects(content):
    return {"data.bin": content[:100_000], "set/a.bin": b"a" * 10, "set/b.bin": b"b" * 20, "set/deep/c.bin": b"c",
            "shard.tar": (FIXTURES / "webdataset" / "cls.tar").read_bytes()}


@pytest.fixture()
def aws(swift):
    with CredentialServer(swift.KEY, swift.SECRET) as server:
        yield server


def write_config(home, text):
    (home / ".aws").mkdir()
    (home / ".aws" / "config").write_text(text)


def instance(home, aws):
    return {"AWS_EC2_METADATA_SERVICE_ENDPOINT": aws.url}


def container(home, aws):
    return {"AWS_CONTAINER_CREDENTIALS_FULL_URI": aws.url + "/ecs", "AWS_CONTAINER_AUTHORIZATION_TOKEN": aws.ECS_TOKEN}


def role(home, aws):
    key, secret = aws.SOURCE
    write_config(home, f"[profile source]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n"
                       f"[profile role]\nrole_arn = {ROLE}\nsource_profile = source\n")
    return {"AWS_PROFILE": "role", "AWS_ENDPOINT_URL_STS": aws.url, "AWS_REGION": "us-east-1"}


def web_identity(home, aws):
    (home / "token").write_text(aws.WEB_TOKEN)
    return {"AWS_WEB_IDENTITY_TOKEN_FILE": str(home / "token"), "AWS_ROLE_ARN": ROLE, "AWS_ENDPOINT_URL_STS": aws.url,
            "AWS_REGION": "us-east-1"}


def sso(home, aws, token=None):
    write_config(home, "[profile sso]\nsso_session = mine\nsso_account_id = 123456789012\nsso_role_name = reader\n"
                       "[sso-session mine]\nsso_region = us-east-1\nsso_start_url = https://mine.awsapps.com/start\n")
    cache = home / ".aws" / "sso" / "cache"
    cache.mkdir(parents=True)
    (cache / f"{hashlib.sha1(b'mine').hexdigest()}.json").write_text(json.dumps(
        {"startUrl": "https://mine.awsapps.com/start", "region": "us-east-1", "accessToken": token or aws.SSO_TOKEN,
         "expiresAt": "2099-01-01T00:00:00Z"}))
    return {"AWS_PROFILE": "sso", "AWS_ENDPOINT_URL_SSO": aws.url}


def process(home, aws):
    answer = {"Version": 1, "AccessKeyId": aws.key, "SecretAccessKey": aws.secret, "SessionToken": aws.token(),
              "Expiration": "2099-01-01T00:00:00Z"}
    (home / "answer.json").write_text(json.dumps(answer))
    write_config(home, f"[profile process]\ncredential_process = cat {home}/answer.json\n")
    return {"AWS_PROFILE": "process"}


@pytest.mark.parametrize("way", [instance, container, role, web_identity, sso, process])
def test_s3_is_read_with_the_keys_of(way, aws, swift, tmp_path, content):
    environment = way(tmp_path, aws)
    if way is not instance:
        environment |= NO_INSTANCE
    with FaultProxy(port_of(swift.endpoint)) as proxy:
        environment |= {"HOME": str(tmp_path), "AWS_ENDPOINT_URL_S3": proxy.url}
        with Probe(environment) as probe:
            check(probe, probe.open("s3://data/data.bin"), content, [(10, 1000), (50_000, 30_000)])
            assert probe.list("s3://data/set/a") == [["s3://data/set/a.bin", 10]]
        assert all("x-amz-security-token: token-" in head.lower() for head in proxy.requests)
    assert aws.issued >= 1


def test_the_program_and_the_package_obtain_credentials(aws, swift, tmp_path):
    environment = container(tmp_path, aws) | NO_INSTANCE | {"AWS_ENDPOINT_URL_S3": swift.endpoint}
    report = run_program(tmp_path, "inspect", "s3://data/shard.tar", "--json", **environment).stdout
    assert json.loads(report)["samples"] == 5
    code = "import unstarve as un; print(len(un.open('s3://data/shard.tar')))"
    done = subprocess.run([sys.executable, "-c", code], env=without_settings() | environment, text=True,
                          capture_output=True, check=True)
    assert done.stdout == "5\n"
    assert aws.issued >= 2


def test_denied_credentials_are_an_error_with_the_reason(aws, swift, tmp_path):
    for i, (environment, reason) in enumerate([
            (lambda home: sso(home, aws, token="another"), "SSO session .* has expired .* run aws sso login"),
            (lambda home: role(home, aws) | {"AWS_PROFILE": "none"}, r"profile \(none\) could not be found"),
            (lambda home: web_identity(home, aws) | {"AWS_ROLE_ARN": ROLE + "x"}, "not allowed to assume the role")]):
        home = tmp_path / str(i)
        home.mkdir()
        settings = environment(home) | NO_INSTANCE | {"HOME": str(home), "AWS_ENDPOINT_URL_S3": swift.endpoint}
        with Probe(settings) as probe:
            with pytest.raises(Failed, match="argument: obtain credentials for s3://: .*" + reason):
                probe.open("s3://data/data.bin")


def session_tokens(proxy):
    """The number of the token of each request."""
    return [int(head.lower().split("x-amz-security-token: token-")[1].split("\r")[0]) for head in proxy.requests]


def test_s3_keys_are_renewed_when_they_expire(aws, swift, tmp_path, content):
    aws.lifetime = 4
    with FaultProxy(port_of(swift.endpoint)) as proxy:
        environment = container(tmp_path, aws) | NO_INSTANCE | {"AWS_ENDPOINT_URL_S3": proxy.url}
        with Probe(environment) as probe:
            source = probe.open("s3://data/data.bin")
            first = session_tokens(proxy)[0]
            time.sleep(5)
            check(probe, source, content, [(10, 1000)])
            assert session_tokens(proxy)[-1] > first


EXPIRED = "<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"


def test_s3_keys_are_renewed_when_the_server_reports_their_expiry(aws, swift, tmp_path, content):
    expired = {"status": 400, "body": EXPIRED}
    with FaultProxy(port_of(swift.endpoint), {1: expired, 2: expired, 5: expired}) as proxy:
        environment = container(tmp_path, aws) | NO_INSTANCE | {"AWS_ENDPOINT_URL_S3": proxy.url}
        with Probe(environment, hedge_factor=0, join_bytes=0) as probe:
            source = probe.open("s3://data/data.bin")
            assert aws.issued == 1
            check(probe, source, content, [(10, 1000), (5000, 1000)])  # requests 1 to 4
            assert aws.issued == 2
            assert session_tokens(proxy) == [1, 1, 1, 2, 2]
            assert len(probe.list("s3://data/set/")) == 3
            assert session_tokens(proxy)[5:] == [2, 3]


def test_a_key_of_the_environment_is_not_renewed(swift):
    with FaultProxy(port_of(swift.endpoint), always={"status": 400, "body": EXPIRED}) as proxy:
        with Probe(swift.environment(AWS_ENDPOINT_URL=proxy.url)) as probe:
            with pytest.raises(Failed, match=r"HTTP 400 \(ExpiredToken: The provided token has expired"):
                probe.open("s3://data/data.bin")
        assert len(proxy.requests) == 1


def test_without_python_or_its_packages_the_message_names_the_remedy(swift, tmp_path, content):
    bare = tmp_path / "python"
    bare.write_text('#!/bin/sh\nexec /usr/bin/python3 -S "$@"\n')
    bare.chmod(0o755)
    environment = NO_INSTANCE | {"AWS_ENDPOINT_URL_S3": swift.endpoint}
    for interpreter, reason in [(str(bare), "has no botocore; expected botocore. Run: pip install 'unstarve[s3]'"),
                                ("/no/python", "/no/python cannot be run; expected Python")]:
        with Probe(environment | {"UNSTARVE_PYTHON": interpreter}) as probe, pytest.raises(Failed) as failure:
            probe.open("s3://data/data.bin")
        assert "the request was not signed: " in str(failure.value) and reason in str(failure.value)
        with Probe(swift.environment(UNSTARVE_PYTHON=interpreter)) as probe:
            check(probe, probe.open("s3://data/data.bin"), content, [(10, 10)])


def bearer(headers, query):
    return headers.get("Authorization", "").startswith("Bearer token-")


def check_objects(probe, objects, scheme):
    source = probe.open(f"{scheme}://data/data.bin")
    assert source["size"] == 100_000
    check(probe, source, objects["data.bin"], [(10, 1000), (50_000, 30_000)])
    assert probe.list(f"{scheme}://data/") == [[f"{scheme}://data/{name}", len(objects[name])]
                                               for name in sorted(objects)]
    assert probe.ask(list=f"{scheme}://data/set/", level=True) == {
        "objects": [[f"{scheme}://data/set/a.bin", 10], [f"{scheme}://data/set/b.bin", 20]],
        "folders": [f"{scheme}://data/set/deep/"]}
    with pytest.raises(Failed, match="HTTP 404, not found .*no such object"):
        probe.open(f"{scheme}://data/none")


def metadata_server(home, google):
    return {"GCE_METADATA_HOST": google.host, "GCE_METADATA_IP": google.host}


def service_account(home, google, other_key=False):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(65537, 2048)
    google.service_account_key = (rsa.generate_private_key(65537, 2048) if other_key else key).public_key()
    text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption())
    (home / "account.json").write_text(json.dumps(
        {"type": "service_account", "client_email": "reader@project.iam.gserviceaccount.com", "private_key_id": "1",
         "private_key": text.decode(), "token_uri": google.url + "/google-token", "project_id": "project"}))
    return {"GOOGLE_APPLICATION_CREDENTIALS": str(home / "account.json")}


@pytest.mark.parametrize("way", [metadata_server, service_account])
def test_gs_is_read_with_the_token_of(way, tmp_path, objects):
    with CredentialServer() as google, ObjectServer(objects, bearer) as store:
        with Probe(way(tmp_path, google) | {"GS_ENDPOINT_URL": store.url, "HOME": str(tmp_path)}) as probe:
            check_objects(probe, objects, "gs")
        assert google.issued == 1


def test_gs_with_another_accounts_key_is_an_error(tmp_path, objects):
    with CredentialServer() as google, ObjectServer(objects, bearer) as store:
        environment = service_account(tmp_path, google, other_key=True)
        with Probe(environment | {"GS_ENDPOINT_URL": store.url, "HOME": str(tmp_path)}) as probe:
            with pytest.raises(Failed, match="argument: obtain credentials for gs://: .*Invalid JWT Signature"):
                probe.open("gs://data/data.bin")


def managed_identity(home, azure):
    return {"IDENTITY_ENDPOINT": azure.url + "/app-service", "IDENTITY_HEADER": azure.AZURE_HEADER}


def virtual_machine(home, azure):
    return {"AZURE_POD_IDENTITY_AUTHORITY_HOST": azure.url}


@pytest.mark.parametrize("way", [managed_identity, virtual_machine])
def test_az_is_read_with_the_token_of(way, tmp_path, objects):
    with CredentialServer() as azure, ObjectServer(objects, bearer) as store:
        environment = way(tmp_path, azure) | {"AZURE_STORAGE_SERVICE_ENDPOINT": store.url + "/account",
                                              "HOME": str(tmp_path)}
        with Probe(environment) as probe:
            check_objects(probe, objects, "az")
        assert azure.issued == 1


ACCOUNT_KEY = base64.b64encode(b"key of a storage account").decode()


@pytest.mark.parametrize("setting", ["key", "connection string"])
def test_az_is_read_with_an_account_key(setting, tmp_path, objects):
    def allows(headers, query):
        return is_account_sas(query, "account", ACCOUNT_KEY) and "Authorization" not in headers

    with ObjectServer(objects, allows) as store:
        endpoint = store.url + "/account"
        environment = {
            "key": {"AZURE_STORAGE_ACCOUNT": "account", "AZURE_STORAGE_KEY": ACCOUNT_KEY,
                    "AZURE_STORAGE_SERVICE_ENDPOINT": endpoint},
            "connection string": {"AZURE_STORAGE_CONNECTION_STRING": f"AccountName=account;AccountKey={ACCOUNT_KEY};"
                                                                     f"BlobEndpoint={endpoint};"}}[setting]
        with Probe(environment | {"HOME": str(tmp_path)}) as probe:
            check_objects(probe, objects, "az")
        # Each signature of a key differs from the one before; a rejected one is renewed once.
        wrong = base64.b64encode(b"another key").decode()
        environment = {name: value.replace(ACCOUNT_KEY, wrong) for name, value in environment.items()}
        with Probe(environment | {"HOME": str(tmp_path)}) as probe:
            with pytest.raises(Failed, match="HTTP 403, access denied .AuthenticationFailed"):
                probe.open("az://data/data.bin")
            assert probe.statistics()["requests"] <= 2


def test_az_with_a_sas_in_the_environment_needs_no_python(objects):
    sas = "sv=2022-11-02&sp=rl&sig=a%2Bb%3D"
    with ObjectServer(objects, lambda headers, query: query.get("sig") == "a+b=") as store:
        environment = {"AZURE_STORAGE_SAS_TOKEN": sas, "AZURE_STORAGE_SERVICE_ENDPOINT": store.url + "/account",
                       "UNSTARVE_PYTHON": "/no/python"}
        with Probe(environment) as probe:
            check_objects(probe, objects, "az")
            with pytest.raises(Failed) as failure:
                probe.open("az://data/none")
            assert "sig" not in str(failure.value)
    with Probe({"AZURE_STORAGE_SAS_TOKEN": sas}) as probe:
        with pytest.raises(Failed, match="argument: .*AZURE_STORAGE_ACCOUNT") as failure:
            probe.open("az://data/data.bin")
        assert "sig" not in str(failure.value)


def test_a_replaced_azure_blob_is_an_error(objects):
    objects = dict(objects)
    with ObjectServer(objects, lambda headers, query: True) as store:
        environment = {"AZURE_STORAGE_SAS_TOKEN": "s=1", "AZURE_STORAGE_SERVICE_ENDPOINT": store.url + "/account"}
        with Probe(environment) as probe:
            source = probe.open("az://data/data.bin")
            objects["data.bin"] = b"x" * 100_000
            with pytest.raises(Failed, match="the object was changed"):
                probe.read(source, [(10, 10)])
