"""Real servers on loopback, each stopped by its `with` block, and the tested program."""

import contextlib
import http.server
import itertools
import json
import os
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
SWIFT_PYTHON = "/usr/bin/python3"  # Debian's Python, for Debian's python3-swift


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def port_of(url):
    return int(url.rsplit(":", 1)[1])


def stop(process):
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_until_open(port, process):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode} before it listened")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError("the server does not listen")


NGINX_CONFIG = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log {folder}/access.log;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  keepalive_requests 100000;
  server {{
    listen 127.0.0.1:{port};
    root {folder}/www;
    location /moved/ {{ return 302 /$arg_to; }}
    location /private/ {{ auth_basic x; auth_basic_user_file {folder}/users; }}
    location /no-ranges/ {{ alias {folder}/www/; max_ranges 0; }}
    location /forbids-missing/ {{ try_files $uri =403; }}
    location /no-etag/ {{ alias {folder}/www/; etag off; }}
  }}
  server {{
    listen 127.0.0.1:{tls_port} ssl http2;
    ssl_certificate {folder}/cert.pem;
    ssl_certificate_key {folder}/key.pem;
    root {folder}/www;
    location /down/ {{ return 302 http://127.0.0.1:{port}/$arg_to; }}
  }}
}}
"""


class Nginx:
    """Debian's nginx: serves the folder `www` at `url` and `tls_url` (certificate: `cert`)."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.www = self.folder / "www"
        self.www.mkdir(parents=True, exist_ok=True)
        self.port, self.tls_port = free_port(), free_port()
        self.url, self.tls_url = f"http://127.0.0.1:{self.port}", f"https://127.0.0.1:{self.tls_port}"
        self.cert = self.folder / "cert.pem"
        self.process = None
        (self.folder / "users").write_text("user:{PLAIN}pass word\n")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", self.folder / "key.pem", "-out", self.cert], check=True, capture_output=True)
        self.config = self.folder / "nginx.conf"
        self.config.write_text(NGINX_CONFIG.format(folder=self.folder, port=self.port, tls_port=self.tls_port))

    def start(self):
        self.process = subprocess.Popen([NGINX, "-p", self.folder, "-c", self.config, "-e", self.folder / "error.log"])
        wait_until_open(self.port, self.process)

    def stop(self):
        if self.process:
            stop(self.process)
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()


class DialectServer:
    """Serves `content`, which may be replaced, with replies that are valid but rare.

    `dialect`: "chunked" sends the whole object in chunks, without Content-Length; "no total" sends ranges with
    Content-Range "bytes 0-0/*"; "weak" changes between a strong and a weak ETag; "no version" sends no ETag.
    """

    def __init__(self, content, dialect):
        self.content = content
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            replies = itertools.count()

            def log_message(self, *_):
                pass

            def do_GET(self):
                content = owner.content
                wanted = self.headers.get("Range")
                ranged = wanted is not None and dialect != "chunked"
                first, last = map(int, wanted[6:].split("-")) if ranged else (0, len(content) - 1)
                body = content[first:last + 1]
                self.send_response(206 if ranged else 200)
                weak = dialect == "weak" and next(self.replies) % 2
                if dialect != "no version":
                    self.send_header("ETag", 'W/"v1"' if weak else '"v1"')
                if ranged:
                    total = "*" if dialect == "no total" else len(content)
                    self.send_header("Content-Range", f"bytes {first}-{last}/{total}")
                if dialect == "chunked":
                    self.send_header("Transfer-Encoding", "chunked")
                    parts = (content[i:i + 70_000] for i in range(0, len(content), 70_000))
                    body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
                else:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with contextlib.suppress(ConnectionError):  # the reader cuts off what it does not need
                    self.wfile.write(body)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Swift:
    """OpenStack Swift's S3 interface. It checks signatures against KEY and SECRET; those for the region "auto" at
    `auto_endpoint`. Lists have 20 objects a page."""

    KEY, SECRET = "test:tester", "s3cr3t/of+tests"

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def __enter__(self):
        self.process = subprocess.Popen([SWIFT_PYTHON, HERE / "swift_server.py", self.folder, self.KEY, self.SECRET],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ports = self.process.stdout.readline().split()
        if len(ports) != 2:
            stop(self.process)
            raise RuntimeError("Swift did not start (see above)")
        self.endpoint, self.auto_endpoint = (f"http://127.0.0.1:{port}" for port in ports)
        return self

    def make_client(self):
        """The botocore client with which the tests store objects."""
        import botocore.session
        from botocore.config import Config

        return botocore.session.get_session().create_client(
            "s3", region_name="us-east-1", endpoint_url=self.endpoint, aws_access_key_id=self.KEY,
            aws_secret_access_key=self.SECRET,
            config=Config(s3={"addressing_style": "path"}, request_checksum_calculation="when_required", proxies={}))

    def environment(self, **more):
        """Settings of the tested program for the server and its key."""
        return {"AWS_ACCESS_KEY_ID": self.KEY, "AWS_SECRET_ACCESS_KEY": self.SECRET,
                "AWS_ENDPOINT_URL": self.endpoint} | more

    def __exit__(self, *_):
        self.process.stdin.close()
        stop(self.process)
        self.process.stdout.close()


def has_swift():
    return subprocess.run([SWIFT_PYTHON, "-c", "import swift"], capture_output=True).returncode == 0


def without_settings():
    """This process's environment without its settings of object stores, proxies and home."""
    stores = ("AWS_", "GS_", "AZURE_", "GOOGLE_", "GCE_", "UNSTARVE_")
    return {name: value for name, value in os.environ.items()
            if not name.startswith(stores) and not name.lower().endswith("_proxy")
            and name not in ("HOME", "CURL_CA_BUNDLE", "SSL_CERT_FILE")} | {"HOME": "/nonexistent"}


class Failed(Exception):
    """The library's Error: its kind and message."""

    def __init__(self, kind, message):
        super().__init__(f"{kind}: {message}")
        self.kind, self.message = kind, message


class Probe:
    """tests/tools/remote_probe.cpp as a child; its commands as methods. Nothing of this process's AWS settings or
    proxies reaches it. `prefix`: words before its command line."""

    def __init__(self, environment=None, prefix=(), **options):
        options = {"jitter_seed": 1, "first_wait": 10, "longest_wait": 200, "stall_timeout": 1} | options
        self.process = subprocess.Popen([*prefix, os.environ["UNSTARVE_REMOTE_PROBE"], json.dumps(options)], text=True,
                                        env=without_settings() | (environment or {}),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lock = threading.Lock()
        try:
            self.answer()
        except Failed:  # it has ended already, so the `with` block does not end it
            self.process.stdin.close()
            self.process.wait(60)
            self.process.stdout.close()
            raise

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"remote_probe ended with {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"], answer["message"])
        return answer

    def ask(self, **command):
        with self.lock:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
            return self.answer()

    def open(self, url):
        return self.ask(open=url)

    def read(self, source, ranges, **more):
        return self.ask(read=source["source"] if isinstance(source, dict) else source, ranges=ranges, **more)

    def list(self, url):
        return self.ask(list=url)["objects"]

    def statistics(self):
        return self.ask(statistics=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self.process.stdout.close()
        assert code == 0, f"remote_probe ended with {code}"
