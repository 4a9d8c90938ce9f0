"""Stopping a job from outside: the first signal lets go of what runs in Spark, and the job then ends by itself.

A signal handler must not talk to Spark: the main thread may be in the middle of doing so. It only wakes a thread, which
calls what the job left to be called. Who signals a second time does not want to wait: the program ends at once. What
was posted by then is known again by its ids, for as long as the event type's duplicate window.

A signal to a whole group of processes comes here twice, by this program and by the one that launched it (`launcher`).
So it is the second of one origin that counts.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from aviso_spark.common.exit_codes import ExitCode
from aviso_spark.common.problems import STOPPED_EARLY, Stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Stopping:
    """Whether the job was asked to stop, and what lets go of its work."""

    def __init__(self, end_at_once: Callable[[], object] | None = None) -> None:
        self._asked = threading.Event()
        self._lock = threading.Lock()
        self._let_go: list[Callable[[], object]] = []
        self._signals: Counter[str] = Counter()
        self._end_at_once = end_at_once or _end_at_once

    @property
    def is_asked(self) -> bool:
        """Tell whether somebody asked."""
        return self._asked.is_set()

    def ask(self, origin: str = "") -> None:
        """Ask the job to stop: what runs now is let go of, from a thread of its own. Asked twice, it ends at once."""
        self._signals[origin] += 1
        if self._signals[origin] > 1:
            self._end_at_once()
        elif not self._asked.is_set():
            self._asked.set()
            threading.Thread(target=self._call, name="stopping").start()

    def check(self) -> None:
        """Raise where somebody asked: between two steps nothing runs that could be let go of."""
        if self.is_asked:
            raise Stopped(STOPPED_EARLY)

    def _call(self) -> None:
        with self._lock:
            for let_go in self._let_go[-1:]:
                let_go()

    @contextmanager
    def letting_go(self, let_go: Callable[[], object]) -> Iterator[None]:
        """Call this when somebody asks within the block; at once, if they already have.

        Of blocks within each other the innermost knows best what runs: its way is taken alone.
        """
        with self._lock:
            self._let_go.append(let_go)
        try:
            if self.is_asked:
                let_go()
            yield
        finally:
            with self._lock:
                self._let_go.remove(let_go)


def _end_at_once() -> None:
    sys.stderr.write("asked to stop once more: ended at once\n")
    sys.stderr.flush()
    os._exit(ExitCode.STOPPED)


@contextmanager
def stopping_by_signals() -> Iterator[Stopping]:
    """Let signals ask for the stop while the block runs."""
    stopping = Stopping()

    def ask(_signal: int, _frame: FrameType | None) -> None:
        stopping.ask("program")

    if threading.current_thread() is not threading.main_thread():
        yield stopping
        return
    before = {number: signal.signal(number, ask) for number in SIGNALS}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
