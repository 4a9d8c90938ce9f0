"""Stopping a job from outside: SIGTERM and Ctrl-C let go of what runs in Spark, and the job then ends by itself.

A signal handler must not talk to Spark: the main thread may be in the middle of doing so. It only wakes a thread, which
calls what the job left to be called.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from aviso_spark.common.problems import Stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Stopping:
    """Whether the job was asked to stop, and what lets go of its work."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._lock = threading.Lock()
        self._let_go: list[Callable[[], object]] = []

    @property
    def is_asked(self) -> bool:
        """Tell whether somebody asked."""
        return self._asked.is_set()

    def ask(self) -> None:
        """Ask the job to stop: everything that runs now is let go of, from a thread of its own."""
        if not self._asked.is_set():
            self._asked.set()
            threading.Thread(target=self._call_all, name="stopping").start()

    def check(self) -> None:
        """Raise where somebody asked: between two steps nothing runs that could be let go of."""
        if self.is_asked:
            raise Stopped("stopped before its end")

    def _call_all(self) -> None:
        with self._lock:
            for let_go in self._let_go:
                let_go()

    @contextmanager
    def letting_go(self, let_go: Callable[[], object]) -> Iterator[None]:
        """Call this when somebody asks within the block; at once, if they already have."""
        with self._lock:
            self._let_go.append(let_go)
        try:
            if self.is_asked:
                let_go()
            yield
        finally:
            with self._lock:
                self._let_go.remove(let_go)


@contextmanager
def stopping_by_signals() -> Iterator[Stopping]:
    """Let signals ask for the stop while the block runs."""
    stopping = Stopping()

    def ask(_signal: int, _frame: FrameType | None) -> None:
        stopping.ask()

    if threading.current_thread() is not threading.main_thread():
        yield stopping
        return
    before = {number: signal.signal(number, ask) for number in _SIGNALS}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
