"""The stream that a schema asks for, and what stands between that and the stream there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from aviso_core.schema.model import Schema, Storage, Topic
from aviso_core.schema.stream import (
    StreamConfiguration,
    StreamDefaults,
    differences,
    duplicate_window_seconds,
    wanted_stream,
)


def _schema(**storage: Any) -> Schema:
    return Schema(
        event_type="runs",
        topic=Topic(base="Runs", key_order=("class",)),
        storage=Storage(**storage) if storage else None,
    )


def test_a_schema_without_storage_gets_the_defaults_of_the_broker() -> None:
    assert wanted_stream(_schema(), StreamDefaults()) == StreamConfiguration(
        name="RUNS",
        subjects=("Runs.>",),
        max_messages=-1,
        max_bytes=-1,
        max_messages_per_subject=1,
        max_age_seconds=0,
        medium="file",
        replicas=1,
        compression="none",
        discard="old",
        retention="limits",
        duplicate_window_seconds=120,
    )


@dataclass(frozen=True)
class Case:
    """What a schema and the installation say, and one setting of the stream that follows."""

    storage: dict[str, Any]
    defaults: StreamDefaults
    setting: str
    value: object


NONE = StreamDefaults()
BIG = StreamDefaults(
    max_messages=9, max_bytes=99, max_age_seconds=600, replicas=3, medium="memory", discard="new"
)

CASES = [
    Case({}, BIG, "max_messages", 9),
    Case({"max_messages": 5}, BIG, "max_messages", 5),
    Case({}, BIG, "max_bytes", 99),
    Case({"max_bytes": 7}, BIG, "max_bytes", 7),
    Case({}, BIG, "max_age_seconds", 600),
    Case({"retention_seconds": 60}, BIG, "max_age_seconds", 60),
    Case({}, BIG, "replicas", 3),
    Case({"replicas": 1}, BIG, "replicas", 1),
    Case({}, BIG, "medium", "memory"),
    Case({"medium": "File"}, BIG, "medium", "file"),
    Case({"medium": "Memory"}, NONE, "medium", "memory"),
    Case({}, BIG, "discard", "new"),
    Case({"compression": True}, NONE, "compression", "s2"),
    Case({"compression": False}, NONE, "compression", "none"),
    Case({"keep_all": True}, NONE, "max_messages_per_subject", -1),
    Case({"keep_all": False}, NONE, "max_messages_per_subject", 1),
    Case({"duplicate_window_seconds": 300}, NONE, "duplicate_window_seconds", 300),
    Case({"retention_seconds": 60}, NONE, "duplicate_window_seconds", 60),
    Case({"retention_seconds": 600}, NONE, "duplicate_window_seconds", 120),
    Case({}, replace(BIG, max_age_seconds=30), "duplicate_window_seconds", 30),
]


@pytest.mark.parametrize("case", CASES)
def test_the_schemas_own_word_goes_before_the_installations(case: Case) -> None:
    assert getattr(wanted_stream(_schema(**case.storage), case.defaults), case.setting) == case.value


WANTED = wanted_stream(_schema(), NONE)

# What the broker reports instead → whether that is a difference, loses data, cannot be changed.
OBSERVED = [
    ({}, None),
    ({"max_messages": 0, "max_bytes": 0, "replicas": 0}, None),
    ({"max_messages": 100}, ("max_messages", False, False)),
    ({"max_messages_per_subject": -1}, ("max_messages_per_subject", True, False)),
    ({"max_messages_per_subject": 5}, ("max_messages_per_subject", True, False)),
    ({"medium": "memory"}, ("medium", False, True)),
    ({"replicas": 3}, ("replicas", False, False)),
    ({"retention": "workqueue"}, ("retention", False, True)),
    ({"retention": "interest"}, ("retention", False, False)),
    ({"subjects": ("other.>",)}, ("subjects", False, False)),
    ({"duplicate_window_seconds": 60}, ("duplicate_window_seconds", False, False)),
    ({"compression": "s2"}, ("compression", False, False)),
]


@pytest.mark.parametrize(("changes", "expected"), OBSERVED)
def test_differences_are_of_meaning_and_tell_what_they_cost(
    changes: dict[str, Any], expected: tuple[str, bool, bool] | None
) -> None:
    found = differences(WANTED, replace(WANTED, **changes))
    assert [(one.setting, one.loses_data, one.impossible) for one in found] == (
        [expected] if expected else []
    )


@pytest.mark.parametrize(
    ("setting", "old", "new", "loses"),
    [
        ("max_messages", 10, 5, True),
        ("max_messages", 5, 10, False),
        ("max_messages", -1, 5, True),
        ("max_messages", 5, -1, False),
        ("max_age_seconds", 0, 60, True),
        ("max_age_seconds", 60, 0, False),
        ("max_age_seconds", 0.5, 60, False),
        ("max_age_seconds", 60, 0.5, True),
        ("max_bytes", 100, 99, True),
        ("retention", "limits", "interest", True),
    ],
)
def test_a_narrower_limit_loses_data(setting: str, old: object, new: object, loses: bool) -> None:
    (difference,) = differences(replace(WANTED, **{setting: new}), replace(WANTED, **{setting: old}))
    assert difference.loses_data is loses
    assert str(difference) == f"{setting}: {old} → {new}"


@pytest.mark.parametrize(
    ("storage", "seconds"),
    [
        ({}, 120),
        ({"duplicate_window_seconds": 3600}, 3600),
        ({"duplicate_window_seconds": 3600, "retention_seconds": 60}, 60),
    ],
)
def test_for_how_long_ids_are_known_again_is_what_the_stream_is_made_with(
    storage: dict[str, int], seconds: int
) -> None:
    """What is gone cannot be recognised again, so never longer than it is kept."""
    assert duplicate_window_seconds(_schema(**storage)) == seconds
