"""`POST /api/v1/replay` for machines, over real HTTP: lines and record batches, whole or recognisably not."""

from __future__ import annotations

import asyncio
import json
import select
import socket
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import httpx
import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.instant import to_text
from support.event_logs import asynchronous
from support.nats import running_server
from support.recordings import GUARDED, token
from support.services import HOST, IN_MEMORY
from support.stored import running_with_log
from support.wire import listening, request

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from support.services import Answered, Service
    from support.stored import Stored

REPLAY: Final = "/api/v1/replay"
LINES: Final = "application/x-ndjson"
ARROW: Final = "application/vnd.apache.arrow.stream"
LARGE: Final = "x" * 200_000

CONFIGURATION: Final[dict[str, Any]] = {
    "notification_schema": {
        "storms": {
            "topic": {"base": "storms", "key_order": ["basin", "category"]},
            "identifier": {
                "basin": {"type": "StringHandler", "required": False},
                "category": {"type": "IntHandler", "range": [0, 5], "required": False},
                "polygon": {"type": "PolygonHandler", "required": False},
            },
            "payload": {"required": False},
            "storage_policy": {"allow_duplicates": True},
        },
        "buoys": {
            "topic": {"base": "buoys", "key_order": ["net"]},
            "identifier": {
                "net": {"type": "StringHandler", "required": False},
                "point_cloud": {"type": "PointCloudHandler", "required": False},
            },
            "payload": {"required": False},
            "storage_policy": {"allow_duplicates": True},
        },
    },
    "watch_endpoint": {"max_historical_notifications": 500},
    "ingest": {"batch_max_bytes": 64 * 1024 * 1024},
}


def configuration(backend: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return the configuration for a log, which keeps every entry of a topic."""
    whole = json.loads(json.dumps({**CONFIGURATION, **more}))
    if backend["kind"] == "in_memory":
        for one in whole["notification_schema"].values():
            one.pop("storage_policy", None)
    return dict(whole)


def on_broker(url: str) -> dict[str, Any]:
    """Return the settings of a log on a broker."""
    return {"kind": "jetstream", "jetstream": {"nats_url": url, "storage_type": "memory"}}


@pytest.fixture(params=["memory", "jetstream"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mapping[str, Any]]:
    """Return the settings of an empty log."""
    with ExitStack() as stack:
        if request.param == "memory":
            yield IN_MEMORY
        else:
            yield on_broker(stack.enter_context(running_server(tmp_path / "broker")).url)


# --- what is stored --------------------------------------------------------------------------------------


def storm(number: int, **members: Any) -> dict[str, Any]:
    """Return a notification, different ones for different numbers."""
    south = number % 40
    ring = [[south, 0], [south, 9.5], [south + 9.25, 9.5], [south, 0]]
    hole = [[3, south + 1], [5, south + 1], [5, south + 2], [3, south + 1]]
    outline = [[0, south], [40, south], [40, south + 30], [0, south]]
    shapes: list[Any] = [
        ring,
        {"type": "Polygon", "coordinates": [outline, hole]},
        {"type": "MultiPolygon", "coordinates": [[outline, hole], [[[a + 60, b] for a, b in outline]]]},
    ]
    identifier = {
        "basin": ("atlantic", "größer", "*", "a.b")[number % 4],
        "category": number % 6,
        "polygon": shapes[number % 3],
    }
    payload = (None, {"n": number, "ü": [1.5, "\n"]}, "text", [number])[number % 4]
    return {"event_type": "storms", "identifier": identifier, "payload": payload, **members}


def buoy(number: int) -> dict[str, Any]:
    """Return a notification with places."""
    places = [[number % 50 + 0.5, n] for n in range(number % 3 + 1)]
    return {"event_type": "buoys", "identifier": {"net": f"n{number % 2}", "point_cloud": places}}


async def publish(service: Service, records: list[dict[str, Any]]) -> None:
    """Store notifications."""
    content = json.dumps(records).encode()
    answer = await service.ask(
        "POST",
        "/api/v1/notifications",
        content=content,
        headers={"Content-Type": "application/json"},
    )
    assert answer.json["accepted"] == len(records), answer.body[:500]


async def replay(
    service: Service,
    accept: str,
    event_type: str = "storms",
    headers: Mapping[str, str] | None = None,
    **body: Any,
) -> Answered:
    """Ask for a replay."""
    sent = {"event_type": event_type, "identifier": {}, **body}
    return await service.ask("POST", REPLAY, sent, headers={"Accept": accept, **(headers or {})})


# --- what is read ----------------------------------------------------------------------------------------


class Replayed(NamedTuple):
    """What a replay held, and what it said at the end."""

    events: list[dict[str, Any]]
    ending: dict[str, Any]

    @property
    def sequences(self) -> list[int]:
        """The sequences of the events."""
        return [event["sequence"] for event in self.events]


def from_frames(body: bytes) -> list[dict[str, Any]]:
    """Return the CloudEvents of a stream of frames, which must be complete."""
    frames = [frame.split("\ndata: ") for frame in body.decode().split("\n\n")[:-1]]
    assert '"type":"replay_completed"' in frames[-2][1], frames[-2]
    return [json.loads(data) for name, data in frames if name == "event: replay"]


def from_lines(body: bytes) -> Replayed:
    """Return what lines hold."""
    assert body.endswith(b"\n")
    *events, ending = [json.loads(line) for line in body.decode().splitlines()]
    return Replayed(events, ending)


def from_batches(body: bytes) -> Replayed:
    """Return what record batches hold, each row as a dictionary."""
    reader = pa.ipc.open_stream(body)
    rows: list[dict[str, Any]] = []
    ending: dict[str, Any] = {}
    while True:
        try:
            batch, metadata = reader.read_next_batch_with_custom_metadata()
        except StopIteration:
            return Replayed(rows, ending)
        assert not ending, "a batch behind the last"
        at = batch.schema.get_field_index("time")
        rows += batch.set_column(at, "time", batch.column("time").cast(pa.int64())).to_pylist()
        ending = json.loads(metadata[b"aviso"]) if metadata else {}


def as_row(event: dict[str, Any]) -> dict[str, Any]:
    """Return a CloudEvent as the row that it should be."""
    data = event["data"]
    identifier = dict(data["identifier"])
    ring, places = identifier.pop("polygon", None), identifier.pop("point_cloud", None)
    geometry = data.get("geometry")
    if geometry is None and ring is not None:
        geometry = {"type": "Polygon", "coordinates": [[[lon, lat] for lat, lon in ring]]}
    if places is not None:
        geometry = {"type": "MultiPoint", "coordinates": [[lon, lat] for lat, lon in places]}
    return {
        "event_type": event["type"].removeprefix("int.ecmwf.aviso."),
        "sequence": event["sequence"],
        "time": event["time"],
        "id": event["id"],
        "identifier": sorted(identifier.items()),
        "geometry": geometry,
        "payload": data["payload"],
        "operation": event.get("operation"),
    }


def as_compared(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as `as_row` makes them: shapes as GeoJSON, payloads decoded, the time as text."""
    shape = row["geometry"]
    return {
        **row,
        "time": to_text(row["time"]),
        "geometry": None if shape is None else json.loads(shapely.to_geojson(shapely.from_wkb(shape))),
        "payload": json.loads(row["payload"]),
    }


# --- the three forms hold the same -----------------------------------------------------------------------

STORED: Final = 60


@pytest.fixture(scope="module", params=["memory", "jetstream"])
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    """Run a service whose logs hold all kinds of events, some of them gone again, and some taken back."""
    with ExitStack() as stack:
        backend: Mapping[str, Any] = IN_MEMORY
        if request.param == "jetstream":
            backend = on_broker(stack.enter_context(running_server(tmp_path_factory.mktemp("broker"))).url)
        port = stack.enter_context(listening({**configuration(backend), "notification_backend": backend}))
        client = stack.enter_context(httpx.Client(base_url=f"http://{HOST}:{port}", timeout=30))
        for number in range(1, STORED + 1):
            if number % 10 == 0:
                taken_back = {"basin": "atlantic", "category": 3}
                sent = {"event_type": "storms", "identifier": taken_back}
                answer = client.request("DELETE", "/api/v1/notification", json=sent)
            else:
                answer = client.post("/api/v1/notification", json=storm(number))
            assert answer.status_code == 200, answer.text
            assert client.post("/api/v1/notification", json=buoy(number)).status_code == 200
        for gone in (7, 8, 31):
            assert client.delete(f"/api/v1/admin/notification/storms@{gone}").status_code == 200
        yield client


_sequences = st.integers(1, STORED + 5)
_filters = st.fixed_dictionaries(
    {},
    optional={
        "basin": st.sampled_from(["atlantic", "größer", "a.b", "*", "nowhere"]),
        "category": st.one_of(
            st.integers(0, 5),
            st.builds(lambda n: {"gte": n}, st.integers(0, 5)),
            st.just({"in": [1, 3]}),
        ),
        "polygon": st.builds(
            lambda south: [[south, 0], [south, 3], [south + 3, 3], [south, 0]], st.integers(-20, 60)
        ),
    },
)


@given(first=st.integers(0, STORED + 5), length=st.none() | st.integers(0, 70), identifier=_filters)
def test_every_form_holds_the_same_events(
    filled: httpx.Client, first: int, length: int | None, identifier: dict[str, Any]
) -> None:
    """Of any range, selected by any filter, over either log."""
    end = {} if length is None else {"to_id": str(first + length)}
    body = {"event_type": "storms", "identifier": identifier, "from_id": str(first), **end}
    frames, lines, arrow = (
        filled.post(REPLAY, json=body, headers={"Accept": form}) for form in ("*/*", LINES, ARROW)
    )
    events = from_frames(frames.content)
    in_lines, in_batches = from_lines(lines.content), from_batches(arrow.content)
    assert in_lines.events == events
    assert list(map(as_compared, in_batches.events)) == list(map(as_row, events))
    last = min(STORED, STORED if length is None else first + length)
    assert in_lines.ending == in_batches.ending == {"complete": True, "last": last, "count": len(events)}


def test_point_clouds_are_shapes_too(filled: httpx.Client) -> None:
    """In every form."""
    body = {"event_type": "buoys", "identifier": {"net": "n1"}, "from_id": "0"}
    answers = [filled.post(REPLAY, json=body, headers={"Accept": form}) for form in ("*/*", LINES, ARROW)]
    assert [answer.headers["content-type"] for answer in answers] == ["text/event-stream", LINES, ARROW]
    events = from_frames(answers[0].content)
    assert len(events) == STORED // 2
    assert from_lines(answers[1].content).events == events
    assert list(map(as_compared, from_batches(answers[2].content).events)) == list(map(as_row, events))


def test_a_range_by_date_is_the_same_range(filled: httpx.Client) -> None:
    """From the date of one event to that of another, both with it."""
    whole = {"event_type": "storms", "identifier": {}, "from_id": "1"}
    events = from_lines(filled.post(REPLAY, json=whole, headers={"Accept": LINES}).content).events
    body = {
        "event_type": "storms",
        "identifier": {},
        "from_date": events[10]["time"],
        "to_date": events[20]["time"],
    }
    for form, read in ((LINES, from_lines), (ARROW, from_batches)):
        found = read(filled.post(REPLAY, json=body, headers={"Accept": form}).content)
        assert found.sequences == [event["sequence"] for event in events[10:21]]


# --- how many, and from where ----------------------------------------------------------------------------


@asynchronous
async def test_an_end_lifts_the_limit(backend: Mapping[str, Any]) -> None:
    """Without one, whoever wants the rest is told from where to go on."""
    async with running_with_log(configuration(backend), backend) as stored:
        service = stored.service
        await publish(service, [storm(number) for number in range(700)])
        for form, read in ((LINES, from_lines), (ARROW, from_batches)):
            limited = read((await replay(service, form, from_id="1")).body)
            assert len(limited.events) == 500
            assert limited.ending == {"complete": False, "last": 500, "count": 500, "max_allowed": 500}
            rest = read((await replay(service, form, from_id="501")).body)
            assert rest.ending == {"complete": True, "last": 700, "count": 200}
            exactly = read((await replay(service, form, from_id="201")).body)
            assert exactly.ending == {"complete": True, "last": 700, "count": 500}
            whole = read((await replay(service, form, from_id="1", to_id="9999")).body)
            assert whole.sequences == list(range(1, 701))
            assert whole.ending == {"complete": True, "last": 700, "count": 700}


@asynchronous
async def test_a_range_that_lost_its_beginning_is_gone(backend: Mapping[str, Any]) -> None:
    """With an end, that is; without one there is what there is."""
    async with running_with_log(configuration(backend), backend) as stored:
        service = stored.service
        await publish(service, [storm(number) for number in range(5)])
        for gone in (1, 2):
            await service.ask("DELETE", f"/api/v1/admin/notification/storms@{gone}")
        for form, read in ((LINES, from_lines), (ARROW, from_batches)):
            refused = await replay(service, form, from_id="2", to_id="5")
            assert (refused.status, refused.json["code"]) == (410, "RANGE_REMOVED")
            assert refused.json["first_sequence"] == 3
            assert refused.json["request_id"] == refused.headers["x-request-id"]
            by_date = await replay(service, form, from_date="0", to_date="2100-01-01T00:00:00Z")
            assert (by_date.status, by_date.json["first_sequence"]) == (410, 3)
            held: list[dict[str, Any]] = [
                {"from_id": "3", "to_id": "5"},
                {"from_id": "0", "to_id": "5"},
                {"from_id": "1"},
                {"from_date": "0"},
            ]
            for members in held:
                assert read((await replay(service, form, **members)).body).sequences == [3, 4, 5]
        frames = await replay(service, "*/*", from_id="1", to_id="5")
        assert [event["sequence"] for event in from_frames(frames.body)] == [3, 4, 5]


@pytest.mark.parametrize("form", [LINES, ARROW])
@asynchronous
async def test_what_cannot_be_shown_is_counted(form: str) -> None:
    """An event type without a topic of its own: nothing of it is left out in silence."""
    plain = {
        "identifier": {"k": {"type": "StringHandler", "required": False}},
        "payload": {"required": False},
    }
    async with running_with_log({"notification_schema": {"plain": plain}}, IN_MEMORY) as stored:
        for n in range(3):
            await stored.service.notify({"event_type": "plain", "identifier": {"k": f"{n}"}})
        answer = await replay(stored.service, form, "plain", from_id="0")
        found = (from_lines if form == LINES else from_batches)(answer.body)
        assert found == Replayed([], {"complete": True, "last": 3, "count": 0, "failed": 3})
        assert stored.count("aviso_sse_stream_errors_total", route=REPLAY, event_type="plain") == 3


# --- who may ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [LINES, ARROW])
@asynchronous
async def test_refusals_are_those_of_every_replay(form: str) -> None:
    """In JSON, before anything is sent."""
    async with running_with_log(configuration(IN_MEMORY), IN_MEMORY) as stored:
        for body in (
            {},
            {"from_id": "x"},
            {"from_id": "2", "to_id": "1"},
            {"from_id": "1", "identifier": {"nope": 1}},
            {"from_id": "1", "event_type": "nope"},
            {"from_id": "1", "more": 1},
        ):
            told = [await replay(stored.service, accept, **body) for accept in ("*/*", form)]
            wanted, found = ({**one.json, "request_id": ""} for one in told)
            assert [one.status for one in told] == [400, 400]
            assert found == wanted
        too_large = await stored.service.ask("POST", REPLAY, content=b" " * 262_145, headers={"Accept": form})
        assert too_large.status == 413


@pytest.mark.parametrize(
    ("who", "event_type", "status"),
    [(None, "free", 200), (None, "desk", 401), ("writer", "desk", 403), ("reader", "desk", 200)],
)
@asynchronous
async def test_who_may_not_replay_may_not_replay_for_machines(
    who: str | None, event_type: str, status: int
) -> None:
    """The same decision."""
    async with running_with_log(GUARDED, IN_MEMORY) as stored:
        headers = {} if who is None else {"Authorization": f"Bearer {token(who)}"}
        for form in (LINES, ARROW):
            answer = await replay(
                stored.service, form, event_type, headers, identifier={"k": "*"}, from_id="0"
            )
            assert answer.status == status


@asynchronous
async def test_only_administrators_see_who_wrote() -> None:
    """As on every stream."""
    async with running_with_log(GUARDED, IN_MEMORY) as stored:
        service = stored.service
        writer = {"Authorization": f"Bearer {token('writer')}"}
        await service.notify({"event_type": "desk", "identifier": {"k": "1"}}, headers=writer)
        seen = []
        for who in ("reader", "operator"):
            headers = {"Authorization": f"Bearer {token(who)}"}
            answer = await replay(service, LINES, "desk", headers, identifier={"k": "*"}, from_id="0")
            (event,) = from_lines(answer.body).events
            seen.append("actor" in event)
        assert seen == [False, True]


@asynchronous
async def test_replays_for_machines_are_counted_as_replays(backend: Mapping[str, Any]) -> None:
    """Opened, sent, and closed again."""
    async with running_with_log(configuration(backend), backend) as stored:
        await publish(stored.service, [storm(number) for number in range(30)])
        for form in (LINES, ARROW):
            await replay(stored.service, form, from_id="1", identifier={"category": {"gte": 3}})
        await none_open(stored)
        labels = {"route": REPLAY, "event_type": "storms"}
        assert stored.count("aviso_sse_connections_total", **labels) == 2
        assert stored.count("aviso_sse_events_sent_total", **labels) == 30
        assert stored.count("aviso_sse_connections_active", **labels) == 0


# --- slow readers, and answers that are cut --------------------------------------------------------------


class SlowReader:
    """A connection on which little is taken at a time."""

    def __init__(self, port: int, accept: str, **body: Any) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.settimeout(20)
        self._socket.connect((HOST, port))
        sent = json.dumps({"event_type": "storms", "identifier": {}, **body}).encode()
        self._socket.sendall(request("POST", REPLAY, f"Accept: {accept}", "Connection: close", body=sent))

    def read(self, count: int) -> bytes:
        """Return so many bytes."""
        data = b""
        while len(data) < count:
            data += self._socket.recv(min(4096, count - len(data)))
        return data

    def rest(self) -> bytes:
        """Return all that still comes until the other side closes, or breaks off."""
        pieces = []
        try:
            while piece := self._socket.recv(65_536):
                pieces.append(piece)
        except ConnectionResetError:
            pass
        return b"".join(pieces)

    def wait_broken(self) -> None:
        """Wait until the other side has broken the connection off; nothing is read."""
        poll = select.poll()
        poll.register(self._socket, 0)
        assert poll.poll(20_000), "the other side has let it be"

    def close(self) -> None:
        """Leave."""
        self._socket.close()


async def fill_large(stored: Stored, count: int = 100) -> None:
    """Store more than connections hold between their ends."""
    for number in range(0, count, 20):
        await publish(
            stored.service, [storm(number + n, payload={"n": number + n, "x": LARGE}) for n in range(20)]
        )


async def none_open(stored: Stored) -> None:
    """Wait until no replay is open."""
    while stored.count("aviso_sse_connections_active", route=REPLAY):
        await stored.service.ask("GET", "/health")


@pytest.mark.parametrize("form", [LINES, ARROW])
@asynchronous
async def test_a_slow_reader_gets_everything(backend: Mapping[str, Any], form: str) -> None:
    """As long as it takes something now and then; nothing heaps up for it meanwhile."""
    async with running_with_log(configuration(backend), backend) as stored:
        await fill_large(stored)
        reader = SlowReader(stored.service.port, form, from_id="1", to_id="100")
        head = await asyncio.to_thread(reader.read, 300_000)
        sent = stored.count("aviso_sse_events_sent_total", route=REPLAY)
        assert sent < 50, "it is not sent what it has no room for"
        body = head + await asyncio.to_thread(reader.rest)
        assert body.endswith(b"\r\n0\r\n\r\n")
        assert len(body) > 100 * len(LARGE)
        assert b'{"complete":true,"last":100,"count":100}' in body
        reader.close()


@pytest.mark.parametrize("form", [LINES, ARROW])
@asynchronous
async def test_a_range_that_is_removed_while_it_is_read_is_cut(backend: Mapping[str, Any], form: str) -> None:
    """What was sent stands; that it is not all can be told from the missing end."""
    async with running_with_log(configuration(backend), backend) as stored:
        await fill_large(stored)
        reader = SlowReader(stored.service.port, form, from_id="1", to_id="100")
        head = await asyncio.to_thread(reader.read, 300_000)
        assert (await stored.service.ask("DELETE", "/api/v1/admin/wipe/all")).status == 200
        body = head + await asyncio.to_thread(reader.rest)
        reader.close()
        assert len(body) < 100 * len(LARGE)
        assert b'"complete"' not in body
        assert not body.endswith(b"0\r\n\r\n")
        await none_open(stored)
        assert stored.count("aviso_sse_stream_errors_total", route=REPLAY) == 1
        again = await replay(stored.service, form, from_id="1", to_id="100")
        assert (again.status, again.json["first_sequence"]) == (410, 101)


@pytest.mark.parametrize("form", [LINES, ARROW])
@asynchronous
async def test_a_reader_that_takes_nothing_is_cut(form: str) -> None:
    """Its connection is broken off, and what it had is given back."""
    limits = {"stalled_seconds": 1, "max_streams": 1}
    async with running_with_log(configuration(IN_MEMORY, streams=limits), IN_MEMORY) as stored:
        await fill_large(stored)
        reader = SlowReader(stored.service.port, form, from_id="1")
        await asyncio.to_thread(reader.wait_broken)
        await none_open(stored)
        body = await asyncio.to_thread(reader.rest)
        reader.close()
        assert len(body) < 100 * len(LARGE)
        assert b'"complete"' not in body
        assert (await replay(stored.service, form, from_id="1")).status == 200


@pytest.mark.parametrize("form", [LINES, ARROW])
@asynchronous
async def test_a_reader_that_leaves_is_let_go(backend: Mapping[str, Any], form: str) -> None:
    """In the middle of what it asked for; another takes its place."""
    async with running_with_log(configuration(backend, streams={"max_streams": 1}), backend) as stored:
        await fill_large(stored)
        reader = SlowReader(stored.service.port, form, from_id="1")
        await asyncio.to_thread(reader.read, 10_000)
        refused = await replay(stored.service, form, from_id="1")
        assert (refused.status, refused.headers["retry-after"]) == (503, "5")
        reader.close()
        await none_open(stored)
        assert (await replay(stored.service, form, from_id="1")).status == 200
