"""From the body of a request to what is asked for: contract sections 2.4, 9 and 16.6.

What each step says of each fault is in the tables of `unit/request`, which run over the same function. Here is what
only the gateway knows: where permission stands among the steps, and what is made of a request that is taken.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pytest

from aviso_core.errors import Forbidden, InvalidRequest, InvalidTopicBase, Unauthorized, UnknownEventType
from aviso_core.event import FromInstant, FromSequence, Now, ToInstant, ToSequence
from aviso_core.instant import SECOND
from aviso_core.matching.filter import Area, Filter, Place
from aviso_core.schema.catalog import build_catalog
from aviso_core.schema.model import Auth
from aviso_http.access.user import User
from aviso_stream_gateway.request import (
    Mode,
    first_instant,
    first_sequence,
    is_live_only,
    last_instant,
)
from support.access import opened
from support.catalogs import OPEN, STORMS
from support.event_logs import asynchronous
from support.stream_parts import PLACES, asked

RING: Final = "(0,0,0,1,1,1,0,0)"
BOTH: Final = {"point": "1,2", "polygon": RING, "nowhere": 1}
READER: Final = User(name="ann", realm="main", roles=("reader",))
STRANGER: Final = User(name="eve", realm="main")


@pytest.mark.parametrize("mode", Mode)
@asynchronous
async def test_permission_comes_behind_the_event_type_and_before_everything_else(mode: Mode) -> None:
    """Contract 2.4, steps 4 to 6: who may not read does not hear what else is wrong."""
    auth = Auth(required=True, read_roles={"main": ("reader",)})
    catalog = build_catalog([msgspec.structs.replace(PLACES, event_type="secret", auth=auth)])
    async with opened() as access:

        def ask(user: User | None, event_type: str = "secret") -> None:
            asked(mode, event_type, catalog=catalog, access=access, user=user, identifier=BOTH, from_id="x")

        with pytest.raises(UnknownEventType):
            ask(None, "secrets")
        with pytest.raises(Unauthorized, match="Authentication is required for this stream"):
            ask(None)
        with pytest.raises(Forbidden, match="does not have required read role"):
            ask(STRANGER)
        with pytest.raises(
            InvalidRequest, match=r"Cannot specify both identifier\.polygon and identifier\.point\."
        ):
            ask(READER)


@pytest.mark.parametrize("mode", Mode)
def test_an_undeclared_event_type_is_handled_without_a_schema(mode: Mode) -> None:
    """It has values by their places, and nobody is asked for anything."""
    got = asked(mode, "anything", identifier={"b": "2", "a": "*"}, from_id="3")
    assert (got.event_type, got.base, got.auth) == (None, "anything", None)
    assert got.selection.filter == Filter(event_type="anything", equals=(("#1", "2"),), places=2)
    assert got.selection.topic == "anything.*.2"


def test_an_undeclared_event_type_must_be_a_topic_base() -> None:
    with pytest.raises(InvalidTopicBase, match="topic base must match"):
        asked(event_type="a.b")


def test_an_undeclared_event_type_is_no_way_around_the_rules_of_a_declared_one() -> None:
    """The base of a declared event type is not open under its own name."""
    other = msgspec.structs.replace(PLACES, event_type="sites")
    with pytest.raises(UnknownEventType):
        asked(event_type="PLACES", catalog=build_catalog([other], strict=False))


def test_a_filter_is_made_of_what_is_canonical() -> None:
    """Who is asked for permission elsewhere is told the values that select, and no constraint."""
    got = asked(
        event_type="storms",
        catalog=OPEN,
        identifier={"basin": "Atlantic", "season": "*", "category": {"gte": 3}, "polygon": RING},
    )
    assert got.identifier == {"basin": "atlantic"}
    assert got.base == "storms"
    assert got.event_type is OPEN.get("storms")
    assert got.auth is STORMS.auth
    assert isinstance(got.selection.filter.spatial, Area)
    assert got.selection.topic == "storms.atlantic.*.*.*"


def test_a_point_cloud_is_asked_for_with_a_polygon() -> None:
    """Contract 16.2: the filter is a polygon, which also stands for the field where that is required."""
    got = asked(event_type="buoys", catalog=OPEN, identifier={"net": "n", "polygon": RING})
    assert isinstance(got.selection.filter.spatial, Area)
    for identifier, message in (
        ({"net": "n"}, "Required field 'point_cloud' missing for watch operation"),
        ({"net": "n", "point": "1,2"}, "identifier.point is not supported for point-cloud schemas"),
        ({"net": "n", "point_cloud": [[1, 2]]}, "identifier.point_cloud is only supported for notify"),
    ):
        with pytest.raises(InvalidRequest, match=message):
            asked(event_type="buoys", catalog=OPEN, identifier=identifier)


def test_a_point_selects_what_it_lies_in() -> None:
    got = asked(event_type="storms", catalog=OPEN, identifier={"basin": "indian", "point": "1,2"})
    assert isinstance(got.selection.filter.spatial, Place)


@pytest.mark.parametrize(
    ("members", "start", "facts"),
    [
        ({}, Now(), (True, None, None)),
        ({"from_id": None, "from_date": None}, Now(), (True, None, None)),
        ({"from_id": "0"}, FromSequence(0), (False, 0, None)),
        ({"from_id": "+007"}, FromSequence(7), (False, 7, None)),
        ({"from_date": "1970-01-01 00:00:05"}, FromInstant(5 * SECOND), (False, None, 5 * SECOND)),
        ({"from_date": "0"}, FromInstant(0), (False, None, 0)),
    ],
    ids=str,
)
def test_a_watch_has_a_start_or_none(
    members: dict[str, Any], start: object, facts: tuple[bool, int | None, int | None]
) -> None:
    got = asked(Mode.WATCH, **members)
    assert (got.start, got.end) == (start, None)
    assert (is_live_only(got.start), first_sequence(got.start), first_instant(got.start)) == facts


@pytest.mark.parametrize(
    ("members", "end", "instant"),
    [
        ({}, None, None),
        ({"to_id": None}, None, None),
        ({"to_id": "5"}, ToSequence(5), None),
        ({"to_date": "7"}, ToInstant(7 * SECOND), 7 * SECOND),
    ],
    ids=str,
)
def test_a_replay_may_have_an_end(members: dict[str, Any], end: object, instant: int | None) -> None:
    got = asked(Mode.REPLAY, from_id="5", **members)
    assert got.end == end
    assert last_instant(got.end) == instant


@pytest.mark.parametrize(
    ("mode", "members", "message"),
    [
        (
            Mode.WATCH,
            {"to_id": ""},
            "to_id and to_date are only supported for the replay endpoint, not /watch",
        ),
        (
            Mode.WATCH,
            {"to_date": "x"},
            "to_id and to_date are only supported for the replay endpoint, not /watch",
        ),
        (Mode.WATCH, {"from_id": "x", "to_id": "1"}, "from_id must be a valid positive integer"),
        (Mode.REPLAY, {}, "Replay endpoint requires either from_id or from_date parameter"),
        (Mode.REPLAY, {"to_id": "x"}, "Replay endpoint requires either from_id or from_date parameter"),
        (Mode.REPLAY, {"from_id": "5", "to_id": "4"}, r"to_id \(4\) must not be lower than from_id \(5\)"),
        (
            Mode.REPLAY,
            {"from_date": "2026-01-01T00:00:00.5Z", "to_date": "2026-01-01T00:00:00Z"},
            r"to_date \(2026-01-01T00:00:00\+00:00\) must not be earlier than "
            r"from_date \(2026-01-01T00:00:00.500\+00:00\)",
        ),
        (
            Mode.REPLAY,
            {"from_id": "1", "to_id": "1", "to_date": "1"},
            "Cannot specify both to_id and to_date. Please provide only one replay end parameter.",
        ),
    ],
)
def test_a_span_that_cannot_be_is_refused(mode: Mode, members: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        asked(mode, **members)
