"""Events as streams show them: decoded once, compared once, rendered once."""

from __future__ import annotations

import json
from typing import Final

import pytest

from aviso_core.eventlog.base import Entry
from aviso_core.eventlog.entry import BAD_POLYGON, NO_EVENT_TYPE, POLYGON_HEADER
from aviso_core.instant import SECOND
from aviso_core.matching.matcher import Matcher
from aviso_stream_gateway.showing import Item, Showing
from support.catalogs import OPEN
from support.event_logs import asynchronous
from support.stream_parts import BASE_URL, CATALOG, HeldLog, announce, asked, entries_of

SHOWING: Final = Showing("places", CATALOG.get("places"), base_url=BASE_URL)
STORMS: Final = Showing("storms", OPEN.get("storms"), base_url=BASE_URL)


def _item(showing: Showing, subject: str, **members: object) -> Item:
    entry = Entry(sequence=7, instant=1000 * SECOND, subject=subject, payload=b"{}")
    item = showing.read(Entry(**{name: getattr(entry, name) for name in entry.__struct_fields__} | members))
    assert item is not None
    return item


def test_an_event_is_a_cloud_event() -> None:
    item = _item(SHOWING, "places.here.1")
    data = item.cloud_event(show_actor=False)
    assert data is not None
    assert json.loads(data) == {
        "data": {"identifier": {"place": "here", "step": "1"}, "payload": {}},
        "datacontenttype": "application/json",
        "dataschema": "http://localhost:8000/schema/places",
        "id": "places@7",
        "sequence": 7,
        "source": "http://localhost:8000",
        "specversion": "1.0",
        "time": "1970-01-01T00:16:40Z",
        "type": "int.ecmwf.aviso.places",
    }
    assert (item.sequence, item.failure, item.topic) == (7, "", "places.here.1")


def test_it_is_rendered_and_compared_once() -> None:
    item = _item(SHOWING, "places.here.1")
    assert item.cloud_event(show_actor=False) is item.cloud_event(show_actor=False)
    assert item.candidate is item.candidate
    matcher = Matcher(asked(identifier={"place": "here"}).selection.filter)
    assert matcher.selects(item.candidate)
    other = Matcher(asked(identifier={"place": "there"}).selection.filter)
    assert not other.selects(item.candidate)


@asynchronous
async def test_who_wrote_it_is_shown_to_whom_it_may_be() -> None:
    """Where nobody is known to have, both are the same bytes."""
    log = HeldLog()
    await announce(log, actor="main:ann")
    await announce(log)
    known, unknown = (SHOWING.read(entry) for entry in await entries_of(log))
    assert known is not None
    assert unknown is not None
    shown, hidden = known.cloud_event(show_actor=True), known.cloud_event(show_actor=False)
    assert shown is not None
    assert hidden is not None
    assert json.loads(shown) == json.loads(hidden) | {"actor": "main:ann"}
    assert b"actor" not in hidden
    assert unknown.cloud_event(show_actor=True) is unknown.cloud_event(show_actor=False)


def test_a_shape_that_cannot_be_read_says_so() -> None:
    """It is an event all the same, which filters that ask for no shape select."""
    item = _item(STORMS, "storms.indian.2026.1.20%2E0", headers={POLYGON_HEADER: "[[0,0]]"})
    assert item.cloud_event(show_actor=False) is None
    assert item.failure == BAD_POLYGON
    assert item.topic == "storms.indian.2026.1.20.0"
    matcher = Matcher(
        asked(event_type="storms", catalog=OPEN, identifier={"basin": "indian"}).selection.filter
    )
    assert matcher.selects(item.candidate)


def test_an_event_without_a_schema_cannot_be_shown() -> None:
    """Contract section 8: generic events can be published, but not usefully watched."""
    item = _item(Showing("anything", None, base_url=BASE_URL), "anything.a.b")
    assert item.cloud_event(show_actor=True) is None
    assert item.failure == NO_EVENT_TYPE
    matcher = Matcher(asked(event_type="anything", identifier={"x": "a", "y": "*"}).selection.filter)
    assert matcher.selects(item.candidate)


@pytest.mark.parametrize(
    ("showing", "subject"),
    [
        (SHOWING, "places.here"),
        (SHOWING, "places.here.1.2"),
        (SHOWING, "places.here.%zz"),
        (Showing("anything", None, base_url=BASE_URL), "anything.%zz"),
    ],
)
def test_what_is_no_event_of_this_type_is_left_out(showing: Showing, subject: str) -> None:
    """Somebody else wrote it below the same base; it must not end anybody's stream."""
    assert showing.read(Entry(sequence=1, instant=0, subject=subject, payload=b"")) is None
