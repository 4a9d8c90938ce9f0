"""Rendered CloudEvents against ones put together as plain values, whatever the event holds."""

from __future__ import annotations

import json
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from aviso_core.envelope import Envelope
from aviso_core.event import Event
from aviso_core.geometry.shapes import Geometry, PointCloud, Polygon
from aviso_core.instant import to_text
from aviso_core.json_text import compact
from support.json_strategies import spelled, texts

_pairs: Final = st.tuples(st.floats(-90, 90), st.floats(-180, 180))
_rings: Final = st.lists(_pairs, min_size=3, max_size=5).map(lambda corners: (*corners, corners[0]))
_parts: Final = st.lists(_rings, min_size=1, max_size=3).map(tuple)
_geometries: Final[st.SearchStrategy[Geometry | None]] = st.one_of(
    st.none(),
    st.lists(_parts, min_size=1, max_size=3).map(lambda parts: Polygon(tuple(parts))),
    st.lists(_pairs, min_size=1, max_size=4).map(lambda points: PointCloud(tuple(points))),
)
events: Final = st.builds(
    Event,
    event_type=texts,
    sequence=st.integers(0, 2**64 - 1),
    instant=st.integers(-(2**63), 2**63 - 1),
    subject=st.just("s"),
    identifier=st.dictionaries(texts, st.one_of(texts, st.just("*"), st.just("")), max_size=4),
    geometry=_geometries,
    payload=spelled().map(compact),
    operation=st.sampled_from(("", "delete")),
    actor=st.one_of(st.just(""), texts),
    traceparent=st.one_of(st.just(""), texts),
)


@given(events, st.booleans())
def test_an_envelope_says_what_the_event_holds(event: Event, show_actor: bool) -> None:
    """One line of JSON, keys in order, nothing more and nothing less than the event."""
    envelope = Envelope(event_type=event.event_type, base_url="http://localhost:8000/aviso")
    rendered = envelope.render(event, show_actor=show_actor)
    assert b"\n" not in rendered
    assert b"\r" not in rendered
    found = json.loads(rendered)
    schema_url = found.pop("dataschema")
    assert schema_url.startswith("http://localhost:8000/aviso/schema/")
    assert schema_url.isascii()
    assert " " not in schema_url
    expected = _as_values(event, show_actor=show_actor)
    assert found == expected
    assert _spelled(rendered)["data"]["payload"] == _spelled(event.payload)
    assert list(json.loads(rendered)) == sorted(json.loads(rendered))
    assert list(found["data"]) == sorted(found["data"])
    assert list(found["data"]["identifier"]) == sorted(found["data"]["identifier"])


def _spelled(data: bytes) -> Any:
    """Read numbers as they stand: `1.0` and `1` are two things."""
    return json.loads(data, parse_int=lambda digits: [digits], parse_float=lambda digits: [digits])


def _as_values(event: Event, *, show_actor: bool) -> dict[str, Any]:
    identifier: dict[str, Any] = {
        name: text for name, text in event.identifier.items() if text not in ("", "*")
    }
    data = {"identifier": identifier, "payload": json.loads(event.payload)}
    match event.geometry:
        case PointCloud(points):
            identifier["point_cloud"] = [list(point) for point in points]
        case Polygon(parts) as polygon:
            identifier["polygon"] = [list(pair) for pair in polygon.main_ring()]
            turned = [[[[lon, lat] for lat, lon in ring] for ring in part] for part in parts]
            if len(parts) > 1:
                data["geometry"] = {"type": "MultiPolygon", "coordinates": turned}
            elif len(parts[0]) > 1:
                data["geometry"] = {"type": "Polygon", "coordinates": turned[0]}
        case None:
            pass
    optional = {
        "actor": event.actor if show_actor else "",
        "operation": event.operation,
        "traceparent": event.traceparent,
    }
    return {
        "data": data,
        "datacontenttype": "application/json",
        "id": f"{event.event_type}@{event.sequence}",
        "sequence": event.sequence,
        "source": "http://localhost:8000/aviso",
        "specversion": "1.0",
        "time": to_text(event.instant),
        "type": f"int.ecmwf.aviso.{event.event_type}",
    } | {name: value for name, value in optional.items() if value}
