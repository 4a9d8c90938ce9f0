"""The broker's protocol as it comes: messages are read here, the rest of it by the client library.

The library tries one pattern after another at the beginning of its buffer, cuts off what it has read and goes on, which
costs as much for each message as everything that is then done with it. Here what came is gone through once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from nats.errors import ProtocolError
from nats.protocol.parser import Parser

if TYPE_CHECKING:
    from aviso_core.broker.client import BrokerClient


class Delivered(NamedTuple):
    """A message as it came."""

    subject: bytes
    reply: bytes
    data: bytes
    # None where there are none.
    headers: bytes | None


Listener: TypeAlias = Callable[[Delivered], None]

_LINE_END: Final = b"\r\n"
# How many words there are in the first line of a message, the subject of a reply included.
_WORDS: Final = {b"MSG": 5, b"HMSG": 6}


class MessageParser(Parser):
    """Reads what comes over one connection of a client."""

    nc: BrokerClient

    def reset(self) -> None:
        """Begin anew, with another connection."""
        super().reset()
        # How many bytes there are to be before the next message is whole.
        self._awaited = 0

    async def parse(self, data: bytes = b"") -> None:
        """Take what came next, and hand on what is whole."""
        kept = self.buf
        kept += data
        if len(kept) < self._awaited:
            return
        came = bytes(kept)
        length, place, self._awaited = len(came), 0, 0
        while (end := came.find(_LINE_END, place)) >= 0:
            body = end + 2
            words = came[place:end].split()
            most_words = _WORDS.get(words[0]) if words else None
            if most_words is None:
                kept[:] = came[place:body]
                await super().parse()
                place = body
            else:
                try:
                    beyond = body + int(words[-1])
                    data_begins = body + int(words[-2]) if most_words == 6 else body
                    sid = int(words[2])
                except (IndexError, ValueError) as error:
                    raise ProtocolError("nats: malformed message") from error
                if beyond + 2 > length:
                    self._awaited = beyond + 2 - place
                    break
                place = beyond + 2
                reply = words[3] if len(words) == most_words else b""
                headers = came[body:data_begins] if most_words == 6 else None
                listener = self.nc.listeners.get(sid)
                if listener is not None:
                    listener(Delivered(words[1], reply, came[data_begins:beyond], headers))
                    continue
                await self.nc._process_msg(sid, words[1], reply, came[data_begins:beyond], headers or b"")
            if self.buf is not kept:
                # The connection was lost meanwhile: what came over it counts no more.
                return
        kept[:] = came[place:]
