"""A service with notifications in it, for programs that read them from outside: published, removed and begun anew.

The service is a real one in a thread, over the log in memory or over a broker of the test's own.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

import httpx
import nats

from aviso_core.schema.stream import stream_name
from support.gates import Gate
from support.listening import HOST
from support.nats import running_server
from support.wire import listening

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from support.gates import Ends, Way

KEPT: Final = 100_000
_MOST_AT_ONCE: Final = 5000


def event_type(base: str) -> dict[str, Any]:
    """Return an event type of which every notification is kept."""
    return {
        "topic": {"base": base, "key_order": ["place", "step"]},
        "identifier": {
            "place": {"type": "StringHandler", "required": False},
            "step": {"type": "IntHandler", "required": False},
            "polygon": {"type": "PolygonHandler", "required": False},
        },
        "payload": {"required": False},
        "storage_policy": {"allow_duplicates": True},
    }


def configuration(
    *names: str, backend: Mapping[str, Any] | None = None, **blocks: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a configuration with these event types."""
    # A base has fewer characters than a name may have.
    schema = {name: event_type(re.sub(r"\W", "-", name)) for name in names}
    if backend is None:
        backend = {"kind": "in_memory", "in_memory": {"max_history_per_topic": KEPT, "max_topics": KEPT}}
        for one in schema.values():
            del one["storage_policy"]
    return {"notification_schema": schema, "notification_backend": backend, **blocks}


def on_broker(url: str) -> dict[str, Any]:
    """Return the settings of a log on a broker."""
    return {"kind": "jetstream", "jetstream": {"nats_url": url, "storage_type": "memory"}}


def notification(name: str, number: int) -> dict[str, Any]:
    """Return a notification, a different one for each number."""
    south = number % 40
    outline = [[0, south], [40, south], [40, south + 30], [0, south]]
    hole = [[20, south + 1], [30, south + 1], [30, south + 2], [20, south + 1]]
    shapes: list[Any] = [
        [[south, 0], [south, 9.5], [south + 9.25, 9.5], [south, 0]],
        {"type": "Polygon", "coordinates": [outline, hole]},
        {"type": "MultiPolygon", "coordinates": [[outline, hole], [[[a + 60, b] for a, b in outline]]]},
    ]
    identifier = {
        "place": ("lisboa", "zürich", "a.b")[number % 3],
        "step": number,
        "polygon": shapes[number % 3],
    }
    payload = (None, {"n": number, "ü": [1.5, "\n", 2**53 + 1]}, "text", [number])[number % 4]
    return {"event_type": name, "identifier": identifier, "payload": payload}


class Published:
    """A running service."""

    def __init__(self, port: int, broker_url: str | None) -> None:
        self.port = port
        self.url = f"http://{HOST}:{port}"
        self._broker_url = broker_url
        self._client = httpx.Client(base_url=self.url, timeout=30)

    def close(self) -> None:
        """Let go of the service."""
        self._client.close()

    def publish(self, name: str, numbers: Sequence[int]) -> None:
        """Store notifications."""
        for begin in range(0, len(numbers), _MOST_AT_ONCE):
            records = [notification(name, number) for number in numbers[begin : begin + _MOST_AT_ONCE]]
            answer = self._client.post("/api/v1/notifications", json=records).json()
            assert answer["accepted"] == len(records), answer

    def publish_large(self, name: str, count: int, *, payload_bytes: int) -> None:
        """Store notifications with payloads of such a size."""
        for number in range(count):
            self.notify({**notification(name, number), "payload": "x" * payload_bytes})

    def notify(self, record: Mapping[str, Any]) -> None:
        """Store one notification."""
        answer = self._client.post("/api/v1/notification", json=record)
        assert answer.status_code == 200, answer.text

    def retract(self, name: str, **identifier: Any) -> None:
        """Take notifications back, which is an event too."""
        body = {"event_type": name, "identifier": identifier}
        answer = self._client.request("DELETE", "/api/v1/notification", json=body)
        assert answer.status_code == 200, answer.text

    def delete(self, name: str, *sequences: int) -> None:
        """Remove single events, as an administrator does and retention."""
        for sequence in sequences:
            assert self._client.delete(f"/api/v1/admin/notification/{name}@{sequence}").status_code == 200

    def wipe(self, name: str) -> None:
        """Remove all events of one type."""
        answer = self._client.request("DELETE", "/api/v1/admin/wipe/stream", json={"stream_name": name})
        assert answer.status_code == 200, answer.text

    def position(self, name: str) -> dict[str, Any]:
        """Return what the log holds."""
        found: dict[str, Any] = self._client.get(f"/api/v1/positions/{name}").json()[name]
        return found

    def cloud_events(self, name: str, **body: Any) -> list[dict[str, Any]]:
        """Return a replay's events, as the service sends them to whoever asks for frames."""
        sent = {"event_type": name, "identifier": {}, "from_id": "0", "to_id": "999999999", **body}
        frames = self._client.post("/api/v1/replay", json=sent).text.split("\n\n")
        found = [frame.partition("\ndata: ")[2] for frame in frames if frame.startswith("event: replay\n")]
        return [json.loads(one) for one in found]

    def replace(self, name: str) -> None:
        """Remove a log altogether, so that the next notification begins another in its place."""
        assert self._broker_url is not None, "only a broker's log can be removed"

        async def remove(url: str) -> None:
            client = await nats.connect(url)
            try:
                assert await client.jetstream().delete_stream(stream_name(name))
            finally:
                await client.close()

        asyncio.run(remove(self._broker_url))


@contextmanager
def published(*names: str, folder: Path | None = None, **blocks: Mapping[str, Any]) -> Iterator[Published]:
    """Run a service with these event types: over a broker in a folder if there is one, else over memory."""
    with ExitStack() as stack:
        url = None if folder is None else stack.enter_context(running_server(folder)).url
        backend = None if url is None else on_broker(url)
        port = stack.enter_context(listening(configuration(*names, backend=backend, **blocks)))
        service = Published(port, url)
        stack.callback(service.close)
        yield service


class CuttingGate(Gate):
    """A way to a service on which answers break off. Opened by `gates.opened`."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._service_port = port
        self._cut_after: list[int] = []
        self.cuts = 0

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"http://{HOST}:{self.port}"

    def cut_after(self, *sizes: int) -> None:
        """Break each of the next long answers after so many bytes; a short one uses none of them up."""
        self._cut_after = list(sizes)

    async def _reach(self) -> Ends:
        return await asyncio.open_connection(HOST, self._service_port)

    def _carry(self, client: Ends, server: Ends) -> tuple[Way, Way]:
        return self._there(client[0], server[1]), self._back(server[0], client[1])

    async def _there(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()

    async def _back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sent = 0
        while data := await reader.read(65536):
            most = self._cut_after[0] - sent if self._cut_after else len(data)
            writer.write(data[: max(0, most)])
            await writer.drain()
            sent += len(data)
            if len(data) > most:
                del self._cut_after[0]
                self.cuts += 1
                return
