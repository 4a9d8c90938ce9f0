"""`POST /api/v1/replay` over real HTTP: where it starts and where it ends (contract 9 and 16.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from support.event_logs import asynchronous
from support.services import running_service
from support.sse import REPLAY, WATCH, Way, streaming
from support.watching import configured, kinds, numbers, of_storms, publish

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from support.services import Service
    from support.sse import Frame

STARTED: Final = "replay-control replay_started"
COMPLETED: Final = "replay-control replay_completed"
CLOSED: Final = "connection-closing end_of_stream"


async def all_frames(
    service: Service, body: object, *, path: str = REPLAY, way: Way = Way.PLAIN
) -> list[Frame]:
    """Return all frames of a stream that the service ends; no replay has heartbeats."""
    async with streaming(service.port, path, body, way=way) as stream:
        assert stream.status == 200, await stream.refusal()
        frames = await stream.rest()
        assert path == WATCH or b"event: heartbeat" not in b"".join(stream.pieces)
    return frames


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
