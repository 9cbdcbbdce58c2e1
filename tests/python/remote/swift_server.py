"""OpenStack Swift with its S3 interface in one process: a real S3-compatible server that rejects bad signatures.

Run by Debian's interpreter, which has Debian's python3-swift: /usr/bin/python3 swift_server.py FOLDER KEY SECRET.
Prints the ports it listens on (on 127.0.0.1), one for requests signed for the region us-east-1 and one for "auto",
serves until stdin ends. Lists have 20 objects a page. FOLDER's file system must have extended attributes.
"""

import os
import socket
import sys
from pathlib import Path

FOLDER = Path(sys.argv[1])
KEY, SECRET = sys.argv[2:4]

import eventlet  # noqa: E402

eventlet.monkey_patch(all=False, socket=True, select=True, thread=True)

import swift.common.utils as utils  # noqa: E402

utils.SWIFT_CONF_FILE = str(FOLDER / "swift.conf")
(FOLDER / "swift.conf").write_text(
    "[swift-hash]\nswift_hash_path_suffix = tests\n[storage-policy:0]\nname = only\ndefault = yes\n")

import eventlet.wsgi  # noqa: E402
from swift.common.ring import RingBuilder  # noqa: E402
from swift.common.storage_policy import reload_storage_policies  # noqa: E402
from swift.common.wsgi import loadapp  # noqa: E402

PROXY = """[DEFAULT]
swift_dir = {folder}
log_level = ERROR
log_address = {folder}/no-syslog
[pipeline:main]
pipeline = catch_errors cache s3api tempauth proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
node_timeout = 30
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:s3api]
use = egg:swift#s3api
location = {region}
max_bucket_listing = 20
allow_no_owner = true
[filter:tempauth]
use = egg:swift#tempauth
user_{account}_{user} = {secret} .admin
"""

BACKEND = """[DEFAULT]
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
log_level = ERROR
log_address = {folder}/no-syslog
[pipeline:main]
pipeline = server
[app:server]
use = egg:swift#{kind}
"""


def listen():
    listener = eventlet.listen(("127.0.0.1", 0), backlog=256)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def serve(config, listener):
    app = loadapp(str(config))
    quiet = open(os.devnull, "w")
    eventlet.spawn(eventlet.wsgi.server, listener, app, log=quiet, keepalive=True, max_size=1024)


def main():
    (FOLDER / "devices" / "one").mkdir(parents=True)
    for kind in ("account", "container", "object"):
        listener = listen()
        builder = RingBuilder(4, 1, 0)
        port = listener.getsockname()[1]
        builder.add_dev({"id": 0, "region": 1, "zone": 1, "ip": "127.0.0.1", "port": port, "device": "one", "weight": 1,
                         "replication_ip": "127.0.0.1", "replication_port": port})
        builder.rebalance()
        builder.get_ring().save(str(FOLDER / f"{kind}.ring.gz"))
        config = FOLDER / f"{kind}.conf"
        config.write_text(BACKEND.format(folder=FOLDER, kind=kind))
        reload_storage_policies()
        serve(config, listener)
    account, user = KEY.split(":")
    ports = []
    for region in ("us-east-1", "auto"):
        config = FOLDER / f"proxy-{region}.conf"
        config.write_text(PROXY.format(folder=FOLDER, region=region, account=account, user=user, secret=SECRET))
        proxy = listen()
        serve(config, proxy)
        ports.append(proxy.getsockname()[1])
    print(*ports, flush=True)
    eventlet.tpool.execute(sys.stdin.read)


main()
