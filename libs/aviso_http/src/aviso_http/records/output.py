"""Where lines go: a thread of its own, because writing may block and nobody who logs may be made to wait.

Standard output is often a pipe, and what reads it may stop. Making the descriptor non-blocking would do so for every
process that shares it. So lines wait in a buffer that is bounded in bytes, and a thread writes them a moment later, in
one piece. A line that finds the buffer full is dropped, and the caller is told so that it can count and say it.

Garbage may be collected anywhere, and what is collected may log. So whoever leaves a line takes only a lock that the
same thread may take twice, and signals through a queue that is made for being interrupted.
"""

from __future__ import annotations

import os
import select
import threading
import time
from queue import Empty, SimpleQueue
from typing import Final

LIMIT_BYTES: Final = 4 * 1024 * 1024
LINGER_SECONDS: Final = 0.05
# Between two pieces the thread has to get hold of the interpreter, which a busy service lets go of reluctantly.
_PIECE_BYTES: Final = 1024 * 1024


class LineWriter:
    """Writes lines to a file descriptor, which stays the caller's."""

    def __init__(
        self, descriptor: int, *, limit_bytes: int = LIMIT_BYTES, linger_seconds: float = LINGER_SECONDS
    ) -> None:
        self._descriptor = descriptor
        self._limit_bytes = limit_bytes
        self._linger_seconds = linger_seconds
        self._lock = threading.RLock()
        self._lines: list[bytes] = []
        self._waiting_bytes = 0
        self.lost = 0
        """Lines that were taken and could not be written after all."""
        self._is_urgent = False
        self._is_closed = False
        # False: there is something. True: at once, please. An event: at once, and set it when all is written.
        self._signals: SimpleQueue[bool | threading.Event] = SimpleQueue()
        # A daemon: a reader that never comes back must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="records", daemon=True)
        self._thread.start()

    def put(self, line: bytes, at_once: bool = False) -> bool:
        """Leave a line to be written; False if it was dropped."""
        size = len(line)
        with self._lock:
            if self._waiting_bytes + size > self._limit_bytes or self._is_closed:
                return False
            self._waiting_bytes += size
            self._lines.append(line)
            needs_signal = len(self._lines) == 1 or (at_once and not self._is_urgent)
            self._is_urgent = self._is_urgent or at_once
        if needs_signal:
            self._signals.put(at_once)
        return True

    def take_lost(self) -> int:
        """Return how many lines are lost, and begin to count anew."""
        with self._lock:
            lost, self.lost = self.lost, 0
        return lost

    def flush(self, *, seconds: float) -> bool:
        """Have everything written that is waiting; False if that did not happen in time."""
        written = threading.Event()
        self._signals.put(written)
        return written.wait(seconds)

    def close(self, *, seconds: float) -> bool:
        """Write what is waiting and end; False if that did not happen in time, and then the rest is given up."""
        with self._lock:
            self._is_closed = True
        self._signals.put(True)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    # --- the thread --------------------------------------------------------------------------------------

    def _run(self) -> None:
        is_closed = False
        while not is_closed:
            waiting = self._wait()
            with self._lock:
                is_closed = self._is_closed
                self._is_urgent = False
                lines, self._lines = self._lines, []
            self._write(lines)
            for written in waiting:
                written.set()

    def _wait(self) -> list[threading.Event]:
        """Wait until there is something and it is time to write it; return who wants to know when that is done."""
        waiting: list[threading.Event] = []
        signal = self._signals.get()
        deadline = time.monotonic() + self._linger_seconds
        try:
            while signal is False:
                signal = self._signals.get(timeout=max(0.0, deadline - time.monotonic()))
            while True:
                if isinstance(signal, threading.Event):
                    waiting.append(signal)
                signal = self._signals.get_nowait()
        except Empty:
            return waiting

    def _write(self, lines: list[bytes]) -> None:
        rest = memoryview(b"".join(lines))
        try:
            while rest:
                written = self._write_some(rest[:_PIECE_BYTES])
                with self._lock:
                    self._waiting_bytes -= written
                rest = rest[written:]
        except OSError:
            # Nobody reads any more, or the disk is full. There is no other place to say it: it is counted.
            with self._lock:
                self._waiting_bytes -= len(rest)
                self.lost += len(lines)

    def _write_some(self, piece: memoryview) -> int:
        try:
            return os.write(self._descriptor, piece)
        except BlockingIOError:
            # Whoever shares the descriptor has made it non-blocking.
            room = select.poll()
            room.register(self._descriptor, select.POLLOUT)
            room.poll()
            return 0
