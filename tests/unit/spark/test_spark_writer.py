"""The writers without a JVM: what a task posts, what commit and abort report, and what is refused beforehand."""

from __future__ import annotations

import asyncio
import json
import pickle
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
import pytest

from pyspark_aviso.encode import Encoder
from pyspark_aviso.options import OptionError, read_options
from pyspark_aviso.posting import RowsRejected
from pyspark_aviso.reports import report
from pyspark_aviso.resuming import (
    DEFAULT_WINDOW_SECONDS,
    WINDOW_HEADER,
    Point,
    RepeatsPossible,
    read_point,
    window_seconds,
)
from pyspark_aviso.transport import Client, TransportError
from pyspark_aviso.writer import Task, Work, batch_writer, scope_of, stream_writer
from support.http_faults import LostAnswer, Refusal
from support.http_server import answering, running_http_server
from support.spark_service import EVENT_TYPE, stored_events, stored_names

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.http_faults import FaultProxy
    from support.http_server import Behaviour
    from support.services import Program

COLUMNS = ("identifier", "payload")


def rows(group: str, names: list[str], payload: str | None = None) -> pa.RecordBatch:
    """Return a batch of a group of this test's own."""
    identifiers = [[("class", group), ("name", name)] for name in names]
    columns = [
        pa.array(identifiers, pa.map_(pa.string(), pa.string())),
        pa.array([payload] * len(names), pa.string()),
    ]
    return pa.record_batch(columns, names=list(COLUMNS))


def work(url: str, *, names: tuple[str, ...] = COLUMNS, point: Point | None = None, **options: str) -> Work:
    """Return a write with these options."""
    given = {"url": url, "eventType": EVENT_TYPE, **options}
    return Work(read_options(given, "write"), names, point)


NAMES = [f"n{place:03}" for place in range(250)]


def test_a_task_posts_all_rows_in_bounded_bodies_and_counts_them(proxy: FaultProxy, avisod: Program) -> None:
    """However Spark has cut its batches."""
    batches = [rows("all", NAMES[:180]), rows("all", NAMES[180:])]

    tally = work(proxy.url, batchRecords="100").write(batches, Task()).tally

    assert (tally.rows, tally.accepted, tally.requests) == (250, 250, 3)
    assert sorted(stored_names(avisod.url, **{"class": "all"})) == NAMES


def test_a_task_that_is_repeated_after_lost_answers_stores_nothing_twice(
    proxy: FaultProxy, avisod: Program
) -> None:
    """The first attempt ends in the middle; the second cuts its bodies elsewhere."""
    proxy.faults = [None, LostAnswer(), *[Refusal(400)] * 10]
    with pytest.raises(TransportError):
        work(proxy.url, batchRecords="100", inFlight="1").write([rows("again", NAMES)], Task())
    proxy.faults = []

    tally = work(proxy.url, batchRecords="70").write([rows("again", NAMES)], Task(attempt=1)).tally

    assert tally.rows == tally.accepted + tally.duplicate == len(NAMES)
    assert tally.duplicate == 200
    assert sorted(stored_names(avisod.url, **{"class": "again"})) == NAMES


def test_lines_are_posted_as_they_are(avisod: Program) -> None:
    """What SQL has encoded; a row without a line is a row that is refused."""
    encoder = Encoder(COLUMNS, event_type=EVENT_TYPE, scope="", geometry_field="polygon")
    lines = [line.decode() for line in encoder.encode(rows("lines", NAMES)).good]
    batch = pa.record_batch([pa.array([*lines[:100], None, *lines[100:]])], names=["value"])

    tally = work(avisod.url, names=("value",), onReject="count").write([batch], Task()).tally

    assert (tally.rows, tally.accepted, tally.rejected) == (251, 250, 1)
    assert sorted(stored_names(avisod.url, **{"class": "lines"})) == NAMES


def test_a_rejected_row_fails_the_task_and_says_why(avisod: Program) -> None:
    """Nothing is skipped unseen."""
    with pytest.raises(RowsRejected, match="'onReject' to 'count'") as refusal:
        work(avisod.url).write([rows("bad", ["x" * 5000])], Task())

    assert "the subject is 5013 bytes" in str(refusal.value)


def test_a_row_that_is_not_even_posted_is_named_by_its_identifier(avisod: Program) -> None:
    """It has no id."""
    with pytest.raises(RowsRejected, match=r"field 'payload' of a row with the identifier .*\"name\":\"a\""):
        work(avisod.url).write([rows("bad", ["a"], payload="{")], Task())


@pytest.mark.parametrize("payload", ["no json", '{},"id":"another"'])
def test_rejected_rows_are_counted_where_that_is_asked_for(avisod: Program, payload: str) -> None:
    """With some of them as examples."""
    batches = [rows("counted", NAMES[:3]), rows("counted", NAMES[3:20], payload=payload)]

    tally = work(avisod.url, onReject="count").write(batches, Task()).tally

    assert (tally.rows, tally.rejected) == (20, 17)
    assert len(tally.rejections) == 10
    assert tally.rejections[0].field == "payload"
    assert tally.rejections[0].identifier == '{"class":"counted","name":"n003"}'


@pytest.mark.parametrize(
    ("options", "task", "scope"),
    [
        ({}, Task(), ""),
        ({"idScope": "run-7"}, Task(), "run-7"),
        ({}, Task(query_id="q", batch_id=3), "q/3"),
        ({"idScope": ""}, Task(query_id="q", batch_id=3), ""),
    ],
)
def test_ids_are_made_within_the_batch_of_a_stream_or_what_the_user_says(
    options: Any, task: Task, scope: str
) -> None:
    """A batch has none of its own: the same content is not announced twice."""
    assert scope_of(work("http://h", **options).options, task) == scope


def test_a_write_travels_to_its_tasks_and_back(avisod: Program) -> None:
    """Spark pickles the writer and what a task returns."""
    writer = pickle.loads(pickle.dumps(batch_writer(work(avisod.url).options, COLUMNS, overwrite=False)))  # noqa: S301 (our own)

    written = pickle.loads(pickle.dumps(writer.write(iter([rows("travel", NAMES[:2])]))))  # noqa: S301 (our own)

    assert written.tally.accepted == 2


@pytest.mark.parametrize(
    "payload", ["[" * 2000 + "]" * 2000, '"' + "x" * 300_000 + '"'], ids=["deep", "large"]
)
def test_a_row_that_nobody_can_take_is_rejected_alone(avisod: Program, payload: str) -> None:
    """It is nested too deeply to be read, or larger than a notification may be."""
    group = str(len(payload))
    batches = [rows(group, ["a"], payload=payload), rows(group, ["b"])]

    tally = work(avisod.url, onReject="count").write(batches, Task()).tally

    assert (tally.rows, tally.accepted, tally.rejected) == (2, 1, 1)


# --- reports ---------------------------------------------------------------------------------------------


def test_commit_and_abort_report_what_is_known_of_tasks(avisod: Program, tmp_path: Path) -> None:
    """Of a task that did not end there is nothing but that."""
    wanted = work(avisod.url, report=str(tmp_path / "reports" / "run.json"))
    written = [wanted.write([rows("report", names)], Task()) for names in (NAMES[:10], NAMES[5:20])]
    writer = batch_writer(wanted.options, COLUMNS, overwrite=False)

    writer.commit(written)
    said: dict[str, Any] = json.loads((tmp_path / "reports" / "run.json").read_text())
    assert (said["outcome"], said["rows"], said["accepted"], said["duplicate"]) == ("written", 25, 20, 5)

    writer.abort([written[0], None])
    said = json.loads((tmp_path / "reports" / "run.json").read_text())
    assert (said["outcome"], said["tasks"], said["unfinished_tasks"], said["rows"]) == ("aborted", 2, 1, 10)


def test_a_stream_reports_each_batch_in_a_file_of_its_own(tmp_path: Path) -> None:
    """One would replace the other."""
    options = work("http://h", report=str(tmp_path)).options

    report(options, [], outcome="written", batch_id=0)
    report(options, [None], outcome="aborted", batch_id=1)

    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "batch-000000000.json",
        "batch-000000001.json",
    ]


def test_a_place_for_the_report_that_cannot_be_written_is_refused_before_anything_is_posted(
    tmp_path: Path,
) -> None:
    """Nothing of the probe is left where it can be."""
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "run.json", tmp_path):
        with pytest.raises(OptionError, match=r"option 'report': .* cannot be written .* name a file"):
            batch_writer(work("http://h", report=str(place)).options, COLUMNS, overwrite=False)
    of_stream = work("http://h", report=str(tmp_path / "file"), acceptRepeats="true").options
    writer = stream_writer(of_stream, COLUMNS, overwrite=False)
    with pytest.raises(OptionError, match="option 'report'"):
        writer.write(iter([rows("unreported", ["a"])]))
    # Spark makes another one to commit with.
    writer.commit([], 0)

    batch_writer(work("http://h", report=str(tmp_path / "run.json")).options, COLUMNS, overwrite=False)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_a_report_that_cannot_be_written_afterwards_is_told_and_fails_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What was posted is posted, and a stream would end with the same error for ever."""
    options = work("http://h", report=str(tmp_path / "run.json")).options
    writer = batch_writer(options, COLUMNS, overwrite=False)
    (tmp_path / "run.json").mkdir()

    writer.commit([])
    writer.abort([None])

    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 2
    assert all(one.startswith("option 'report': ") for one in told)
    assert '"outcome":"written"' in told[0]
    assert '"outcome":"aborted"' in told[1]


# --- what is refused beforehand --------------------------------------------------------------------------


def test_a_log_is_not_overwritten() -> None:
    """The mode is refused before anything runs."""
    with pytest.raises(OptionError, match=r"mode\('append'\)"):
        batch_writer(work("http://h").options, COLUMNS, overwrite=True)


def test_columns_are_checked_before_anything_runs() -> None:
    """By their names."""
    with pytest.raises(ValueError, match="column 'colour'"):
        batch_writer(work("http://h").options, ("identifier", "colour"), overwrite=False)


def test_a_stream_without_a_known_checkpoint_is_refused() -> None:
    """Nobody could tell how old a point it resumes from."""
    with pytest.raises(OptionError, match="checkpointLocation"):
        stream_writer(work("http://h").options, COLUMNS, overwrite=False)
    stream_writer(work("http://h", acceptRepeats="true").options, COLUMNS, overwrite=False)


# --- old points ------------------------------------------------------------------------------------------


def checkpoint(folder: Path, *, begun: int, ended: int, made_at: float) -> str:
    """Write what Spark writes of batches, as far as it is read."""
    for name, count in (("offsets", begun), ("commits", ended)):
        (folder / name).mkdir()
        for batch in range(count):
            said = {"batchWatermarkMs": 0, "batchTimestampMs": int(made_at * 1000)}
            (folder / name / str(batch)).write_text(f'v1\n{json.dumps(said)}\n{{"logOffset":0}}')
            (folder / name / f".{batch}.crc").write_bytes(b"x")
    return str(folder)


def test_the_point_of_a_checkpoint_is_the_batch_that_was_begun_and_not_ended(tmp_path: Path) -> None:
    """With the time at which it was begun first."""
    place = checkpoint(tmp_path, begun=12, ended=11, made_at=1000)

    assert read_point(place, now=5000) == Point(11, 1000, 5000)
    assert read_point(f"file://{place}", now=5000) == Point(11, 1000, 5000)


@pytest.mark.parametrize("count", [0, 3])
def test_a_checkpoint_in_which_all_is_done_has_no_point(tmp_path: Path, count: int) -> None:
    """Nor has one that does not exist yet."""
    place = checkpoint(tmp_path, begun=count, ended=count, made_at=1000) if count else str(tmp_path / "none")

    assert read_point(place, now=5000) is None


def test_a_checkpoint_that_python_cannot_reach_is_refused_with_the_remedy() -> None:
    """Rather than to go on without knowing."""
    with pytest.raises(OptionError, match="acceptRepeats"):
        read_point("nowhere://host/checkpoint", now=0)


@pytest.mark.parametrize("names", [COLUMNS, ("value",)])
def test_a_batch_from_before_the_duplicate_window_is_refused_before_anything_is_posted(
    proxy: FaultProxy, names: tuple[str, ...]
) -> None:
    """The service says how long it knows ids again."""
    now = time.time()
    old = Point(7, now - 130, now)
    batch = rows("old", ["a"])
    if names == ("value",):
        encoder = Encoder(COLUMNS, event_type=EVENT_TYPE, scope="", geometry_field="polygon")
        lines = [line.decode() for line in encoder.encode(batch).good]
        batch = pa.record_batch([pa.array(lines)], names=["value"])

    with pytest.raises(
        RepeatsPossible, match=r"batch 7 was begun 130 s ago.*for 120 s only.*'acceptRepeats'"
    ):
        work(proxy.url, names=names, point=old).write([batch], Task(batch_id=7))

    assert not proxy.posts


def test_a_line_that_is_none_has_no_window_and_is_the_services_to_refuse(avisod: Program) -> None:
    """Of an attempt that repeats something all event types are looked up."""
    now = time.time()
    batch = pa.record_batch([pa.array(["{\n", '{"identifier":{}}\n'])], names=["value"])
    again = work(avisod.url, names=("value",), point=Point(None, now - 5, now - 5), onReject="count")

    tally = again.write([batch], Task(attempt=1)).tally

    assert (tally.rows, tally.rejected) == (2, 2)


@pytest.mark.parametrize(
    ("made", "planned", "attempt", "is_refused"),
    [
        # First run of a batch that takes long: nothing of it was posted before.
        (300, 299, 0, False),
        # Its task is tried again, after what it posted first was forgotten.
        (300, 299, 1, True),
        # Resumed within the window, with the time that a request may take.
        (40, 0, 0, False),
        (70, 0, 0, True),
        # Resumed in time, but this task comes only now.
        (300, 200, 0, True),
    ],
)
def test_only_what_may_have_been_posted_too_long_ago_is_refused(
    avisod: Program, made: int, planned: int, attempt: int, is_refused: bool
) -> None:
    """Ages in seconds before now; the window is 120 s, and a request takes 60 s at most."""
    now = time.time()
    task = Task(attempt=attempt, query_id=f"{made}-{planned}-{attempt}", batch_id=1)
    wanted = work(avisod.url, point=Point(1, now - made, now - planned))

    if is_refused:
        with pytest.raises(RepeatsPossible):
            wanted.write([rows("ages", ["a"])], task)
    else:
        assert wanted.write([rows("ages", ["a"])], task).tally.accepted == 1


def test_a_later_batch_than_the_one_that_was_resumed_is_not_judged_by_its_age(avisod: Program) -> None:
    """Spark may keep the writer."""
    now = time.time()

    tally = (
        work(avisod.url, point=Point(1, now - 1000, now))
        .write([rows("later", ["a"])], Task(batch_id=2))
        .tally
    )

    assert tally.accepted == 1


def test_every_body_of_a_task_is_judged_by_its_own_age(proxy: FaultProxy) -> None:
    """A task may be busy for long between two of them."""
    now = time.time()

    def slowly() -> Iterator[pa.RecordBatch]:
        nonlocal now
        yield rows("slow", ["a"])
        now += 3600
        yield rows("slow", ["b"])

    resumed = work(proxy.url, point=Point(7, now - 30, now))
    with pytest.raises(RepeatsPossible, match="batch 7 was begun 3630 s ago"):
        resumed.write(slowly(), Task(batch_id=7), clock=lambda: now)

    assert len(proxy.posts) == 1
    asked = [request.path for request in proxy.requests if request.method == "GET"]
    assert asked == [f"/api/v1/schema/{EVENT_TYPE}"]


@pytest.mark.parametrize(("begun", "ended"), [(0, 0), (3, 3)])
def test_a_task_that_is_tried_again_is_judged_also_where_nothing_is_resumed(
    proxy: FaultProxy, tmp_path: Path, begun: int, ended: int
) -> None:
    """Of a stream that is new, or has done all that it began."""
    place = checkpoint(tmp_path, begun=begun, ended=ended, made_at=1000)
    options = work(proxy.url, checkpointLocation=place).options
    tasks = stream_writer(options, COLUMNS, overwrite=False)._work
    soon, later = time.time() + 5, time.time() + 300

    assert (
        tasks.write([rows(f"new-{begun}", ["a"])], Task(batch_id=begun), clock=lambda: later).tally.accepted
        == 1
    )
    again = Task(attempt=1, batch_id=begun)
    assert tasks.write([rows(f"new-{begun}", ["a"])], again, clock=lambda: soon).tally.duplicate == 1
    with pytest.raises(RepeatsPossible, match="this write was begun 300 s ago"):
        tasks.write([rows(f"new-{begun}", ["a"])], again, clock=lambda: later)


def test_a_task_of_a_later_batch_that_is_tried_again_is_judged_by_that_batch(avisod: Program) -> None:
    """It was begun when the writer was planned, and not with the batch that was resumed."""
    now = time.time()
    resumed = work(avisod.url, point=Point(7, now - 1000, now))
    again = Task(attempt=3, batch_id=8)

    assert resumed.write([rows("next", ["a"])], again, clock=lambda: now + 5).tally.accepted == 1
    with pytest.raises(RepeatsPossible, match="batch 8 was begun 300 s ago"):
        resumed.write([rows("next", ["a"])], again, clock=lambda: now + 300)


# --- lines -----------------------------------------------------------------------------------------------


def test_lines_without_an_end_are_notifications_of_their_own(avisod: Program) -> None:
    """So a text file is read."""
    encoder = Encoder(COLUMNS, event_type=EVENT_TYPE, scope="", geometry_field="polygon")
    lines = [line.decode().rstrip("\n") for line in encoder.encode(rows("ends", NAMES[:3])).good]
    batch = pa.record_batch([pa.array([lines[0], lines[1] + "\n", lines[2] + "\r\n"])], names=["value"])

    tally = work(avisod.url, names=("value",)).write([batch], Task()).tally

    assert (tally.rows, tally.accepted) == (3, 3)
    assert sorted(stored_names(avisod.url, **{"class": "ends"})) == NAMES[:3]


@pytest.mark.parametrize(
    "bad",
    [b"", b" ", b"\n", b"{}\n{}\n", b"{}\r{}", b"\xff\n"],
    ids=["empty", "blank", "end", "two", "cr", "bytes"],
)
def test_a_value_that_is_not_one_line_is_a_row_that_is_refused(avisod: Program, bad: bytes) -> None:
    """It must not become two notifications, or a part of the next."""
    encoder = Encoder(COLUMNS, event_type=EVENT_TYPE, scope=repr(bad), geometry_field="polygon")
    (good,) = encoder.encode(rows("one", ["a"])).good
    batch = pa.record_batch([pa.array([bad, good], pa.binary()).view(pa.string())], names=["value"])

    tally = work(avisod.url, names=("value",), onReject="count").write([batch], Task()).tally

    assert (tally.rows, tally.accepted, tally.rejected) == (2, 1, 1)
    assert tally.rejections[0].field == "value"


# --- what is written is what is stored -------------------------------------------------------------------


def test_texts_numbers_and_nulls_arrive_as_they_were(avisod: Program) -> None:
    """Also integers that no float can hold."""
    payload = '{"text":"é 😀 \\" \\\\ \\n","large":123456789012345678901234567890,"nothing":null,"real":1.10}'

    work(avisod.url).write([rows("exact", ["é-😀"], payload=payload)], Task())

    (event,) = stored_events(avisod.url, **{"class": "exact"})
    assert event["data"]["identifier"] == {"class": "exact", "name": "é-😀"}
    assert event["data"]["payload"] == json.loads(payload)


# --- the window ------------------------------------------------------------------------------------------


def test_the_service_says_how_long_it_knows_ids_again(avisod: Program) -> None:
    """In seconds, beside the schema of the event type."""
    assert Client(avisod.url).get_header(f"/api/v1/schema/{EVENT_TYPE}", WINDOW_HEADER) == "120"


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (answering(200, {}, Duplicate_Window="7200"), 7200),
        (answering(200, {}), DEFAULT_WINDOW_SECONDS),
        (answering(404, {}), DEFAULT_WINDOW_SECONDS),
    ],
    ids=["said", "not said", "no such type"],
)
def test_a_window_that_nobody_says_is_the_default_one(answer: Behaviour, seconds: float) -> None:
    """An undeclared event type has no schema, and a log like any other."""

    async def ask() -> float:
        async with running_http_server(answer) as server:
            return await asyncio.to_thread(window_seconds, Client(server.url), "a type/b")

    assert asyncio.run(ask()) == seconds
