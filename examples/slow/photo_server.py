"""An HTTP server of photographs that answers each request 20 ms late, as object storage does.

    python photo_server.py FOLDER [DELAY_MS]      prints its URL and runs until it is killed

It needs little CPU time, as a server on another machine: files remain in memory, and one thread serves all connections.
"""

import asyncio
import functools
import sys
from pathlib import Path

FOLDER = Path(sys.argv[1]).resolve()
DELAY_S = float(sys.argv[2]) / 1000 if len(sys.argv) > 2 else 0.02


@functools.lru_cache(maxsize=1000)
def answer(target):
    path = (FOLDER / target.lstrip("/")).resolve()
    if not path.is_relative_to(FOLDER) or not path.is_file():
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    content = path.read_bytes()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(content) + content


async def serve(reader, writer):
    request = await reader.readuntil(b"\r\n\r\n")
    await asyncio.sleep(DELAY_S)
    writer.write(answer(request.split(b" ")[1].decode()))
    await writer.drain()
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=128)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


asyncio.run(main())
