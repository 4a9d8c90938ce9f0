"""Fields of a schema → identifiers of a manifest."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, assert_never

from aviso_all_in_one.importing.names import LONGEST_IDENTIFIER, identifier_name
from aviso_core.fields.calendar_date import DateField
from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.expver import ExpverField
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.point_cloud import MOST_POINTS, PointCloudField
from aviso_core.fields.polygon import PolygonField
from aviso_core.fields.real import RealField
from aviso_core.fields.text import TextField
from aviso_core.fields.time_of_day import TimeField

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_all_in_one.importing.notes import Notes
    from aviso_core.fields import AnyField
    from aviso_core.schema.model import Schema

MOST_IDENTIFIERS: Final = 32
MOST_VALUES: Final = 128
LONGEST_VALUE: Final = 64
LONGEST_TEXT: Final = 256
LONGEST_DESCRIPTION: Final = 512
LONGEST_EXPVER: Final = 32
LONGEST_DECIMAL: Final = 24
_INT64: Final = 2**63


def renamed(schema: Schema, notes: Notes) -> Mapping[str, str]:
    """Return the name that a manifest has for each field."""
    names = {field.name: identifier_name(field.name) for field in schema.fields}
    for name, near in names.items():
        if name == near:
            continue
        if list(names.values()).count(near) > 1:
            raise notes.leave_out(
                f"identifier.{name}",
                f"cannot be called that in a manifest, and '{near}' is another identifier",
                f"rename it: [a-z][a-z0-9_]*, at most {LONGEST_IDENTIFIER} characters",
            )
        notes.change(
            f"identifier.{name}",
            f"is called '{near}' in the manifest, which takes [a-z][a-z0-9_]*, at most {LONGEST_IDENTIFIER} "
            "characters, and no name that means something else",
            f"publishers and readers have to say '{near}' from then on",
        )
    return names


def identifiers(schema: Schema, names: Mapping[str, str], notes: Notes) -> list[dict[str, Any]]:
    """Return the identifiers of a manifest."""
    if not 1 <= len(schema.fields) <= MOST_IDENTIFIERS:
        raise notes.leave_out(
            "identifier",
            f"has {len(schema.fields)} identifiers, and a manifest has 1 to {MOST_IDENTIFIERS}",
            "declare at least one" if not schema.fields else "divide it into several event types",
        )
    return [_identifier(field, names[field.name], notes) for field in schema.fields]


def _identifier(field: AnyField, name: str, notes: Notes) -> dict[str, Any]:
    path = f"identifier.{field.name}"
    part: dict[str, Any] = {"name": name, "type": field.kind, "required": field.required}
    description = field.description
    if len(description) > LONGEST_DESCRIPTION:
        notes.change(
            f"{path}.description",
            f"is {len(description)} characters long and was cut to {LONGEST_DESCRIPTION}",
            "shorten it",
        )
        description = description[:LONGEST_DESCRIPTION]
    if description:
        part["description"] = description
    settings = _settings(field, path, notes)
    if settings:
        block = field.kind[0].lower() + field.kind[1:]
        part[block] = settings
    return part


def _settings(field: AnyField, path: str, notes: Notes) -> dict[str, Any]:
    match field:
        case TextField():
            return _text(field, path, notes)
        case ChoiceField():
            return {"values": _values(field, path, notes)}
        case DateField():
            return {"canonicalFormat": field.canonical_format}
        case IntegerField():
            limits = {"min": field.minimum, "max": field.maximum}
            return {side: value for side, value in limits.items() if _is_whole(value, f"{path}.range", notes)}
        case RealField():
            texts = {"min": _decimal(field.minimum), "max": _decimal(field.maximum)}
            return {side: text for side, text in texts.items() if _is_short(text, f"{path}.range", notes)}
        case ExpverField():
            return _expver(field, path, notes)
        case PointCloudField():
            return {} if field.max_points == MOST_POINTS else {"maxPoints": field.max_points}
        case TimeField() | PolygonField():
            return {}
        case _:
            assert_never(field)


def _text(field: TextField, path: str, notes: Notes) -> dict[str, Any]:
    if field.max_length is None:
        return {}
    if 1 <= field.max_length <= LONGEST_TEXT:
        return {"maxLength": field.max_length}
    notes.change(
        f"{path}.max_length",
        f"is {field.max_length}, and a manifest takes 1 to {LONGEST_TEXT}: its values are not limited",
        f"set string.maxLength to at most {LONGEST_TEXT} if that is enough",
    )
    return {}


def _values(field: ChoiceField, path: str, notes: Notes) -> list[str]:
    values = list(dict.fromkeys(field.values))
    if len(values) < len(field.values):
        notes.know(f"{path}.values", "lists a value twice: the manifest has it once")
    if len(values) > MOST_VALUES:
        raise notes.leave_out(
            f"{path}.values",
            f"has {len(values)} values, and a manifest takes {MOST_VALUES}",
            "make it a string, whose string.pattern says which texts are meant",
        )
    long = [value for value in values if len(value) > LONGEST_VALUE]
    if long:
        raise notes.leave_out(
            f"{path}.values",
            f"has values of more than {LONGEST_VALUE} characters",
            "shorten them, or make it a string",
        )
    return values


def _is_whole(value: int | None, path: str, notes: Notes) -> bool:
    if value is None:
        return False
    if -_INT64 <= value < _INT64:
        return True
    notes.change(
        path, f"{value} is beyond 64 bits: that side has no limit", "set a limit that can be reached"
    )
    return False


def _decimal(value: float | None) -> str | None:
    return None if value is None else format(Decimal(repr(value)), "f")


def _is_short(text: str | None, path: str, notes: Notes) -> bool:
    if text is None:
        return False
    if len(text) <= LONGEST_DECIMAL:
        return True
    notes.change(
        path,
        f"{text} has more than {LONGEST_DECIMAL} digits: that side has no limit",
        "set a rounder one",
    )
    return False


def _expver(field: ExpverField, path: str, notes: Notes) -> dict[str, Any]:
    # An empty one means nothing to the field either.
    if not field.empty_default:
        return {}
    if len(field.empty_default) <= LONGEST_EXPVER:
        return {"default": field.empty_default}
    notes.change(
        f"{path}.default",
        f"has more than {LONGEST_EXPVER} characters: an empty value is refused",
        "set a shorter one",
    )
    return {}
