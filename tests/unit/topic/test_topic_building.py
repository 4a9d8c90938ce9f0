"""Which values make a topic, and what a request's topic looks like: contract sections 4.1, 4.3, 14 and 16.3."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pytest

from aviso_core.errors import InvalidTopicBase, Refusal
from aviso_core.event import Event
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.polygon import PolygonField
from aviso_core.fields.text import TextField
from aviso_core.matching.candidate import CandidateMaker
from aviso_core.matching.matcher import Matcher
from aviso_core.schema.catalog import build_catalog
from aviso_core.schema.model import Schema, Topic
from aviso_core.schema.undeclared import announce_undeclared
from aviso_core.topic.codec import decode_subject
from aviso_core.topic.pattern import coarse_pattern, display_pattern
from support.catalogs import NOTHING_DECLARED
from support.endpoints import Notified, Reading, ask

A, B = TextField(name="a"), IntegerField(name="b")
RING: Final = "(0,0,0,1,1,1,0,0)"
RING_TOKEN: Final = "[[0%2E0,0%2E0],[0%2E0,1%2E0],[1%2E0,1%2E0],[0%2E0,0%2E0]]"

CATALOG: Final = build_catalog(
    [
        Schema(event_type="ab", topic=Topic(base="AB", key_order=("a", "b")), fields=(A, B)),
        Schema(event_type="ba", topic=Topic(base="ba", key_order=("b", "a")), fields=(A, B)),
        Schema(event_type="a-only", topic=Topic(base="a-only", key_order=("a",)), fields=(A, B)),
        Schema(event_type="untopical", fields=(B, A)),
        Schema(event_type="nothing-to-say", fields=()),
        Schema(
            event_type="area-first",
            topic=Topic(base="area-first", key_order=("polygon", "a")),
            fields=(A, PolygonField(name="polygon")),
        ),
        Schema(
            event_type="area-aside",
            topic=Topic(base="area-aside", key_order=("a",)),
            fields=(A, PolygonField(name="polygon")),
        ),
    ],
    strict=False,
)

BUILT: Final[list[tuple[str, dict[str, Any], str]]] = [
    ("ab", {"a": "x", "b": "07"}, "AB.x.7"),  # base, then key_order
    ("ba", {"a": "x", "b": "07"}, "ba.7.x"),
    ("a-only", {"a": "x", "b": "07"}, "a-only.x"),
    ("untopical", {"a": "x", "b": "07"}, "untopical.x.7"),  # sorted by name
    ("nothing-to-say", {}, "nothing-to-say"),
    ("area-first", {"a": "x", "polygon": RING}, f"area-first.{RING_TOKEN}.x"),  # D7: the canonical text
    ("area-aside", {"a": "x", "polygon": RING}, "area-aside.x"),
    ("unknown", {"z": 1, "B": "b", "a": True}, "unknown.b.true.1"),  # code points: capitals first
    ("unknown", {}, "unknown"),
    ("unknown", {"a": "1.5"}, "unknown.1%2E5"),
]


@pytest.mark.parametrize(("event_type", "identifier", "subject"), BUILT, ids=repr)
def test_a_topic_is_built(event_type: str, identifier: dict[str, Any], subject: str) -> None:
    body = msgspec.json.encode({"event_type": event_type, "identifier": identifier})
    answer = ask(CATALOG, "notification", body)
    assert isinstance(answer, Notified), answer
    assert answer.announced.subject == subject


SHOWN: Final[list[tuple[str, dict[str, Any], str, str]]] = [
    # event type, filter, topic shown to people, pattern that narrows reading
    ("ab", {"a": "x", "b": 7}, "AB.x.7", "AB.x.>"),  # no wildcard: all but the last
    ("ab", {"a": "x"}, "AB.x.*", "AB.x.>"),
    ("ab", {"b": 7}, "AB.*.7", "AB.>"),
    ("ab", {}, "AB.*.*", "AB.>"),
    ("ab", {"a": "*", "b": 7}, "AB.*.7", "AB.>"),
    ("ab", {"a": "x", "b": {"gt": 4}}, "AB.x.*", "AB.x.>"),
    ("ab", {"a": "x.y"}, "AB.x.y.*", "AB.x%2Ey.>"),
    ("ba", {"a": "x"}, "ba.*.x", "ba.>"),
    ("a-only", {"a": "x", "b": 7}, "a-only.x", "a-only.>"),
    ("untopical", {"b": 7}, "untopical.*.7", "untopical.>"),
    ("nothing-to-say", {}, "nothing-to-say", "nothing-to-say.>"),
    ("area-first", {"polygon": RING, "a": "x"}, "area-first.*.x", "area-first.>"),  # D7: a wildcard
    ("area-first", {"point": "1,2"}, "area-first.*.*", "area-first.>"),
    ("unknown", {"b": 2, "a": "x"}, "unknown.x.2", "unknown.x.>"),
    ("unknown", {"b": 2, "a": "*"}, "unknown.*.2", "unknown.>"),
    ("unknown", {"b": 2, "a": ""}, "unknown..2", "unknown.>"),  # allowed, and no subject has an empty token
    ("unknown", {}, "unknown", "unknown.>"),
    ("unknown", {"b": 2, "point": "1,2"}, "unknown.2", "unknown.>"),
    ("unknown", {"b": 2, "polygon": RING, "z": 1}, "unknown.2.*.1", "unknown.2.>"),
]  # fmt: skip


@pytest.mark.parametrize(("event_type", "identifier", "topic", "pattern"), SHOWN, ids=repr)
def test_a_requests_topic_shows_wildcards(
    event_type: str, identifier: dict[str, Any], topic: str, pattern: str
) -> None:
    answer = ask(CATALOG, "watch", msgspec.json.encode({"event_type": event_type, "identifier": identifier}))
    assert isinstance(answer, Reading), answer
    assert (answer.selection.topic, answer.selection.pattern) == (topic, pattern)


@pytest.mark.parametrize(
    ("values", "pattern"),
    [
        ((), "b.>"),
        (("x",), "b.>"),
        (("x", "y"), "b.x.>"),
        (("x", "y", "z"), "b.x.y.>"),
        ((None,), "b.>"),
        (("x", None), "b.x.>"),
        (("x", None, "z"), "b.x.>"),
        ((None, "y", "z"), "b.>"),
        (("x", "y", None), "b.x.y.>"),
    ],
)
def test_a_pattern_is_what_is_fixed_before_the_first_wildcard(
    values: tuple[str | None, ...], pattern: str
) -> None:
    """Contract section 4.3: at least the last token is open."""
    assert coarse_pattern("b", values) == pattern
    assert display_pattern("b", values) == ".".join(["b", *(value or "*" for value in values)])


# --- event types without a schema ------------------------------------------------------------------------

# What was published, what is asked for, whether it is delivered.
GENERIC: Final[list[tuple[dict[str, Any], dict[str, Any], bool]]] = [
    ({"a": "1", "b": "2"}, {"a": "1", "b": "2"}, True),
    ({"a": "1", "b": "2"}, {"a": 1, "b": "*"}, True),
    ({"a": "1", "b": "2"}, {"a": "*", "b": "*"}, True),
    ({"a": "1", "b": "2"}, {"a": "1", "b": "3"}, False),
    ({"a": "1", "b": "2"}, {"a": "1"}, False),  # a reader names exactly the publisher's fields
    ({"a": "1", "b": "2"}, {}, False),
    ({"a": "1"}, {"a": "1", "b": "*"}, False),
    ({"a": "1"}, {"b": "1"}, True),  # only the places are stored, not the names
    ({}, {}, True),
    ({"a": "X"}, {"a": "x"}, False),  # case-sensitive
    ({"a": "*"}, {"a": "1"}, False),  # a stored `*` is a text
    ({"a": "*"}, {"a": "*"}, True),
    ({"a": "1"}, {"a": ""}, False),
    ({"a": "1"}, {"a": "1", "point": "0.2,0.5"}, False),  # no geometry is stored
    ({"a": "1", "polygon": "0"}, {"a": "1", "polygon": RING}, False),
]


@pytest.mark.parametrize(("published", "asked", "delivered"), GENERIC, ids=repr)
def test_an_undeclared_event_is_matched_by_place(
    published: dict[str, Any], asked: dict[str, Any], delivered: bool
) -> None:
    subject = announce_undeclared("any", published).subject
    # What a log can tell of it: tokens, named by their place.
    identifier = {f"#{place}": text for place, text in enumerate(decode_subject(subject)[1:])}
    event = Event(event_type="any", sequence=1, instant=0, subject=subject, identifier=identifier)
    answer = ask(NOTHING_DECLARED, "watch", msgspec.json.encode({"event_type": "any", "identifier": asked}))
    assert isinstance(answer, Reading), answer
    matcher = Matcher(answer.selection.filter)
    assert matcher.selects(CandidateMaker(None).of(event)) is delivered


GENERIC_REFUSED: Final[list[tuple[str, dict[str, Any], str]]] = [
    ("notification", {"a": ""}, "Field 'a' cannot be empty"),
    ("notification", {"b": "", "a": ""}, "Field 'a' cannot be empty"),
    ("notification", {"a": None}, "Field 'a' cannot be null"),
    ("notification", {"a": [1]}, "Field 'a' must be a scalar value or constraint object, got array"),
    ("notification", {"a": {"eq": 1}}, "Field 'a' constraint object is not supported for notify operation"),
    ("notification", {"point": "1,2"},
     "identifier.point is only supported for watch/replay endpoints, not /notification"),
    ("watch", {"a": None}, "Field 'a' cannot be null"),
    ("watch", {"a": [1]}, "Field 'a' must be a scalar value or constraint object, got array"),
    ("watch", {"polygon": "0,0"}, "field 'polygon' must be a valid polygon: polygon must have at least 4 coordinate "
     "pairs (3 unique vertices plus a closing repeat of the first vertex)"),
]  # fmt: skip


@pytest.mark.parametrize(("endpoint", "identifier", "message"), GENERIC_REFUSED, ids=repr)
def test_an_undeclared_event_has_scalars_only(
    endpoint: Any, identifier: dict[str, Any], message: str
) -> None:
    body = msgspec.json.encode({"event_type": "any", "identifier": identifier})
    answer = ask(NOTHING_DECLARED, endpoint, body)
    assert isinstance(answer, Refusal), answer
    assert answer.message == message


BASE_RULE: Final = "topic base must match [A-Za-z0-9][A-Za-z0-9_-]*"


@pytest.mark.parametrize("endpoint", ["notification", "watch", "replay"])
@pytest.mark.parametrize(
    ("event_type", "is_base"),
    [
        ("a", True), ("A9", True), ("9", True), ("a-b_c", True), ("WEATHER", True),
        ("", False), ("_a", False), ("-a", False), ("a.b", False), ("a b", False), ("a*", False), ("a>", False),
        ("ü", False), ("a\n", False), ("٣", False), ("a/b", False), ("%41", False),
    ],
)  # fmt: skip
def test_an_undeclared_event_type_is_a_valid_base(endpoint: Any, event_type: str, is_base: bool) -> None:
    """Contract section 16.3: before anything is said about the identifier."""
    body = {"event_type": event_type, "identifier": {"x": "1"} if is_base else {"x": None}}
    start = {"from_id": "1"} if endpoint == "replay" else {}
    answer = ask(NOTHING_DECLARED, endpoint, msgspec.json.encode(body | start))
    if is_base:
        assert not isinstance(answer, Refusal), answer
    else:
        assert isinstance(answer, InvalidTopicBase)
        assert (answer.message, answer.details, answer.field) == (BASE_RULE, BASE_RULE, "event_type")
