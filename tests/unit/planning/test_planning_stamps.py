"""Stamps are written into the metadata of a stream and read from there."""

from __future__ import annotations

import pytest

from aviso_core.schema.stamps import Stamps, read_stamps, stamped

STAMPS = Stamps(owner="weather/alerts", uid="1", event_type="alert", key_order=("region", "level"))


@pytest.mark.parametrize(
    "stamps",
    [STAMPS, Stamps(owner="a/b"), Stamps(owner="a/b", key_order=("x",), orphaned_at="2030-01-01T00:00:00Z")],
)
def test_what_is_stamped_is_read(stamps: Stamps) -> None:
    assert read_stamps(stamps.metadata()) == stamps


def test_they_are_readable_with_the_broker_s_own_tools() -> None:
    assert STAMPS.metadata() == {
        "aviso.dev/owner": "weather/alerts",
        "aviso.dev/uid": "1",
        "aviso.dev/event-type": "alert",
        "aviso.dev/key-order": "region,level",
    }


def test_nobody_has_stamped_what_has_no_owner() -> None:
    assert read_stamps({"aviso.dev/uid": "1", "_nats.ver": "2.15.1"}) is None


def test_new_stamps_take_the_place_of_all_old_ones_and_of_nothing_else() -> None:
    """Also of one that only another build knows: it was about the owner before."""
    before = {"_nats.ver": "2.15.1", "team": "ocean", "aviso.dev/orphaned-at": "x", "aviso.dev/later": "y"}
    assert stamped(before, STAMPS) == {"_nats.ver": "2.15.1", "team": "ocean"} | STAMPS.metadata()
