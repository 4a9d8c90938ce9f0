"""Which event types there are: contract sections 2.2, 14 and the names of 1.7."""

from __future__ import annotations

from typing import Final

import pytest

from aviso_core.errors import UnknownEventType
from aviso_core.fields.text import TextField
from aviso_core.schema.catalog import build_catalog
from aviso_core.schema.model import Schema, Topic

A: Final = TextField(name="a")
MARS: Final = Schema(event_type="mars", topic=Topic(base="MARS-data", key_order=("a",)), fields=(A,))
ALERTS: Final = Schema(event_type="alerts", topic=Topic(base="warn", key_order=("a",)), fields=(A,))
PLAIN: Final = Schema(event_type="Plain", fields=(A,))
WARN: Final = Schema(event_type="Warn2", topic=Topic(base="alerts2", key_order=("a",)), fields=(A,))

# Section 14: schemas, the setting → whether an undeclared event type is refused.
STRICTNESS: Final[list[tuple[list[Schema] | None, bool | None, bool]]] = [
    ([MARS], None, True),
    ([], None, False),
    (None, None, False),
    ([MARS], False, False),
    ([], False, False),
    ([MARS], True, True),
    ([], True, True),
    (None, True, True),
]


@pytest.mark.parametrize(("schemas", "setting", "refused"), STRICTNESS)
def test_undeclared_event_types_are_refused_where_something_is_declared(
    schemas: list[Schema] | None, setting: bool | None, refused: bool
) -> None:
    catalog = build_catalog(schemas, strict=setting)
    assert catalog.strict is refused
    assert catalog.is_configured is (schemas is not None)
    if refused:
        with pytest.raises(UnknownEventType) as caught:
            catalog.get("X")
        assert caught.value.code == "UNKNOWN_EVENT_TYPE"
        assert caught.value.message == "unknown event type 'X'"
        assert caught.value.field == "event_type"
        assert caught.value.configured == tuple(sorted(schema.event_type for schema in schemas or ()))
    else:
        assert catalog.get("X") is None


@pytest.mark.parametrize("name", ["Mars", "MARS", "mars ", " mars", "mars-data", "", "mar"])
def test_an_event_type_is_named_exactly(name: str) -> None:
    with pytest.raises(UnknownEventType) as caught:
        build_catalog([MARS]).get(name)
    assert caught.value.message == f"unknown event type '{name}'"


@pytest.mark.parametrize("name", ["MARS-data", "mars-DATA", "warn", "PLAIN"])
def test_nobody_gets_at_a_declared_event_type_by_the_name_of_its_base(name: str) -> None:
    """Where undeclared event types are taken, their name is their base, and no rule of a schema holds for them."""
    catalog = build_catalog([MARS, ALERTS, PLAIN], strict=False)
    with pytest.raises(UnknownEventType):
        catalog.get(name)
    assert catalog.get("anything-else") is None


def test_event_types_are_listed_sorted() -> None:
    """Decision D30; code points, so capitals come first."""
    catalog = build_catalog([MARS, PLAIN, ALERTS])
    assert list(catalog.event_types) == ["Plain", "alerts", "mars"]
    with pytest.raises(UnknownEventType) as caught:
        catalog.get("x")
    assert caught.value.configured == ("Plain", "alerts", "mars")


# Section 1.7: what an administrator names → the event type meant.
NAMES: Final = [
    ("mars", "mars"),
    ("MARS", "mars"),  # an event type in another case
    ("MARS-data", "mars"),  # a base
    ("mars-DATA", "mars"),
    ("warn", "alerts"),
    ("WARN", "alerts"),
    ("plain", "Plain"),
    ("Plain", "Plain"),
    ("alerts2", "Warn2"),
    ("warn2", "Warn2"),
    ("data", None),
    ("", None),
    ("_MARS", None),
]


@pytest.mark.parametrize(("name", "event_type"), NAMES)
def test_an_administrator_may_name_event_type_or_base(name: str, event_type: str | None) -> None:
    found = build_catalog([MARS, ALERTS, PLAIN, WARN]).resolve(name)
    assert (found and found.name) == event_type


def test_an_exact_event_type_goes_before_every_other_meaning() -> None:
    """Here one event type's name is another one's base."""
    shadow = Schema(event_type="warn", topic=Topic(base="shadow", key_order=("a",)), fields=(A,))
    catalog = build_catalog([ALERTS, shadow])
    names = {name: catalog.resolve(name) for name in ("warn", "WARN", "shadow", "alerts")}
    assert {name: found and found.name for name, found in names.items()} == {
        "warn": "warn",
        "WARN": "warn",
        "shadow": "warn",
        "alerts": "alerts",
    }
    by_base = catalog.by_base("WARN")
    assert by_base is not None
    assert by_base.name == "alerts"
