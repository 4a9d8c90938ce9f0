"""What is published and what comes out: CloudEvents on streams (contract 8), in history and live, on both logs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from support.event_logs import asynchronous
from support.nats import running_server
from support.services import IN_MEMORY, running_service
from support.sse import REPLAY, WATCH, streaming
from support.watching import configured, jetstream, publish

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}|\.\d{6}|\.\d{9})?Z")


@pytest.fixture(params=["memory", "jetstream"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mapping[str, Any]]:
    """Give the settings of an empty log."""
    if request.param == "memory":
        yield IN_MEMORY
        return
    with running_server(tmp_path / "broker") as server:
        yield jetstream(server.url)


class Shown(NamedTuple):
    """What is published of an event type, and the data of its CloudEvent."""

    event_type: str
    identifier: Mapping[str, object]
    data: Mapping[str, object]
    more: Mapping[str, object] = {}


PAYLOADS: Final[tuple[object, ...]] = (
    {"b": 1, "a": [1, None, True]}, [], {}, "", "text", "ü \" \\ \n", 0, 5, -1, 1.5, 1e100, True, False, None,
    123456789012345678901234567890, {"deep": [[[[{"x": {}}]]]]},
)  # fmt: skip
SQUARE: Final = [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
SHOWN: Final = (
    # Values are texts, as they are in the topic.
    Shown("storms", {"basin": "North Sea", "number": 4, "polygon": "(0,0,0,1,1,1,0,0)"},
          {"identifier": {"basin": "North Sea", "number": "4", "polygon": SQUARE}, "payload": None}),
    Shown("storms", {"basin": "a.b", "number": "007", "polygon": SQUARE},
          {"identifier": {"basin": "a.b", "number": "7", "polygon": SQUARE}, "payload": None}),
    Shown("storms", {"basin": "ö%>", "number": "-0", "polygon": "[[0,0],[0,1],[1,1],[0,0]]"},
          {"identifier": {"basin": "ö%>", "number": "0", "polygon": SQUARE}, "payload": None}),
    # A star reads as anything, and is left out.
    Shown("storms", {"basin": "*", "number": 1, "polygon": SQUARE},
          {"identifier": {"number": "1", "polygon": SQUARE}, "payload": None}),
    Shown("buoys", {"net": "n", "point_cloud": [[1, 2], [1, 2]]},
          {"identifier": {"net": "n", "point_cloud": [[1.0, 2.0], [1.0, 2.0]]}, "payload": None}),
    *(
        Shown("few", {"n": 1}, {"identifier": {"n": "1"}, "payload": payload}, {"payload": payload})
        for payload in PAYLOADS
    ),
    Shown("few", {"n": 2}, {"identifier": {"n": "2"}, "payload": None}),
)  # fmt: skip


def envelope(event_type: str, number: int) -> dict[str, object]:
    """Return what is not the event's own."""
    return {
        "datacontenttype": "application/json",
        "dataschema": f"http://localhost/base/schema/{event_type}",
        "id": f"{event_type}@{number}",
        "sequence": number,
        "source": "HTTP://LocalHost:80/base",
        "specversion": "1.0",
        "type": f"int.ecmwf.aviso.{event_type}",
    }


@asynchronous
async def test_an_event_is_shown_as_it_was_published(backend: Mapping[str, Any]) -> None:
    """Live, and from history the very same bytes; the name is the event type's and not its base's."""
    found = []
    configuration = configured(
        backend,
        application={"base_url": "HTTP://LocalHost:80/base"},
        watch_endpoint={"max_historical_notifications": 100},
    )
    # More of them than one request may replay otherwise.
    few = {**configuration["notification_schema"]["few"], "max_historical_notifications": 100}
    configuration["notification_schema"] = {**configuration["notification_schema"], "few": few}
    async with running_service(configuration) as service:
        for event_type in ("storms", "buoys", "few"):
            shown = [one for one in SHOWN if one.event_type == event_type]
            body: dict[str, object] = {"event_type": event_type, "identifier": {}}
            async with streaming(service.port, WATCH, body) as stream:
                await stream.next()
                await publish(
                    service,
                    ({"event_type": event_type, "identifier": one.identifier, **one.more} for one in shown),
                )
                live = await stream.take(len(shown))
            async with streaming(service.port, REPLAY, {**body, "from_id": "1"}) as stream:
                history = (await stream.rest())[1:-2]
            assert [frame.text for frame in live] == [frame.text for frame in history]
            for number, (one, frame) in enumerate(zip(shown, live, strict=True), start=1):
                event = dict(frame.data)
                if INSTANT.fullmatch(event.pop("time")) is None or list(event) != sorted(event):
                    found.append(frame.text)
                if event != {"data": one.data, **envelope(event_type, number)}:
                    found.append(f"{one}: {frame.text}")
    assert not found, "\n".join(found)


@asynchronous
async def test_numbers_keep_their_digits(backend: Mapping[str, Any]) -> None:
    """What is a fraction stays one, and an integer is as long as it was."""
    async with running_service(configured(backend)) as service:
        body = {"event_type": "few", "identifier": {"n": 1}}
        async with streaming(service.port, WATCH, body) as stream:
            await stream.next()
            sent = b'{"event_type":"few","identifier":{"n":1},"payload":[1.0, 9007199254740993, 0.1]}'
            assert (await service.ask("POST", "/api/v1/notification", content=sent)).status == 200
            (frame,) = await stream.take(1)
    assert '"payload":[1.0,9007199254740993,0.1]' in frame.text
