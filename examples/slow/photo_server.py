"""An HTTP server of photographs that answers each request 20 ms late, as object storage does.

    python photo_server.py FOLDER [DELAY_MS]      prints its URL and runs until it is killed
"""

import sys
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

DELAY_S = float(sys.argv[2]) / 1000 if len(sys.argv) > 2 else 0.02


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


class Handler(SimpleHTTPRequestHandler):
    def do_GET(self):
        time.sleep(DELAY_S)
        super().do_GET()

    def log_message(self, *_):
        pass


server = Server(("127.0.0.1", 0), partial(Handler, directory=sys.argv[1]))
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
