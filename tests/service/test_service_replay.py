"""`POST /api/v1/replay` over real HTTP: where it starts and ends, how much it sends, and what it says on the way."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from aviso_core.eventlog.base import Record
from support.event_logs import asynchronous
from support.nats import running_server
from support.services import IN_MEMORY, running_service
from support.sse import REPLAY, WATCH, Way, streaming
from support.stored import running_with_log
from support.watching import configured, jetstream, numbers, of_storms, publish, storm

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
    from pathlib import Path

    from support.services import Service
    from support.sse import Frame, SseStream
    from support.stored import Stored

STARTED: Final = "replay-control replay_started"
COMPLETED: Final = "replay-control replay_completed"
LIMITED: Final = "replay-control notification_replay_limit_reached"
CLOSED: Final = "connection-closing end_of_stream"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    """Run a broker for one test."""
    with running_server(tmp_path / "broker") as server:
        yield server.url


@pytest.fixture(params=["memory", "jetstream"])
def backend(request: pytest.FixtureRequest) -> Mapping[str, Any]:
    """Return the settings of an empty log."""
    return IN_MEMORY if request.param == "memory" else jetstream(request.getfixturevalue("broker"))


def kinds(frames: Iterable[Frame]) -> list[str]:
    """Return what frames are."""
    return [frame.kind for frame in frames]


async def all_frames(
    service: Service, body: object, *, path: str = REPLAY, way: Way = Way.PLAIN
) -> list[Frame]:
    """Return all frames of a stream that the service ends; no replay has heartbeats."""
    async with streaming(service.port, path, body, way=way) as stream:
        assert stream.status == 200, await stream.refusal()
        frames = await stream.rest()
        assert path == WATCH or b"event: heartbeat" not in b"".join(stream.pieces)
    return frames


async def refusal(service: Service, body: object, *, path: str = REPLAY) -> tuple[int, str, str]:
    """Return status, code and message of a refusal."""
    answer = await service.ask("POST", path, body)
    return answer.status, answer.json.get("code"), answer.json.get("message")


# --- where it starts and ends ----------------------------------------------------------------------------


class Span(NamedTuple):
    """Members of a request, what the first frame says of them, and which of 1 to 5 are sent."""

    asked: Mapping[str, object]
    told: Mapping[str, object]
    sent: Iterable[int]


ALL: Final = range(1, 6)
# What cannot be told from another instant of the clock: every event was stored since 2020, and before 2200.
SPANS: Final = (
    *(
        Span({"from_id": text}, {"from_sequence": number}, range(max(1, number), 6))
        for text, number in (
            ("0", 0), ("1", 1), ("3", 3), ("007", 7), ("+5", 5), ("6", 6), ("18446744073709551615", 2**64 - 1)
        )
    ),
    *(
        Span({"from_date": text}, {"from_date": told}, sent)
        for text, told, sent in (
            ("2020-01-15T10:00:00Z", "2020-01-15T10:00:00Z", ALL),
            ("2020-01-15t10:00:00z", "2020-01-15T10:00:00Z", ALL),
            ("2020-01-15T10:00:00+02:00", "2020-01-15T08:00:00Z", ALL),
            ("2020-01-15T10:00:00.987654321Z", "2020-01-15T10:00:00Z", ALL),
            ("2020-01-15 10:00:00+00:00", "2020-01-15T10:00:00Z", ALL),
            ("2020-01-15 10:00:00", "2020-01-15T10:00:00Z", ALL),
            ("2020-01-15T10:00:00.5", "2020-01-15T10:00:00Z", ALL),
            (" 2020-01-15T10:00:00Z ", "2020-01-15T10:00:00Z", ALL),
            ("0", "1970-01-01T00:00:00Z", ALL),
            ("+0", "1970-01-01T00:00:00Z", ALL),
            ("10000000000", "2286-11-20T17:46:40Z", ()),
            ("100000000000", "1973-03-03T09:46:40Z", ALL),
            ("946684800000", "2000-01-01T00:00:00Z", ALL),
            ("00000000001740509903", "2025-02-25T18:58:23Z", ALL),
            ("2250-01-01T00:00:00Z", "2250-01-01T00:00:00Z", ()),
            # Beyond what the broker's clock can hold (D22).
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", ALL),
            ("9999-01-01T00:00:00Z", "9999-01-01T00:00:00Z", ()),
        )
    ),
    *(
        Span({"from_id": start, "to_id": text}, {"from_sequence": int(start), "end_sequence": told}, sent)
        for start, text, told, sent in (
            ("1", "3", 3, range(1, 4)), ("2", "2", 2, (2,)), ("0", "0", 0, ()), ("0", "5", 5, ALL),
            ("1", "99999", 5, ALL), ("9", "10", 5, ()), ("1", "+2", 2, (1, 2)), ("1", "18446744073709551615", 5, ALL),
        )
    ),
    *(
        Span({"from_id": "1", "to_date": text}, {"from_sequence": 1, "to_date": told, "end_sequence": end}, sent)
        for text, told, end, sent in (
            ("2999-01-01T00:00:00Z", "2999-01-01T00:00:00Z", 5, ALL),
            ("9999-01-01T00:00:00Z", "9999-01-01T00:00:00Z", 5, ALL),
            ("2001-01-01T00:00:00.5Z", "2001-01-01T00:00:00Z", 0, ()),
            ("0", "1970-01-01T00:00:00Z", 0, ()),
        )
    ),
    Span(
        {"from_date": "2020-01-01T00:00:00Z", "to_id": "2"},
        {"from_date": "2020-01-01T00:00:00Z", "end_sequence": 2},
        (1, 2),
    ),
    Span(
        {"from_date": "2020-01-01T00:00:00Z", "to_id": "0"},
        {"from_date": "2020-01-01T00:00:00Z", "end_sequence": 0},
        (),
    ),
    Span(
        {"from_date": "2020-01-01T00:00:00Z", "to_date": "2250-01-01 00:00:00"},
        {"from_date": "2020-01-01T00:00:00Z", "to_date": "2250-01-01T00:00:00Z", "end_sequence": 5},
        ALL,
    ),
    Span({"from_id": "4", "from_date": None, "to_id": None, "payload": {}}, {"from_sequence": 4}, (4, 5)),
)  # fmt: skip
NOT_TOLD: Final[dict[str, object]] = {
    "from_sequence": None,
    "from_date": None,
    "to_date": None,
    "end_sequence": None,
}


async def faults_of(service: Service, span: Span, way: Way) -> list[str]:
    """Return in what a replay is not what its span says."""
    async with streaming(service.port, REPLAY, of_storms(**span.asked), way=way) as stream:
        if stream.status != 200:
            return [f"{span.asked}: {await stream.refusal()}"]
        frames = await stream.rest()
    found = []
    told = {name: frames[0].data[name] for name in NOT_TOLD}
    if told != {**NOT_TOLD, **span.told}:
        found.append(f"{span.asked}: says {told}")
    if frames[0].data["batch_size"] != 2:
        found.append(f"{span.asked}: {frames[0].text}")
    expected = [STARTED, *(f"replay storms@{number}" for number in span.sent), COMPLETED, CLOSED]
    if kinds(frames) != expected:
        found.append(f"{span.asked}: {kinds(frames)}")
    return found


@asynchronous
async def test_a_replay_starts_and_ends_where_it_is_asked_to(backend: Mapping[str, Any]) -> None:
    """Every form of a start and an end, and what the first frame makes of it (9, 16.6)."""
    found = []
    async with running_service(configured(backend, watch_endpoint={"replay_batch_size": 2})) as service:
        await publish(service, numbers(5))
        for place, span in enumerate(SPANS):
            found += await faults_of(service, span, list(Way)[place % 3])
    assert not found, "\n".join(found)


@asynchronous
async def test_instants_are_compared_at_full_precision(backend: Mapping[str, Any]) -> None:
    """The instant of an event, as it is told, is the first and the last that selects it."""
    async with running_service(configured(backend)) as service:
        await publish(service, numbers(3))
        times = [frame.data["time"] for frame in (await all_frames(service, of_storms(from_id="1")))[1:4]]
        for number, instant in enumerate(times, start=1):
            since = await all_frames(service, of_storms(from_date=instant))
            assert kinds(since)[1:-2] == [f"replay storms@{one}" for one in range(number, 4)]
            until = await all_frames(service, of_storms(from_id="1", to_date=instant))
            assert kinds(until)[1:-2] == [f"replay storms@{one}" for one in range(1, number + 1)]
            assert until[0].data["end_sequence"] == number


@asynchronous
async def test_an_end_before_all_that_is_left_is_an_empty_replay(backend: Mapping[str, Any]) -> None:
    """It says where it ended: in front of the first event that is still stored."""
    async with running_service(configured(backend)) as service:
        await publish(service, numbers(2))
        for number in (1, 2):
            await service.ask("DELETE", f"/api/v1/admin/notification/storms@{number}")
        await publish(service, numbers(1))
        started, *others = await all_frames(service, of_storms(from_id="1", to_date="2001-01-01T00:00:00Z"))
    assert started.data["end_sequence"] == 2
    assert kinds(others) == [COMPLETED, CLOSED]


FORMS: Final = (
    "Valid examples: '2025-06-09T13:15:00Z', '2025-06-09 13:15:00+00:00', '2025-06-09 13:15:00', "
    "'1740509903', '1740509903710'"
)
NO_INSTANT: Final = (
    "expected ISO-8601 datetime (RFC3339/space-separated with optional timezone) "
    "or unix epoch seconds/milliseconds"
)
NEEDS_START: Final = (
    "Replay endpoint requires either from_id or from_date parameter. "
    "Use from_id for sequence-based replay or from_date for time-based replay."
)
BOTH_STARTS: Final = (
    "Cannot specify both from_id and from_date. Please provide only one replay parameter. "
    "Use from_id for sequence-based replay or from_date for time-based replay."
)
BOTH_ENDS: Final = (
    "Cannot specify both to_id and to_date. Please provide only one replay end parameter. "
    "Use to_id for a sequence-based end or to_date for a time-based end."
)
BOTH_SPATIAL: Final = (
    "Cannot specify both identifier.polygon and identifier.point. Provide only one spatial filter."
)
NO_END_HERE: Final = "to_id and to_date are only supported for the replay endpoint, not /watch"


def bad_id(name: str, value: str) -> str:
    """Return what is said of a sequence that is none."""
    return f"{name} must be a valid positive integer. Got: '{value}'. Valid examples: '1', '123', '9999'"


def bad_date(name: str, value: str, reason: str = NO_INSTANT) -> str:
    """Return what is said of an instant that is none."""
    return f"{name} must be a valid datetime/timestamp. Got: '{value}'. Error: {reason}. {FORMS}"


# What is wrong, and what is told of it: the first of all that is wrong, in the order of the contract (2.4).
REFUSED: Final[tuple[tuple[str, Mapping[str, object], str], ...]] = (
    *(
        (REPLAY, {"from_id": value}, "from_id cannot be empty. Provide a valid sequence number or omit the field")
        for value in ("", "   ")
    ),
    *(
        (path, {"from_id": value}, bad_id("from_id", value))
        for value in ("-1", "1.5", " 5", "5 ", "abc", "alerts@5", "18446744073709551616", "١")
        for path in (REPLAY, WATCH)
    ),
    *(
        (REPLAY, {"from_date": value},
         "from_date cannot be empty. Provide a valid datetime/timestamp or omit the field")
        for value in ("", " ")
    ),
    *(
        (REPLAY, {"from_date": value}, bad_date("from_date", value))
        for value in ("2025-01-15", "2025-01-15T10:00", "2025-01-15T10:00:00+0000", "yesterday", "2025-13-01T00:00:00Z")
    ),
    (REPLAY, {"from_date": "-5"}, bad_date("from_date", "-5", "negative unix timestamps are not supported: '-5'")),
    (REPLAY, {"from_date": "99999999999999999999"}, bad_date(
        "from_date", "99999999999999999999",
        "failed to parse unix timestamp '99999999999999999999': number too large to fit in target type")),
    (REPLAY, {"from_date": "9223372036854775807"}, bad_date(
        "from_date", "9223372036854775807", "invalid unix milliseconds timestamp '9223372036854775807'")),
    (REPLAY, {}, NEEDS_START),
    (REPLAY, {"from_id": None, "from_date": None}, NEEDS_START),
    (REPLAY, {"to_id": "3"}, NEEDS_START),
    (REPLAY, {"to_id": "x"}, NEEDS_START),
    (REPLAY, {"from_id": "1", "from_date": "0"}, BOTH_STARTS),
    (WATCH, {"from_id": "1", "from_date": "0"}, BOTH_STARTS),
    (REPLAY, {"from_id": "x", "from_date": "y"}, bad_id("from_id", "x")),
    (REPLAY, {"from_id": "1", "from_date": "y"}, bad_date("from_date", "y")),
    (REPLAY, {"from_id": "1", "to_id": "x", "to_date": "y"}, bad_id("to_id", "x")),
    (REPLAY, {"from_id": "1", "to_id": "1", "to_date": "y"}, bad_date("to_date", "y")),
    (REPLAY, {"from_id": "1", "to_id": "", "to_date": "0"},
     "to_id cannot be empty. Provide a valid sequence number or omit the field"),
    (REPLAY, {"from_id": "1", "to_id": "2", "to_date": "0"}, BOTH_ENDS),
    (REPLAY, {"from_id": "5", "to_id": "4"}, "to_id (4) must not be lower than from_id (5)"),
    (REPLAY, {"from_id": "1", "to_id": "0"}, "to_id (0) must not be lower than from_id (1)"),
    (REPLAY, {"from_date": "2026-01-01T00:00:00Z", "to_date": "2025-12-31T23:59:59.5Z"},
     "to_date (2025-12-31T23:59:59.500+00:00) must not be earlier than from_date (2026-01-01T00:00:00+00:00)"),
    (WATCH, {"to_id": "3"}, NO_END_HERE),
    (WATCH, {"to_date": "rubbish"}, NO_END_HERE),
    (WATCH, {"from_id": "x", "to_id": "3"}, bad_id("from_id", "x")),
    # Spatial filters are looked at before starts, and identifiers after them.
    (REPLAY, {"identifier": {"polygon": 1, "point": 2}, "from_id": "x"}, BOTH_SPATIAL),
    (REPLAY, {"identifier": {"point": "1"}, "from_id": "x"},
     "identifier.point must be a valid [lat,lon] coordinate pair or compatible string: "
     "Point must be in 'lat,lon' format"),
    (REPLAY, {"identifier": {"colour": "red"}, "from_id": "x"}, bad_id("from_id", "x")),
    (REPLAY, {"identifier": {"colour": "red", "number": "x"}, "from_id": "1"},
     "Unknown field 'colour' provided for replay operation"),
    (WATCH, {"identifier": {"zebra": "z", "ant": "a"}}, "Unknown field 'ant' provided for watch operation"),
    (WATCH, {"identifier": {"number": "x", "polygon": "()"}}, "Field 'number' must be a valid integer, got: 'x'"),
    (WATCH, {"event_type": "buoys", "identifier": {"point_cloud": [[1, 2]]}},
     "identifier.point_cloud is only supported for notify operations"),
    (WATCH, {"event_type": "buoys", "identifier": {"point": "1,2"}},
     "identifier.point is not supported for point-cloud schemas; use identifier.polygon"),
)  # fmt: skip


@asynchronous
async def test_what_is_wrong_first_is_told() -> None:
    """Starts, ends and filters, each alone and several at once; nothing of it opens a stream."""
    found = []
    async with running_service(configured()) as service:
        for path, members, message in REFUSED:
            code = "INVALID_WATCH_REQUEST" if path == WATCH else "INVALID_REPLAY_REQUEST"
            said = await refusal(service, of_storms(**members), path=path)
            if said != (400, code, message):
                found.append(f"{path} {members}: {said}\n    not {message}")
    assert not found, "\n".join(found)


# --- how much it sends -----------------------------------------------------------------------------------


def few(number: int) -> dict[str, Any]:
    """Return a notification of the event type of which one request may replay three."""
    return {"event_type": "few", "identifier": {"n": number}}


@asynchronous
async def test_one_request_is_sent_no_more_than_it_may(backend: Mapping[str, Any]) -> None:
    """What is counted is sent, not looked at; exactly as many as it may have are all there are (7.5)."""
    rows: dict[str, tuple[dict[str, object], list[int], bool]] = {
        "all": ({"from_id": "1"}, [1, 2, 3], False),
        "from the third on": ({"from_id": "3"}, [3, 4, 5], True),
        "all that a filter leaves": (
            {"from_id": "1", "identifier": {"n": {"in": [1, 3, 5]}}},
            [1, 3, 5],
            True,
        ),
        "most that a filter leaves": ({"from_id": "1", "identifier": {"n": {"gte": 2}}}, [2, 3, 4], False),
        "up to an end": ({"from_id": "1", "to_id": "3"}, [1, 2, 3], True),
        "beyond an end": ({"from_id": "1", "to_id": "4"}, [1, 2, 3], False),
        "none": ({"from_id": "1", "identifier": {"n": 9}}, [], True),
    }
    found = []
    async with running_service(configured(backend, watch_endpoint={"replay_batch_size": 1})) as service:
        await publish(service, (few(number) for number in ALL))
        for name, (members, sent, is_all) in rows.items():
            events = [f"replay few@{number}" for number in sent]
            body = {"event_type": "few", "identifier": {}, **members}
            frames = await all_frames(service, body)
            if kinds(frames) != [STARTED, *events, COMPLETED if is_all else LIMITED, CLOSED]:
                found.append(f"{name}: {kinds(frames)}")
            if "to_id" in members or is_all:
                continue
            watched = await all_frames(service, body, path=WATCH)
            if kinds(watched) != [STARTED, *events, LIMITED, CLOSED]:
                found.append(f"{name} on a watch: {kinds(watched)}")
    limited = {name: value for name, value in frames_of(watched, LIMITED).items() if name != "timestamp"}
    assert limited == {
        "max_allowed": 3,
        "message": "Historical replay limited to 3 messages. "
        "Additional historical messages may be available but were not retrieved.",
        "topic": "few.*",
        "type": "notification_replay_limit_reached",
    }
    assert not found, "\n".join(found)


def frames_of(frames: Iterable[Frame], kind: str) -> dict[str, Any]:
    """Return the data of the only frame of a kind."""
    (one,) = [frame.data for frame in frames if frame.kind == kind]
    return dict(one)


@asynchronous
async def test_a_limit_of_the_service_holds_where_the_schema_has_none(backend: Mapping[str, Any]) -> None:
    configuration = configured(backend, watch_endpoint={"max_historical_notifications": 2})
    async with running_service(configuration) as service:
        await publish(service, numbers(3))
        await publish(service, [few(number) for number in range(3)])
        assert kinds(await all_frames(service, of_storms(from_id="1")))[-2] == LIMITED
        assert kinds(await all_frames(service, of_storms(from_id="2")))[-2] == COMPLETED
        few_of_all = await all_frames(service, {"event_type": "few", "identifier": {}, "from_id": "1"})
        assert kinds(few_of_all)[-2] == COMPLETED


# --- what cannot be shown, or not be read ----------------------------------------------------------------


@asynccontextmanager
async def with_unreadable(backend: Mapping[str, Any]) -> AsyncIterator[Stored]:
    """Run a service whose log holds three storms, and between them two whose areas nobody can read."""
    async with running_with_log(configured(), configured(backend)["notification_backend"]) as stored:
        await publish(stored.service, numbers(1))
        await stored.log.append_all("cyclones", [_unreadable(2)])
        await publish(stored.service, [storm(3)])
        await stored.log.append_all("cyclones", [_unreadable(4)])
        await publish(stored.service, [storm(5)])
        yield stored


def _unreadable(number: int) -> Record:
    headers = {"spatial_bbox": "0,0,1,1", "spatial_geometry": "no polygon"}
    return Record(subject=f"cyclones.atlantic.{number}", payload=b"null", headers=headers)


@asynchronous
async def test_what_cannot_be_shown_leaves_a_word_in_its_place(backend: Mapping[str, Any]) -> None:
    """The stream goes on, it counts for no limit, and the metrics know; live as in history."""
    error = "error CloudEvent creation failed"
    async with with_unreadable(backend) as stored:
        frames = await all_frames(stored.service, of_storms(from_id="1"))
        async with streaming(stored.service.port, WATCH, of_storms()) as live:
            await live.next()
            await stored.log.append_all("cyclones", [_unreadable(6)])
            await publish(stored.service, [storm(7)])
            now = await live.take(2)
        assert stored.count("aviso_sse_stream_errors_total", route=REPLAY) == 2
        assert stored.count("aviso_sse_stream_errors_total", route=WATCH) == 1
        assert stored.count("aviso_sse_events_sent_total", route=REPLAY) == 3
        assert stored.count("aviso_sse_events_sent_total", route=WATCH) == 1
    storms = [f"replay storms@{number}" for number in (1, 3, 5)]
    assert kinds(frames) == [STARTED, storms[0], error, storms[1], error, storms[2], COMPLETED, CLOSED]
    assert frames[2].data == {
        "error": "CloudEvent creation failed",
        "message": "Failed to parse stored polygon metadata",
        "request_id": frames[0].data["request_id"],
        "sequence": 2,
        "topic": "cyclones.atlantic.2",
    }
    assert kinds(now) == [error, "live-notification storms@7"]
    assert now[0].data["sequence"] == 6


@asynchronous
async def test_events_of_no_schema_are_published_and_cannot_be_shown(backend: Mapping[str, Any]) -> None:
    """Their place is taken by a word that names their topic (8)."""
    configuration = {"notification_backend": backend, "logging": {"level": "warn"}}
    async with running_service(configuration) as service:
        await publish(service, [{"event_type": "anything", "identifier": {"a": "1", "b": "x y"}}])
        frames = await all_frames(
            service, {"event_type": "anything", "identifier": {"a": "1", "b": "x y"}, "from_id": "1"}
        )
    assert kinds(frames) == [STARTED, "error CloudEvent creation failed", COMPLETED, CLOSED]
    assert frames[1].data["message"] == "Failed to determine event type from topic"
    assert frames[1].data["topic"] == "anything.1.x y"


def test_a_broker_that_goes_away_ends_history_and_opens_no_stream(tmp_path: Path) -> None:
    """History ends with a word for it, before `replay_completed`; a stream that cannot be set up is a 500."""
    with running_server(tmp_path / "broker") as server:
        backend = jetstream(server.url)
        backend["jetstream"]["timeout_seconds"] = 1

        @asynchronous
        async def over() -> None:
            async with running_with_log(configured(backend), backend) as stored:
                service = stored.service
                # Much more than is sent ahead of a reader.
                await publish(service, [storm(number, payload="x" * 200_000) for number in range(40)])
                async with AsyncExitStack() as open_streams:
                    # Each reads by itself, and is carried in another way.
                    streams = [
                        await open_streams.enter_async_context(
                            streaming(
                                service.port,
                                path,
                                of_storms(from_id="1", identifier=identifier),
                                is_slow=True,
                            )
                        )
                        for path, identifier in ((REPLAY, {}), (WATCH, {"basin": "atlantic"}))
                    ]
                    for stream in streams:
                        await stream.next()
                    await asyncio.to_thread(server.kill)
                    await asyncio.gather(
                        *(history_fails(stream) for stream in streams),
                        setup_fails(stored, WATCH),
                    )

        over()


async def history_fails(stream: SseStream) -> None:
    """Read a stream to its end, which must be a failure."""
    frames = await stream.rest()
    assert kinds(frames)[-2:] == ["error stream_processing_failed", CLOSED]
    assert COMPLETED not in kinds(frames)
    assert len(frames) < 42
    assert frames[-2].data["topic"] == frames[-1].data["topic"]
    assert frames[-2].data["request_id"] == frames[-1].data["request_id"] == stream.headers["x-request-id"][0]


async def setup_fails(stored: Stored, path: str) -> None:
    """Ask for a stream that cannot be, and which counts as one that was asked for."""
    before = stored.count("aviso_sse_connections_total", route=path, event_type="storms")
    active = stored.count("aviso_sse_connections_active", route=path, event_type="storms")
    answer = await stored.service.ask("POST", path, of_storms(from_id="1", identifier={"basin": "x.y"}))
    assert answer.status == 500
    assert list(answer.json) == ["code", "details", "error", "message", "request_id", "topic"]
    assert answer.json["code"] == "SSE_STREAM_INITIALIZATION_FAILED"
    assert answer.json["error"] == "SSE stream creation failed"
    assert answer.json["topic"] == "cyclones.x.y.*"
    assert answer.json["request_id"] == answer.headers["x-request-id"]
    assert stored.count("aviso_sse_connections_total", route=path, event_type="storms") == before + 1
    assert stored.count("aviso_sse_connections_active", route=path, event_type="storms") <= active
