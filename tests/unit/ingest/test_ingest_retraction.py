"""What a retraction must say of the thing that it takes back, and what is stored of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.errors import Refusal, UnknownEventType
from aviso_core.eventlog.base import Entry
from aviso_core.eventlog.entry import Origin, read_entry
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.polygon import PolygonField
from aviso_core.fields.real import RealField
from aviso_core.fields.text import TextField
from aviso_core.matching.candidate import CandidateMaker
from aviso_core.matching.filter import read_selection
from aviso_core.matching.index import Index
from aviso_core.matching.matcher import Matcher
from aviso_core.request import RequestBody
from aviso_core.schema.catalog import build_catalog
from aviso_core.schema.model import PayloadRules, Schema, Topic
from aviso_http.access.open import OpenAccess
from aviso_ingest.intake import ANNOUNCE, take
from aviso_ingest.retraction import RETRACT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_core.event import Event
    from aviso_core.schema.catalog import Catalog
    from aviso_ingest.intake import Act, Taken

STORMS: Final = Schema(
    event_type="storms",
    topic=Topic(base="cyclones", key_order=("basin", "number")),
    fields=(
        TextField(name="basin"),
        IntegerField(name="number", default="1"),
        RealField(name="wind"),
        TextField(name="status", default="active"),
        PolygonField(name="polygon"),
    ),
    payload=PayloadRules(required=True),
)
CATALOG: Final = build_catalog([STORMS])
NOTHING_DECLARED: Final = build_catalog(None)
RING: Final = "(10,20,10,30,20,30,20,20,10,20)"
WHOLE: Final[dict[str, Any]] = {
    "basin": "atlantic",
    "number": 7,
    "wind": 55.5,
    "status": "x",
    "polygon": RING,
}
KEY: Final[dict[str, Any]] = {"basin": "atlantic", "number": 7}


def taken(
    act: Act,
    identifier: Mapping[str, Any],
    *,
    event_type: str = "storms",
    catalog: Catalog = CATALOG,
    **members: Any,
) -> Taken:
    """Return what the intake makes of a body where anybody may do anything."""
    body = RequestBody(event_type=event_type, identifier=dict(identifier), **members)
    return take(body, catalog=catalog, access=OpenAccess(), user=None, origin=Origin(actor="ann"), act=act)


def retracted(identifier: Mapping[str, Any]) -> Event:
    """Return the event of a stored retraction."""
    record = taken(RETRACT, identifier).record
    entry = Entry(
        sequence=1, instant=0, subject=record.subject, payload=record.payload, headers=record.headers
    )
    return read_entry(CATALOG.event_types["storms"], entry)


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        (KEY, {"basin": "atlantic", "number": "7"}),
        ({"number": "007", "basin": "atlantic"}, {"basin": "atlantic", "number": "7"}),
        (KEY | {"wind": 55.50}, {"basin": "atlantic", "number": "7", "wind": "55.5"}),
        (WHOLE, {"basin": "atlantic", "number": "7", "wind": "55.5", "status": "x"}),
        ({"basin": "*", "number": 7}, {"basin": "*", "number": "7"}),
    ],
)
def test_a_retraction_says_what_it_takes_back(identifier: dict[str, Any], expected: dict[str, str]) -> None:
    """And as much more as the caller says: nothing is filled in, and a star is a value like any other."""
    event = retracted(identifier)
    assert event.operation == "delete"
    assert event.payload == b"null"
    assert event.actor == "ann"
    assert event.identifier == expected
    assert (event.geometry is not None) == ("polygon" in identifier)
    assert not event.unreadable


@pytest.mark.parametrize(
    ("identifier", "message", "field"),
    [
        ({}, "Required field 'basin' missing for retract operation", "basin"),
        ({"basin": "atlantic"}, "Required field 'number' missing for retract operation", "number"),
        (KEY | {"zone": 1, "area": 2}, "Unknown field 'area' provided for retract operation", "area"),
        (KEY | {"number": None}, "Field 'number' cannot be null", "number"),
        (
            KEY | {"number": {"gte": 3}},
            "Field 'number' constraint object is not supported for retract operation",
            "number",
        ),
        (
            KEY | {"number": [7]},
            "Field 'number' must be a scalar value or constraint object, got array",
            "number",
        ),
        (KEY | {"number": "*"}, "Field 'number' must be a valid integer, got: '*'", "number"),
        (KEY | {"basin": ""}, "Field 'basin' cannot be empty", "basin"),
        (KEY | {"wind": "strong"}, "Field 'wind' must be a valid number, got: 'strong'", "wind"),
        (KEY | {"polygon": "x"}, "field 'polygon' must be a valid polygon: ", "polygon"),
        (
            KEY | {"point": "1,2"},
            "identifier.point is only supported for watch/replay endpoints, not /notification",
            "point",
        ),
    ],
)
def test_what_does_not_name_one_thing_is_refused(
    identifier: dict[str, Any], message: str, field: str
) -> None:
    """A key that is missing, also one with a default; a pattern; a value that a notification could not have."""
    with pytest.raises(Refusal) as refusal:
        taken(RETRACT, identifier)
    assert refusal.value.message.startswith(message)
    assert refusal.value.field == field


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"payload": msgspec.Raw(b"{}")}, "Payload is not supported for retract operation"),
        ({"payload": msgspec.Raw(b"0")}, "Payload is not supported for retract operation"),
        ({"to_id": "1"}, "to_id and to_date are only supported for the replay endpoint, not /notification"),
    ],
)
def test_a_retraction_has_no_other_members(members: dict[str, Any], message: str) -> None:
    """A payload would be lost, so it is not taken."""
    with pytest.raises(Refusal) as refusal:
        taken(RETRACT, KEY, **members)
    assert refusal.value.message == message


@pytest.mark.parametrize("members", [{"payload": msgspec.Raw(b"null")}, {"from_id": "x", "from_date": "y"}])
def test_what_a_notification_ignores_a_retraction_ignores(members: dict[str, Any]) -> None:
    """`null` is no payload, and starts are for readers."""
    assert taken(RETRACT, KEY, **members) == taken(RETRACT, KEY)


@given(basin=st.text(min_size=1), number=st.integers(-(2**63), 2**63 - 1), wind=st.floats(0, 1e6))
def test_a_retraction_stands_under_the_topic_of_what_it_takes_back(
    basin: str, number: int, wind: float
) -> None:
    """Whatever the values are, and whatever else was announced."""
    key = {"basin": basin, "number": number}
    announced = taken(ANNOUNCE, key | {"wind": wind, "polygon": RING}, payload=msgspec.Raw(b'{"a":1}'))
    back = taken(RETRACT, key)
    assert (back.base, back.record.subject) == (announced.base, announced.record.subject)


def test_an_undeclared_event_type_can_be_taken_back() -> None:
    """Where such are taken: all of its values are its topic."""
    back = taken(RETRACT, {"b": 2, "a": "x"}, event_type="any", catalog=NOTHING_DECLARED)
    assert (back.base, back.label, back.record.subject) == ("any", "generic", "any.x.2")
    assert back.record.payload == b"null"
    with pytest.raises(Refusal, match="'a' constraint object is not supported for retract operation"):
        taken(RETRACT, {"a": {"eq": 1}}, event_type="any", catalog=NOTHING_DECLARED)
    with pytest.raises(Refusal, match="topic base must match"):
        taken(RETRACT, {"a": 1}, event_type="a.b", catalog=NOTHING_DECLARED)


def test_an_unknown_event_type_is_refused_before_anything_else() -> None:
    """As on a notification."""
    with pytest.raises(UnknownEventType):
        taken(RETRACT, {"point": 1}, event_type="nothing", to_id="1")


@pytest.mark.parametrize(
    ("wanted", "is_selected"),
    [
        ({}, True),
        ({"basin": "atlantic"}, True),
        ({"basin": "atlantic", "number": {"gte": 7}}, True),
        ({"basin": "pacific"}, False),
        ({"wind": 55.5}, False),
        ({"wind": {"lt": 100}}, False),
        ({"status": "active"}, False),
        ({"polygon": RING}, False),
    ],
)
def test_filters_see_what_a_retraction_says(wanted: dict[str, Any], is_selected: bool) -> None:
    """What it leaves out is no value, for one filter as for an index of many."""
    event_type = CATALOG.event_types["storms"]
    selection = read_selection(event_type, wanted, operation="watch", point=None)
    index: Index[str] = Index(STORMS)
    index.add(selection.filter, "reader")
    event = retracted(KEY)
    assert bool(index.selecting(event)) is is_selected
    assert Matcher(selection.filter).selects(CandidateMaker(STORMS).of(event)) is is_selected
