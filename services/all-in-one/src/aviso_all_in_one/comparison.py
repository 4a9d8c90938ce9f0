"""What changed between two versions of event types, and what of it breaks those who use them. Pure.

What breaks is the core's judgement (`schema.compatibility`). Beside it stand all other changes, by the paths of the
schema, so that whoever reads the comparison sees the whole of it and not just the bad news.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec

from aviso_core.errors import Fault
from aviso_core.schema.compatibility import incompatibilities
from aviso_core.schema.model import encode_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aviso_core.schema.model import Schema

State: TypeAlias = Literal["unchanged", "changed", "added", "removed"]

_REMOVED: Final = Fault(
    path="",
    message="was removed: producers and readers would be refused",
    remedy="keep the event type",
)
# A document of its own, in which a path of ours would mean nothing.
_WHOLE: Final = ("payload.json_schema",)
_LONGEST_VALUE: Final = 60


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A member that is not what it was. None is one that is not set."""

    path: str
    before: Any
    after: Any


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One event type: what became of it, what that breaks, and what else changed."""

    event_type: str
    state: State
    compatible: bool
    breaks: tuple[Fault, ...] = ()
    changes: tuple[Change, ...] = ()


def compare(old: Mapping[str, Schema], new: Mapping[str, Schema]) -> tuple[Comparison, ...]:
    """Return what became of each event type, by name. Where there is one on each side, these two are compared."""
    if len(old) == len(new) == 1:
        return (_compared(*old.values(), *new.values()),)
    return tuple(
        _compared_by_name(name, old.get(name), new.get(name)) for name in sorted(old.keys() | new.keys())
    )


def _compared_by_name(name: str, old: Schema | None, new: Schema | None) -> Comparison:
    if old is not None and new is not None:
        return _compared(old, new)
    if new is not None:
        return Comparison(event_type=name, state="added", compatible=True)
    return Comparison(event_type=name, state="removed", compatible=False, breaks=(_REMOVED,))


def _compared(old: Schema, new: Schema) -> Comparison:
    breaks = tuple(incompatibilities(old, new))
    return Comparison(
        event_type=old.event_type,
        state="unchanged" if old == new else "changed",
        compatible=not breaks,
        breaks=breaks,
        changes=tuple(untold(changes(old, new), breaks)),
    )


def untold(found: Iterable[Change], breaks: tuple[Fault, ...]) -> Iterator[Change]:
    """Yield the changes that break nothing: the others are told by what they break."""
    return (change for change in found if not _is_told(change, breaks))


def _is_told(change: Change, breaks: tuple[Fault, ...]) -> bool:
    return any(
        _is_at_or_below(change.path, told.path) or _is_at_or_below(told.path, change.path) for told in breaks
    )


def _is_at_or_below(path: str, other: str) -> bool:
    return path == other or path.startswith(f"{other}.")


def changes(old: Schema, new: Schema) -> Iterator[Change]:
    """Yield every member that differs, in the order of their paths."""
    before, after = _members(old), _members(new)
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path):
            yield Change(path=path, before=before.get(path), after=after.get(path))


def _members(schema: Schema) -> dict[str, object]:
    """Return the members that are set, by path; an identifier by its name, because its place means nothing."""
    plain = msgspec.json.decode(encode_schema(schema), type=dict[str, Any])
    fields = {field.pop("name"): field for field in plain.pop("fields", [])}
    return dict(_flat(plain | {"identifier": fields}, ""))


def _flat(value: Mapping[str, object], path: str) -> Iterator[tuple[str, object]]:
    for key, member in value.items():
        inner = f"{path}.{key}" if path else key
        if isinstance(member, Mapping) and inner not in _WHOLE:
            yield from _flat(member, inner)
        else:
            yield inner, member


# --- for people -------------------------------------------------------------------------------------------


def fault_text(fault: Fault) -> str:
    """Return what a change breaks, and what to do instead."""
    return f"{fault.message} ({fault.remedy})" if fault.remedy else fault.message


def change_text(change: Change) -> str:
    """Return what a member was and is."""
    return f"{_value(change.before)} → {_value(change.after)}"


def _value(value: object) -> str:
    if value is None:
        return "not set"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
