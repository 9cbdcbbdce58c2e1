"""The figures of a running program in a real Prometheus server, which also executes the queries of the dashboard."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
DASHBOARD = ROOT / "examples" / "grafana" / "unstarve.json"
PROMETHEUS = shutil.which("prometheus")
SCRIPT = """
import time
import unstarve as un
def busy(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass
while True:
    busy(0.02)
    un.step()
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(url, timeout=5):
    with urllib.request.urlopen(url, timeout=timeout) as response:
        return response.read().decode()


@pytest.fixture(scope="module")
def watched():
    """The port of a running `watch`."""
    port = free_port()
    environment = {**os.environ, "UNSTARVE_PY_SPY": str(Path(sys.executable).with_name("py-spy"))}
    process = subprocess.Popen([os.environ["UNSTARVE"], "watch", "--metrics", f"127.0.0.1:{port}", "--",
                                sys.executable, "-c", SCRIPT], stderr=subprocess.PIPE, text=True, env=environment)
    try:
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if result := condition():
                return result
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            pass
        time.sleep(0.2)
    raise AssertionError("nothing arrived in time")


def test_metrics_change_while_the_program_runs(watched):
    def steps():
        for line in get(f"http://127.0.0.1:{watched}/metrics").splitlines():
            if line.startswith("unstarve_steps_total "):
                return float(line.split()[1])
        return None

    first = wait_for(steps)
    assert wait_for(lambda: (now := steps()) and now > first)


def test_steps_by_nvtx_ranges():
    pytest.importorskip("nvtx")
    program = ("import nvtx, time\nwhile True:\n    with nvtx.annotate('step'):\n        time.sleep(0.02)\n")
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_INJECTION64_PATH")}
    environment |= {"UNSTARVE_CUPTI_TIMES": "0.5,1,0.5", "UNSTARVE_PY_SPY": "/no/such/py-spy"}
    process = subprocess.Popen([os.environ["UNSTARVE"], "watch", "--metrics", f"127.0.0.1:{port}", "--",
                                sys.executable, "-c", program], stderr=subprocess.PIPE, text=True, env=environment)
    try:
        text = wait_for(lambda: (text := get(f"http://127.0.0.1:{port}/metrics"))
                        and "unstarve_steps_per_second " in text and text)
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    figures = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert 25 < float(figures["unstarve_steps_per_second"]) < 50
    assert 0.02 <= float(figures['unstarve_step_seconds{quantile="0.5"}']) < 0.03
    assert "unstarve_steps_total" not in figures  # of windows


@pytest.mark.skipif(PROMETHEUS is None, reason="prometheus is not installed")
def test_prometheus_scrapes_and_the_queries_of_the_dashboard_run(watched, tmp_path):
    (tmp_path / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s}\nscrape_configs: [{job_name: unstarve, static_configs: "
        f"[{{targets: ['127.0.0.1:{watched}']}}]}}]\n")
    port = free_port()
    server = subprocess.Popen([PROMETHEUS, f"--config.file={tmp_path / 'prometheus.yml'}",
                               f"--storage.tsdb.path={tmp_path / 'data'}", f"--web.listen-address=127.0.0.1:{port}"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def query(text):
        url = f"http://127.0.0.1:{port}/api/v1/query?{urllib.parse.urlencode({'query': text})}"
        try:
            answer = json.loads(get(url))
        except urllib.error.HTTPError as error:
            pytest.fail(f"{text}: {error.read().decode()}")
        return answer["data"]["result"]

    try:
        wait_for(lambda: get(f"http://127.0.0.1:{port}/-/ready"))  # it answers 503 until its storage is open
        wait_for(lambda: query("unstarve_steps_total"))
        wait_for(lambda: query("unstarve_main_thread_ratio"))
        panels = json.loads(DASHBOARD.read_text())["panels"]
        queries = [target["expr"] for panel in panels for target in panel.get("targets", [])]
        assert len(queries) >= 8
        window = "15s"
        time.sleep(3)  # rates need several scrapes
        for text in queries:
            assert query(text.replace("$__rate_interval", window)), text
        # Every metric has help and type, and no sample is refused.
        target = json.loads(get(f"http://127.0.0.1:{port}/api/v1/targets"))["data"]["activeTargets"][0]
        assert target["health"] == "up", target["lastError"]
    finally:
        server.terminate()
        server.wait(timeout=60)


@pytest.mark.parametrize("address", ["host", ":99999", ":0", "example.org:1"])
def test_wrong_addresses(address):
    run = subprocess.run([os.environ["UNSTARVE"], "watch", "--metrics", address, "--", "true"], capture_output=True,
                         text=True, check=False, timeout=60)
    assert run.returncode == 2
    assert f'--metrics: found "{address}"' in run.stderr


def test_an_address_in_use():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        run = subprocess.run([os.environ["UNSTARVE"], "watch", "--metrics", address, "--", "true"],
                             capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 125
    assert address in run.stderr
