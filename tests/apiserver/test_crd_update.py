"""What an object may become: every rule that compares with what was there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest
from kubernetes.client.exceptions import ApiException

from apiserver.specs import GONE, Change, changed
from aviso_operator.crd.rules import RULES
from support.cluster_objects import refusal_of

if TYPE_CHECKING:
    from support.cluster_objects import EventSchemas


_NOTHING: Final[Change] = {}


class Row(NamedTuple):
    """A change that is taken, one that is not, and what is said then; `before` is how the object was made."""

    taken: Change
    refused: Change
    path: str
    message: str
    before: Change = _NOTHING
    # Of a text the API server shows what it was to become.
    shown: str = ""


# Good as an event type, so that no rule about names is in the way.
NAME: Final = "storm"
_NEW: Final = {"name": "office", "type": "String"}
_PROMISE: Final = "while compatibility is Backward"
_LOSES: Final = "deletes stored events at once: set storage.shrink: Allow to mean it"


def _lost(
    path: str, message: str, change: Change, *, more: Change, before: Change | None = None
) -> list[Row]:
    """Return the rows of a change that deletes events: more is kept or it is allowed, or it is refused."""
    allowed = {**change, "storage.shrink": "Allow"}
    return [
        Row(taken, change, f"spec.storage.{path}", f"{message} {_LOSES}", before or _NOTHING)
        for taken in (more, allowed)
    ]


def _broken(
    path: str, message: str, change: Change, *, kept: Change, before: Change | None = None
) -> list[Row]:
    """Return the rows of a change that breaks a promise: it is kept or there is none, or it is refused."""
    released = {**change, "compatibility": "None"}
    return [Row(taken, change, f"spec.{path}", message, before or {}) for taken in (kept, released)]


ROWS: Final = [
    Row(
        {"eventType": "weather_alert"}, {"eventType": "storm"}, "spec.eventType",
        "it can never be changed: publishers and readers call it so", shown='"storm": ',
    ),
    Row(
        {"description": "new"}, {"eventType": GONE}, "spec",
        "spec.eventType can neither be added nor removed: publishers and readers call it so",
    ),
    Row(
        {"description": "new"}, {"eventType": NAME}, "spec",
        "spec.eventType can neither be added nor removed: publishers and readers call it so", {"eventType": GONE},
    ),
    Row(
        {"description": "new"}, {"topic.base": "warning"}, "spec.topic.base",
        "it can never be changed: it is the root of stored subjects", shown='"warning": ',
    ),
    *(
        Row(
            {"compatibility": "None"}, {"compatibility": "None", "topic.keyOrder": order}, "spec.topic.keyOrder",
            "it can never be changed: stored subjects follow it",
        )
        for order in (["severity", "region"], ["region"], ["region", "severity", "note"])
    ),
    Row(
        {"identifiers.3.description": "new"},
        {"compatibility": "None", "identifiers.3": {"name": "note", "type": "Time"}},
        "spec.identifiers[3].type", "it can never be changed: declare a new identifier",
    ),
    Row(
        {"identifiers.0.enum.values": ["west", "south", "north"]}, {"identifiers.0.enum.values": ["north", "west"]},
        "spec.identifiers[0].enum.values", "enum values may only be added",
    ),
    *_broken(
        "identifiers", f"identifiers cannot be removed {_PROMISE}: producers that send them would be refused",
        {"identifiers.3": GONE}, kept={"identifiers.3.string": GONE},
    ),
    *_broken(
        "identifiers", f"a new identifier needs a default {_PROMISE}: producers that do not know it would be refused",
        {"identifiers.+": _NEW}, kept={"identifiers.+": {**_NEW, "default": "none"}},
    ),
    *_broken(
        "identifiers", f"an identifier cannot become required {_PROMISE}: readers that leave it out would be refused",
        {"identifiers.3.required": True}, kept={"identifiers.0.required": False},
        before={"identifiers.0.required": True},
    ),
    *_broken(
        "identifiers", f"an identifier cannot become required {_PROMISE}: readers that leave it out would be refused",
        {"identifiers.+": {**_NEW, "default": "none", "required": True}}, kept={"identifiers.0.required": True},
        before={"identifiers.0.required": True},
    ),
    *(
        row
        for refused in ({"identifiers.3.default": "some"}, {"identifiers.3.default": GONE})
        for row in _broken(
            "identifiers",
            f"a default can be neither changed nor removed {_PROMISE}: producers that leave it out mean it",
            refused, kept={"identifiers.0.default": "north"},
        )
    ),
    *_broken(
        "geometry.edges", f"geometry.edges cannot be changed {_PROMISE}: stored shapes would mean something else",
        {"geometry.edges": "wrapped"}, kept={"geometry.edges": "planar"},
    ),
    *_broken(
        "payload.required", f"a payload cannot become required {_PROMISE}: producers may send none",
        {"payload.required": True}, kept={"payload.required": False},
    ),
    *_broken(
        "payload.maxBytes",
        f"payload.maxBytes cannot be lowered {_PROMISE}: producers may send as much as before",
        {"payload.maxBytes": 99}, kept={"payload.maxBytes": 101}, before={"payload.maxBytes": 100},
    ),
    *_lost("retention", "a shorter retention", {"storage.retention": "71h"}, more={"storage.retention": "73h"}),
    *_lost("retention", "a shorter retention", {"storage": {"retention": "1w"}}, more={"storage": {}},
           before={"storage": {"retention": "2w"}})[1:],
    *_lost("maxMessages", "a lower maxMessages", {"storage.maxMessages": 99}, more={"storage.maxMessages": 101}),
    *_lost("maxMessages", "a lower maxMessages", {"storage.maxMessages": 10**9}, more={"storage.compression": True},
           before={"storage.maxMessages": GONE}),
    *_lost("maxBytes", "a lower maxBytes", {"storage.maxBytes": "10G"}, more={"storage.maxBytes": 10 * 2**30}),
    *_lost("maxBytes", "a lower maxBytes", {"storage.maxBytes": "1Ti"}, more={"storage.maxMessages": GONE},
           before={"storage.maxBytes": GONE}),
    *_lost("duplicates", "LatestPerSubject", {"storage.duplicates": "LatestPerSubject"}, more={"storage.replicas": 3}),
    Row(
        {"storage.duplicates": "KeepAll"}, {"storage.medium": "Memory"}, "spec.storage.medium",
        "it can never be changed: what is stored cannot be moved", {"storage.duplicates": "LatestPerSubject"},
        shown='"Memory": ',
    ),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.path}: {row.message[:40]}")
def test_a_rule_about_changes_is_where_it_is_said_to_be(event_schemas: EventSchemas, row: Row) -> None:
    """The API server takes one change and refuses the other, with these words at this member."""
    before = changed(row.before)
    stored = event_schemas.create(NAME, before)
    event_schemas.replace({**stored, "spec": changed(row.taken, before)}, dry_run=True)
    with pytest.raises(ApiException) as refused:
        event_schemas.replace({**stored, "spec": changed(row.refused, before)}, dry_run=True)
    assert refused.value.status == 422
    assert refusal_of(refused.value) == {row.path: f"Invalid value: {row.shown}{row.message}"}


def test_every_rule_about_changes_has_a_row() -> None:
    """Rules and rows are told apart by where they stand and what they say."""
    rules = {
        (f"{path}{rule.field_path or ''}", rule.message)
        for path, of_path in RULES.items()
        for rule in of_path
        if "oldSelf" in rule.rule
    }
    assert rules == {(re.sub(r"\[\d+\]", "[]", row.path), row.message) for row in ROWS}
