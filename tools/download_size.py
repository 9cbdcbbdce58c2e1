#!/usr/bin/env python3
"""Reports how much `pip install` will download, from the report of its dry run.

    download_size.py REPORT    one line per package and a sum; nothing when everything is installed
"""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path


def head(url: str, timeout: float) -> int | None:
    """The Content-Length of a URL, None without one. Raises OSError if the server does not answer."""
    request = urllib.request.Request(url, method="HEAD", headers={"User-Agent": "unstarve-setup"})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        length = answer.headers.get("Content-Length")
        return int(length) if length and length.isdigit() else None


def size_of(url: str) -> int | None:
    parts = urllib.parse.urlsplit(url)
    try:
        if parts.scheme == "file":
            return Path(urllib.parse.unquote(parts.path)).stat().st_size
        return head(url, 20)
    except (OSError, ValueError):
        return None


def megabytes(size: int | None) -> str:
    return "size unknown" if size is None else f"{size / 1e6:.1f} MB"


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    items = json.loads(Path(arguments[0]).read_text())["install"]
    if not items:
        return 0
    sizes = {f"{i['metadata']['name']} {i['metadata']['version']}": size_of(i["download_info"]["url"]) for i in items}
    known = sum(size for size in sizes.values() if size is not None)
    unknown = sum(size is None for size in sizes.values())
    print("PyPI packages to install:")
    for name, size in sorted(sizes.items(), key=lambda item: -(item[1] or 0)):
        print(f"  {name:28} {megabytes(size):>14}")
    print(f"to download: {megabytes(known)}" + (f", and {unknown} packages whose size is unknown" if unknown else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
