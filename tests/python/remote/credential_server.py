"""The endpoints from which the providers' packages obtain credentials, as documented, on loopback.

    AWS     instance metadata (IMDSv2), container credentials, STS AssumeRole and AssumeRoleWithWebIdentity,
            SSO GetRoleCredentials
    Google  the metadata server, the token endpoint of service accounts
    Azure   managed identities of virtual machines (IMDS) and App Service

Each checks what its documentation requires of a request, and answers with an error otherwise. Credentials are numbered.
"""

import base64
import datetime
import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

ROLE = "arn:aws:iam::123456789012:role/reader"
FORM = "application/x-www-form-urlencoded"


class HttpServer:
    """Answers by `reply(handler, url, query, body)`, which returns status, body (text, bytes or JSON) and headers."""

    def __enter__(self):
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                url = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
                status, content, headers = owner.reply(self, url, query, body)
                content = content if isinstance(content, (str, bytes)) else json.dumps(content)
                content = content.encode() if isinstance(content, str) else content
                self.send_response(status)
                for name, value in ({"Content-Type": "application/json"} | headers).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = answer

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.url = f"http://{self.host}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def iso(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


class CredentialServer(HttpServer):
    """`key` and `secret` are what AWS endpoints issue, with the session tokens token-1, token-2, ...; other endpoints
    issue these tokens alone. They are valid for `lifetime` seconds; `issued` counts them, `paths` lists the requests.
    """

    SESSION, WEB_TOKEN, SSO_TOKEN, ECS_TOKEN = "imds-session", "web-identity-token", "sso-access-token", "ecs-token"
    SOURCE = ("SOURCEKEY", "source-secret")  # the key that may assume the role
    AZURE_HEADER = "app-service-secret"

    def __init__(self, key="K", secret="S", lifetime=3600):
        self.key, self.secret, self.lifetime = key, secret, lifetime
        self.issued, self.paths = 0, []
        self.service_account_key = None  # public, of cryptography
        self.lock = threading.Lock()

    def token(self):
        with self.lock:
            self.issued += 1
            return f"token-{self.issued}"

    def reply(self, request, url, query, body):
        self.paths.append(f"{request.command} {url.path}")
        for prefix, answer in [("/latest/", self.imds), ("/ecs", self.ecs), ("/federation/credentials", self.sso),
                               ("/google-token", self.google_token),
                               ("/app-service", self.app_service), ("/metadata/identity/", self.azure_imds)]:
            if url.path.startswith(prefix):
                return answer(request, url, query, body)
        if "Metadata-Flavor" in request.headers:
            return self.google_metadata(request, url, query, body)
        if url.path == "/" and request.command == "POST" or "Action" in query:
            return self.sts(request, query | {n: v[0] for n, v in parse_qs(body.decode()).items()}, body)
        return 404, "", {}

    def issue(self):
        return {"AccessKeyId": self.key, "SecretAccessKey": self.secret, "Token": self.token(),
                "Expiration": iso(self.lifetime)}

    def imds(self, request, url, query, body):
        if url.path == "/latest/api/token":
            good = request.command == "PUT" and int(request.headers["x-aws-ec2-metadata-token-ttl-seconds"]) > 0
            return (200, self.SESSION, {"Content-Type": "text/plain"}) if good else (400, "", {})
        if request.headers.get("x-aws-ec2-metadata-token") != self.SESSION:
            return 401, "", {}
        folder = "/latest/meta-data/iam/security-credentials/"
        if url.path == folder:
            return 200, "reader", {"Content-Type": "text/plain"}
        if url.path == folder + "reader":
            return 200, {"Code": "Success", "Type": "AWS-HMAC", "LastUpdated": iso(-60)} | self.issue(), {}
        return 404, "", {}

    def ecs(self, request, url, query, body):
        return (200, self.issue(), {}) if request.headers.get("Authorization") == self.ECS_TOKEN else (403, "{}", {})

    def sso(self, request, url, query, body):
        if request.headers.get("x-amz-sso_bearer_token") != self.SSO_TOKEN:
            return 401, {"message": "Session token not found or invalid"}, {"x-amzn-errortype": "UnauthorizedException"}
        if query != {"role_name": "reader", "account_id": "123456789012"}:
            return 400, {"message": "no such role"}, {"x-amzn-errortype": "InvalidRequestException"}
        issued = self.issue()
        return 200, {"roleCredentials": {"accessKeyId": issued["AccessKeyId"], "sessionToken": issued["Token"],
                                         "secretAccessKey": issued["SecretAccessKey"],
                                         "expiration": int((time.time() + self.lifetime) * 1000)}}, {}

    def sts(self, request, form, body):
        action = form.get("Action", "")
        allowed = {"AssumeRole": lambda: self.is_signed_by_source(request, body),
                   "AssumeRoleWithWebIdentity": lambda: form.get("WebIdentityToken") == self.WEB_TOKEN}
        if action not in allowed or form.get("RoleArn") != ROLE or not allowed[action]():
            return 403, ("<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not allowed to "
                         "assume the role</Message></Error></ErrorResponse>"), {"Content-Type": "text/xml"}
        issued = self.issue()
        return 200, (
            f'<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{action}Result><Credentials>'
            f"<AccessKeyId>{issued['AccessKeyId']}</AccessKeyId><SecretAccessKey>{issued['SecretAccessKey']}"
            f"</SecretAccessKey><SessionToken>{issued['Token']}</SessionToken><Expiration>{issued['Expiration']}"
            f"</Expiration></Credentials><AssumedRoleUser><Arn>{ROLE}/s</Arn><AssumedRoleId>A:s</AssumedRoleId>"
            f"</AssumedRoleUser></{action}Result><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata>"
            f"</{action}Response>"), {"Content-Type": "text/xml"}

    def is_signed_by_source(self, request, body):
        """Signature version 4 of the request, computed again by botocore."""
        import botocore.auth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials

        given = request.headers.get("Authorization", "")
        if f"Credential={self.SOURCE[0]}/" not in given:
            return False
        names = given.split("SignedHeaders=")[1].split(",")[0].split(";")
        signer = botocore.auth.SigV4Auth(Credentials(*self.SOURCE), "sts", given.split("/")[2])
        again = AWSRequest(request.command, self.url + request.path, data=body,
                           headers={name: request.headers[name] for name in names if name != "host"})
        again.context["timestamp"] = request.headers["X-Amz-Date"]
        text = signer.string_to_sign(again, signer.canonical_request(again))
        return given.endswith("Signature=" + signer.signature(text, again))

    def google_metadata(self, request, url, query, body):
        flavour = {"Metadata-Flavor": "Google"}
        if request.headers.get("Metadata-Flavor") != "Google":
            return 403, "", flavour
        account = "/computeMetadata/v1/instance/service-accounts/default/"
        if url.path == account + "token":
            return 200, {"access_token": self.token(), "expires_in": self.lifetime, "token_type": "Bearer"}, flavour
        if url.path == account:
            return 200, {"aliases": ["default"], "email": "reader@project", "scopes": ["storage"]}, flavour
        texts = {"/computeMetadata/v1/project/project-id": "project", "/computeMetadata/v1/universe/universe-domain":
                 "googleapis.com", "/computeMetadata/v1/": "", "/": ""}
        return (200, texts[url.path], flavour) if url.path in texts else (404, "", flavour)

    def google_token(self, request, url, query, body):
        """RFC 7523: an assertion signed by the key of the service account."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import padding
        from cryptography.hazmat.primitives.hashes import SHA256

        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        signed, _, signature = form["assertion"].rpartition(".")
        claims = json.loads(base64.urlsafe_b64decode(signed.split(".")[1] + "=="))
        try:
            self.service_account_key.verify(base64.urlsafe_b64decode(signature + "=="), signed.encode(),
                                            padding.PKCS1v15(), SHA256())
        except InvalidSignature:
            return 400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}, {}
        if form["grant_type"] != "urn:ietf:params:oauth:grant-type:jwt-bearer" or "devstorage" not in claims["scope"]:
            return 400, {"error": "invalid_scope"}, {}
        return 200, {"access_token": self.token(), "expires_in": self.lifetime, "token_type": "Bearer"}, {}

    def azure_token(self, query):
        if query.get("resource") not in ("https://storage.azure.com", "https://storage.azure.com/"):
            return 400, {"error": "invalid_resource"}, {}
        return 200, {"access_token": self.token(), "expires_on": str(int(time.time()) + self.lifetime),
                     "expires_in": str(self.lifetime), "resource": query["resource"], "token_type": "Bearer"}, {}

    def azure_imds(self, request, url, query, body):
        if request.headers.get("Metadata") != "true":
            return 400, {"error": "bad_request_102", "error_description": "Required metadata header not specified"}, {}
        return self.azure_token(query)

    def app_service(self, request, url, query, body):
        if request.headers.get("X-IDENTITY-HEADER") != self.AZURE_HEADER or query.get("api-version") != "2019-08-01":
            return 401, {"statusCode": 401, "message": "unauthorized"}, {}
        return self.azure_token(query)


class ObjectServer(HttpServer):
    """Objects of one bucket that `allows(headers, query)` protects: as Google's XML interface, or as Azure's below
    /account. Lists have two objects a page. `heads` lists (path, headers)."""

    def __init__(self, objects, allows):
        self.objects, self.allows, self.heads = objects, allows, []

    def reply(self, request, url, query, body):
        self.heads.append((url.path, dict(request.headers)))
        azure = url.path.startswith("/account/")
        xml = {"Content-Type": "application/xml"}
        if azure and not request.headers.get("x-ms-version"):
            return 400, "<Error><Code>MissingRequiredHeader</Code><Message>x-ms-version</Message></Error>", xml
        if not self.allows(request.headers, query):
            code, status = ("AuthenticationFailed", 403) if azure else ("AuthenticationRequired", 401)
            return status, f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>no</Message></Error>", xml
        path = url.path.removeprefix("/account").removeprefix("/data")
        if query.get("restype") == "container" or query.get("list-type"):
            return 200, self.page(query, azure), xml
        content = self.objects.get(path.removeprefix("/"))
        if content is None:
            return 404, "<Error><Code>BlobNotFound</Code><Message>no such object</Message></Error>", xml
        headers = {"ETag": self.etag(content), "Content-Type": "application/octet-stream"}
        if request.headers.get("If-Match", headers["ETag"]) != headers["ETag"]:
            return 412, "", headers
        if given := request.headers.get("Range"):
            first, last = map(int, given.removeprefix("bytes=").split("-"))
            part = content[first:last + 1]
            headers["Content-Range"] = f"bytes {first}-{first + len(part) - 1}/{len(content)}"
            return 206, part, headers
        return 200, content, headers

    @staticmethod
    def etag(content):
        return '"' + hashlib.md5(content).hexdigest() + '"'

    def page(self, query, azure):
        delimiter, prefix = query.get("delimiter", ""), query.get("prefix", "")
        entries = {}  # name: content, or nothing for a prefix
        for name in sorted(name for name in self.objects if name.startswith(prefix)):
            end = name.find(delimiter, len(prefix)) if delimiter else -1
            entries[name if end < 0 else name[:end + 1]] = self.objects[name] if end < 0 else None
        after = query.get("marker" if azure else "continuation-token", "")
        left = [name for name in sorted(entries) if name > after]
        shown, more = left[:2], left[2:]
        text = ""
        for name in shown:
            content = entries[name]
            if azure and content is None:
                text += f"<BlobPrefix><Name>{name}</Name></BlobPrefix>"
            elif azure:
                text += (f"<Blob><Name>{name}</Name><Properties><Content-Length>{len(content)}</Content-Length>"
                         f"<Etag>{self.etag(content)[1:-1]}</Etag></Properties></Blob>")
            elif content is None:
                text += f"<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>"
            else:
                text += (f"<Contents><Key>{name}</Key><Size>{len(content)}</Size><ETag>{self.etag(content)}</ETag>"
                         "</Contents>")
        token = shown[-1] if more else ""
        if azure:
            return (f"\ufeff<?xml version='1.0' encoding='utf-8'?><EnumerationResults><Blobs>{text}</Blobs>"
                    f"<NextMarker>{token}</NextMarker></EnumerationResults>")
        token = f"<NextContinuationToken>{token}</NextContinuationToken>" if more else ""
        return f"<ListBucketResult>{text}<IsTruncated>{str(bool(more)).lower()}</IsTruncated>{token}</ListBucketResult>"


def is_account_sas(query, account, key, now=None):
    """Whether `query` is a valid shared access signature of an account, for reading and listing objects.

    "Create an account SAS" of the documentation of Azure Storage has the text that is signed.
    """
    import hmac

    names = ["sp", "ss", "srt", "st", "se", "sip", "spr", "sv", "ses"]
    text = "\n".join([account, *(query.get(name, "") for name in names), ""])
    digest = hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()
    ends = datetime.datetime.strptime(query.get("se", "1970-01-01T00:00:00Z"), "%Y-%m-%dT%H:%M:%SZ")
    valid = ends.replace(tzinfo=datetime.timezone.utc) > (now or datetime.datetime.now(datetime.timezone.utc))
    return valid and set("rl") <= set(query["sp"]) and query.get("sig") == base64.b64encode(digest).decode()
