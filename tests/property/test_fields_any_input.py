"""Fields and shapes under any JSON value: accepted or refused, never an unforeseen error, and canonical is final."""

from __future__ import annotations

import contextlib
import datetime
import json
import re
from typing import Any, Final

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from aviso_core.errors import InvalidIdentifier, InvalidRequest, Refusal
from aviso_core.fields import FIELD_TYPES, AnyField, ScalarField, SpatialField
from aviso_core.fields.base import scalar_text
from aviso_core.fields.calendar_date import DateField
from aviso_core.fields.expver import ExpverField
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.real import RealField
from aviso_core.fields.time_of_day import TimeField
from aviso_core.geometry.read import read_point, read_polygon
from aviso_core.geometry.shapes import NotAShape
from aviso_core.json_text import decode
from aviso_core.schema.catalog import build_catalog
from aviso_core.schema.model import Schema, Topic
from support import json_strategies
from support.catalogs import BUOYS, NOTHING_DECLARED, RUNS, STORMS
from support.endpoints import Endpoint, ask

FIELDS: Final = [field for field_type in FIELD_TYPES for field, _ in field_type.samples()]
SCALAR_FIELDS: Final = [field for field in FIELDS if not isinstance(field, SpatialField)]
SAMPLE_VALUES: Final = [
    value
    for field_type in FIELD_TYPES
    for _, samples in field_type.samples()
    for value, _ in (*samples.accepted, *samples.refused)
    if not isinstance(value, list | dict | None) and len(str(value)) < 100
]

# Much of it close to what some field takes.
near_values: Final = st.one_of(
    st.sampled_from(SAMPLE_VALUES),
    st.text("0123456789+-.:eE", max_size=12),
    st.text("0123456789", max_size=25),
    st.from_regex(r"[0-9]{4}-?[0-9]{1,3}(-[0-9]{1,2})?", fullmatch=True),
    st.from_regex(r"[0-9]{1,2}:?[0-9]{2}", fullmatch=True),
    st.integers(-(10**20), 10**20),
    json_strategies.doubles,
    json_strategies.texts,
    st.booleans(),
)


def _canonical(field: ScalarField, value: object) -> str | None:
    """Return the canonical text, or None where the value is refused."""
    try:
        return field.canonical(scalar_text(field.name, value))
    except InvalidIdentifier:
        return None


@given(st.sampled_from(SCALAR_FIELDS), near_values)
def test_a_canonical_text_is_final(field: ScalarField, value: object) -> None:
    """Sent again, through JSON or as text, it stays what it is; so does the value that it came from."""
    canonical = _canonical(field, value)
    assume(canonical is not None)
    assert canonical
    assert _canonical(field, canonical) == canonical
    assert _canonical(field, decode(msgspec.json.encode(canonical))) == canonical
    assert _canonical(field, decode(json.dumps(value).encode())) == canonical


@given(st.sampled_from(FIELDS), json_strategies.values)
def test_a_field_takes_a_value_or_refuses_it(field: AnyField, value: Any) -> None:
    refusal = _refusal(field, value)
    if refusal is not None:
        assert refusal.field == field.name
        assert refusal.message
        assert refusal.details


def _refusal(field: AnyField, value: Any) -> InvalidRequest | None:
    try:
        if isinstance(field, SpatialField):
            field.read(value)
        else:
            field.canonical(scalar_text(field.name, value))
    except InvalidRequest as refusal:
        return refusal
    return None


# --- one type at a time, said a second time --------------------------------------------------------------


@given(near_values)
def test_an_integer_is_what_64_bits_hold(value: object) -> None:
    text = scalar_text("x", value)
    is_integer = re.fullmatch(r"[+-]?[0-9]+", text) is not None and -(2**63) <= int(text) < 2**63
    assert _canonical(IntegerField(name="x"), value) == (str(int(text)) if is_integer else None)


@given(near_values)
def test_a_float_keeps_its_double(value: object) -> None:
    text = scalar_text("x", value)
    canonical = _canonical(RealField(name="x"), value)
    is_number = re.fullmatch(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", text)
    if is_number and abs(float(text)) < float("inf"):
        assert canonical is not None
        assert float(canonical) == float(text)
        assert re.fullmatch(r"-?[0-9]+(\.[0-9]*[1-9])?", canonical)
    else:
        assert canonical is None


days: Final = st.dates(datetime.date(1, 1, 1), datetime.date(9999, 12, 31))


@given(days, st.sampled_from(("{0:%d}", "plain", "dashed", "loose", "ordinal")))
def test_a_day_is_the_same_in_every_form(day: datetime.date, form: str) -> None:
    text = {
        "plain": f"{day.year:04}{day.month:02}{day.day:02}",
        "dashed": f"{day.year:04}-{day.month:02}-{day.day:02}",
        "loose": f"{day.year:04}-{day.month}-{day.day}",
    }.get(form, f"{day.year:04}-{day.timetuple().tm_yday:03}")
    assert DateField(name="x").canonical(text) == f"{day.year:04}{day.month:02}{day.day:02}"
    assert DateField(name="x", canonical_format="%Y-%m-%d").canonical(text) == day.isoformat()


@given(st.integers(0, 9999), st.integers(0, 99), st.integers(0, 99))
def test_a_day_that_is_none_is_refused(year: int, month: int, day: int) -> None:
    try:
        expected = datetime.date(year, month, day).strftime("%m%d")
    except ValueError:
        expected = None
    assume(year)  # Python's calendar begins with the year 1
    canonical = _canonical(DateField(name="x"), f"{year:04}{month:02}{day:02}")
    assert canonical == (None if expected is None else f"{year:04}{expected}")


@given(st.integers(0, 99), st.integers(0, 99))
def test_a_time_is_the_same_in_every_form(hour: int, minute: int) -> None:
    field, is_time = TimeField(name="x"), hour < 24 and minute < 60
    expected = f"{hour:02}{minute:02}" if is_time else None
    forms = {f"{hour:02}{minute:02}", f"{hour:02}:{minute:02}", f"{hour}:{minute:02}"}
    assert {_canonical(field, form) for form in forms} == {expected}
    if minute == 0 and hour < 24:
        assert {_canonical(field, f"{hour:02}"), _canonical(field, str(hour))} == {expected}


@given(st.integers(0, 2**33), st.integers(0, 6))
def test_an_expver_is_padded_where_32_bits_hold_it(number: int, zeros: int) -> None:
    text = "0" * zeros + str(number)
    expected = f"{number:04}" if number < 2**32 else text
    assert ExpverField(name="x").canonical(text) == expected


# --- shapes ----------------------------------------------------------------------------------------------

_latitudes: Final = st.floats(-90, 90) | st.integers(-90, 90)
_longitudes: Final = st.floats(-180, 180) | st.integers(-180, 180)
pairs: Final = st.tuples(_latitudes, _longitudes)
rings: Final = st.lists(pairs, min_size=3, max_size=6).map(lambda corners: [*corners, corners[0]])


@given(rings)
def test_a_ring_is_the_same_in_every_spelling(ring: list[tuple[float, float]]) -> None:
    as_text = ",".join(f"{float(latitude)!r},{float(longitude)!r}" for latitude, longitude in ring)
    geojson = {
        "type": "Polygon",
        "coordinates": [[[longitude, latitude] for latitude, longitude in ring]],
    }
    spellings = [ring, json.dumps(ring), as_text, f"( {as_text} )", geojson]
    polygons = {read_polygon(spelling) for spelling in spellings}
    assert len(polygons) == 1
    (polygon,) = polygons
    assert read_polygon(json.loads(polygon.canonical())) == polygon
    assert read_polygon(polygon.canonical()) == polygon
    assert read_polygon(polygon.geojson()) == polygon


@given(pairs)
def test_a_point_is_the_same_in_every_spelling(pair: tuple[float, float]) -> None:
    latitude, longitude = pair
    as_text = f"{float(latitude)!r},{float(longitude)!r}"
    geojson = {"type": "Point", "coordinates": [longitude, latitude]}
    points = {read_point(one) for one in ([*pair], json.dumps(pair), as_text, f"({as_text})", geojson)}
    assert len(points) == 1
    assert read_point(points.pop().geojson()) == read_point([*pair])


@given(
    st.one_of(
        json_strategies.values,
        st.text("()[],.-+e0123456789 ", max_size=30),
        st.fixed_dictionaries(
            {
                "type": st.sampled_from(("Polygon", "MultiPolygon", "Point", 5, None)),
                "coordinates": st.recursive(
                    st.integers(-200, 200) | json_strategies.scalars,
                    lambda inner: st.lists(inner, max_size=5),
                    max_leaves=20,
                ),
            }
        ),
    )
)
def test_a_shape_is_read_or_refused(value: Any) -> None:
    with contextlib.suppress(NotAShape):
        polygon = read_polygon(value)
        assert all(ring[0] == ring[-1] and len(ring) >= 4 for part in polygon.parts for ring in part)
        assert all(
            abs(lat) <= 90 and abs(lon) <= 180 for part in polygon.parts for ring in part for lat, lon in ring
        )
    with contextlib.suppress(NotAShape):
        point = read_point(value)
        assert abs(point.latitude) <= 90
        assert abs(point.longitude) <= 180


# --- whole requests --------------------------------------------------------------------------------------

EVERY_FIELD: Final = Schema(
    event_type="every",
    topic=Topic(base="every", key_order=tuple(f"f{place}" for place, _ in enumerate(SCALAR_FIELDS))),
    fields=tuple(
        msgspec.structs.replace(field, name=f"f{place}") for place, field in enumerate(SCALAR_FIELDS)
    ),
)
CATALOG: Final = build_catalog([STORMS, RUNS, BUOYS, EVERY_FIELD])
_operands: Final = st.one_of(near_values, st.lists(near_values, max_size=3), json_strategies.values)
_constraints: Final = st.dictionaries(
    st.sampled_from(("eq", "in", "gt", "gte", "lt", "lte", "between", "ge")), _operands, max_size=2
)
_shapes: Final = st.one_of(rings, pairs, st.lists(pairs, max_size=3))
_field_values: Final = st.one_of(near_values, near_values, _constraints, _shapes, json_strategies.values)


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """Return the body of a request that has mostly the fields of its event type."""
    event_type = draw(st.sampled_from(("storms", "runs", "buoys", "every", "nothing", "a.b")))
    declared = CATALOG.event_types.get(event_type)
    names = [field.name for field in declared.schema.fields] if declared else ["a", "b"]
    sent = {name: draw(_field_values) for name in names if draw(st.integers(0, 3))}
    odd = draw(st.dictionaries(st.sampled_from(("point", "polygon", "x")), _field_values, max_size=1))
    spans = draw(st.fixed_dictionaries({}, optional=dict.fromkeys(_SPANS, st.none() | _span_texts)))
    body = {"event_type": event_type, "identifier": sent | odd, "payload": draw(json_strategies.values)}
    return json.dumps(body | spans).encode()


_SPANS: Final = ("from_id", "from_date", "to_id", "to_date")
_span_texts: Final = st.text("0123456789-+T:Z. ", max_size=20)


@pytest.mark.parametrize("endpoint", ["notification", "watch", "replay"])
@given(data=requests(), is_declared=st.booleans())
def test_a_request_is_served_or_refused(endpoint: Endpoint, data: bytes, is_declared: bool) -> None:
    """`ask` returns refusals; anything else that is raised would be a server error."""
    catalog = CATALOG if is_declared else NOTHING_DECLARED
    answer = ask(catalog, endpoint, data)
    if isinstance(answer, Refusal):
        assert answer.message
        assert answer.details
    else:
        assert ask(catalog, endpoint, data) == answer
