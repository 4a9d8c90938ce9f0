"""Administration over real HTTP, with a log in memory and on a broker."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import pytest

from aviso_core.eventlog.base import Record
from support.event_logs import asynchronous, payloads, read_all
from support.nats import running_server
from support.recordings import GUARDED, token
from support.services import IN_MEMORY
from support.stored import running_with_log, told

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from pathlib import Path

    from support.services import Answered, Service
    from support.stored import Stored

NOTIFICATION: Final = "/api/v1/admin/notification"
WIPE_STREAM: Final = "/api/v1/admin/wipe/stream"
WIPE_ALL: Final = "/api/v1/admin/wipe/all"
JSON: Final = {"Content-Type": "application/json"}
OPERATIONS: Final = "aviso_backend_operations_total"


def one_key(base: str) -> dict[str, Any]:
    """Return an event type."""
    return {
        "topic": {"base": base, "key_order": ["k"]},
        "identifier": {"k": {"type": "StringHandler", "required": True}},
        "payload": {"required": False},
    }


CONFIGURATION: Final[dict[str, Any]] = {
    "notification_schema": {"Runs": one_key("mars"), "storms": one_key("cyclones")}
}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    """Run a broker for one test: one that has removed streams may bring their entries back under the same names."""
    with running_server(tmp_path / "broker") as server:
        yield server.url


@pytest.fixture(params=["memory", "jetstream"])
def backend(request: pytest.FixtureRequest) -> Mapping[str, Any]:
    """Return the settings of an empty log."""
    if request.param == "memory":
        return IN_MEMORY
    url = request.getfixturevalue("broker")
    return on_broker(url)


def on_broker(url: str) -> dict[str, Any]:
    """Return the settings of a log on a broker, which is asked for again soon after it was away."""
    jetstream = {"nats_url": url, "storage_type": "memory", "reconnect_delay_ms": 100}
    return {"kind": "jetstream", "jetstream": jetstream}


async def notify(service: Service, name: str, *keys: str) -> None:
    """Store a notification for each key."""
    for key in keys:
        assert (await service.notify({"event_type": name, "identifier": {"k": key}})).status == 200


async def wipe(service: Service, name: str) -> Answered:
    """Wipe the stream that a name means."""
    return await service.ask("DELETE", WIPE_STREAM, {"stream_name": name}, headers=JSON)


def body_of(answer: Answered) -> list[object]:
    """Return an answer's status and its members in their order, of which the last is the request's id."""
    assert answer.headers["content-type"] == "application/json"
    *members, (last, request_id) = answer.json.items()
    assert (last, request_id) == ("request_id", answer.headers["x-request-id"])
    return [answer.status, *members]


# --- one notification ------------------------------------------------------------------------------------


def deletion(status: int, message: str, identity: str) -> list[object]:
    """Return the answer to a deletion."""
    return [status, ("success", status == 200), ("message", message), ("notification_id", identity)]


@pytest.mark.parametrize(
    ("path", "identity"),
    [
        ("Runs@2", "Runs@2"),
        ("runs@2", "runs@2"),
        ("mars@2", "mars@2"),
        ("MARS@2", "MARS@2"),
        ("Runs%40%32", "Runs@2"),
        ("%20Runs@+002%0A", " Runs@+002\n"),
    ],
)
@asynchronous
async def test_a_notification_is_deleted_by_its_id(
    path: str, identity: str, backend: Mapping[str, Any]
) -> None:
    """Its event type, the base or the stream, in any case; the id comes back as it was sent."""
    async with running_with_log(CONFIGURATION, backend) as stored:
        await notify(stored.service, "Runs", "a", "b", "c")
        await notify(stored.service, "storms", "a", "b", "c")
        answer = await stored.service.ask("DELETE", f"{NOTIFICATION}/{path}")
        assert body_of(answer) == deletion(200, "Notification deleted", identity)
        assert await stored.sequences("mars") == [1, 3]
        assert await stored.sequences("cyclones") == [1, 2, 3]


@asynchronous
async def test_what_is_not_there_cannot_be_deleted(backend: Mapping[str, Any]) -> None:
    """A second time, beyond what there is, of another stream, of none, of a name that no stream can have."""
    not_found = ("storms@2", "storms@3", "storms@18446744073709551615", "Runs@1", "nothing@1")
    impossible = ("storms%20@1", "a.b@1", "*@1", ">@1", "a%2Fb@1", "%00@1", "%FF@1", "$JS@1")
    async with running_with_log(CONFIGURATION, backend) as stored:
        await notify(stored.service, "storms", "a", "b")
        assert (await stored.service.ask("DELETE", f"{NOTIFICATION}/storms@2")).status == 200
        for path in (*not_found, *impossible):
            answer = await stored.service.ask("DELETE", f"{NOTIFICATION}/{path}")
            assert (answer.status, answer.json["message"]) == (404, "Notification not found"), path
        assert await stored.sequences("cyclones") == [1]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("storms", "notification_id must be in '<stream>@<sequence>' format"),
        ("%20", "notification_id must be in '<stream>@<sequence>' format"),
        ("@1", "notification_id must be in '<stream>@<sequence>' format"),
        ("storms@a@1", "notification_id sequence must be a positive integer"),
        ("storms@18446744073709551616", "notification_id sequence must be a positive integer"),
        ("storms@000", "notification_id sequence must be greater than zero"),
    ],
)
@asynchronous
async def test_what_is_no_id_is_told(path: str, message: str) -> None:
    """And nothing is asked of the log."""
    async with running_with_log(CONFIGURATION, IN_MEMORY) as stored:
        answer = await stored.service.ask("DELETE", f"{NOTIFICATION}/{path}")
        assert body_of(answer) == deletion(400, message, path.replace("%20", " "))
        assert stored.count(OPERATIONS, operation="delete_message") == 0


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("DELETE", NOTIFICATION, 404),
        ("DELETE", f"{NOTIFICATION}/", 404),
        ("DELETE", f"{NOTIFICATION}/a/storms@1", 404),
        ("DELETE", f"{NOTIFICATION}/storms@1/", 404),
        ("DELETE", f"{WIPE_ALL}/", 404),
        ("DELETE", "/api/v1/admin", 404),
        ("GET", f"{NOTIFICATION}/storms@1", 405),
        ("POST", WIPE_STREAM, 405),
        ("POST", WIPE_ALL, 405),
    ],
)
@asynchronous
async def test_other_paths_and_methods_remove_nothing(method: str, path: str, status: int) -> None:
    """They are answered without a body."""
    async with running_with_log(CONFIGURATION, IN_MEMORY) as stored:
        await notify(stored.service, "storms", "a")
        answer = await stored.service.ask(method, path, {"stream_name": "storms"}, headers=JSON)
        assert (answer.status, answer.body) == (status, b"")
        assert answer.headers.get("allow") == ("DELETE" if status == 405 else None)
        assert await stored.sequences("cyclones") == [1]


# --- one stream ------------------------------------------------------------------------------------------


def wiped(status: int, message: str) -> list[object]:
    """Return the answer to a wipe."""
    return [status, ("success", status == 200), ("message", message)]


@pytest.mark.parametrize("name", ["Runs", "RUNS", "mars", "Mars"])
@asynchronous
async def test_a_stream_is_wiped_by_its_name(name: str, backend: Mapping[str, Any]) -> None:
    """Its event type, the base or the stream, in any case. It counts on, and others keep what they have."""
    async with running_with_log(CONFIGURATION, backend) as stored:
        await notify(stored.service, "Runs", "a", "b")
        await notify(stored.service, "storms", "a", "b")
        assert body_of(await wipe(stored.service, name)) == wiped(200, f"Successfully wiped stream: {name}")
        assert await stored.sequences("mars") == []
        assert await stored.sequences("cyclones") == [1, 2]
        await notify(stored.service, "Runs", "a")
        assert await stored.sequences("mars") == [3]


@asynchronous
async def test_an_empty_stream_is_wiped_and_an_unknown_one_is_not_found(backend: Mapping[str, Any]) -> None:
    """An event type that nobody published is known all the same, and wiping twice is no mistake."""
    async with running_with_log(CONFIGURATION, backend) as stored:
        assert (await wipe(stored.service, "Runs")).status == 200
        await notify(stored.service, "Runs", "a")
        assert [(await wipe(stored.service, "Runs")).status for _ in range(2)] == [200, 200]
        for name in ("nothing", "", " Runs", "Runs@1", "Ru", "*", "a\nb", "x" * 100_000):
            message = f"Stream not found: {name}. Known event types: Runs, storms"
            assert body_of(await wipe(stored.service, name)) == wiped(404, message)


@asynchronous
async def test_streams_of_no_event_type_are_addressed_by_their_names(backend: Mapping[str, Any]) -> None:
    """Also under a name that no event type could have; without event types none are listed."""
    async with running_with_log({}, backend) as stored:
        await notify(stored.service, "any", "a")
        for payload in (b"1", b"2"):
            await stored.log.append("_weather", Record(subject="_weather.a.b", payload=payload))
        assert (await stored.service.ask("DELETE", f"{NOTIFICATION}/_WEATHER@2")).status == 200
        assert (await wipe(stored.service, "_Weather")).status == 200
        assert (await stored.log.bounds("_weather")).messages == 0
        assert await stored.sequences("any") == [1]
        assert (await wipe(stored.service, "ANY")).status == 200
        assert await stored.sequences("any") == []
        assert body_of(await wipe(stored.service, "nothing")) == wiped(404, "Stream not found: nothing")


@pytest.mark.parametrize(
    ("content", "content_type", "text"),
    [
        (b'{"stream_name":"storms"}', None, "Content type error"),
        (b'{"stream_name":"storms"}', "text/plain", "Content type error"),
        (b"", None, "Content type error"),
        (b"", "application/json", "Json deserialize error: "),
        (b"[", "application/json", "Json deserialize error: "),
        (b'["storms"]', "application/json", "Json deserialize error: "),
        (b'{"name":"storms"}', "application/json", "Json deserialize error: "),
        (b'{"stream_name":null}', "application/json; charset=utf-8", "Json deserialize error: "),
    ],
)
@asynchronous
async def test_a_body_that_names_no_stream_is_refused(
    content: bytes, content_type: str | None, text: str
) -> None:
    """In plain text, and nothing is asked of the log."""
    async with running_with_log(CONFIGURATION, IN_MEMORY) as stored:
        await notify(stored.service, "storms", "a")
        headers = {} if content_type is None else {"Content-Type": content_type}
        answer = await stored.service.ask("DELETE", WIPE_STREAM, content=content, headers=headers)
        assert answer.status == 400
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.body.decode().startswith(text)
        assert "connection" not in answer.headers
        assert await stored.sequences("cyclones") == [1]
        assert stored.count(OPERATIONS, operation="wipe_stream") == 0


@asynchronous
async def test_a_body_of_the_largest_size_is_taken() -> None:
    """Members that nobody asked for are no mistake, and JSON may be called by a longer name."""
    body = b'{"x":["%s"],"stream_name":"storms"}'
    padding = b" " * (2_097_152 - len(body) + 2)
    async with running_with_log(CONFIGURATION, IN_MEMORY) as stored:
        await notify(stored.service, "storms", "a")
        headers = {"Content-Type": "application/vnd.x+json", "Content-Encoding": "identity"}
        answer = await stored.service.ask("DELETE", WIPE_STREAM, content=body % padding, headers=headers)
        assert answer.status == 200
        assert await stored.sequences("cyclones") == []


@asynchronous
async def test_a_body_of_more_is_refused_while_it_is_read() -> None:
    """By its announced length, or by the byte that is too many; the connection is closed."""

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(33):
            yield b" " * 65_536

    async with running_with_log(CONFIGURATION, IN_MEMORY) as stored:
        announced = await stored.service.ask("DELETE", WIPE_STREAM, content=b" " * 2_097_153, headers=JSON)
        chunked = await stored.service.client.request("DELETE", WIPE_STREAM, content=pieces(), headers=JSON)
    text = "JSON payload (2097153 bytes) is larger than allowed (limit: 2097152 bytes)."
    assert (announced.status, announced.body.decode()) == (413, text)
    assert (chunked.status_code, chunked.text) == (413, "JSON payload has exceeded limit (2097152 bytes).")
    for headers in (announced.headers, chunked.headers):
        assert headers["content-type"] == "text/plain; charset=utf-8"
        assert headers["connection"] == "close"


# --- everything ------------------------------------------------------------------------------------------


@asynchronous
async def test_everything_is_wiped(backend: Mapping[str, Any]) -> None:
    """All streams are empty and count on; with nothing stored it is no mistake."""
    async with running_with_log(CONFIGURATION, backend) as stored:
        for _ in range(2):
            answer = await stored.service.ask("DELETE", WIPE_ALL)
            assert body_of(answer) == wiped(200, "Successfully wiped all data")
        for name in ("Runs", "storms"):
            await notify(stored.service, name, "a", "b")
        assert (await stored.service.ask("DELETE", WIPE_ALL)).status == 200
        assert [await stored.sequences(base) for base in ("mars", "cyclones")] == [[], []]
        await notify(stored.service, "storms", "a")
        assert await stored.sequences("cyclones") == [3]


class Writers:
    """Producers that go on while something else happens, and what they know of each notification."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._count = 0
        self._is_over = False
        self.acknowledged: list[int] = []
        self.has_begun = asyncio.Event()

    async def write(self) -> None:
        """Store one notification after the other."""
        while not self._is_over:
            self._count += 1
            number = self._count
            body = {"event_type": "storms", "identifier": {"k": str(number)}, "payload": number}
            assert (await self._service.notify(body)).status == 200
            self.acknowledged.append(number)
            if len(self.acknowledged) >= 100:
                self.has_begun.set()

    async def wait_more(self) -> int:
        """Return the number after which every notification begins after this moment, once there are many of them."""
        last = self._count
        self.has_begun.clear()
        self.acknowledged.clear()
        await self.has_begun.wait()
        return last

    def stop(self) -> None:
        """Let each of them end."""
        self._is_over = True


@pytest.mark.parametrize("path", [WIPE_STREAM, WIPE_ALL])
@asynchronous
async def test_a_wipe_takes_what_was_before_it_and_nothing_after(
    path: str, backend: Mapping[str, Any]
) -> None:
    """Others publish meanwhile: what was acknowledged before it is gone, what began after it is all there."""
    async with running_with_log(CONFIGURATION, backend) as stored:
        writers = Writers(stored.service)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(8):
                tasks.create_task(writers.write())
            await writers.has_begun.wait()
            before = set(writers.acknowledged)
            body = {"stream_name": "storms"}
            assert (await stored.service.ask("DELETE", path, body, headers=JSON)).status == 200
            last_before_answer = await writers.wait_more()
            writers.stop()
        kept = {int(payload) for payload in payloads(await read_all(stored.log, "cyclones"))}
    assert not kept & before
    assert {number for number in writers.acknowledged if number > last_before_answer} <= kept


# --- who may ---------------------------------------------------------------------------------------------

REFUSALS: Final = {
    None: (401, "Authorization header is required"),
    "garbage": (401, "Invalid or expired token"),
    "expired": (401, "Invalid or expired token"),
    "reader": (403, "User does not have required administrative role"),
    "writer": (403, "User does not have required administrative role"),
    "reader of another realm": (403, "User does not have required administrative role"),
    "operator": None,
}


@pytest.mark.parametrize("caller", REFUSALS)
@asynchronous
async def test_only_administrators_remove(caller: str | None) -> None:
    """All others are refused before anything is looked at: the id, the body, the path itself."""
    headers = {} if caller is None else {"Authorization": f"Bearer {token(caller)}"}
    requests: list[tuple[str, bytes]] = [
        (f"{NOTIFICATION}/free@1", b""),
        (f"{NOTIFICATION}/nonsense", b""),
        (WIPE_STREAM, b'{"stream_name":"free"}'),
        (WIPE_STREAM, b"nonsense"),
        (WIPE_ALL, b""),
        ("/api/v1/admin/nowhere", b""),
    ]
    async with running_with_log(GUARDED, IN_MEMORY) as stored:
        await notify(stored.service, "free", "a", "b")
        answers = [
            await stored.service.ask("DELETE", path, content=content, headers={**JSON, **headers})
            for path, content in requests
        ]
        left = await stored.sequences("free")
    refusal = REFUSALS[caller]
    if refusal is None:
        assert [answer.status for answer in answers] == [200, 400, 200, 400, 200, 404]
        assert left == []
        return
    status, message = refusal
    for answer in answers:
        assert (answer.status, answer.json["message"]) == (status, message)
        assert answer.headers.get_list("www-authenticate") == (["Bearer"] if status == 401 else [])
    assert left == [1, 2]


# --- what is counted and told ----------------------------------------------------------------------------


@asynchronous
async def test_what_is_removed_is_counted_and_told(
    backend: Mapping[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    """Each request is told when it comes and when it has ended; that something is not there is no error."""
    async with running_with_log(CONFIGURATION, backend) as stored:
        await notify(stored.service, "storms", "a", "b")
        for path in ("storms@1", "storms@1", "storms"):
            await stored.service.ask("DELETE", f"{NOTIFICATION}/{path}")
        for name in ("storms", "nothing"):
            await wipe(stored.service, name)
        await stored.service.ask("DELETE", WIPE_ALL)
        kind = backend["kind"]
        for operation, count in (("delete_message", 2), ("wipe_stream", 2), ("wipe_all", 1)):
            assert stored.count(OPERATIONS, backend=kind, operation=operation, outcome="ok") == count
            assert stored.count(OPERATIONS, backend=kind, operation=operation, outcome="error") == 0
        requests = "aviso_http_requests_total"
        assert stored.count(requests, route=f"{NOTIFICATION}/{{id}}", method="DELETE") == 3
        assert stored.count(requests, route=WIPE_STREAM, status_code="404") == 1
        assert stored.count(requests, route=WIPE_ALL, status_code="200") == 1
    records = told(capfd.readouterr().out, "admin.")
    assert [(record["event.name"], record["level"]) for record in records] == [
        ("admin.notification.delete.requested", "INFO"),
        ("admin.notification.delete.succeeded", "INFO"),
        ("admin.notification.delete.requested", "INFO"),
        ("admin.notification.delete.not_found", "WARN"),
        ("admin.notification.delete.requested", "INFO"),
        ("admin.notification.delete.invalid_id", "WARN"),
        ("admin.stream.wipe.requested", "INFO"),
        ("admin.stream.wipe.succeeded", "INFO"),
        ("admin.stream.wipe.requested", "INFO"),
        ("admin.stream.wipe.not_found", "WARN"),
        ("admin.all.wipe.requested", "INFO"),
        ("admin.all.wipe.succeeded", "INFO"),
    ]
    assert [record.get("notification_id", record.get("stream_name")) for record in records[::2]] == [
        "storms@1",
        "storms@1",
        "storms",
        "storms",
        "nothing",
        None,
    ]
    for record in records:
        assert (record["username"], record["auth_realm"]) == ("anonymous", "none")
        assert record["request_id"]


@asynchronous
async def test_the_administrator_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    """In every record of what was removed."""
    async with running_with_log(GUARDED, IN_MEMORY) as stored:
        headers = {"Authorization": f"Bearer {token('operator')}"}
        await stored.service.ask("DELETE", f"{NOTIFICATION}/free@1", headers=headers)
        await stored.service.ask("DELETE", WIPE_ALL, headers=headers)
    records = told(capfd.readouterr().out, "admin.")
    assert [(record["username"], record["auth_realm"]) for record in records] == [("ann", "main")] * 4


def test_a_broker_that_is_away_is_told_and_forgotten(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each request fails within its deadline, with the reason, and works once the broker is back."""

    async def remove(stored: Stored) -> tuple[Answered, ...]:
        return await asyncio.gather(
            stored.service.ask("DELETE", f"{NOTIFICATION}/storms@1"),
            wipe(stored.service, "storms"),
            stored.service.ask("DELETE", WIPE_ALL),
        )

    with running_server(tmp_path) as server:

        @asynchronous
        async def over() -> None:
            async with running_with_log(CONFIGURATION, on_broker(server.url)) as stored:
                await notify(stored.service, "storms", "a")
                await asyncio.to_thread(server.stop)
                failed = await remove(stored)
                assert [answer.status for answer in failed] == [500, 500, 500]
                for answer, what in zip(
                    failed, ("delete notification", "wipe stream", "wipe all data"), strict=True
                ):
                    assert answer.json["success"] is False
                    assert answer.json["message"].startswith(f"Failed to {what}: ")
                    assert len(answer.json["message"]) > len(f"Failed to {what}: ")
                for operation in ("delete_message", "wipe_stream", "wipe_all"):
                    assert stored.count(OPERATIONS, operation=operation, outcome="error") == 1
                await asyncio.to_thread(server.start)
                assert [answer.status for answer in await remove(stored)] == [404, 200, 200]

        over()
    failures = [record for record in told(capfd.readouterr().out, "admin.") if record["level"] == "ERROR"]
    assert sorted(record["event.name"] for record in failures) == [
        "admin.all.wipe.failed",
        "admin.notification.delete.failed",
        "admin.stream.wipe.failed",
    ]
    for record in failures:
        assert record["error.type"]
