#!/usr/bin/env python3
"""remote-50ms/link: remote reading over a link of 100 MB/s and 50 ms round trip, compared with plain sockets.

nginx serves a file of 256 MiB through a shaping proxy (tests/python/remote/fault_proxy.py); the sides are interleaved.
Our side reads random ranges of 110 kB, 64 in flight, with one call. The peer fetches the file in 8 long ranges. Appends
a line to build/bench.jsonl like bench/run.py, with `of_link`: our share of the 100 MB/s. The proxy is written in Python
and uses most of a core: on a busy machine the comparison measures the proxy instead of the link.
"""

import argparse
import os
import random
import socket
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "python" / "remote")]

from bench import record  # noqa: E402
from bench.peers import compare  # noqa: E402
from fault_proxy import ShapedLink  # noqa: E402
from servers import Nginx, Probe  # noqa: E402

FILE_BYTES, RANGE_BYTES = 256 << 20, 110_000
LINK_BYTES_PER_SECOND, ROUND_TRIP_S = 100e6, 0.05


class Ours:
    """remote_probe reading random ranges."""

    def __init__(self, url):
        self.probe = Probe(in_flight=64, stall_timeout=20)
        self.source = self.probe.open(url + "/data.bin")
        self.random = random.Random(0)

    def rate(self, seconds):
        count = int(seconds * LINK_BYTES_PER_SECOND / RANGE_BYTES)
        ranges = [(self.random.randrange(FILE_BYTES - RANGE_BYTES), RANGE_BYTES) for _ in range(count)]
        return count * RANGE_BYTES / self.probe.read(self.source, ranges)["seconds"] / 1e6


class Sockets:
    """Eight connections that each fetch a long range. Each block opens new connections; the handshake is not timed."""

    def __init__(self, port):
        self.port = port

    def rate(self, seconds):
        part = int(min(FILE_BYTES, seconds * LINK_BYTES_PER_SECOND)) // 8
        connections = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(8)]
        time.sleep(2 * ROUND_TRIP_S)
        received = [0] * 8

        def pull(number):
            first = number * part
            connections[number].sendall(f"GET /data.bin HTTP/1.1\r\nHost: link\r\nConnection: close\r\n"
                                        f"Range: bytes={first}-{first + part - 1}\r\n\r\n".encode())
            while chunk := connections[number].recv(1 << 20):
                received[number] += len(chunk)

        threads = [threading.Thread(target=pull, args=(number,)) for number in range(8)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        elapsed = time.perf_counter() - start
        for connection in connections:
            connection.close()
        if sum(received) < part * 8:
            raise RuntimeError(f"plain sockets received {sum(received)} of {part * 8} bytes")
        return part * 8 / elapsed / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=2.0, help="approximate length of a block (at most 2.6)")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    os.environ["UNSTARVE_REMOTE_PROBE"] = str(options.build / "tests" / "tools" / "remote_probe")
    machine = record.machine(os.cpu_count())
    with tempfile.TemporaryDirectory() as folder, Nginx(folder) as nginx:
        with open(nginx.www / "data.bin", "wb") as file:
            for block in range(FILE_BYTES >> 20):
                file.write(random.Random(block).randbytes(1 << 20))
        with ShapedLink(nginx.port, LINK_BYTES_PER_SECOND, ROUND_TRIP_S) as link:
            ours = Ours(link.url)
            with ours.probe:
                ours_rates, peer_rates = compare.interleave((ours, Sockets(link.port)), options.pairs,
                                                             options.seconds)
                statistics = ours.probe.statistics()
    ratio, low, high = compare.ratio_interval(ours_rates, peer_rates)
    line = {"name": "remote-50ms/link", "status": "measured", "ours": round(statistics.median(ours_rates), 2),
            "peer": round(statistics.median(peer_rates), 2), "unit": "MB/s", "ratio": round(ratio, 4),
            "low": round(low, 4),
            "high": round(high, 4), "of_link": round(statistics.median(ours_rates) * 1e6 / LINK_BYTES_PER_SECOND, 4),
            "ours_blocks": [round(rate, 1) for rate in ours_rates], "pairs": options.pairs,
            "seconds": options.seconds, "command": "bench/remote_link.py", "statistics": statistics, "machine": machine}
    record.append(options.build, line)
    print(f"{line['name']}  ours {line['ours']} MB/s ({line['of_link']:.1%} of the link)  sockets {line['peer']} MB/s"
          f"  ratio {ratio:.3f} [{low:.3f}, {high:.3f}]")


if __name__ == "__main__":
    main()
