"""Ctrl-C during a training run."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Self


class Interrupt:
    """In a `with` block, the first Ctrl-C requests a stop, and the second raises KeyboardInterrupt.

    If the block ends without an exception after a Ctrl-C, KeyboardInterrupt is raised. Other threads than the main
    thread receive no signals, and a signal handler of the user remains in use.

    Args:
        stop: Requests the stop.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._installed = False
        self.requested = False

    def __enter__(self) -> Self:
        if (threading.current_thread() is threading.main_thread()
                and signal.getsignal(signal.SIGINT) is signal.default_int_handler):
            signal.signal(signal.SIGINT, self._handle)
            self._installed = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.requested and error is None:
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        self._stop()
