"""What the data source understands of the service's positions, from a service that runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyspark_aviso.positions import (
    Held,
    NoSuchEventType,
    instant_of,
    read_position,
    read_positions,
    seek,
)
from pyspark_aviso.transport import Client
from support.published import published

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.published import Published


@pytest.fixture(scope="module")
def service() -> Iterator[Published]:
    """Return a service with some events of one type, of which the first is gone, and none of the others."""
    with published("maps", "runs", "a/b c") as running:
        running.publish("maps", range(5))
        running.delete("maps", 1)
        yield running


@pytest.fixture
def client(service: Published) -> Iterator[Client]:
    """Return a client."""
    made = Client(service.url)
    yield made
    made.close()


def test_positions_are_what_the_logs_hold(client: Client) -> None:
    """Of those that are asked for, in their order, or of all."""
    found = read_positions(client)
    assert list(found) == ["a/b c", "maps", "runs"]
    assert list(read_positions(client, ["runs", "maps"])) == ["runs", "maps"]
    maps, runs = found["maps"], found["runs"]
    assert maps is not None
    assert (maps.first, maps.last, maps.messages, bool(maps.epoch)) == (2, 5, 4, True)
    assert runs is not None
    assert (runs.first, runs.last, runs.last_time) == (1, 0, None)
    assert read_position(client, "maps") == maps


def test_a_name_may_have_any_characters(client: Client) -> None:
    """A slash in it begins no other path."""
    assert read_position(client, "a/b c") == read_positions(client)["a/b c"]
    assert seek(client, "a/b c", "2020-01-01 00:00:00+00:00").at == 1


def test_an_unknown_event_type_is_told_with_those_there_are(client: Client) -> None:
    """Whether it is not declared, or may not be read, the service does not tell."""
    with pytest.raises(NoSuchEventType, match=r"'nope'.*there are: a/b c, maps, runs"):
        read_positions(client, ["maps", "nope"])


def test_a_date_is_found(client: Client, service: Published) -> None:
    """As the first sequence of that time or later, or the next to come."""
    times = [event["time"] for event in service.cloud_events("maps")]
    assert [seek(client, "maps", time).at for time in times] == [2, 3, 4, 5]
    assert seek(client, "maps", "2100-01-01T00:00:00Z").at == 6


def test_a_date_before_all_that_is_held_may_have_lost_something(client: Client, service: Published) -> None:
    """Unless nothing was ever removed, or nothing was stored since."""
    times = [event["time"] for event in service.cloud_events("maps")]
    assert seek(client, "maps", "0").may_have_lost("0")
    assert seek(client, "maps", times[0]).may_have_lost(times[0])
    assert not seek(client, "maps", times[1]).may_have_lost(times[1])
    assert not seek(client, "maps", "2100-01-01").may_have_lost("2100-01-01")
    assert not seek(client, "runs", "0").may_have_lost("0")


@pytest.mark.parametrize(("date", "may_have_lost"), [("2030-01-02", True), ("2030-01-04", False)])
def test_an_emptied_log_has_lost_what_was_stored_since(date: str, may_have_lost: bool) -> None:
    """It tells when that was for the last time."""
    emptied = Held(epoch="a", first=9, last=8, last_time="2030-01-03T00:00:00.123456789Z", at=9)
    assert emptied.may_have_lost(date) is may_have_lost


@pytest.mark.parametrize(
    "text",
    [
        "2030-01-31T06:00:00Z",
        "2030-01-31 07:00:00+01:00",
        " 2030-01-31T06:00:00 ",
        "1896069600",
        "1896069600000",
        "2030-01-31T06:00:00.000000000Z",
    ],
)
def test_dates_are_what_the_service_takes_them_for(text: str) -> None:
    """By the calendar, with or without an offset, or since 1970."""
    assert instant_of(text).isoformat() == "2030-01-31T06:00:00+00:00"
