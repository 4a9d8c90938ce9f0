"""Versions of schemas → what is served of them. Pure: whoever follows a registry holds one of these and replaces it.

Three things are told apart for each event type: its latest version, the newest version that this build can serve by
itself (the candidate), and the one in force. The candidate comes into force unless another event type in force has its
topic base; who has the base keeps it, so that nobody loses a stream to a newcomer, and the newcomer is looked at again
with every change. Event types that arrive together get their bases in the order of their revisions.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec

from aviso_core.registry.base import Published, Refused, Unreadable, Version, Withdrawn
from aviso_core.schema.catalog import Catalog
from aviso_core.schema.check import check_schema, check_together
from aviso_core.schema.event_type import EventType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

VANISHED: Final = "is not in the registry any more and was not withdrawn: the last version stays in force"


class Serving(NamedTuple):
    """A version at work."""

    version: Published
    event_type: EventType


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one event type. The fault says why its latest version is not the candidate."""

    latest: Version
    candidate: Serving | None = None
    in_force: Serving | None = None
    fault: str | None = None


_ByName: TypeAlias = dict[str, Known]


class Served:
    """What is served at one moment; immutable."""

    def __init__(self, known: Mapping[str, Known], catalog: Catalog, *, strict: bool | None) -> None:
        self.known = known
        self.catalog = catalog
        self.strict = strict
        self.refused: Mapping[str, Refused] = MappingProxyType(
            {name: refused for name, one in known.items() if (refused := _refusal(name, one, known))}
        )

    def revision_of(self, event_type: str) -> int | None:
        """Return the revision in force, or None where there is none."""
        known = self.known.get(event_type)
        return known.in_force.version.revision if known and known.in_force else None


def nothing_served(strict: bool | None, *, is_configured: bool = True) -> Served:
    """Return where a follower begins. Unless it was asked for, nothing is let through without a schema yet."""
    return Served({}, Catalog((), strict=strict is not False, is_configured=is_configured), strict=strict)


def take_in(served: Served, news: Iterable[Version]) -> Served:
    """Return what is served after some versions were added, ascending within each event type."""
    known = dict(served.known)
    for name, versions in _by_event_type(news).items():
        known[name] = _consider(known.get(name), versions)
    return _settled(served, known)


def take_all(served: Served, everything: Iterable[Version]) -> Served:
    """Return what is served when this is everything that the registry has, the kept history of each event type."""
    by_event_type = _by_event_type(everything)
    known = {name: _consider(served.known.get(name), versions) for name, versions in by_event_type.items()}
    for name, before in served.known.items():
        if name not in known and not isinstance(before.latest, Withdrawn):
            known[name] = msgspec.structs.replace(before, fault=VANISHED)
    return _settled(served, known)


def _by_event_type(versions: Iterable[Version]) -> dict[str, list[Version]]:
    grouped: dict[str, list[Version]] = {}
    for version in versions:
        grouped.setdefault(version.event_type, []).append(version)
    return grouped


# --- one event type --------------------------------------------------------------------------------------


def _consider(before: Known | None, versions: Sequence[Version]) -> Known:
    """Return what is known of an event type after the versions, of which the newest good one is looked for."""
    living = _after_withdrawal(versions)
    was_withdrawn = len(living) < len(versions)
    if before is not None and was_withdrawn and not _outlived(before, living):
        before = None
    in_force = before.in_force if before else None
    made_before = [one for one in (in_force, before.candidate if before else None) if one]
    fault = None
    for version in reversed(living):
        made = _serving(version, made_before)
        if isinstance(made, Serving):
            return Known(latest=versions[-1], candidate=made, in_force=in_force, fault=fault)
        fault = fault or made
    candidate = before.candidate if before else None
    return Known(latest=versions[-1], candidate=candidate, in_force=in_force, fault=fault)


def _after_withdrawal(versions: Sequence[Version]) -> Sequence[Version]:
    """Return the versions since the event type was withdrawn last."""
    marks = [place for place, version in enumerate(versions) if isinstance(version, Withdrawn)]
    return versions[marks[-1] + 1 :] if marks else versions


def _outlived(before: Known, living: Sequence[Version]) -> bool:
    """Tell whether what is in force is of after the withdrawal: a history that is read again repeats old marks."""
    return before.in_force is not None and before.in_force.version in living


def _serving(version: Version, made_before: Iterable[Serving]) -> Serving | str:
    """Return a version at work, or why it cannot be."""
    for made in made_before:
        if made.version == version:
            return made
    if isinstance(version, Unreadable):
        return version.reason
    assert isinstance(version, Published)
    try:
        faults = check_schema(version.schema)
        return "\n".join(map(str, faults)) if faults else Serving(version, EventType(version.schema))
    except Exception as error:  # noqa: BLE001 (a schema comes from elsewhere: whatever it does here, the process lives)
        return f"cannot be compiled by this build: {type(error).__name__}: {error}"


# --- all of them -----------------------------------------------------------------------------------------


def _settled(before: Served, known: _ByName) -> Served:
    """Let every candidate come into force whose base is free; keep the catalog where nothing changed in it."""
    holders = {one.in_force.event_type.base.lower(): name for name, one in known.items() if one.in_force}
    waiting = sorted(filter(_is_waiting, known.values()), key=_revision_of_candidate)
    moved = True
    while moved:
        # One that moves to another base frees its own, which somebody before it may have waited for.
        moved = False
        for one in list(waiting):
            if _takes_its_base(one, holders):
                name = one.latest.event_type
                known[name] = msgspec.structs.replace(one, in_force=one.candidate)
                waiting.remove(one)
                moved = True
    return Served(MappingProxyType(known), _catalog(before, known), strict=before.strict)


def _is_waiting(known: Known) -> bool:
    return known.candidate is not None and known.candidate is not known.in_force


def _revision_of_candidate(known: Known) -> int:
    assert known.candidate is not None
    return known.candidate.version.revision


def _takes_its_base(known: Known, holders: dict[str, str]) -> bool:
    """Tell whether an event type can have the base of its candidate, and note the change of hands."""
    assert known.candidate is not None
    base, name = known.candidate.event_type.base.lower(), known.latest.event_type
    if holders.setdefault(base, name) != name:
        return False
    if known.in_force and known.in_force.event_type.base.lower() != base:
        del holders[known.in_force.event_type.base.lower()]
    return True


def _catalog(before: Served, known: Mapping[str, Known]) -> Catalog:
    in_force = {name: one.in_force.event_type for name, one in known.items() if one.in_force}
    strict = bool(in_force) if before.strict is None else before.strict
    if in_force == dict(before.catalog.event_types) and strict == before.catalog.strict:
        return before.catalog
    is_configured = before.catalog.is_configured or bool(in_force)
    return Catalog(in_force.values(), strict=strict, is_configured=is_configured)


def _refusal(name: str, one: Known, known: Mapping[str, Known]) -> Refused | None:
    reason = one.fault
    if reason is None and _is_waiting(one):
        reason = _clash(one, known)
    if reason is None:
        return None
    return Refused(event_type=name, revision=one.latest.revision, reason=reason)


def _clash(one: Known, known: Mapping[str, Known]) -> str:
    assert one.candidate is not None
    schema, base = one.candidate.version.schema, one.candidate.event_type.base.lower()
    holder = next(
        other.in_force.version.schema
        for other in known.values()
        if other.in_force and other.in_force.event_type.base.lower() == base
    )
    return "\n".join(map(str, check_together([holder, schema])))
