"""A driver is killed in the middle of a stream, of a table and of a copy, and another with fewer cores goes on.

The driver that is killed cuts its work for three cores, the one that goes on for two: the same rows are in other
partitions then, and at other places in them. Both are compared as sets with what was to be written, never as totals.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import pytest
import urllib3

from support.http_faults import Held, running_fault_proxy
from support.spark_pipelines import (
    BY_CONTENT,
    BY_PLACE,
    SMALL_SPLITS,
    announce_both_ways,
    copy,
    expected,
    write_lines,
    write_table,
)
from support.spark_programs import running_driver
from support.spark_service import COPIED_TYPE, stored_contents, stored_events
from support.spark_settings import SMALL

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from support.http_faults import Fault, Request
    from support.services import Program

STREAMED: Final = 20_000
WRITTEN: Final = 6000
COPIED: Final = 3000

SETTINGS: Final = {
    **SMALL,
    **SMALL_SPLITS,
    # All three pipelines run side by side, and each task that is held holds a core.
    "spark.master": "local[8]",
    "spark.default.parallelism": "3",
}


class Named(msgspec.Struct):
    """An identifier of these pipelines."""

    name: str
    class_: str = msgspec.field(name="class")


class Posted(msgspec.Struct):
    """As much of a line as tells whose it is."""

    identifier: Named


class Middle:
    """Lets each pipeline come to its middle, and holds it there: what they have posted then is stored."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.stream, self.table, self.copy = (threading.Event() for _ in range(3))
        # The names that the stream has notified of.
        self.streamed: set[str] = set()
        self._bodies = self._ranges = 0

    @property
    def reached(self) -> tuple[threading.Event, ...]:
        """What happens when each is in its middle."""
        return self.stream, self.table, self.copy

    def judge(self, request: Request) -> Fault:
        """Decide about a post."""
        if request.path.endswith("/replay"):
            # The first batch, and half of the ranges of the second.
            self._ranges += 1
            return None if self._ranges <= 6 else self._hold(self.copy, is_passed_on=False)
        posted = msgspec.json.Decoder(Posted).decode_lines(request.body)
        if posted[0].identifier.class_ == "table":
            self._bodies += 1
            return None if self._bodies <= 2 else self._hold(self.table, is_passed_on=self._bodies == 3)
        names = {one.identifier.name for one in posted}
        if self.streamed or not STREAMED // 4 < int(min(names)[1:]) < STREAMED // 2:
            # Partitions before and after the one that gets a first body through.
            return self._hold(threading.Event(), is_passed_on=False)
        self.streamed = names
        return self._hold(self.stream, is_passed_on=True)

    def _hold(self, reached: threading.Event, *, is_passed_on: bool) -> Held:
        return Held(reached, self.go_on, is_passed_on)


class Killed(NamedTuple):
    """What is left of a driver."""

    folder: Path
    middle: Middle


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory, service: Program) -> Killed:
    """Run three pipelines in a driver until each is in its middle, and kill it."""
    folder = tmp_path_factory.mktemp("pipelines")
    write_lines(folder / "stream" / "lines" / "all.txt", 0, STREAMED)
    write_lines(folder / "table" / "lines" / "all.txt", 0, WRITTEN)
    publish(service, 0, COPIED)
    pipelines = {
        "both-ways": folder / "stream",
        "table": folder / "table",
        "copy": folder / "copy",
    }
    middle = Middle()
    with running_fault_proxy(service.url) as proxy:
        proxy.judge = middle.judge
        with running_driver(url=proxy.url, settings=SETTINGS, pipelines=pipelines) as driver:
            driver.wait_reached(middle.reached)
            driver.kill()
        middle.go_on.set()
    return Killed(folder, middle)


def publish(service: Program, first: int, last: int) -> None:
    """Store notifications for the copy."""
    records = [
        {"event_type": COPIED_TYPE, "identifier": {"name": f"n{number:05}"}, "payload": {"of": number}}
        for number in range(first, last)
    ]
    answer = urllib3.request("POST", f"{service.url}/api/v1/notifications", json=records)
    assert answer.json()["accepted"] == len(records), answer.data


def once(contents: set[Any]) -> Counter[Any]:
    """Return what has all of this, nothing else, and nothing twice."""
    return Counter(contents)


def test_a_stream_goes_on_exactly_where_keys_of_places_lose_what_they_repeat(
    small_splits: SparkSession, service: Program, killed: Killed
) -> None:
    """One task had posted its first body. Ids of places make the right total out of the wrong rows."""
    before = stored_contents(service.url, **{"class": BY_CONTENT})
    assert {name for _, name, _ in before} == killed.middle.streamed

    announce_both_ways(small_splits, url=service.url, folder=killed.folder / "stream").awaitTermination()

    assert stored_contents(service.url, **{"class": BY_CONTENT}) == once(expected(BY_CONTENT, STREAMED))
    by_place = stored_contents(service.url, **{"class": BY_PLACE})
    lost = expected(BY_PLACE, STREAMED) - set(by_place)
    repeated = {name for (_, name, _), count in by_place.items() if count > 1}
    assert by_place.total() == STREAMED
    assert len(lost) == 1000
    assert repeated == killed.middle.streamed


def test_a_table_is_written_again_exactly(
    small_splits: SparkSession, service: Program, killed: Killed
) -> None:
    """Nothing of the first run is known to the second but what the service knows."""
    before = stored_contents(service.url, **{"class": "table"})
    assert 0 < before.total() < WRITTEN

    write_table(small_splits, url=service.url, folder=killed.folder / "table")

    assert stored_contents(service.url, **{"class": "table"}) == once(expected("table", WRITTEN))


def test_a_copy_goes_on_exactly_and_from_every_boundary_of_its_batches(
    spark: SparkSession, service: Program, killed: Killed
) -> None:
    """Some of what is published later comes before each of the next runs, which end by themselves."""
    folder = killed.folder / "copy"
    assert len(list((folder / "copied" / "commits").glob("[0-9]*"))) == 1

    for first in range(COPIED, COPIED + 150, 50):
        copy(spark, url=service.url, folder=folder).awaitTermination()
        publish(service, first, first + 50)
    copy(spark, url=service.url, folder=folder).awaitTermination()

    rows = spark.read.parquet(str(folder / "copy")).collect()
    copied = Counter((row["sequence"], row["identifier"]["name"], row["payload"]) for row in rows)
    stored = {
        (
            event["sequence"],
            event["data"]["identifier"]["name"],
            msgspec.json.encode(event["data"]["payload"]).decode(),
        )
        for event in stored_events(service.url, COPIED_TYPE)
    }
    assert len(stored) == COPIED + 150
    assert copied == once(stored)
