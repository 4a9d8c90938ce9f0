"""Event types of which readers must say something: the reader says it, or tells the user what to say."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import pytest

from pyspark_aviso.everything import Filters, NotSelectable, anything
from support.event_tables import following, next_batch, read
from support.published import published

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.published import Published


def handler(kind: str, **options: Any) -> dict[str, Any]:
    """Return a field of which readers must say something."""
    return {"type": f"{kind}Handler", "required": True, **options}


def event_type(base: str, **fields: dict[str, Any]) -> dict[str, Any]:
    """Return an event type with these fields."""
    order = [name for name in fields if name not in ("polygon", "point_cloud")]
    return {"topic": {"base": base, "key_order": order}, "identifier": fields, "payload": {"required": False}}


DEMANDING: Final = event_type(
    "demanding",
    kind=handler("Enum", values=["Od", "rd"]),
    level=handler("Int"),
    step=handler("Int", range=[0, 5]),
    depth=handler("Float"),
    share=handler("Float", range=[0, 1]),
    label=handler("String", max_length=3),
    version=handler("Expver"),
)
LOWEST: Final = {"level": str(-(2**63)), "depth": str(-sys.float_info.max), "share": "0", "step": "0"}
HIGHEST: Final = {"level": str(2**63 - 1), "depth": str(sys.float_info.max), "share": "1", "step": "5"}
_SCHEMAS: Final = {
    "demanding": DEMANDING,
    "easy": event_type("easy", label={"type": "StringHandler", "required": False}),
    "dated": event_type("dated", date=handler("Date"), label=handler("String")),
    "shaped": event_type("shaped", label=handler("String"), polygon=handler("Polygon")),
    "clouded": event_type("clouded", label=handler("String"), point_cloud=handler("PointCloud")),
}
WORLD: Final = '{"polygon": "-90,-180,-90,180,90,180,90,-180,-90,-180"}'


def demanding(**identifier: str) -> dict[str, Any]:
    """Return a notification of the event type with most demands."""
    return {"event_type": "demanding", "identifier": {"kind": "OD", "version": "1", **identifier}}


@pytest.fixture(scope="module")
def service() -> Iterator[Published]:
    """Return a service with events of all of them, at the ends of what their fields take."""
    with published(notification_schema=_SCHEMAS) as running:
        for label, values in (("*", LOWEST), ("ü", HIGHEST), ("abc", {**LOWEST, "kind": "rd"})):
            running.notify(demanding(label=label, **values))
        running.retract("demanding", kind="od", version="2", label="x", **LOWEST)
        for number in range(2):
            running.notify({"event_type": "easy", "identifier": {"label": str(number)}})
            running.notify(
                {"event_type": "dated", "identifier": {"date": f"2030010{number + 1}", "label": "a"}}
            )
            ring = [[10, 170], [10, 180], [20, 180], [10, 170]]
            running.notify({"event_type": "shaped", "identifier": {"label": "a", "polygon": ring}})
            cloud = [[90, 180], [-90, -180]]
            running.notify({"event_type": "clouded", "identifier": {"label": "a", "point_cloud": cloud}})
        yield running


def sequences(service: Published, names: str, **options: Any) -> list[int]:
    """Return the sequences of what is read."""
    rows = read(service.url, "sequence bigint", eventTypes=names, **options)
    return [row["sequence"] for row in rows]


def test_without_a_filter_everything_is_read_whatever_readers_must_say(service: Published) -> None:
    """Of each event type by what it demands, retractions and the ends of all ranges included."""
    assert sequences(service, "demanding") == [1, 2, 3, 4]
    assert sequences(service, "demanding,easy") == [1, 2, 3, 4, 1, 2]


def test_a_filter_is_completed_by_what_it_leaves_out(service: Published) -> None:
    """What it says is what is read."""
    assert sequences(service, "demanding", filter='{"kind": "rd"}') == [3]
    assert sequences(service, "demanding", filter='{"step": {"gte": 5}, "label": "ü"}') == [2]
    assert sequences(service, "dated", filter='{"date": "2030-01-02"}') == [2]
    for name in ("shaped", "clouded"):
        assert sequences(service, name, filter=WORLD) == [1, 2]
    assert sequences(service, "shaped", filter='{"point": "11,179"}') == [1, 2]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("dated", "'filter' must say something of field 'date' of 'dated'.*DateHandler.*required: false"),
        ("shaped", "field 'polygon' of 'shaped'.*retractions may.*-90,-180,-90,180.*required: false"),
        ("clouded", "field 'point_cloud' of 'clouded'.*-90,-180,-90,180"),
    ],
)
def test_where_nothing_selects_everything_the_field_and_the_remedy_are_told(
    service: Published, name: str, told: str
) -> None:
    """In a batch, and when a stream begins."""
    with pytest.raises(NotSelectable, match=told):
        sequences(service, name)
    with following(service.url, eventTypes=name) as reader, pytest.raises(NotSelectable, match=told):
        reader.initialOffset()


def test_an_area_of_the_whole_world_does_not_select_a_retraction_without_a_shape() -> None:
    """Therefore no filter is made of it that would be taken for everything."""
    with published(notification_schema={"shaped": _SCHEMAS["shaped"]}) as service:
        service.retract("shaped", label="a")
        assert sequences(service, "shaped", filter=WORLD) == []


class Described:
    """Answers for the schema service: of one event type, what it is told to."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields
        self.asked = 0

    def get_json(self, path: str) -> object:
        """Return what is known of the event type."""
        assert path == "/api/v1/schema/maps"
        self.asked += 1
        return {"schema": {"identifier": self.fields}}


def test_fields_are_looked_up_each_time_as_long_as_something_is_demanded() -> None:
    """A value that a list gets while a stream runs is no hole in the stream; who demands nothing is asked once."""
    filters, service = Filters({}), Described({"kind": handler("Enum", values=["a"])})
    assert filters.of(service, "maps") == {"kind": {"in": ["a"]}}
    service.fields = {"kind": handler("Enum", values=["a", "b"])}
    assert filters.of(service, "maps") == {"kind": {"in": ["a", "b"]}}
    service.fields = {}
    assert [filters.of(service, "maps") for _ in range(3)] == [{}, {}, {}]
    assert service.asked == 3


def test_a_stream_reads_everything_too(service: Published) -> None:
    """Several event types, of which each demands something else."""
    options = {"eventTypes": "demanding,easy", "startingOffsets": "earliest"}
    with following(service.url, **options) as reader:
        _, rows = next_batch(reader, reader.initialOffset())
    assert rows == [*(("demanding", number) for number in range(1, 5)), ("easy", 1), ("easy", 2)]


def test_a_text_with_a_pattern_is_any_where_the_pattern_lets_the_star_through() -> None:
    """Otherwise the service would refuse it."""
    assert anything("maps", {"code": handler("String", pattern="^.{1,3}$")}, {}) == {"code": "*"}
    with pytest.raises(NotSelectable, match=r"field 'code' of 'maps'.*pattern '\^\[A-Z\]\+\$'"):
        anything("maps", {"code": handler("String", pattern="^[A-Z]+$")}, {})


def test_what_is_not_demanded_and_what_is_given_is_left_alone() -> None:
    """A filter says no more than it has to."""
    fields = {"a": {"type": "DateHandler", "required": False}, "b": handler("Date")}
    assert anything("maps", fields, {"b": "20300101"}) == {}
