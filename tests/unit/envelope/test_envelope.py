"""CloudEvents as they go out: contract section 8, and the members that we add."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pytest

from aviso_core.envelope import Envelope, normal_url
from aviso_core.errors import RenderingFailed
from aviso_core.event import Event
from aviso_core.geometry.read import read_polygon
from aviso_core.geometry.shapes import PointCloud, Polygon

if TYPE_CHECKING:
    from conftest import Golden

PLAIN: Final = Event(
    event_type="alerts",
    sequence=17,
    instant=1_772_618_400_123_456_789,
    subject="alerts.north.4",
    identifier={"region": "north", "step": "4"},
    payload=b'{"note":"ready"}',
)
SQUARE: Final = [[0, 0], [0, 10], [10, 10], [10, 0], [0, 0]]
HOLE: Final = [[2, 2], [2, 4], [4, 4], [2, 2]]
ISLAND: Final = [[50, 50], [50, 51], [51, 51], [50, 50]]


def _but(**changes: Any) -> Event:
    return msgspec.structs.replace(PLAIN, **changes)


def _geojson(*parts: list[list[list[int]]]) -> Polygon:
    turned = [[[[lon, lat] for lat, lon in ring] for ring in part] for part in parts]
    return read_polygon({"type": "MultiPolygon", "coordinates": turned})


# What is rendered, in the order of the golden file.
EVENTS: Final = {
    "plain": PLAIN,
    "without a payload": _but(payload=b"null"),
    "an identifier of nothing": _but(identifier={}),
    "values that read as any are left out": _but(identifier={"a": "*", "b": "", "c": "**", "d": " ", "e": "0"}),
    "identifiers are sorted, a field beside the topic among them": _but(identifier={"z": "1", "B": "2", "a": "3"}),
    "a polygon": _but(geometry=read_polygon("(52.5,13.4,52.6,13.4,52.6,13.6,52.5,13.4)")),
    "a polygon that is also in the topic": _but(
        identifier={"polygon": "[[0.0,0.0]]", "step": "4"}, geometry=read_polygon(SQUARE)
    ),
    "a polygon with a hole": _but(geometry=_geojson([SQUARE, HOLE])),
    "a polygon of two parts": _but(geometry=_geojson([ISLAND], [SQUARE, HOLE])),
    "one part of a multipolygon is a polygon": _but(geometry=_geojson([SQUARE])),
    "a point cloud": _but(geometry=PointCloud(((10.0, 20.0), (11.5, 21.25), (10.0, 20.0)))),
    "a retraction": _but(operation="delete", payload=b"null"),
    "a trace": _but(traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    "an actor, not shown": _but(actor="ann@main"),
    "letters of every kind": _but(
        identifier={"naïve": "Zürich / 東京 🌍", "quote": 'a"b\\c\td'}, payload='{"ü":"\\u00fc"}'.encode()
    ),
    "numbers as they were spelled": _but(payload=b"[1E2,1.0,123456789012345678901234567890,-0]"),
    "a whole second": _but(instant=1_772_618_400_000_000_000),
    "milliseconds": _but(instant=1_772_618_400_120_000_000),
    "microseconds": _but(instant=1_772_618_400_000_001_000),
    "the largest sequence": _but(sequence=2**64 - 1),
    "everything": _but(
        geometry=_geojson([SQUARE], [ISLAND]), operation="delete", traceparent="00-trace-01", actor="ann@main"
    ),
}  # fmt: skip


def _render(event: Event, **options: bool) -> str:
    envelope = Envelope(event_type=event.event_type, base_url="http://localhost:8000")
    return envelope.render(event, **options).decode()


def test_cloudevents_look_as_they_did(golden: Golden) -> None:
    """One title and one line for each event; the last ones for an administrator."""
    shown = {title: _render(event) for title, event in EVENTS.items()}
    shown["an actor, shown"] = _render(EVENTS["an actor, not shown"], show_actor=True)
    shown["nobody, shown"] = _render(PLAIN, show_actor=True)
    shown["everything, shown"] = _render(EVENTS["everything"], show_actor=True)
    golden("cloudevents.txt", "".join(f"# {title}\n{line}\n\n" for title, line in shown.items()))


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS.keys())
@pytest.mark.parametrize("show_actor", [False, True])
def test_a_cloudevent_is_one_line_of_json_with_sorted_keys(event: Event, show_actor: bool) -> None:
    rendered = _render(event, show_actor=show_actor)
    assert "\n" not in rendered
    assert list(json.loads(rendered)) == sorted(json.loads(rendered))
    data = json.loads(rendered)["data"]
    assert list(data) == sorted(data)
    assert list(data["identifier"]) == sorted(data["identifier"])


def test_the_contracts_example_is_rendered() -> None:
    """Decision D1 adds `sequence`; nothing else is there."""
    assert json.loads(_render(PLAIN)) == {
        "data": {"identifier": {"region": "north", "step": "4"}, "payload": {"note": "ready"}},
        "datacontenttype": "application/json",
        "dataschema": "http://localhost:8000/schema/alerts",
        "id": "alerts@17",
        "sequence": 17,
        "source": "http://localhost:8000",
        "specversion": "1.0",
        "time": "2026-03-04T10:00:00.123456789Z",
        "type": "int.ecmwf.aviso.alerts",
    }


ATTRIBUTES: Final = [
    # base_url as configured and event type → source, dataschema, id, type
    ("http://Host:80", "a", "http://Host:80", "http://host/schema/a", "a@1", "int.ecmwf.aviso.a"),
    ("https://Host:443", "a", "https://Host:443", "https://host/schema/a", "a@1", "int.ecmwf.aviso.a"),
    ("HTTP://host:8000", "a", "HTTP://host:8000", "http://host:8000/schema/a", "a@1", "int.ecmwf.aviso.a"),
    ("https://host:80", "a", "https://host:80", "https://host:80/schema/a", "a@1", "int.ecmwf.aviso.a"),
    ("http://host/", "a", "http://host/", "http://host/schema/a", "a@1", "int.ecmwf.aviso.a"),
    ("http://host/Aviso/v1", "a", "http://host/Aviso/v1", "http://host/Aviso/v1/schema/a", "a@1", "int.ecmwf.aviso.a"),
    ("http://[::1]:8000", "a", "http://[::1]:8000", "http://[::1]:8000/schema/a", "a@1", "int.ecmwf.aviso.a"),
    ("http://host", "diss-2_X", "http://host", "http://host/schema/diss-2_X", "diss-2_X@1", "int.ecmwf.aviso.diss-2_X"),
    ("http://host", "a b/ü", "http://host", "http://host/schema/a%20b%2F%C3%BC", "a b/ü@1", "int.ecmwf.aviso.a b/ü"),
    ("http://host", 'a"\\@', "http://host", "http://host/schema/a%22%5C@", 'a"\\@@1', 'int.ecmwf.aviso.a"\\@'),
]  # fmt: skip


@pytest.mark.parametrize(("base_url", "event_type", "source", "schema", "id", "type"), ATTRIBUTES)
def test_attributes_name_the_event_type_and_the_service(
    base_url: str,
    event_type: str,
    source: str,
    schema: str,
    id: str,  # the attribute's name
    type: str,  # the attribute's name
) -> None:
    """The event type, never the topic base; the base URL as configured in `source`, as a URL in `dataschema`."""
    envelope = Envelope(event_type=event_type, base_url=base_url)
    rendered = json.loads(envelope.render(_but(event_type=event_type, sequence=1)))
    assert (rendered["source"], rendered["dataschema"]) == (source, schema)
    assert (rendered["id"], rendered["type"]) == (id, type)


@pytest.mark.parametrize(
    "text",
    [
        "", "host", "localhost:8000", "ftp://host", "mailto:a@b", "http://", "http://:80", "http:///a", "http://[::1",
        "http://host:x", "http://host:99999",
    ],
)  # fmt: skip
def test_what_is_no_absolute_url_is_refused(text: str) -> None:
    with pytest.raises(RenderingFailed, match="URL"):
        normal_url(text)


def test_an_event_that_cannot_be_read_is_not_rendered() -> None:
    """The reason is what the stream's error frame says."""
    with pytest.raises(RenderingFailed, match=r"^Failed to parse stored polygon metadata$"):
        _render(_but(unreadable="Failed to parse stored polygon metadata"))
