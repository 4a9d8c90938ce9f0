"""Clients that resume as the released one does (contract 15): behind what they were told last.

One listens, the other asks again and again for what there is by then. What the released client gives up on, an `error`
frame, is answered as whoever runs it would: it is started again, behind what it was told last.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from support.gateways import REPLAY, WATCH
from support.seam_truth import FILTERS

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from support.gateways import Gateway
    from support.readers import Reader
    from support.sse import Frame

_SILENCE_SECONDS: Final = 60.0
_BACK_OFF_SECONDS: Final = 1.0
# By the reason that the service gave, how long the client waits; at once where it gave none.
_WAITING_SECONDS: Final = {"end_of_stream": 0.1, "server_shutdown": 5.0}
_POLL_SECONDS: Final = 45.0


class Listener:
    """One client, and the sequences that it was told, in order."""

    def __init__(
        self,
        number: int,
        chance: Random,
        choose: Callable[[], Gateway | None],
        *,
        filter: int,
        start: int | None,
    ) -> None:
        self.number = number
        self.filter = filter
        self.start = start
        self.told: list[int] = []
        # How often it asked, and the ways in which its streams ended.
        self.asked = 0
        self.endings: dict[str, int] = {}
        self._chance = chance
        self._choose = choose
        self._identifier, _ = FILTERS[filter]
        self._heard_at = 0.0
        self._opening = ""
        self._ending = ""

    @property
    def _next(self) -> int | None:
        """The first sequence that it wants; None for what comes next."""
        return self.told[-1] + 1 if self.told else self.start

    async def run(self) -> None:
        """Listen for ever."""
        while True:
            gateway = self._choose()
            if gateway is None:
                await asyncio.sleep(_BACK_OFF_SECONDS)
                continue
            await asyncio.sleep(await self._listen(gateway))

    async def _listen(self, gateway: Gateway) -> float:
        """Have one stream, and return how long to wait for the next."""
        self._begin()
        reader = gateway.ask(
            WATCH,
            self._body(),
            is_handed_over=self._chance.random() < 0.9,
            on_frame=self._take,
        )
        await self._wait_over(reader)
        if reader.status != 200:
            return self._refused(reader)
        self._note(self._ending or "connection lost")
        return _WAITING_SECONDS.get(self._ending, 0.0)

    def _begin(self) -> None:
        self.asked += 1
        self._opening = self._ending = ""
        self._heard_at = asyncio.get_running_loop().time()

    def _body(self) -> dict[str, object]:
        body: dict[str, object] = {"event_type": "mars", "identifier": self._identifier}
        return body if self._next is None else {**body, "from_id": str(self._next)}

    async def _wait_over(self, reader: Reader) -> None:
        """Wait until the stream is over, or has been silent for too long."""
        loop = asyncio.get_running_loop()
        while not reader.connection.over.is_set():
            try:
                async with asyncio.timeout_at(self._heard_at + _SILENCE_SECONDS):
                    await reader.connection.over.wait()
            except TimeoutError:
                if loop.time() >= self._heard_at + _SILENCE_SECONDS:
                    self._ending = "silence"
                    reader.leave()
        # It may have been slow, and then something still waits for it.
        reader.go_on()

    def _refused(self, reader: Reader) -> float:
        self._note(f"status {reader.status}")
        assert reader.status in (0, 429, 500, 503), reader.refusal
        return float(reader.connection.headers.get(b"retry-after", _BACK_OFF_SECONDS))

    def _take(self, frame: Frame) -> None:
        self._heard_at = asyncio.get_running_loop().time()
        if frame.event == "connection-closing":
            self._ending = frame.data["reason"]
        elif frame.event == "error":
            self._ending = frame.data["error"]
        elif not self._opening:
            self._opening = frame.data["type"]
            wanted = "connection_established" if self._next is None else "replay_started"
            assert self._opening == wanted, f"client {self.number} was told {self._opening} first"
            self._opened(frame)
        elif frame.event in ("replay", "live-notification"):
            self.told.append(frame.data["sequence"])

    def _opened(self, frame: Frame) -> None:
        """Take the first frame of a stream."""

    def _note(self, ending: str) -> None:
        self.endings[ending] = self.endings.get(ending, 0) + 1


class Poller(Listener):
    """One who asks for what there is, again and again."""

    def __init__(
        self, number: int, chance: Random, choose: Callable[[], Gateway | None], *, filter: int, start: int
    ) -> None:
        super().__init__(number, chance, choose, filter=filter, start=start)
        # Up to where it reads, as it was told when it began.
        self._last: int | None = None

    async def _listen(self, gateway: Gateway) -> float:
        self._begin()
        if self._last is not None and (self._next or 0) > self._last:
            self._last = None
            return _POLL_SECONDS
        end = {"to_id": str(2**63 if self._last is None else self._last)}
        reader = gateway.ask(REPLAY, {**self._body(), **end}, is_handed_over=False, on_frame=self._take)
        await self._wait_over(reader)
        if reader.status != 200:
            return self._refused(reader)
        self._note(self._ending or "connection lost")
        return _WAITING_SECONDS.get(self._ending, 0.0) if self._last is not None else _POLL_SECONDS

    def _take(self, frame: Frame) -> None:
        super()._take(frame)
        if frame.data.get("type") == "replay_completed":
            self._last = None

    def _opened(self, frame: Frame) -> None:
        self._last = frame.data["end_sequence"]
