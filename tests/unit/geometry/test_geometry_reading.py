"""How shapes are written: contract sections 6.1, 6.2, 6.3 and 16.2, and GeoJSON."""

from __future__ import annotations

import time
from typing import Any, Final

import pytest

from aviso_core.errors import InvalidGeometry, InvalidIdentifier, Refusal
from aviso_core.fields.point_cloud import PointCloudField
from aviso_core.fields.polygon import PolygonField
from aviso_core.geometry.read import read_point, read_polygon
from aviso_core.geometry.shapes import NotAShape, Point, PointCloud, Polygon, bounds
from aviso_core.json_text import decode
from aviso_core.matching.filter import read_point_filter

# Neither a list nor anything that a list of numbers is made of.
NO_LISTS: Final[list[Any]] = [None, "0,0", {}, 5, 1.5, True]
OBJECTS: Final[list[Any]] = [{}, {"in": []}, {"type": "MultiPoint", "coordinates": [[1, 2]]}]
HALF_GEOJSON: Final[list[Any]] = [{"type": "Polygon"}, {"coordinates": []}, {"in": []}]

SQUARE: Final = ((0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.0, 0.0))

# --- 6.1 polygons as text, 16.2 as arrays ----------------------------------------------------------------

POLYGONS: Final[list[tuple[Any, tuple[tuple[float, float], ...]]]] = [
    ("(0,0,0,1,1,1,0,0)", SQUARE),
    ("0,0,0,1,1,1,0,0", SQUARE),
    ("  ( 0 , 0 ,0 ,1, 1,1 ,0,0 )\n", SQUARE),
    ("0.0,0e5,.0,1.,+1,1E0,-0,0", SQUARE),
    ("(52.5,13.4,52.6,13.4,52.6,13.6,52.5,13.4)", ((52.5, 13.4), (52.6, 13.4), (52.6, 13.6), (52.5, 13.4))),
    ("-90,-180,90,180,90,-180,-90,-180", ((-90.0, -180.0), (90.0, 180.0), (90.0, -180.0), (-90.0, -180.0))),
    # no check for uniqueness, area or self-intersection
    ("1,1,1,1,1,1,1,1", ((1.0, 1.0),) * 4),
    ("0,0,2,2,0,2,2,0,0,0", ((0.0, 0.0), (2.0, 2.0), (0.0, 2.0), (2.0, 0.0), (0.0, 0.0))),
    ([[0, 0], [0, 1], [1, 1], [0, 0]], SQUARE),
    ([[0.0, 0], [0, 1.0], [1, 1], [-0.0, 0]], SQUARE),
    ("[[0,0],[0,1],[1,1],[0,0]]", SQUARE),
    (' \n[ [0, 0] , [0, 1.0], [1, 1], [0, 0] ] ', SQUARE),
]  # fmt: skip


@pytest.mark.parametrize(("value", "ring"), POLYGONS, ids=repr)
def test_a_polygon_is_read(value: Any, ring: tuple[tuple[float, float], ...]) -> None:
    assert read_polygon(value) == Polygon(((ring,),))


SHORT: Final = (
    "polygon must have at least 4 coordinate pairs "
    "(3 unique vertices plus a closing repeat of the first vertex)"  # one text of the contract
)
OPEN: Final = "polygon must be closed (first and last coordinates must be identical)"
ODD: Final = "polygon coordinates must be in lat,lon pairs (got an odd number of values)"
NESTED: Final = (
    "polygon coordinate string must have at most one outer pair of parentheses; "
    "nested '(' or ')' are not allowed"
)
UNCLOSED: Final = "polygon coordinate string has opening '(' but is missing the closing ')'"
UNOPENED: Final = "polygon coordinate string has closing ')' but is missing the opening '('"
NO_PAIR: Final = "coordinate must be a two-element array [lat,lon]"
NO_POLYGON: Final = "polygon must be an array of [lat,lon] points or a compatible string"
LATITUDES: Final = "is outside the valid range [-90, 90]"
LONGITUDES: Final = "is outside the valid range [-180, 180]"

NO_POLYGONS: Final[list[tuple[Any, str]]] = [
    # text, in the order of the checks
    ("", "polygon coordinate string is empty"),
    (" \n ", "polygon coordinate string is empty"),
    ("()", "polygon coordinate string is empty between parentheses"),
    (" (  ) ", "polygon coordinate string is empty between parentheses"),
    ("(", UNCLOSED),
    ("(0,0,0,1,1,1,0,0", UNCLOSED),
    (")", UNOPENED),
    ("0,0,0,1,1,1,0,0)", UNOPENED),
    ("((0,0,0,1,1,1,0,0))", NESTED),
    ("(0,(0),0,1,1,1,0,0)", NESTED),
    ("0,(0,0),1", NESTED),
    ("(0,0),(0,1),(1,1),(0,0)", NESTED),
    ("1", ODD),
    ("1,2,3", ODD),
    ("0,0,0,1,1,1,0,0,", ODD),
    ("x", ODD),
    ("a,0,0,1,1,1,0,0", "could not parse latitude 'a' as a number"),
    (",0,0,1,1,1,0,0", "could not parse latitude '' as a number"),
    ("0,b,0,1,1,1,0,0", "could not parse longitude 'b' as a number"),
    ("0 0,0,0,1,1,1,0,0", "could not parse latitude '0 0' as a number"),
    ("0,0x1,0,1,1,1,0,0", "could not parse longitude '0x1' as a number"),
    ("0,1_0,0,1,1,1,0,0", "could not parse longitude '1_0' as a number"),
    ("0,0,0,1,1,٤,0,0", "could not parse longitude '٤' as a number"),
    ("91,0,0,1,1,1,91,0", f"latitude 91 {LATITUDES}"),
    ("-90.5,0,0,1,1,1,0,0", f"latitude -90.5 {LATITUDES}"),
    ("NaN,0,0,1,1,1,0,0", f"latitude NaN {LATITUDES}"),
    ("inf,0,0,1,1,1,0,0", f"latitude inf {LATITUDES}"),
    ("-Infinity,0,0,1,1,1,0,0", f"latitude -inf {LATITUDES}"),
    ("1e400,0,0,1,1,1,0,0", f"latitude inf {LATITUDES}"),
    ("1e21,0,0,1,1,1,0,0", f"latitude 1000000000000000000000 {LATITUDES}"),
    ("0,181,0,1,1,1,0,181", f"longitude 181 {LONGITUDES}"),
    ("0,-180.25,0,1,1,1,0,0", f"longitude -180.25 {LONGITUDES}"),
    ("0,nan,0,1,1,1,0,0", f"longitude NaN {LONGITUDES}"),
    ("91,0,0,b", f"latitude 91 {LATITUDES}"),  # pair by pair: the first pair's range before the second's number
    ("0,0", SHORT),
    ("0,0,0,1,0,0", SHORT),  # a closed line
    ("0,0,0,1,1,1", SHORT),
    ("0,0,0,1,1,1,1,0", OPEN),
    ("0,0,0,1,1,1,0,0.0000001", OPEN),  # exactly
    # arrays
    ([], SHORT),
    ([[0, 0], [0, 1], [0, 0]], SHORT),
    ([[0, 0], [0, 1], [1, 1], [1, 0]], OPEN),
    ([[0, 0], [0, 1], [1]], f"polygon point 2 is invalid: {NO_PAIR}"),
    ([[0, 0, 5], [0, 1]], f"polygon point 0 is invalid: {NO_PAIR}"),
    ([0, 0, 0, 1, 1, 1, 0, 0], f"polygon point 0 is invalid: {NO_PAIR}"),  # flat
    ([[[0, 0], [0, 1], [1, 1], [0, 0]]], f"polygon point 0 is invalid: {NO_PAIR}"),  # a list of rings
    ([{"lat": 0, "lon": 0}], f"polygon point 0 is invalid: {NO_PAIR}"),
    (["0,0"], f"polygon point 0 is invalid: {NO_PAIR}"),
    ([None], f"polygon point 0 is invalid: {NO_PAIR}"),
    ([["0", 1]], "polygon point 0 is invalid: latitude must be a number"),
    ([[0, "1"]], "polygon point 0 is invalid: longitude must be a number"),
    ([[0, None]], "polygon point 0 is invalid: longitude must be a number"),
    ([[True, 0]], "polygon point 0 is invalid: latitude must be a number"),
    ([[0, 0], [-91, 0]], f"polygon point 1 is invalid: latitude -91 {LATITUDES}"),
    ([[0, 0], [0, 180.5]], f"polygon point 1 is invalid: longitude 180.5 {LONGITUDES}"),
    ([[10**400, 0]], f"polygon point 0 is invalid: latitude inf {LATITUDES}"),
    ([[0, -(10**400)]], f"polygon point 0 is invalid: longitude -inf {LONGITUDES}"),
    (decode(b"[[0," + b"9" * 5000 + b"]]"), f"polygon point 0 is invalid: longitude inf {LONGITUDES}"),
    # text that holds an array
    ("[]", SHORT),
    ("[1,2]", f"polygon point 0 is invalid: {NO_PAIR}"),
    ("[[0,0],[0,1],[1,1],[1,0]]", OPEN),
    ('[["0",1]]', "polygon point 0 is invalid: latitude must be a number"),
    # neither text nor array
    *((value, NO_POLYGON) for value in NO_LISTS if not isinstance(value, str)),
    *((value, NO_POLYGON) for value in HALF_GEOJSON),
]  # fmt: skip


@pytest.mark.parametrize(("value", "reason"), NO_POLYGONS, ids=lambda part: repr(part)[:50])
def test_what_is_no_polygon_is_told_why(value: Any, reason: str) -> None:
    with pytest.raises(NotAShape) as caught:
        read_polygon(value)
    assert str(caught.value) == reason


NO_ARRAYS: Final = ["[", "[[0,0],[0,1]", "[[0,0]]x", "[[0,0],]", "[NaN]", "[1e999]", "[" * 200 + "]" * 200]


@pytest.mark.parametrize("text", NO_ARRAYS, ids=lambda text: text[:20])
def test_text_that_begins_like_an_array_must_be_one(text: str) -> None:
    """What follows the colon is the parser's own."""
    with pytest.raises(NotAShape, match=r"^invalid polygon JSON array: ."):
        read_polygon(text)
    with pytest.raises(NotAShape, match=r"^invalid point JSON array: ."):
        read_point(text)


# --- 6.2 what is stored ----------------------------------------------------------------------------------

STORED: Final = [
    ("(0,0,0,1,1,1,0,0)", "[[0.0,0.0],[0.0,1.0],[1.0,1.0],[0.0,0.0]]", "0,0,1,1"),
    ([[52.4, 13.4], [52.6, 13.4], [52.6, 13.6], [52.4, 13.4]], "[[52.4,13.4],[52.6,13.4],[52.6,13.6],[52.4,13.4]]",
     "52.4,13.4,52.6,13.6"),
    ("-1,170,-1,-170,1,-170,-1,170", "[[-1.0,170.0],[-1.0,-170.0],[1.0,-170.0],[-1.0,170.0]]", "-1,-170,1,170"),
    ("1e-7,0,0,1,1,1,1e-7,0", "[[1e-7,0.0],[0.0,1.0],[1.0,1.0],[1e-7,0.0]]", "0,0,1,1"),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "canonical", "box"), STORED, ids=repr)
def test_a_polygon_is_stored_as_numbers_with_a_fraction(sent: Any, canonical: str, box: str) -> None:
    """And its box with the shortest digits."""
    polygon = read_polygon(sent)
    assert polygon.canonical() == canonical
    assert bounds(polygon).text() == box


# --- 6.3 points ------------------------------------------------------------------------------------------

POINTS: Final[list[tuple[Any, Point]]] = [
    ("15,25", Point(15.0, 25.0)),
    (" 15 , 25 ", Point(15.0, 25.0)),
    ("(15,25)", Point(15.0, 25.0)),
    (" ( 15 , 25 ) ", Point(15.0, 25.0)),
    ("-.5,+1e2", Point(-0.5, 100.0)),
    ("-90,180", Point(-90.0, 180.0)),
    ([15, 25], Point(15.0, 25.0)),
    ([15.5, -25], Point(15.5, -25.0)),
    ("[15,25]", Point(15.0, 25.0)),
    (" [15, 25.0] ", Point(15.0, 25.0)),
    ({"type": "Point", "coordinates": [25, 15]}, Point(15.0, 25.0)),  # GeoJSON: longitude first
    ({"type": "Point", "coordinates": [25, 15, 1000]}, Point(15.0, 25.0)),
]


@pytest.mark.parametrize(("value", "point"), POINTS, ids=repr)
def test_a_point_is_read(value: Any, point: Point) -> None:
    assert read_point(value) == point


NO_POINT: Final = "point must be a two-element array [lat,lon] or a compatible string"
NO_POINTS: Final[list[tuple[Any, str]]] = [
    ("", "Point coordinate string cannot be empty"),
    ("  ", "Point coordinate string cannot be empty"),
    ("()", "Point coordinate string cannot be empty"),
    ("( )", "Point coordinate string cannot be empty"),
    ("15", "Point must be in 'lat,lon' format"),
    ("15 25", "Point must be in 'lat,lon' format"),
    ("(15)", "Point must be in 'lat,lon' format"),
    ("1,2,3", "Point must contain exactly two values: 'lat,lon'"),
    ("1,2,", "Point must contain exactly two values: 'lat,lon'"),
    ("a,2", "Invalid latitude value: a"),
    (",2", "Invalid latitude value: "),
    ("1,b", "Invalid longitude value: b"),
    ("1,", "Invalid longitude value: "),
    ("(1,2", "Invalid latitude value: (1"),
    ("1,2)", "Invalid longitude value: 2)"),
    ("((1,2))", "Invalid latitude value: (1"),
    ("nan,2", "latitude must be finite"),
    ("1,-inf", "longitude must be finite"),
    ("1e400,2", "latitude must be finite"),
    ("95,25", f"latitude 95 {LATITUDES}"),
    ("-90.1,25", f"latitude -90.1 {LATITUDES}"),
    ("15,180.1", f"longitude 180.1 {LONGITUDES}"),
    ("95,x", "Invalid longitude value: x"),
    ([], NO_PAIR),
    ([1], NO_PAIR),
    ([1, 2, 3], NO_PAIR),
    ([[1, 2]], NO_PAIR),
    (["1", 2], "latitude must be a number"),
    ([1, "2"], "longitude must be a number"),
    ([1, None], "longitude must be a number"),
    ([True, 2], "latitude must be a number"),
    ([95, 2], f"latitude 95 {LATITUDES}"),
    ([1, 181], f"longitude 181 {LONGITUDES}"),
    ("[]", NO_PAIR),
    ("[1]", NO_PAIR),
    ('["1",2]', "latitude must be a number"),
    ("[95,2]", f"latitude 95 {LATITUDES}"),
    *((value, NO_POINT) for value in (None, 5, 1.5, True, False, {}, {"eq": 1}, {"type": "Point"})),
]  # fmt: skip


@pytest.mark.parametrize(("value", "reason"), NO_POINTS, ids=repr)
def test_what_is_no_point_is_told_why(value: Any, reason: str) -> None:
    with pytest.raises(InvalidGeometry) as caught:
        read_point_filter({"point": value})
    assert caught.value.message == (
        f"identifier.point must be a valid [lat,lon] coordinate pair or compatible string: {reason}"
    )
    assert (caught.value.details, caught.value.field) == (caught.value.message, "point")


# --- 16.2 point clouds -----------------------------------------------------------------------------------

CLOUD: Final = PointCloudField(name="point_cloud")
CLOUDS: Final = [
    ([[10.0, 20.0], [11.5, 21.25]], "[[10.0,20.0],[11.5,21.25]]", "10,20,11.5,21.25"),
    ([[1, 2], [1, 2]], "[[1.0,2.0],[1.0,2.0]]", "1,2,1,2"),  # duplicates stay
    ([[5, 5], [-5, 0]], "[[5.0,5.0],[-5.0,0.0]]", "-5,0,5,5"),  # so does the order
    ([[90, 180]], "[[90.0,180.0]]", "90,180,90,180"),
]


@pytest.mark.parametrize(("sent", "canonical", "box"), CLOUDS, ids=repr)
def test_a_cloud_is_read(sent: Any, canonical: str, box: str) -> None:
    cloud = CLOUD.read(sent)
    assert isinstance(cloud, PointCloud)
    assert cloud.canonical() == canonical
    assert bounds(cloud).text() == box


NO_ARRAY: Final = "field 'point_cloud' must be a JSON array of [lat,lon] points"
NO_CLOUDS: Final[list[tuple[Any, str, str | None]]] = [
    *((value, NO_ARRAY, None) for value in ("", "x", "[[10.0,20.0]]", "10,20", None, 5, 1.5, True)),
    *(
        (value, "Field 'point_cloud' constraint object is not supported for notify operation", None)
        for value in OBJECTS
    ),
    ([], "field 'point_cloud' point cloud must contain at least one point", None),
    *(
        (value, "field 'point_cloud' point cloud contains 10001 points, maximum is 10000", None)
        for value in ([[0, 0]] * 10_001, [None] * 10_001)  # before the pairs are looked at
    ),
    ([1, 2], f"field 'point_cloud' point 0 is invalid: {NO_PAIR}", NO_PAIR),
    ([[1, 2, 3]], f"field 'point_cloud' point 0 is invalid: {NO_PAIR}", NO_PAIR),
    ([[1, 2], "3,4"], f"field 'point_cloud' point 1 is invalid: {NO_PAIR}", NO_PAIR),
    ([["1", "2"]], "field 'point_cloud' point 0 is invalid: latitude must be a number", "latitude must be a number"),
    ([[1, False]], "field 'point_cloud' point 0 is invalid: longitude must be a number", "longitude must be a number"),
    ([[91, 0]], f"field 'point_cloud' point 0 is invalid: latitude 91 {LATITUDES}", f"latitude 91 {LATITUDES}"),
    ([[0, 0], [0, 181]], f"field 'point_cloud' point 1 is invalid: longitude 181 {LONGITUDES}",
     f"longitude 181 {LONGITUDES}"),
    ([[1.5, 2.5]] * 6144,
     "field 'point_cloud' point cloud canonical JSON is 61441 bytes, maximum is 61440 bytes", None),
]  # fmt: skip


@pytest.mark.parametrize(("value", "message", "details"), NO_CLOUDS, ids=lambda part: repr(part)[:50])
def test_what_is_no_cloud_is_told_why(value: Any, message: str, details: str | None) -> None:
    """Of a bad pair, `details` is the reason alone; a polygon's is the whole text."""
    with pytest.raises((InvalidGeometry, InvalidIdentifier)) as caught:
        CLOUD.read(value)
    assert caught.value.message == message
    assert caught.value.details == (details or message)
    assert caught.value.field == "point_cloud"


def test_a_cloud_may_fill_its_header() -> None:
    """6143 pairs of ten bytes, nine more digits, the outer brackets without the last comma: 61440 bytes."""
    assert len(CLOUD.read([[1.5123456789, 2.5], *[[1.5, 2.5]] * 6142]).canonical()) == 61_440


def test_a_cloud_may_have_as_many_points_as_the_field_says() -> None:
    small = PointCloudField(name="point_cloud", max_points=2)
    assert len(small.read([[0, 0]] * 2).points) == 2
    with pytest.raises(InvalidGeometry, match="contains 3 points, maximum is 2"):
        small.read([[0, 0]] * 3)


# --- GeoJSON ---------------------------------------------------------------------------------------------

OUTER: Final = [[0, 0], [10, 0], [10, 5], [0, 5], [0, 0]]  # longitude first
INNER: Final = [[2, 1], [4, 1], [4, 2], [2, 1]]
FAR: Final = [[100, 0], [101, 0], [101, 1], [100, 0]]


def _turned(ring: list[list[int]]) -> tuple[tuple[float, float], ...]:
    return tuple((float(latitude), float(longitude)) for longitude, latitude in ring)


GEOJSON: Final[list[tuple[dict[str, Any], tuple[Any, ...], bool]]] = [
    # value, parts, whether one ring says it all
    ({"type": "Polygon", "coordinates": [OUTER]}, ((_turned(OUTER),),), True),
    ({"type": "Polygon", "coordinates": [OUTER, INNER]}, ((_turned(OUTER), _turned(INNER)),), False),
    ({"type": "MultiPolygon", "coordinates": [[OUTER]]}, ((_turned(OUTER),),), True),
    ({"type": "MultiPolygon", "coordinates": [[FAR], [OUTER, INNER]]},
     ((_turned(FAR),), (_turned(OUTER), _turned(INNER))), False),
    ({"type": "Polygon", "coordinates": [[[x, y, 100.5] for x, y in OUTER]]}, ((_turned(OUTER),),), True),  # heights
    ({"type": "Polygon", "coordinates": [OUTER], "bbox": [0, 0, 10, 5], "name": "n"}, ((_turned(OUTER),),), True),
]  # fmt: skip


@pytest.mark.parametrize(("value", "parts", "plain"), GEOJSON, ids=lambda part: repr(part)[:60])
def test_geojson_is_read_longitude_first(value: dict[str, Any], parts: tuple[Any, ...], plain: bool) -> None:
    polygon = PolygonField(name="polygon").read(value)
    assert polygon.parts == parts
    assert polygon.is_plain is plain
    assert read_polygon(polygon.geojson()) == polygon


def test_the_array_form_of_several_parts_is_the_outer_ring_of_the_largest() -> None:
    polygon = read_polygon({"type": "MultiPolygon", "coordinates": [[FAR], [OUTER, INNER]]})
    assert polygon.main_ring() == _turned(OUTER)
    assert polygon.canonical() == "[[0.0,0.0],[0.0,10.0],[5.0,10.0],[5.0,0.0],[0.0,0.0]]"


NO_AREA: Final = "type must be Polygon or MultiPolygon, got"
NO_POSITION: Final = "must be a position [longitude, latitude]"
TURNED: Final = "(GeoJSON is longitude first)"


def _polygon(coordinates: object) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": coordinates}


def _parts(coordinates: object) -> dict[str, Any]:
    return {"type": "MultiPolygon", "coordinates": coordinates}


# Value → what follows `field 'polygon' must be a valid polygon: GeoJSON `.
NO_GEOJSON: Final[list[tuple[Any, str]]] = [
    ({"type": "Point", "coordinates": [1, 2]}, f"{NO_AREA} 'Point'"),
    ({"type": "polygon", "coordinates": [OUTER]}, f"{NO_AREA} 'polygon'"),
    ({"type": 5, "coordinates": []}, f"{NO_AREA} a value that is no string"),
    ({"type": ["Polygon"], "coordinates": []}, f"{NO_AREA} a value that is no string"),
    *((_polygon(value), "coordinates must be a non-empty array of rings") for value in ([], *NO_LISTS)),
    *((_polygon([value]), "coordinates[0] must be a non-empty array of positions") for value in ([], *NO_LISTS)),
    *((_polygon([[value]]), f"coordinates[0][0] {NO_POSITION}") for value in ([], [0], [0, 0, 0, 0], *NO_LISTS)),
    (_polygon(OUTER), f"coordinates[0][0] {NO_POSITION}"),  # a ring where a list of rings belongs
    (_polygon([[["0", 0]]]), f"coordinates[0][0]: longitude must be a number {TURNED}"),
    (_polygon([[[0, True]]]), f"coordinates[0][0]: latitude must be a number {TURNED}"),
    (_polygon([[[0, 0], [0, 95]]]), f"coordinates[0][1]: latitude 95 {LATITUDES} {TURNED}"),
    (_polygon([[[181, 0]]]), f"coordinates[0][0]: longitude 181 {LONGITUDES} {TURNED}"),
    (_polygon([OUTER[:3]]), f"coordinates[0]: {SHORT}"),
    (_polygon([OUTER, INNER[:3]]), f"coordinates[1]: {SHORT}"),
    (_polygon([OUTER[:-1]]), f"coordinates[0]: {OPEN}"),
    *((_parts(value), "coordinates must be a non-empty array of polygons") for value in ([], *NO_LISTS)),
    *((_parts([value]), "coordinates[0] must be a non-empty array of rings") for value in ([], *NO_LISTS)),
    (_parts([[OUTER], [OUTER[:-1]]]), f"coordinates[1][0]: {OPEN}"),
    (_parts([[OUTER, [[0, 0], ["x", 0]]]]), f"coordinates[0][1][1]: longitude must be a number {TURNED}"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "reason"), NO_GEOJSON, ids=lambda part: repr(part)[:60])
def test_what_is_no_geojson_area_is_told_where_and_why(value: Any, reason: str) -> None:
    with pytest.raises(Refusal) as caught:
        PolygonField(name="polygon").read(value)
    assert caught.value.message == f"field 'polygon' must be a valid polygon: GeoJSON {reason}"
    assert (caught.value.details, caught.value.field) == (caught.value.message, "polygon")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (_polygon([OUTER]), "type must be Point, got 'Polygon'"),
        ({"type": None, "coordinates": [1, 2]}, "type must be Point, got a value that is no string"),
        ({"type": "Point", "coordinates": [1]}, f"coordinates {NO_POSITION}"),
        ({"type": "Point", "coordinates": [1, 95]}, f"coordinates: latitude 95 {LATITUDES} {TURNED}"),
    ],
)
def test_what_is_no_geojson_point_is_told_why(value: Any, reason: str) -> None:
    with pytest.raises(NotAShape) as caught:
        read_point(value)
    assert str(caught.value) == f"GeoJSON {reason}"


# --- what it costs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["1" * 260_000 + "x,2", "0," * 130_000, "(" * 260_000, "[" * 260_000, " " * 260_000, "1,2" + " " * 260_000 + "x"],
    ids=["digits", "pairs", "parentheses", "brackets", "spaces", "spaces within"],
)  # fmt: skip
def test_a_hostile_text_is_settled_at_once(text: str) -> None:
    """A long number that ends in a letter once took minutes."""
    begun = time.process_time()
    for read in (read_polygon, read_point):
        with pytest.raises(NotAShape):
            read(text)
    assert time.process_time() - begun < 1.0
