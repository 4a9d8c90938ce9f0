"""Random schemas, filters and events, and a plain answer to which event a filter selects.

A world is one event type. Of each thing there are two forms, made side by side: what the core is given (the JSON of a
request, an event of the log) and what was meant by it (a question about one token, a shape of the lattice). The plain
answer compares what was meant, token by token, and knows nothing of filters, candidates or figures.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from hypothesis import strategies as st

from aviso_core.event import Event
from aviso_core.fields.calendar_date import DateField
from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.expver import ExpverField
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.point_cloud import PointCloudField
from aviso_core.fields.polygon import PolygonField
from aviso_core.fields.real import RealField
from aviso_core.fields.text import TextField
from aviso_core.fields.time_of_day import TimeField
from aviso_core.json_text import plain_number
from aviso_core.matching.filter import Filter, read_point_filter, read_selection, read_undeclared_selection
from aviso_core.schema.check import check_schema
from aviso_core.schema.event_type import EventType
from aviso_core.schema.model import Schema, Topic
from support import lattice, shape_strategies

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_core.fields import AnyField, ScalarField
    from aviso_core.geometry.plane import Edges

Number: TypeAlias = int | float

# --- what is asked of one value --------------------------------------------------------------------------


class Equals(NamedTuple):
    """A scalar: the token is this text, letter by letter. None takes any token, and none."""

    text: str | None

    def is_met_by(self, token: str | None) -> bool:
        """Tell whether a stored token is the one."""
        return self.text is None or token == self.text


class Compares(NamedTuple):
    """A constraint object: the token, read as what its field holds, satisfies the operator."""

    kind: str
    operator: str
    operands: tuple[Number | str, ...]

    def is_met_by(self, token: str | None) -> bool:
        """Tell whether a stored token satisfies the operator."""
        if token is None or token in ("", "*"):
            return False
        if self.kind == "Enum":
            return token in self.operands
        value = _read_integer(token) if self.kind == "Int" else _read_real(token)
        return value is not None and self._holds(value)

    def _holds(self, value: Number) -> bool:
        first, *rest = (one for one in self.operands if not isinstance(one, str))
        return {
            "eq": value == first,
            "in": value == first or value in rest,
            "gt": value > first,
            "gte": value >= first,
            "lt": value < first,
            "lte": value <= first,
            "between": first <= value <= (rest or [first])[0],
        }[self.operator]


Question: TypeAlias = Equals | Compares


def _read_integer(token: str) -> int | None:
    if not re.fullmatch("[+-]?[0-9]+", token, re.ASCII):
        return None
    value = int(token)
    return value if -(2**63) <= value < 2**63 else None


def _read_real(token: str) -> float | None:
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", token, re.ASCII):
        return None
    value = float(token)
    return value if abs(value) <= 1.7976931348623157e308 else None


# --- one kind of field: its values in requests, and its tokens in the log --------------------------------


class Kind(NamedTuple):
    """A field, the scalars that a request may send for it beside what they mean, and tokens that the log may hold."""

    field: ScalarField
    scalars: tuple[tuple[object, str | None], ...]
    tokens: tuple[str, ...]


# What no producer sends today and an old log may hold all the same.
_ODD: Final = ("", "*", "x")

_INTEGERS: Final = (-(2**63), 2**63 - 1, 2**63 - 2, 0, 1, -1, 7, 8)
_REALS: Final = (
    0.0, -0.0, 5e-324, -5e-324, 0.3, 0.30000000000000004, 1.7976931348623157e308, -1e-7, 4.0, 7.5,
)  # fmt: skip
_MEMBERS: Final = ("od", "rd", "*", "7")

KINDS: Final = (
    Kind(
        TextField(name="place"),
        (("a", "a"), ("A", "A"), ("x.y", "x.y"), (" ", " "), (True, "true"), ("*", None)),
        ("a", "A", "x.y", " ", "true", *_ODD),
    ),
    Kind(
        ChoiceField(name="class", values=("OD", "rd", "*", "7")),
        (("od", "od"), ("Rd", "rd"), (7, "7"), ("*", None)),
        ("od", "rd", "7", "OD", *_ODD),
    ),
    Kind(
        DateField(name="date"),
        (("2025-07-06", "20250706"), (20250706, "20250706"), ("2025-187", "20250706"), ("20240229", "20240229")),
        ("20250706", "20240229", "2025-07-06", *_ODD),
    ),
    Kind(
        TimeField(name="time"),
        (("6", "0600"), ("06:00", "0600"), (12, "1200"), ("1200", "1200")),
        ("0600", "1200", "6", *_ODD),
    ),
    Kind(
        ExpverField(name="expver", empty_default="7"),
        ((1, "0001"), ("0001", "0001"), ("", "0007"), ("Test", "test"), ("*", None)),
        ("0001", "0007", "test", "1", *_ODD),
    ),
    Kind(
        IntegerField(name="step"),
        ((7, "7"), ("007", "7"), ("-0", "0"), ("+1", "1"), (2**63 - 1, "9223372036854775807")),
        (*map(str, _INTEGERS), "007", "+1", "-0", "9223372036854775808", "7.0", "٧", *_ODD),
    ),
    Kind(
        RealField(name="level"),
        ((4, "4"), ("4.0", "4"), (-0.0, "-0"), (0, "0"), ("7.50", "7.5"), ("1e-7", "0.0000001")),
        (
            "4", "-0", "0", "0.3", "0.30000000000000004", "7.5", "-0.0000001", "0.0000001", "4.0", "5e-324",
            "1.7976931348623157e308", "1e400", "nan", "inf", "-Infinity", "0x1", *_ODD,
        ),
    ),
)  # fmt: skip

_NUMBER_OPERATORS: Final = ("eq", "in", "gt", "gte", "lt", "lte", "between")


def _constraints(kind: Kind) -> st.SearchStrategy[tuple[dict[str, object], Compares]]:
    if isinstance(kind.field, ChoiceField):
        return st.tuples(st.sampled_from(("eq", "in")), st.lists(st.sampled_from(_MEMBERS), min_size=1)).map(
            lambda drawn: _constraint("Enum", drawn[0], [member.upper() for member in drawn[1]], drawn[1])
        )
    numbers: tuple[Number, ...] = _INTEGERS if isinstance(kind.field, IntegerField) else _REALS
    # Short lists are written out by the index, long ones if there is one of them, and the longest never.
    lists = st.one_of(
        st.lists(st.sampled_from(numbers), min_size=2, max_size=4),
        st.sampled_from((60, 70, 1001)).map(
            lambda count: [*numbers[:2], *(number_of(n) for n in range(count))]
        ),
    )
    number_of = int if isinstance(kind.field, IntegerField) else float
    return st.tuples(st.sampled_from(_NUMBER_OPERATORS), lists).map(
        lambda drawn: _constraint(kind.field.kind, drawn[0], drawn[1], drawn[1])
    )


def _constraint(
    kind: str, operator: str, sent: list[Number] | list[str], meant: list[Number] | list[str]
) -> tuple[dict[str, object], Compares]:
    match operator:
        case "in":
            return {operator: sent}, Compares(kind, operator, tuple(meant))
        case "between":
            low, high = sorted(one for one in meant[:2] if not isinstance(one, str))
            return {operator: [low, high]}, Compares(kind, operator, (low, high))
        case _:
            return {operator: sent[0]}, Compares(kind, operator, (meant[0],))


# --- worlds, wishes and happenings -----------------------------------------------------------------------


class World(NamedTuple):
    """An event type. Without a schema its values have no names; with wrapped edges it lies anywhere on the globe."""

    event_type: EventType | None
    kinds: tuple[Kind, ...]
    spellings: tuple[lattice.Spelling, lattice.Spelling]

    @property
    def schema(self) -> Schema | None:
        """The schema, or None for an undeclared event type."""
        return self.event_type.schema if self.event_type else None


class Wish(NamedTuple):
    """A filter as the core read it from a request, and what was meant by it."""

    filter: Filter
    questions: dict[str, Question]
    area: lattice.Area | None = None
    point: lattice.Place | None = None


class Happening(NamedTuple):
    """An event of the log, and what it stands for."""

    event: Event
    tokens: dict[str, str]
    shape: lattice.Shape | None = None


def is_selected(wish: Wish, happening: Happening) -> bool:
    """Tell, the plain way, whether the event is one of those that were wished for."""
    tokens, shape = happening.tokens, happening.shape
    if wish.filter.places is not None and len(tokens) != len(wish.questions):
        return False
    return (
        all(question.is_met_by(tokens.get(name)) for name, question in wish.questions.items())
        and (wish.area is None or (shape is not None and lattice.share_a_point(wish.area, shape)))
        and (wish.point is None or (shape is not None and lattice.is_strictly_inside(wish.point, shape)))
    )


_SHAPE_FIELDS: Final = st.sampled_from(
    (None, PolygonField(name="polygon"), PointCloudField(name="point_cloud"))
)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Draw an event type: any fields in any order, some of them outside the topic; or one without a schema."""
    kinds = tuple(draw(st.lists(st.sampled_from(KINDS), min_size=1, unique_by=lambda kind: kind.field.name)))
    if draw(st.integers(0, 9)) == 0:
        return World(None, kinds, (lattice.Spelling(), lattice.Spelling()))
    shape_field = draw(_SHAPE_FIELDS)
    fields: list[AnyField] = [kind.field for kind in kinds]
    if shape_field is not None:
        fields.insert(draw(st.integers(0, len(fields))), shape_field)
    names = [kind.field.name for kind in kinds]
    edges: Edges = draw(st.sampled_from(("planar", "wrapped")))
    schema = Schema(
        event_type="x",
        topic=Topic(base="x", key_order=tuple(names[: draw(st.integers(1, len(names)))])),
        fields=tuple(fields),
        edges=edges,
    )
    assert not check_schema(schema)
    spellings = (
        draw(shape_strategies.spellings) if edges == "wrapped" else (lattice.Spelling(), lattice.Spelling())
    )
    return World(EventType(schema), kinds, spellings)


@st.composite
def wishes(draw: st.DrawFn, world: World) -> Wish:
    """Draw a filter: any fields, as scalars or constraints, and perhaps an area or a point."""
    if world.event_type is None:
        return draw(_undeclared_wishes(world))
    identifier: dict[str, object] = {}
    questions: dict[str, Question] = {}
    for kind in draw(
        st.lists(st.sampled_from(world.kinds), max_size=4, unique_by=lambda kind: kind.field.name)
    ):
        name = kind.field.name
        if isinstance(kind.field, ChoiceField | IntegerField | RealField) and draw(st.booleans()):
            identifier[name], questions[name] = draw(_constraints(kind))
        else:
            identifier[name], text = draw(st.sampled_from(kind.scalars))
            # In a topic, and so in a filter, a star stands for any value.
            questions[name] = Equals(text)
    area, point = draw(_spatial_wishes(world.event_type))
    spelling = world.spellings[0]
    if area is not None:
        identifier["polygon"] = draw(_spelled_areas(area, spelling))
    if point is not None:
        identifier["point"] = list(spelling.pair(point))
    selection = read_selection(
        world.event_type, identifier, operation="watch", point=read_point_filter(identifier)
    )
    return Wish(selection.filter, questions, area, point)


@st.composite
def _spatial_wishes(
    draw: st.DrawFn, event_type: EventType
) -> tuple[lattice.Area | None, lattice.Place | None]:
    what = (
        "nothing"
        if event_type.geometry_field is None
        else draw(st.sampled_from(("nothing", "area", "point")))
    )
    if what == "nothing":
        return None, None
    if what == "area" or isinstance(event_type.geometry_field, PointCloudField):
        return draw(shape_strategies.areas), None
    return None, draw(shape_strategies.places)


def _spelled_areas(area: lattice.Area, spelling: lattice.Spelling) -> st.SearchStrategy[object]:
    polygon = lattice.to_polygon(area, spelling)
    # The core takes GeoJSON as lists, as they come from a body.
    forms: list[object] = [_as_lists(polygon.geojson())]
    if polygon.is_plain:
        forms.append([list(pair) for pair in polygon.main_ring()])
        forms.append(",".join(f"{latitude},{longitude}" for latitude, longitude in polygon.main_ring()))
    return st.sampled_from(forms)


def _as_lists(value: object) -> object:
    if isinstance(value, dict):
        return {key: _as_lists(member) for key, member in value.items()}
    return [_as_lists(member) for member in value] if isinstance(value, list | tuple) else value


@st.composite
def _undeclared_wishes(draw: st.DrawFn, world: World) -> Wish:
    texts = draw(st.lists(st.sampled_from(("a", "b", "*", "")), max_size=3))
    identifier: dict[str, object] = {f"k{place}": text for place, text in enumerate(texts)}
    questions: dict[str, Question] = {
        f"#{place}": Equals(None if text == "*" else text) for place, text in enumerate(texts)
    }
    area = draw(st.none() | shape_strategies.areas)
    if area is not None:
        # It comes last in the order of names, and counts as one of the publisher's values.
        identifier["polygon"] = draw(_spelled_areas(area, world.spellings[0]))
        questions[f"#{len(texts)}"] = Equals(None)
    selection = read_undeclared_selection("x", identifier, operation="watch", point=None)
    return Wish(selection.filter, questions, area)


@st.composite
def happenings(draw: st.DrawFn, world: World, near: Wish | None = None) -> Happening:
    """Draw an event: some fields may be missing, as in one stored before they were declared.

    Most values of an event `near` a filter are ones that the filter speaks of, so that it is often selected.
    """
    shape: lattice.Shape | None = None
    wanted: dict[str, str | None] = (
        {} if near is None else {name: _text_of(question) for name, question in near.questions.items()}
    )
    if world.event_type is None:
        texts = draw(st.lists(st.sampled_from(("a", "b", "*", "")), max_size=4))
        tokens = {f"#{place}": text for place, text in enumerate(texts)}
        if near is not None and draw(st.booleans()) is True:
            tokens = {name: text or "b" for name, text in wanted.items()}
    else:
        missing = draw(st.sets(st.sampled_from([kind.field.name for kind in world.kinds]), max_size=2))
        tokens = {
            kind.field.name: draw(_tokens(kind, wanted.get(kind.field.name)))
            for kind in world.kinds
            if kind.field.name not in missing or kind.field.name in wanted
        }
        if world.event_type.geometry_field is not None:
            shape = draw(_shapes_near(near))
    return Happening(_event(tokens, shape, world.spellings[1]), tokens, shape)


def _tokens(kind: Kind, wanted: str | None) -> st.SearchStrategy[str]:
    anything = st.sampled_from(kind.tokens)
    return anything if wanted is None else st.one_of(st.just(wanted), st.just(wanted), anything)


def _shapes_near(near: Wish | None) -> st.SearchStrategy[lattice.Shape | None]:
    # Another kind of shape than the schema now has is in the log too, after a change of schema.
    anything = st.one_of(shape_strategies.plain_shapes, st.none())
    if near is None or near.point is None:
        return anything
    return st.one_of(st.integers(1, 4).map(lambda reach: _box_around(near.point or (0, 0), reach)), anything)


def _box_around(place: lattice.Place, reach: int) -> lattice.Area:
    south, west = place[0] - reach, place[1] - reach
    north, east = place[0] + 1, place[1] + 1
    return lattice.Area(((((south, west), (south, east), (north, east), (north, west), (south, west)),),))


def _text_of(question: Question) -> str | None:
    if isinstance(question, Equals):
        return question.text
    operand = question.operands[0]
    return plain_number(operand) if isinstance(operand, float) else str(operand)


def _event(tokens: Mapping[str, str], shape: lattice.Shape | None, spelling: lattice.Spelling) -> Event:
    return Event(
        event_type="x",
        sequence=1,
        instant=0,
        subject="x",
        identifier=dict(tokens),
        geometry=None if shape is None else lattice.to_geometry(shape, spelling),
    )
