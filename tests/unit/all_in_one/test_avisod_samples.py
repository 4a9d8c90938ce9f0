"""The sample event types: good manifests, and examples that fit them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest
import yaml

from aviso_all_in_one.sample import SAMPLES_FOLDER, Example, sample_examples
from aviso_core.event import Event
from aviso_core.fields import SpatialField
from aviso_core.matching.candidate import CandidateMaker
from aviso_core.matching.filter import read_point_filter, read_selection
from aviso_core.matching.matcher import Matcher
from aviso_core.schema.check import check_schema, check_together
from aviso_core.schema.event_type import EventType
from aviso_core.schema.manifest import read_manifest

if TYPE_CHECKING:
    from aviso_core.schema.model import Schema


def _schema(text: str) -> Schema:
    schema, faults = read_manifest(yaml.safe_load(text))
    assert not faults
    assert schema is not None
    return schema


SCHEMAS: Final = {
    schema.event_type: schema for path in SAMPLES_FOLDER.iterdir() for schema in [_schema(path.read_text())]
}
EXAMPLES: Final = sample_examples()
EACH_EXAMPLE = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: str(example.event_type))


def test_there_is_an_example_for_each_sample() -> None:
    assert sorted(example.event_type for example in EXAMPLES) == sorted(SCHEMAS)


def test_the_samples_have_no_faults_alone_or_together() -> None:
    assert not [fault for schema in SCHEMAS.values() for fault in check_schema(schema)]
    assert not check_together(SCHEMAS.values())


def test_each_sample_is_for_something() -> None:
    """An area, many keys, and an object whose key stays while everything else about it changes."""
    assert isinstance(SCHEMAS["weather_alert"].geometry_field, SpatialField)
    assert len(SCHEMAS["model_output"].routed) == 7
    storm = SCHEMAS["moving_storm"]
    assert {field.name for field in storm.fields} - set(storm.routed) == {"category", "wind_speed", "polygon"}
    assert storm.edges == "wrapped"


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=lambda schema: str(schema.event_type))
def test_each_sample_describes_itself_and_is_open(schema: Schema) -> None:
    """Whoever reads one learns what it is for; nobody needs credentials to try it."""
    assert schema.description
    assert all(field.description for field in schema.fields)
    assert schema.auth is not None
    assert not schema.auth.required


@EACH_EXAMPLE
def test_an_example_is_accepted(example: Example) -> None:
    """Its identifier and its payload."""
    event_type = EventType(SCHEMAS[example.event_type])
    announced = event_type.announce(example.notification["identifier"])
    assert announced.subject.startswith(f"{event_type.base}.")
    event_type.payload.check(json.dumps(example.notification["payload"]).encode())


@EACH_EXAMPLE
def test_the_filter_of_an_example_selects_its_notification(example: Example) -> None:
    """Whoever pastes both commands sees the one arrive at the other."""
    schema = SCHEMAS[example.event_type]
    event_type = EventType(schema)
    identifier = example.filter["identifier"]
    assert example.filter["event_type"] == example.event_type
    selection = read_selection(event_type, identifier, operation="watch", point=read_point_filter(identifier))
    announced = event_type.announce(example.notification["identifier"])
    event = Event(
        event_type=schema.event_type,
        sequence=1,
        subject=announced.subject,
        instant=0,
        identifier=announced.identifier,
        geometry=announced.geometry,
    )
    assert Matcher(selection.filter).selects(CandidateMaker(schema).of(event))


def test_what_a_storm_is_does_not_depend_on_where_it_is() -> None:
    """Two fixes of one storm are one object."""
    (example,) = [example for example in EXAMPLES if example.event_type == "moving_storm"]
    event_type = EventType(SCHEMAS["moving_storm"])
    first = example.notification["identifier"]
    moved = first | {"category": 1, "wind_speed": 20, "polygon": [[0, 0], [0, 1], [1, 1], [0, 0]]}
    assert event_type.announce(first).subject == event_type.announce(moved).subject
