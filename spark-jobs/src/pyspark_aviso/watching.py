"""The heads of the logs, as the service tells of them: one stream of positions, read by a thread of its own.

Spark asks for the latest offset all the time. With the stream it costs the service nothing while nothing happens, and
is answered as soon as something does.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Final

import msgspec

from pyspark_aviso.positions import PATH, Held, Positions
from pyspark_aviso.transport import BrokeOff, TransportError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark_aviso.transport import Client

STREAM_PATH: Final = f"{PATH}/stream"
_ACCEPT: Final = "text/event-stream"
_FIRST_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 10.0
# How long closing waits for the thread, which ends with the process if it does not by then.
_PATIENCE_SECONDS: Final = 1.0

_decode: Final = msgspec.json.Decoder(dict[str, Held | None]).decode

log = logging.getLogger("pyspark_aviso")


def positions_in(pieces: Iterator[bytes]) -> Iterator[dict[str, Held | None]]:
    """Yield the positions that a stream of frames tells of; other frames only show that it lives."""
    waiting = b""
    for piece in pieces:
        *frames, waiting = (waiting + piece).split(b"\n\n")
        for frame in frames:
            members = dict(line.partition(b": ")[::2] for line in frame.splitlines())
            if members.get(b"event") == b"positions":
                yield _decode(members[b"data"])


class HeadWatch:
    """What the logs hold now, kept up to date until it is closed."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._news = threading.Condition()
        self._head: dict[str, Held | None] | None = None
        self._failure: Exception | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="aviso-positions", daemon=True)
        self._thread.start()

    def wait(self, is_wanted: Callable[[Positions], bool], *, seconds: float) -> Positions:
        """Return what the logs hold as soon as it is wanted so, or after some time whatever it is then.

        Before the service has told anything for the first time there is nothing to return, so that is waited for.
        Raises why the service could not be asked for longer than its client keeps trying.
        """
        until = time.monotonic() + seconds
        with self._news:
            while True:
                if self._closing.is_set():
                    return self._head or {}
                if self._failure is not None:
                    raise self._failure
                left = until - time.monotonic()
                if self._head is not None and (left <= 0 or is_wanted(self._head)):
                    return self._head
                self._news.wait(None if self._head is None else left)

    @property
    def head(self) -> Positions | None:
        """What was told last."""
        with self._news:
            return self._head

    def close(self) -> None:
        """Watch no more, and let whoever waits go."""
        self._closing.set()
        with self._news:
            self._news.notify_all()
        self._client.close()
        self._thread.join(_PATIENCE_SECONDS)

    def _watch(self) -> None:
        pauses = 0
        last_heard = time.monotonic()
        while not self._closing.is_set():
            has_heard, end = False, "it ended without telling of any"
            try:
                with closing(self._client.stream(STREAM_PATH, None, _ACCEPT)) as pieces:
                    for is_whole, told in self._numbered(positions_in(pieces)):
                        has_heard = True
                        self._tell(told, is_whole=is_whole)
                        if self._closing.is_set():
                            return
            except BrokeOff as error:
                end = str(error)
                log.info("the stream of positions broke off: %s", error)
            except Exception as error:  # noqa: BLE001 (whoever waits must be told, whatever it is)
                # Given up, refused; a token file that is gone; what is no stream of positions.
                self._fail(error)
                return
            if has_heard:
                last_heard = time.monotonic()
            elif time.monotonic() - last_heard > self._client.deadline_seconds:
                self._fail(
                    TransportError(
                        f"GET {STREAM_PATH}: no positions within option 'deadlineSeconds' "
                        f"({self._client.deadline_seconds:g} s); the last answer: {end}"
                    )
                )
                return
            pauses = 1 if has_heard else pauses + 1
            bound = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2.0 ** min(pauses, 10))
            # All streams come back when a service does; they must not come back together.
            self._closing.wait(bound * random.random())  # noqa: S311

    @staticmethod
    def _numbered(told: Iterator[dict[str, Held | None]]) -> Iterator[tuple[bool, dict[str, Held | None]]]:
        """Mark the first of a connection, which is all that there is; others are what has changed."""
        for number, positions in enumerate(told):
            yield number == 0, positions

    def _tell(self, told: dict[str, Held | None], *, is_whole: bool) -> None:
        with self._news:
            self._head = told if is_whole else {**(self._head or {}), **told}
            self._news.notify_all()

    def _fail(self, error: Exception) -> None:
        with self._news:
            self._failure = error
            self._news.notify_all()
