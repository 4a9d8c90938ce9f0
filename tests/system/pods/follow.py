"""Keeps many streams open, resumes each where it ended, and says when each had seen which numbers.

    follow.py URL EVENT_TYPE --streams 500 --last 99 [--from-id 1] [--any-order]

Runs in a pod, with nothing but Python. A stream is done when it has seen the notification with the last number; where
many publish at once, when it has seen as many numbers as there are. Printed are, for all streams together, what was
lost and what came twice, and the moments at which streams were opened again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_PATIENCE_SECONDS = 420.0
_BETWEEN_TRIES_SECONDS = 0.2
_SILENCE_SECONDS = 90.0


@dataclass
class Stream:
    """What one stream has seen."""

    next_id: int
    numbers: list[int] = field(default_factory=list)
    opened: list[float] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)


class Follower:
    """Opens streams and reads them."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self._place = urlsplit(asked.url)
        self._asked = asked
        self.refusals: dict[str, int] = {}

    async def follow(self, stream: Stream) -> None:
        """Read until the last number was seen."""
        while not self._is_done(stream):
            try:
                await self._read_once(stream)
            except (OSError, asyncio.IncompleteReadError, TimeoutError) as fault:
                stream.ends.append(type(fault).__name__)
                await asyncio.sleep(_BETWEEN_TRIES_SECONDS)

    async def _read_once(self, stream: Stream) -> None:
        host, port = self._place.hostname, self._place.port or 80
        reader, writer = await asyncio.open_connection(host, port)
        try:
            writer.write(self._request(stream))
            status = (await _line(reader)).split(" ")[1]
            wait = _BETWEEN_TRIES_SECONDS
            while line := await _line(reader):
                if line.lower().startswith("retry-after:"):
                    wait = float(line.partition(":")[2])
            if status != "200":
                self.refusals[status] = self.refusals.get(status, 0) + 1
                await asyncio.sleep(wait)
                return
            stream.opened.append(time.time())
            await self._read_events(reader, stream)
        finally:
            writer.close()

    async def _read_events(self, reader: asyncio.StreamReader, stream: Stream) -> None:
        rest = b""
        while chunk := await _chunk(reader):
            *frames, rest = (rest + chunk).split(b"\n\n")
            for frame in frames:
                name, data = _event(frame)
                if name == "connection-closing":
                    stream.ends.append(str(data.get("reason")))
                    return
                if "sequence" in data:
                    stream.numbers.append(data["data"]["payload"]["number"])
                    stream.next_id = data["sequence"] + 1
                    if self._is_done(stream):
                        return
        stream.ends.append("end")

    def _is_done(self, stream: Stream) -> bool:
        first, last = int(self._asked.first), int(self._asked.last)
        if self._asked.any_order:
            return len(stream.numbers) > last - first
        return bool(stream.numbers) and stream.numbers[-1] >= last

    def _request(self, stream: Stream) -> bytes:
        asked = {
            "event_type": self._asked.event_type,
            "identifier": self._asked.identifier,
            "from_id": str(stream.next_id),
        }
        body = json.dumps(asked).encode()
        lines = [
            "POST /api/v1/watch HTTP/1.1",
            f"Host: {self._place.netloc}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            *_authorization(),
        ]
        return "\r\n".join([*lines, "", ""]).encode() + body


async def _line(reader: asyncio.StreamReader) -> str:
    async with asyncio.timeout(_SILENCE_SECONDS):
        return (await reader.readuntil(b"\n")).decode().strip()


async def _chunk(reader: asyncio.StreamReader) -> bytes:
    size = int(await _line(reader), 16)
    async with asyncio.timeout(_SILENCE_SECONDS):
        return (await reader.readexactly(size + 2))[:-2]


def _event(frame: bytes) -> tuple[str, dict[str, Any]]:
    fields = dict(line.partition(": ")[::2] for line in frame.decode().split("\n"))
    return fields.get("event", ""), json.loads(fields.get("data", "{}"))


def _authorization() -> list[str]:
    file = os.environ.get("AVISO_TOKEN_FILE")
    return [f"Authorization: Bearer {Path(file).read_text().strip()}"] if file else []


async def main() -> int:
    """Follow with all streams until each is done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("event_type")
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--last", type=int, required=True)
    parser.add_argument("--from-id", type=int, default=1)
    parser.add_argument("--identifier", type=json.loads, default={"region": "north"})
    parser.add_argument("--any-order", action="store_true")
    asked = parser.parse_args()
    follower = Follower(asked)
    streams = [Stream(asked.from_id) for _ in range(asked.streams)]
    saying = asyncio.create_task(_say_when_open(streams))
    code = 0
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            await asyncio.gather(*map(follower.follow, streams))
    except TimeoutError:
        code = 1
    saying.cancel()
    wanted = set(range(asked.first, asked.last + 1))
    ends: dict[str, int] = {}
    for end in (end for stream in streams for end in stream.ends):
        ends[end] = ends.get(end, 0) + 1
    told = {
        "lost": sum(len(wanted - set(stream.numbers)) for stream in streams),
        "repeated": sum(len(stream.numbers) - len(set(stream.numbers)) for stream in streams),
        "out_of_order": sum(stream.numbers != sorted(stream.numbers) for stream in streams),
        "opened_again": sorted(moment for stream in streams for moment in stream.opened[1:]),
        "ends": ends,
        "refusals": follower.refusals,
    }
    print(json.dumps(told), flush=True)
    return code


async def _say_when_open(streams: list[Stream]) -> None:
    while not all(stream.opened for stream in streams):  # noqa: ASYNC110 # an event for each stream says no more
        await asyncio.sleep(_BETWEEN_TRIES_SECONDS)
    print(json.dumps({"open": len(streams)}), flush=True)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
