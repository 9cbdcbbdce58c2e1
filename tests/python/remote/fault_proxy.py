"""Proxies on loopback between a client and a server: one injects faults into HTTP, one shapes a link.

Both run an asyncio loop in their own thread and are stopped by their `with` block.
"""

import asyncio
import threading
import time


class _Proxy:
    def __init__(self, upstream_port):
        self.upstream_port = upstream_port
        self.loop = asyncio.new_event_loop()
        self.tasks = set()

    async def _accept(self, reader, writer):
        task = asyncio.current_task()
        self.tasks.add(task)
        try:
            await self.serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.tasks.discard(task)
            writer.transport.abort()

    def __enter__(self):
        started = threading.Event()

        def run():
            asyncio.set_event_loop(self.loop)
            self.server = self.loop.run_until_complete(asyncio.start_server(self._accept, "127.0.0.1", 0, limit=1 << 20,
                                                                            backlog=1024))
            self.port = self.server.sockets[0].getsockname()[1]
            self.url = f"http://127.0.0.1:{self.port}"
            started.set()
            self.loop.run_forever()
            self.server.close()
            for task in list(self.tasks):
                task.cancel()
            self.loop.run_until_complete(asyncio.gather(*self.tasks, return_exceptions=True))
            self.loop.close()

        self.thread = threading.Thread(target=run)
        self.thread.start()
        started.wait()
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()


class FaultProxy(_Proxy):
    """Forwards GETs. Requests whose number (0: the first) is a key of `faults` suffer that fault, others `always`.

    A fault is a dictionary of: status, headers, body (an answer instead of the server's), reset (after this many bytes
    of the body), stall (seconds, before the body's byte `at`), short (this many bytes less, with a correct
    Content-Length), long (this many more), lie (Content-Length declares this many more than are sent), replace (headers
    of the response), drop (request headers), delay (seconds before the response).
    `requests` holds the head of every request.
    """

    def __init__(self, upstream_port, faults=None, always=None):
        super().__init__(upstream_port)
        self.faults, self.always = faults or {}, always or {}
        self.requests = []
        self.connections = 0

    async def serve(self, reader, writer):
        self.connections += 1
        upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", self.upstream_port, limit=1 << 20)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                fault = self.faults.get(len(self.requests), self.always)
                self.requests.append(head.decode("latin-1"))
                await self.answer(head, fault, upstream_reader, upstream_writer, writer)
        finally:
            upstream_writer.transport.abort()

    @staticmethod
    async def chunks(reader):
        """The body of an answer in chunks, without trailers."""
        body = b""
        while length := int(await reader.readuntil(b"\r\n"), 16):
            body += (await reader.readexactly(length + 2))[:-2]
        await reader.readuntil(b"\r\n")
        return body

    async def answer(self, head, fault, upstream_reader, upstream_writer, writer):
        if "status" in fault:
            body = fault.get("body", "")
            lines = [f"HTTP/1.1 {fault['status']} Injected", f"Content-Length: {len(body)}",
                     *(f"{name}: {value}" for name, value in fault.get("headers", {}).items())]
            writer.write(("\r\n".join(lines) + "\r\n\r\n" + body).encode())
            return await writer.drain()
        for name in fault.get("drop", ()):
            lines = head.split(b"\r\n")
            head = b"\r\n".join(line for line in lines if not line.lower().startswith(name.lower().encode() + b":"))
        upstream_writer.write(head)
        answer = (await upstream_reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = answer.rstrip("\r\n").split("\r\n")
        if any(line.lower().replace(" ", "") == "transfer-encoding:chunked" for line in lines):
            lines = [line for line in lines if not line.lower().startswith("transfer-encoding:")]
            body = await self.chunks(upstream_reader)
        else:
            length = next((int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length:")), 0)
            body = await upstream_reader.readexactly(length)
        if "short" in fault:
            body = body[:-fault["short"]]
        if "long" in fault:
            body += b"x" * fault["long"]
        report = {"content-length": str(len(body) + fault.get("lie", 0))} | fault.get("replace", {})
        lines = [line for line in lines if line.split(":")[0].lower() not in report]
        lines += [f"{name}: {value}" for name, value in report.items() if value is not None]
        await asyncio.sleep(fault.get("delay", 0))
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        if "stall" in fault:
            writer.write(body[:fault.get("at", 0)])
            await writer.drain()
            await asyncio.sleep(fault["stall"])
            body = body[fault.get("at", 0):]
        if "reset" in fault or "lie" in fault:
            writer.write(body[:fault.get("reset", len(body))])
            await writer.drain()
            await asyncio.sleep(0.05)  # wait until the data arrives, before the reset
            raise ConnectionError("injected")
        writer.write(body)
        await writer.drain()


class ShapedLink(_Proxy):
    """A link of `bytes_per_second` towards the client, shared by all connections, and a round trip of `rtt` seconds.

    Every byte travels for half a round trip; a new connection costs one more, as a handshake does. There is no
    slow start and no loss.
    """

    def __init__(self, upstream_port, bytes_per_second, rtt):
        super().__init__(upstream_port)
        self.rate, self.rtt = bytes_per_second, rtt
        self.free_at = 0.0
        self.sent = 0

    async def serve(self, reader, writer):
        upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", self.upstream_port)
        await asyncio.sleep(self.rtt)
        up = asyncio.ensure_future(self.pump(reader, upstream_writer, False))
        down = asyncio.ensure_future(self.pump(upstream_reader, writer, True))
        try:
            await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (up, down):
                task.cancel()
            await asyncio.gather(up, down, return_exceptions=True)
            upstream_writer.transport.abort()

    async def pump(self, reader, writer, shaped):
        # Chunks in transit, until their time of arrival. Limited to slightly more bytes than the link holds.
        queue = asyncio.Queue(maxsize=256)

        async def deliver():
            while (item := await queue.get()) is not None:
                at, chunk = item
                if (wait := at - time.monotonic()) > 0:
                    await asyncio.sleep(wait)
                writer.write(chunk)
                await writer.drain()

        delivery = asyncio.ensure_future(deliver())
        try:
            while chunk := await reader.read(65536):
                now = time.monotonic()
                if shaped:
                    self.free_at = max(self.free_at, now) + len(chunk) / self.rate
                    self.sent += len(chunk)
                    now = self.free_at
                await queue.put((now + self.rtt / 2, chunk))
            await queue.put(None)
            await delivery
        finally:
            delivery.cancel()
