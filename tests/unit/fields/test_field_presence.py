"""Which fields must, may and must not be there, by operation: contract sections 3.2, 3.4, 3.5 and 16.2."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pytest

from aviso_core.errors import Refusal
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.point_cloud import PointCloudField
from aviso_core.fields.polygon import PolygonField
from aviso_core.fields.text import TextField
from aviso_core.schema.catalog import build_catalog
from aviso_core.schema.model import Schema, Topic
from support.catalogs import OPEN
from support.endpoints import Endpoint, Notified, Reading, ask

CATALOG: Final = build_catalog(
    [
        Schema(
            event_type="areas",
            topic=Topic(base="areas", key_order=("name",)),
            fields=(TextField(name="name"), PolygonField(name="polygon", required=True)),
        ),
        Schema(
            event_type="clouds",
            topic=Topic(base="clouds", key_order=("name",)),
            fields=(TextField(name="name"), PointCloudField(name="point_cloud")),
        ),
        Schema(
            event_type="plain",
            topic=Topic(base="plain", key_order=("name",)),
            fields=(
                TextField(name="name", required=True),
                IntegerField(name="step", default="0"),
                TextField(name="note"),
            ),
        ),
    ]
)
RING: Final = "(0,0,0,10,10,10,10,0,0,0)"
CLOUD: Final = [[1.0, 2.0]]


def _ask(endpoint: Endpoint, event_type: str, identifier: dict[str, Any]) -> Notified | Reading | Refusal:
    start = {"from_id": "1"} if endpoint == "replay" else {}
    catalog = OPEN if event_type in OPEN.event_types else CATALOG
    body = {"event_type": event_type, "identifier": identifier, "payload": 1, **start}
    return ask(catalog, endpoint, msgspec.json.encode(body))


STORM: Final = {"basin": "pacific", "season": "1", "category": "1", "wind": "1", "polygon": RING}


def _without(*names: str) -> dict[str, Any]:
    return {name: value for name, value in STORM.items() if name not in names}


NO_POINT_HERE: Final = "identifier.point is only supported for watch/replay endpoints, not /notification"
NO_CLOUD_HERE: Final = "identifier.point_cloud is only supported for notify operations"
NO_POINT_FOR_CLOUDS: Final = (
    "identifier.point is not supported for point-cloud schemas; use identifier.polygon"
)
BOTH: Final = "Cannot specify both identifier.polygon and identifier.point. Provide only one spatial filter."
BAD_POINT: Final = "identifier.point must be a valid [lat,lon] coordinate pair or compatible string: "

# Endpoint, event type, identifier → message, or None where it is taken.
REQUESTS: Final[list[tuple[Endpoint, str, dict[str, Any], str | None]]] = [
    # notify: every declared field, whatever `required` says, and no other
    ("notification", "storms", STORM, None),
    ("notification", "storms", _without("season"), "Required field 'season' missing for notify operation"),
    ("notification", "storms", _without("polygon"), "Required field 'polygon' missing for notify operation"),
    ("notification", "storms", _without("wind", "category"), "Required field 'category' missing for notify operation"),
    ("notification", "storms", {}, "Required field 'basin' missing for notify operation"),
    ("notification", "storms", STORM | {"x": 1}, "Unknown field 'x' provided for notify operation"),
    ("notification", "storms", {"x": 1, "a": 1}, "Unknown field 'a' provided for notify operation"),
    ("notification", "storms", STORM | {"Basin": "pacific"}, "Unknown field 'Basin' provided for notify operation"),
    ("notification", "storms", {"": 1}, "Unknown field '' provided for notify operation"),
    ("notification", "clouds", {"name": "n"}, "Required field 'point_cloud' missing for notify operation"),
    ("notification", "clouds", {"name": "n", "polygon": RING}, "Unknown field 'polygon' provided for notify operation"),
    # ... unless the schema gives a default for the one that is left out (an addition of ours)
    ("notification", "plain", {"name": "n", "note": "x"}, None),
    ("notification", "plain", {"name": "n", "step": 3, "note": "x"}, None),
    ("notification", "plain", {"name": "n", "step": 3}, "Required field 'note' missing for notify operation"),
    # 3.4: `point` is a filter
    ("notification", "storms", STORM | {"point": "1,2"}, NO_POINT_HERE),
    ("notification", "storms", {"point": None, "x": 1}, NO_POINT_HERE),
    # watch and replay: what is required; a polygon may be stood in for by a point, a cloud by a polygon
    ("watch", "storms", {"basin": "pacific"}, None),
    ("watch", "storms", {}, "Required field 'basin' missing for watch operation"),
    ("replay", "storms", {}, "Required field 'basin' missing for replay operation"),
    ("watch", "storms", {"wind": "1"}, "Required field 'basin' missing for watch operation"),
    ("watch", "areas", {}, "Required field 'polygon' missing for watch operation"),
    ("watch", "areas", {"polygon": RING}, None),
    ("watch", "areas", {"point": "1,2"}, None),
    ("replay", "areas", {"point": [1, 2]}, None),
    ("watch", "buoys", {"net": "n"}, "Required field 'point_cloud' missing for watch operation"),
    ("replay", "buoys", {"net": "n"}, "Required field 'point_cloud' missing for replay operation"),
    ("watch", "buoys", {"net": "n", "polygon": RING}, None),
    ("watch", "clouds", {}, None),
    ("watch", "clouds", {"polygon": RING}, None),
    # ... undeclared fields
    ("watch", "plain", {"name": "n", "x": 1}, "Unknown field 'x' provided for watch operation"),
    ("replay", "plain", {"name": "n", "x": 1, "a": 2}, "Unknown field 'a' provided for replay operation"),
    ("watch", "plain", {"x": 1}, "Unknown field 'x' provided for watch operation"),
    ("watch", "plain", {"name": "n", "polygon": RING}, "Unknown field 'polygon' provided for watch operation"),
    ("watch", "plain", {"name": "n", "point": "1,2"}, "Unknown field 'point' provided for watch operation"),  # D16
    ("watch", "plain", {"name": "n", "point": "1"}, BAD_POINT + "Point must be in 'lat,lon' format"),  # syntax first
    # ... the reserved names of shapes
    ("watch", "buoys", {"net": "n", "point_cloud": CLOUD}, NO_CLOUD_HERE),
    ("replay", "plain", {"name": "n", "point_cloud": 5}, NO_CLOUD_HERE),
    ("watch", "storms", {"point_cloud": CLOUD, "x": 1}, NO_CLOUD_HERE),
    ("watch", "buoys", {"net": "n", "point": "1,2"}, NO_POINT_FOR_CLOUDS),
    ("watch", "buoys", {"net": "n", "point": "1,2", "x": 1}, NO_POINT_FOR_CLOUDS),
    ("watch", "buoys", {"net": "n", "point": "1"}, BAD_POINT + "Point must be in 'lat,lon' format"),
    ("watch", "storms", {"polygon": RING, "point": "1,2"}, BOTH),
    ("replay", "areas", {"polygon": None, "point": None}, BOTH),  # key presence decides
    ("watch", "plain", {"polygon": 1, "point": 2, "x": 3}, BOTH),
    # 3.5: the wildcard as text passes String and Expver only
    ("watch", "plain", {"name": "*"}, None),
    ("watch", "runs", {"class": "*", "expver": "*"}, None),
    ("watch", "storms", {"basin": "*"}, "Field 'basin' has invalid value '*'. Allowed: [atlantic, pacific, indian]"),
    ("watch", "storms", {"basin": "indian", "category": "*"}, "Field 'category' must be a valid integer, got: '*'"),
    ("watch", "storms", {"basin": "indian", "wind": "*"}, "Field 'wind' must be a valid number, got: '*'"),
    ("watch", "runs", {"class": "od", "date": "*"}, "Failed to parse date value for field 'date'"),
    ("watch", "runs", {"class": "od", "time": "*"},
     "Field 'time' has invalid time format '*'. Expected: H, HH, HH:MM, or HHMM"),
    ("watch", "areas", {"polygon": "*"}, "field 'polygon' must be a valid polygon: "
     "polygon coordinates must be in lat,lon pairs (got an odd number of values)"),
    ("notification", "storms", STORM | {"season": "*"}, None),
    # an empty text is no wildcard
    ("watch", "plain", {"name": ""}, "Field 'name' cannot be empty"),
    ("watch", "plain", {"name": None}, "Field 'name' cannot be null"),
    ("watch", "plain", {"name": ["a"]}, "Field 'name' must be a scalar value or constraint object, got array"),
    ("watch", "areas", {"polygon": None}, "field 'polygon' must be a valid polygon: "
     "polygon must be an array of [lat,lon] points or a compatible string"),
]  # fmt: skip


@pytest.mark.parametrize(("endpoint", "event_type", "identifier", "message"), REQUESTS, ids=repr)
def test_a_request_has_the_fields_that_it_must_have(
    endpoint: Endpoint, event_type: str, identifier: dict[str, Any], message: str | None
) -> None:
    answer = _ask(endpoint, event_type, identifier)
    assert (answer.message if isinstance(answer, Refusal) else None) == message


# What a reader leaves open or spells as the wildcard selects any value.
SELECTIONS: Final[list[tuple[str, dict[str, Any], tuple[tuple[str, str], ...], str]]] = [
    ("plain", {"name": "n"}, (("name", "n"),), "plain.n"),
    ("plain", {"name": "*"}, (), "plain.*"),
    ("plain", {"name": "*", "step": 7, "note": "*"}, (("step", "7"),), "plain.*"),
    ("storms", {"basin": "PACIFIC"}, (("basin", "pacific"),), "storms.pacific.*.*.*"),
    ("storms", {"basin": "indian", "season": "*", "category": "04"}, (("basin", "indian"), ("category", "4")),
     "storms.indian.*.4.*"),
    ("storms", {"basin": {"in": ["indian"]}, "wind": "1.0"}, (("wind", "1"),), "storms.*.*.*.1"),
    ("storms", {"basin": "indian", "polygon": RING}, (("basin", "indian"),), "storms.indian.*.*.*"),
    ("runs", {"class": "od", "expver": "", "date": "2025-187"},
     (("class", "od"), ("date", "2025-07-06"), ("expver", "0001")), "runs.od.0001.2025-07-06.*.*"),
]  # fmt: skip


@pytest.mark.parametrize(("event_type", "identifier", "equals", "topic"), SELECTIONS, ids=repr)
def test_a_reader_selects_by_canonical_texts(
    event_type: str, identifier: dict[str, Any], equals: tuple[tuple[str, str], ...], topic: str
) -> None:
    answer = _ask("replay", event_type, identifier)
    assert isinstance(answer, Reading), answer
    assert answer.selection.filter.equals == equals
    assert answer.selection.topic == topic


def test_a_left_out_field_is_stored_with_its_default() -> None:
    """And stands where it was declared."""
    answer = _ask("notification", "plain", {"note": "x", "name": "n"})
    assert isinstance(answer, Notified), answer
    assert answer.announced.identifier == {"name": "n", "step": "0", "note": "x"}
    assert answer.announced.subject == "plain.n"
