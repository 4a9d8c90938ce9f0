"""Records as they are written: their form, who they name, what is taken out, what libraries say."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.errors import Unavailable
from aviso_core.plain.secret import REDACTED, Secret
from aviso_core.settings.model import Logging
from aviso_http.records.context import RequestContext, request_context
from aviso_http.records.counts import RecordCounts
from aviso_http.records.log import Log
from aviso_http.records.open import open_records
from aviso_http.records.output import LineWriter
from aviso_http.records.recorder import Recorder
from aviso_http.records.resource import describe_process
from support.records import RESOURCE, written_records

if TYPE_CHECKING:
    from collections.abc import Callable

log = Log("aviso_ingest.notify")

SECONDS = 20.0


def _recorder(lines: list[bytes], *, room: Callable[[], bool] = lambda: True) -> Recorder:
    """Return a recorder whose time stands still and whose lines go to a list."""

    class Lines(LineWriter):
        def __init__(self) -> None:
            self.lost = 0

        def put(self, line: bytes, at_once: bool = False) -> bool:
            if room():
                lines.append(line)
                return True
            return False

    return Recorder(resource=RESOURCE, output=Lines(), counts=RecordCounts(), clock=lambda: 1_700_000_000.9)


def _write(recorder: Recorder, body: str = "b", level: int = 20, **attributes: object) -> None:
    recorder.write(level, "aviso_ingest.notify", "e", body, attributes, "/opt/src/aviso_ingest/notify.py", 7)


# --- the form --------------------------------------------------------------------------------------------


def test_a_record_is_one_line_in_the_form_of_the_contract() -> None:
    """The members, their order and their types are fixed; what is not known is left out."""
    lines: list[bytes] = []
    recorder = _recorder(lines)
    recorder.write(
        20,
        "aviso_ingest.notify",
        "api.notification.processed",
        "notification stored",
        {"event_type": "mars", "topic": "mars.a%2Eb.1", "param_count": 3, "spatial_enabled": False},
        "/opt/venv/lib/python3.11/site-packages/aviso_ingest/notify.py",
        99,
    )
    assert lines == [
        b'{"timestamp":"2023-11-14T22:13:20Z","severityText":"INFO","severityNumber":9,'
        b'"body":"notification stored",'
        b'"resource":{"service.name":"aviso-server","service.version":"9.9"},'
        b'"attributes":{"event.name":"api.notification.processed","event_type":"mars",'
        b'"topic":"mars.a%2Eb.1","param_count":3,"spatial_enabled":false,'
        b'"code.target":"aviso_ingest.notify","code.filepath":"aviso_ingest/notify.py","code.lineno":99}}\n'
    ]


@pytest.mark.parametrize(
    ("level", "text", "number"),
    [
        (1, "TRACE", 1),
        (5, "TRACE", 1),
        (10, "DEBUG", 5),
        (19, "DEBUG", 5),
        (20, "INFO", 9),
        (30, "WARN", 13),
        (40, "ERROR", 17),
        (50, "ERROR", 17),
    ],
)
def test_levels_have_the_numbers_of_the_contract(level: int, text: str, number: int) -> None:
    lines: list[bytes] = []
    _write(_recorder(lines), level=level)
    record = json.loads(lines[0])
    assert (record["severityText"], record["severityNumber"]) == (text, number)


@pytest.mark.parametrize(
    ("environ", "resource"),
    [
        ({}, {}),
        ({"HOSTNAME": "h"}, {"k8s.pod.name": "h"}),
        ({"HOSTNAME": "h", "K8S_POD_NAME": "p"}, {"k8s.pod.name": "p"}),
        ({"K8S_NAMESPACE_NAME": "n", "K8S_POD_NAME": ""}, {"k8s.namespace.name": "n"}),
    ],
)
def test_the_resource_says_which_process_it_is(environ: dict[str, str], resource: dict[str, str]) -> None:
    service = {"service.name": "aviso-server", "service.version": "1.0"}
    assert describe_process(environ, version="1.0") == service | resource


_anything = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.just(Secret("x"))
    ),
    lambda inner: st.one_of(
        st.lists(inner), st.dictionaries(st.text(), inner), st.tuples(inner), st.sets(st.text())
    ),
    max_leaves=8,
)


@given(
    st.text(),
    st.dictionaries(st.text(), _anything, max_size=4),
    st.text(st.characters(categories=["L", "Cs", "Cc", "Zs"])),
)
def test_anything_can_be_said(body: str, attributes: dict[str, object], username: str) -> None:
    """Whatever a caller hands over, one line of valid JSON comes out, and nothing is raised."""
    lines: list[bytes] = []
    token = request_context.set(RequestContext(request_id="r", username=username))
    try:
        _recorder(lines).write(20, "t", "e", body, attributes, "f.py", 1)
    finally:
        request_context.reset(token)
    (line,) = lines
    assert line.count(b"\n") == 1
    assert len(line.decode().splitlines()) == 1
    record = msgspec.json.decode(line)
    assert {"event.name", "request_id", "username", "code.lineno"} <= record["attributes"].keys()


def test_a_record_that_is_too_long_is_cut() -> None:
    """Its name and its place stay; how long it was is said."""
    lines: list[bytes] = []
    _write(_recorder(lines), body="b" * 300_000, topic="t" * 300_000, many=["x" * 100] * 1000)
    (line,) = lines
    record = json.loads(line)
    assert len(line) < 8192
    assert record["attributes"]["event.name"] == "e"
    assert record["attributes"]["topic"] == "t" * 1024
    assert record["attributes"]["log.cut_bytes"] > 600_000


# --- who asks --------------------------------------------------------------------------------------------


def test_records_outside_of_a_request_name_nobody() -> None:
    with written_records() as records:
        log.info("startup.done", "ready")
    assert not {"request_id", "username", "auth_realm"} & records[0]["attributes"].keys()
    assert "traceId" not in records[0]


@pytest.mark.parametrize(
    ("username", "realm", "shown"),
    [
        (None, None, ("anonymous", "none")),
        ("ann", None, ("ann", "none")),
        ("ann", "main", ("ann", "main")),
        ("Bearer horse-battery", "main", (f"Bearer {REDACTED}", "main")),
    ],
)
def test_records_of_a_request_name_who_asks(
    username: str | None, realm: str | None, shown: tuple[str, str]
) -> None:
    context = RequestContext(
        request_id="r-1", username=username, realm=realm, trace_id="a" * 32, span_id="b" * 16
    )
    with written_records() as records:
        token = request_context.set(context)
        log.info("e", "b", request_id="forged")
        logging.getLogger("some.library").warning("also while serving")
        request_context.reset(token)
    for record in records:
        attributes = record["attributes"]
        assert (attributes["username"], attributes["auth_realm"]) == shown
        assert (record["traceId"], record["spanId"]) == ("a" * 32, "b" * 16)
    assert records[1]["attributes"]["request_id"] == "r-1"


def test_the_context_follows_a_request_into_its_tasks_and_no_further() -> None:
    async def serve(request_id: str) -> None:
        request_context.set(RequestContext(request_id=request_id))
        await asyncio.sleep(0)
        log.info("e", request_id)

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            for number in range(5):
                tasks.create_task(serve(f"r-{number}"))

    with written_records() as records:
        asyncio.run(main())
        log.info("e", "after")
    assert [record["attributes"].get("request_id") for record in records[:-1]] == [
        r["body"] for r in records[:-1]
    ]
    assert "request_id" not in records[-1]["attributes"]


# --- secrets ---------------------------------------------------------------------------------------------


def test_secrets_are_taken_out_wherever_they_stand() -> None:
    with written_records() as records:
        log.info(
            "e",
            "asked https://ann:horse@host with Bearer horse",
            jwt_secret="horse",
            settings={"ecpds": {"password": Secret("horse"), "servers": ["https://u:horse@one"]}},
            reason="got token=horse",
        )
        logging.getLogger("library").warning("sent %r", {"Authorization": "Basic horse"})
        log.warning("e", "failed", error=Unavailable("nats://u:horse@broker is gone"))
    assert len(records) == 3
    assert "horse" not in records.text
    assert records.text.count(REDACTED) == 8


def test_ordinary_texts_stay_as_they_are() -> None:
    """Also those that have to be looked at."""
    texts = {"a": "12:30", "b": "x=1", "c": "ä\nb", "d": "the bearer", "e": "https://h/p?q", "f": "z\u00a0"}
    with written_records() as records:
        log.info("e", "b", **texts)
    assert records[0]["attributes"].items() >= texts.items()


# --- levels and libraries --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "written"),
    [
        ("trace", ["trace", "debug", "info", "warning", "error"]),
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("warn", ["warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_the_configured_level_holds_for_us_and_for_libraries(level: str, written: list[str]) -> None:
    library = logging.getLogger("library")
    with written_records(Logging(level=level)) as records:
        for name in ("trace", "debug", "info", "warning", "error"):
            getattr(log, name)("e", name)
        library.debug("library debug")
        library.info("library info")
        library.warning("library warning")
        library.error("library error")
    ours = [record["body"] for record in records if record["attributes"]["code.target"] == log.name]
    theirs = [record["body"] for record in records if record["attributes"]["code.target"] == "library"]
    assert ours == written
    assert theirs == [f"library {name}" for name in written if name != "trace"]


def test_what_would_print_headers_is_quiet() -> None:
    """An HTTP client tells of every request at the level of information, and below that of its credentials."""
    with written_records(Logging(level="trace")) as records:
        logging.getLogger("httpx").info("HTTP Request: GET …")
        logging.getLogger("httpcore.http11").debug("send_request_headers …")
        logging.getLogger("httpx").warning("broken")
    assert [record["body"] for record in records] == ["broken"]


def test_a_record_of_a_library_has_the_same_form() -> None:
    with written_records() as records:
        logging.getLogger("uvicorn.error").info("Started server process [%d]", 7)
    (record,) = records
    assert record["body"] == "Started server process [7]"
    assert record["attributes"]["event.name"] == "library.message"
    assert record["attributes"]["code.target"] == "uvicorn.error"
    assert record["attributes"]["code.filepath"].endswith("test_records.py")


@pytest.mark.parametrize(
    ("extra", "event", "more"),
    [
        (
            {"event": "backend.connection.lost", "attributes": {"secret": "x", "n": 1}},
            "backend.connection.lost",
            {"secret": REDACTED, "n": 1},
        ),
        ({"event": "e"}, "e", {}),
        ({"event": 5, "attributes": "a"}, "library.message", {}),
    ],
)
def test_code_of_ours_names_its_event_through_the_standard_library(
    extra: dict[str, object], event: str, more: dict[str, object]
) -> None:
    with written_records() as records:
        logging.getLogger("aviso_core.broker.connection").warning("it is lost", extra=extra)
    (record,) = records
    attributes = record["attributes"]
    assert attributes.pop("event.name") == event
    assert {key: value for key, value in attributes.items() if not key.startswith("code.")} == more


def test_a_library_that_cannot_format_its_text_is_heard_all_the_same() -> None:
    wrong = logging.LogRecord("library", logging.INFO, __file__, 1, "%d of %d", ("one",), None)
    with written_records() as records:
        logging.root.handlers[-1].handle(wrong)
    assert records[0]["body"] == "%d of %d ('one',)"


def test_a_record_names_the_place_in_the_code() -> None:
    with written_records() as records:
        log.info("e", "b")
    code = records[0]["attributes"]
    assert code["code.target"] == "aviso_ingest.notify"
    assert code["code.filepath"].endswith("tests/unit/observability/test_records.py")
    source = Path(__file__).read_text().splitlines()
    assert source[code["code.lineno"] - 1].strip() == 'log.info("e", "b")'


def test_afterwards_logging_is_as_it_was() -> None:
    before = logging.root.level, list(logging.root.handlers), logging.getLogger("httpx").level
    with written_records(Logging(level="trace")):
        pass
    assert (logging.root.level, logging.root.handlers, logging.getLogger("httpx").level) == before


def test_without_our_handler_records_are_ordinary_ones(caplog: pytest.LogCaptureFixture) -> None:
    """So that nothing is lost before records are opened, and tests can look at them."""
    log.warning("e", "100 % done", topic="t")
    (record,) = caplog.records
    assert record.getMessage() == "100 % done"
    assert (record.name, record.funcName) == (
        "aviso_ingest.notify",
        "test_without_our_handler_records_are_ordinary_ones",
    )
    assert record.__dict__["event"] == "e"
    assert record.__dict__["attributes"] == {"topic": "t"}


# --- errors ----------------------------------------------------------------------------------------------


def test_an_error_raised_on_purpose_is_told_without_a_traceback() -> None:
    with written_records() as records:
        log.error("e", "b", error=Unavailable("the broker is gone"))
    attributes = records[0]["attributes"]
    assert attributes["error.type"] == "aviso_core.errors.Unavailable"
    assert attributes["exception.message"] == "the broker is gone"
    assert "exception.stacktrace" not in attributes


def test_a_bug_brings_its_traceback() -> None:
    with written_records() as records:
        try:
            {}["key"]  # type: ignore[index]  # that is the bug
        except KeyError as error:
            log.error("e", "b", error=error)
            log.warning("e", "b", error=error)
            logging.getLogger("library").exception("it failed")
    for record in (records[0], records[2]):
        assert record["attributes"]["error.type"] == "KeyError"
        assert "test_a_bug_brings_its_traceback" in record["attributes"]["exception.stacktrace"]
    assert "exception.stacktrace" not in records[1]["attributes"]


# --- dropping --------------------------------------------------------------------------------------------


def test_the_next_record_says_how_many_are_missing() -> None:
    """Once, and what could not be said because that record was dropped as well is said by a later one."""
    lines: list[bytes] = []
    room = True
    recorder = _recorder(lines, room=lambda: room)
    _write(recorder)
    room = False
    for _ in range(3):
        _write(recorder)
    room = True
    _write(recorder)
    _write(recorder)
    missing = [json.loads(line)["attributes"].get("log.dropped_records") for line in lines]
    assert missing == [None, 3, None]
    assert recorder._counts.dropped == 3


def test_what_could_not_be_written_is_counted() -> None:
    counts = RecordCounts()
    reader, writer = os.pipe()
    os.close(reader)
    with open_records(Logging(), resource={}, counts=counts, descriptor=writer):
        log.error("e", "nobody reads this")
        handler = logging.root.handlers[-1]
        output = handler.recorder._output  # type: ignore[attr-defined]  # what is looked at
        assert output.flush(seconds=SECONDS)
        log.error("e", "nor this")
        assert output.flush(seconds=SECONDS)
    os.close(writer)
    assert counts.dropped >= 1


def test_many_threads_may_log_at_once() -> None:
    def say() -> None:
        for number in range(200):
            log.info("e", "b", n=number)

    with written_records() as records:
        threads = [threading.Thread(target=say) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(records) == 8 * 200
