"""The released client, unchanged: listening, replaying and resuming, by its Python interface and by its command."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import socket
import subprocess
import sysconfig
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx
import pyaviso
import pytest

from support.event_logs import asynchronous
from support.nats import running_server
from support.services import HOST, IN_MEMORY, running_avisod
from support.watching import configured, jetstream, storm

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from support.services import Program

COMMAND: Final = Path(sysconfig.get_path("scripts")) / "aviso"
PATIENCE_SECONDS: Final = 15.0
FAR: Final = "(50,50,50,60,60,60,60,50,50,50)"
_FOLDERS: Final = itertools.count()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the client a home without files, and no variables of its own."""
    for name in os.environ:
        if name.startswith("AVISO_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


def free_port() -> int:
    """Return a port that nobody has now."""
    with socket.create_server((HOST, 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@contextmanager
def serving(folder: Path, backend: Mapping[str, Any], *, port: int = 0) -> Iterator[Program]:
    """Run `avisod` in a folder of its own, over a log that may have been there before."""
    own = folder / f"service-{next(_FOLDERS)}"
    own.mkdir()
    settings = configured(
        backend, application={"port": port}, streams={"drain_seconds": 1}, logging={"level": "info"}
    )
    with running_avisod(own, settings) as program:
        yield program


async def notify(program: Program, *notifications: Mapping[str, Any]) -> None:
    """Publish, one after the other."""
    async with httpx.AsyncClient(base_url=program.url) as client:
        for one in notifications:
            answer = await client.post("/api/v1/notification", json=one)
            assert answer.status_code == 200, answer.text


async def watched(program: Program, count: int) -> None:
    """Wait until so many watches have been opened, which the client does not tell."""
    latest = time.monotonic() + PATIENCE_SECONDS
    while program.output.read_text().count("api.watch.stream.established") < count:
        assert time.monotonic() < latest, f"there are no {count} watches"
        await asyncio.sleep(0.02)


async def take(listening: AsyncIterator[pyaviso.Notification], count: int) -> list[int]:
    """Return the numbers of the next events."""
    return [(await anext(listening)).sequence for _ in range(count)]


async def all_of(listening: AsyncIterator[pyaviso.Notification]) -> list[int]:
    """Return the numbers of all events up to the end."""
    return [one.sequence async for one in listening]


# --- listening and replaying -----------------------------------------------------------------------------

FILTERS: Final[tuple[tuple[dict[str, Any] | None, list[int]], ...]] = (
    (None, [1, 2, 3, 4]),
    ({"basin": "atlantic"}, [1, 2, 4]),
    ({"basin": "atlantic", "number": {"gte": 2}}, [2, 4]),
    ({"number": {"in": [1, 3]}}, [1, 3]),
    ({"polygon": "(12,22,12,24,14,24,14,22,12,22)"}, [1, 2, 3]),
    ({"polygon": [[12, 22], [12, 24], [14, 24], [14, 22], [12, 22]], "number": 3}, [3]),
    ({"point": "55,55"}, [4]),
    ({"point": [13, 23], "basin": "atlantic"}, [1, 2]),
)
PUBLISHED: Final = (
    storm(1, payload={"name": "x"}),
    storm(2),
    storm(3, basin="pacific"),
    {"event_type": "storms", "identifier": {"basin": "atlantic", "number": 4, "polygon": FAR}},
)


def test_the_client_listens_and_replays(tmp_path: Path, backend: Mapping[str, Any]) -> None:
    """With filters, areas and points, each live and in history; the same events, with all that is in them."""

    @asynchronous
    async def over(program: Program) -> None:
        client = pyaviso.AsyncAvisoClient(base_url=program.url)
        listening = [client.listen("storms", filter=one) for one, _ in FILTERS]
        async with asyncio.TaskGroup() as tasks:
            taking = [
                tasks.create_task(take(one, len(numbers)))
                for one, (_, numbers) in zip(listening, FILTERS, strict=True)
            ]
            await watched(program, len(FILTERS))
            await notify(program, *PUBLISHED)
        assert [task.result() for task in taking] == [numbers for _, numbers in FILTERS]
        for one, (wanted, numbers) in zip(listening, FILTERS, strict=True):
            await one.aclose()
            replay = client.listen("storms", filter=wanted, start_from=0, mode="replay_only")
            assert await all_of(replay) == numbers
        (event,) = [one async for one in client.listen("storms", start_from=0, until=1, mode="replay_only")]
        assert (event.event_type, event.payload) == ("storms", {"name": "x"})
        assert event.identifier["number"] == "1"
        assert event.identifier["polygon"][0] == [10.0, 20.0]

    with serving(tmp_path, backend) as program:
        over(program)


# Where from and to, as the client says it: an integer start is what was seen last.
SPANS: Final[tuple[tuple[int | str, int | str | None, Sequence[int]], ...]] = (
    (0, None, range(1, 6)),
    (3, None, (4, 5)),
    (5, None, ()),
    (99, None, ()),
    ("2001-01-01T00:00:00Z", None, range(1, 6)),
    ("2999-01-01T00:00:00Z", None, ()),
    (0, 3, (1, 2, 3)),
    (1, 2, (2,)),
    (2, 99, (3, 4, 5)),
    (0, "2999-01-01T00:00:00Z", range(1, 6)),
    (0, "2001-01-01T00:00:00Z", ()),
    ("2001-01-01T00:00:00Z", 2, (1, 2)),
    ("2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z", range(1, 6)),
)


def test_the_client_replays_from_every_start_to_every_end(tmp_path: Path, backend: Mapping[str, Any]) -> None:
    """And a watch from a start goes on with what is stored then."""

    @asynchronous
    async def over(program: Program) -> None:
        await notify(program, *(storm(number) for number in range(1, 6)))
        client = pyaviso.AsyncAvisoClient(base_url=program.url)
        found = []
        for start, until, expected in SPANS:
            numbers = await all_of(client.listen("storms", start_from=start, until=until, mode="replay_only"))
            if numbers != list(expected):
                found.append(f"{start} to {until}: {numbers}")
        assert not found, "\n".join(found)
        async with client.listen("storms", start_from=3) as listening:
            assert await take(listening, 2) == [4, 5]
            await notify(program, storm(6))
            assert await take(listening, 1) == [6]

    with serving(tmp_path, backend) as program:
        over(program)


def test_the_client_is_told_of_gaps_and_refusals(tmp_path: Path, backend: Mapping[str, Any]) -> None:
    """A limit, and a number that is missing, end its listening with an error that says what is missing."""

    def everything(client: pyaviso.AvisoClient) -> None:
        for number in range(5):
            client.notify(event_type="few", identifier={"n": number})
            client.notify(**storm(number))
        with pytest.raises(pyaviso.HistoryGapError) as limited:
            list(client.listen("few", start_from=0, mode="replay_only"))
        assert (limited.value.reason, limited.value.max_allowed) == ("replay_limit_reached", 3)
        client.delete_notification("storms@3")
        with pytest.raises(pyaviso.HistoryGapError) as jumped:
            list(client.listen("storms", start_from=0, mode="replay_only"))
        assert (jumped.value.reason, jumped.value.expected, jumped.value.observed) == ("sequence_jump", 3, 4)
        filtered = client.listen("storms", filter={"basin": "atlantic"}, start_from=0, mode="replay_only")
        assert [one.sequence for one in filtered] == [1, 2, 4, 5]
        for wanted, code in (
            ({"colour": "red"}, "INVALID_WATCH_REQUEST"),
            ({"point": "x"}, "INVALID_WATCH_REQUEST"),
        ):
            with pytest.raises(pyaviso.HttpError) as refused:
                next(iter(client.listen("storms", filter=wanted)))
            assert (refused.value.status, json.loads(refused.value.body)["code"]) == (400, code)

    with serving(tmp_path, backend) as program, pyaviso.AvisoClient(base_url=program.url) as client:
        everything(client)


# --- resuming --------------------------------------------------------------------------------------------


def test_the_client_resumes_where_it_was(tmp_path: Path) -> None:
    """After a process that was killed and one that was stopped: nothing is missing, and nothing comes twice.

    An unfiltered listener would notice a gap by itself; a filtered one is compared here.
    """
    with running_server(tmp_path / "broker") as broker:
        backend = jetstream(broker.url)
        port = free_port()

        @asynchronous
        async def over() -> None:
            client = pyaviso.AsyncAvisoClient(base_url=f"http://{HOST}:{port}")
            listening = [client.listen("storms"), client.listen("storms", filter={"number": {"gte": 1}})]
            for how, begin in ((signal.SIGKILL, 1), (signal.SIGTERM, 4), (None, 7)):
                with serving(tmp_path, backend, port=port) as program:
                    if begin == 1:
                        first = [asyncio.ensure_future(take(one, 3)) for one in listening]
                        await watched(program, 2)
                    # What is stored before they are back is history to them.
                    await notify(program, *(storm(number) for number in range(begin, begin + 3)))
                    taken = first if begin == 1 else [take(one, 3) for one in listening]
                    assert await asyncio.gather(*taken) == [[*range(begin, begin + 3)]] * 2
                    if how is not None:
                        program.process.send_signal(how)
                        await asyncio.to_thread(program.process.wait, PATIENCE_SECONDS)

        over()


def test_the_client_goes_on_with_a_log_that_was_lost(tmp_path: Path) -> None:
    """One in memory begins anew with its process: what is stored then is sent, whatever was asked for."""
    port = free_port()

    @asynchronous
    async def over() -> None:
        client = pyaviso.AsyncAvisoClient(base_url=f"http://{HOST}:{port}")
        listening = client.listen("storms", filter={"basin": "atlantic"})
        with serving(tmp_path, IN_MEMORY, port=port) as program:
            taking = asyncio.ensure_future(take(listening, 2))
            await watched(program, 1)
            await notify(program, storm(1), storm(2))
            assert await taking == [1, 2]
            program.process.kill()
            await asyncio.to_thread(program.process.wait, PATIENCE_SECONDS)
        with serving(tmp_path, IN_MEMORY, port=port) as program:
            taking = asyncio.ensure_future(take(listening, 1))
            await watched(program, 1)
            await notify(program, storm(1))
            assert await taking == [1]

    over()


# --- the command -----------------------------------------------------------------------------------------


def aviso(program: Program, *arguments: str) -> list[dict[str, Any]]:
    """Run the command to its end, and return what it printed."""
    ran = subprocess.run(
        [str(COMMAND), "--base-url", program.url, *arguments, "--json"],
        check=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    return [json.loads(line) for line in ran.stdout.splitlines()]


def numbers_of(printed: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the numbers of what was printed."""
    return [one["sequence"] for one in printed]


def test_the_command_listens_and_replays(tmp_path: Path) -> None:
    """As people type it."""
    of_storms = ("--event", "storms", "--identifier", "basin=atlantic")
    with serving(tmp_path, IN_MEMORY) as program:
        command = [str(COMMAND), "--base-url", program.url, "listen", *of_storms, "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as listening:
            try:
                assert listening.stdout is not None
                asyncio.run(watched(program, 1))
                asyncio.run(notify(program, *PUBLISHED))
                told = [json.loads(listening.stdout.readline()) for _ in range(3)]
            finally:
                listening.terminate()
        assert numbers_of(told) == [1, 2, 4]
        assert told[0]["payload"] == {"name": "x"}
        assert told[0]["identifier"]["number"] == "1"
        assert numbers_of(aviso(program, "replay", *of_storms, "--from", "0")) == [1, 2, 4]
        assert numbers_of(aviso(program, "replay", *of_storms, "--from", "1", "--until", "2")) == [2]
        assert numbers_of(aviso(program, "replay", *of_storms, "--from", "2001-01-01")) == [1, 2, 4]
