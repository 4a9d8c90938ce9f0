"""A stream comes back after a longer pause than the service remembers ids for: it says so and repeats nothing."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

import pytest
import urllib3
from pyspark.errors import PySparkException

from support.http_faults import Refusal, running_fault_proxy
from support.nats import running_server
from support.spark_pipelines import announce, expected, write_lines
from support.spark_service import EVENT_TYPE, running_granules, stored_contents

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from support.services import Program

ROWS: Final = 3000
GROUP: Final = "outage"
_PATIENCE_SECONDS: Final = 30


@pytest.fixture
def forgetful(tmp_path: Path) -> Iterator[Program]:
    """Run a service that knows ids for two seconds."""
    with (
        running_server(tmp_path / "nats") as broker,
        running_granules(tmp_path, broker.url, duplicate_window="2s") as program,
    ):
        yield program


def test_a_stream_that_was_away_for_too_long_repeats_nothing_unless_that_is_accepted(
    spark: SparkSession, forgetful: Program, tmp_path: Path
) -> None:
    """What the option accepts does happen: the service has really forgotten the first body of the batch."""
    write_lines(tmp_path / "lines" / "all.txt", 0, ROWS)
    with running_fault_proxy(forgetful.url) as proxy:
        proxy.faults = [None, *[Refusal(400)] * 100]
        with pytest.raises(PySparkException, match=r"400|acceptRepeats"):
            announce(spark, url=proxy.url, folder=tmp_path, group=GROUP).awaitTermination()
    posted = set(stored_contents(forgetful.url, **{"class": GROUP}))
    assert 0 < len(posted) < ROWS
    make_older(tmp_path / "announced" / "offsets" / "0", seconds=60)
    wait_forgotten(forgetful)

    with pytest.raises(PySparkException, match=r"batch 0 was begun \d+ s ago.*for 2 s only.*'acceptRepeats'"):
        announce(spark, url=forgetful.url, folder=tmp_path, group=GROUP).awaitTermination()
    assert stored_contents(forgetful.url, **{"class": GROUP}) == Counter(posted)

    announce(spark, url=forgetful.url, folder=tmp_path, group=GROUP, acceptRepeats="true").awaitTermination()
    stored = stored_contents(forgetful.url, **{"class": GROUP})
    assert stored == Counter(expected(GROUP, ROWS)) + Counter(posted)


def make_older(offsets: Path, *, seconds: int) -> None:
    """Have a checkpoint say that its batch was begun so much earlier."""
    version, said, *more = offsets.read_text().split("\n")
    begun = json.loads(said)
    begun["batchTimestampMs"] -= seconds * 1000
    offsets.write_text("\n".join([version, json.dumps(begun), *more]))
    (offsets.parent / f".{offsets.name}.crc").unlink()


def wait_forgotten(service: Program) -> None:
    """Wait until the service takes an id again that it took when this began, and with it all that came before."""
    notification = {"event_type": EVENT_TYPE, "identifier": {"class": "probe", "name": "p"}, "id": "probe"}
    until = time.monotonic() + _PATIENCE_SECONDS
    taken = 0
    while taken < 2:
        answer = urllib3.request("POST", f"{service.url}/api/v1/notifications", json=[notification]).json()
        taken += answer["accepted"]
        assert time.monotonic() < until
        time.sleep(0.1)
