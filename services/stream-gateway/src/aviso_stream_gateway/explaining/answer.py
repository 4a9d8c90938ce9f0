"""The answer to a request to explain: one clause for each thing that decides, and what they come to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from aviso_core.errors import AccessRefused, Forbidden, Unauthorized
from aviso_core.instant import to_text
from aviso_core.matching.explain import Clause, explain
from aviso_stream_gateway.explaining.dry_run import DryRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_core.matching.filter import Filter
    from aviso_core.schema.model import Auth
    from aviso_http.access.user import User
    from aviso_stream_gateway.parts import Parts
    from aviso_stream_gateway.showing import Item


class Permission(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether the caller may read such events, and by which rule."""

    passed: bool
    rule: str
    reason: str
    realm: str | None = None
    wanted: tuple[str, ...] = ()
    found: tuple[str, ...] = ()


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """The event that was explained. One that was only described has no sequence and no time."""

    delivered: bool
    clauses: tuple[Clause, ...]
    identifier: dict[str, str]
    operation: str | None
    sequence: int | None
    time: str | None


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer. Of events that the caller may not read it tells nothing."""

    event_type: str
    topic: str
    permission: Permission
    event: Explained | None = None
    dry_run: DryRun | None = None


async def permission_of(
    parts: Parts, auth: Auth | None, user: User | None, identifier: Mapping[str, str]
) -> Permission:
    """Return what would become of a request of this caller, by roles and then by plugins."""
    decision = parts.access.may_read(auth, user)
    permission = Permission(
        passed=decision.allowed,
        rule=decision.rule,
        reason=decision.reason,
        realm=decision.realm,
        wanted=decision.wanted,
        found=decision.found,
    )
    if not permission.passed:
        return permission
    try:
        await parts.plugins.check(auth, user, identifier)
    except (Unauthorized, Forbidden) as refusal:
        return _refused_by_plugin(refusal)
    return permission


def _refused_by_plugin(refusal: AccessRefused) -> Permission:
    return Permission(passed=False, rule="plugins", reason=refusal.message)


def explained(filter: Filter, item: Item, permission: Permission) -> Explained:
    """Return the clauses of a filter for an event. One that cannot be shown is delivered to nobody."""
    explanation = explain(filter, item.candidate)
    event = item.event
    return Explained(
        delivered=permission.passed and explanation.selected and not item.failure,
        clauses=explanation.clauses if not item.failure else (*explanation.clauses, _cannot_be_shown(item)),
        identifier=event.identifier,
        operation=event.operation or None,
        sequence=event.sequence or None,
        time=to_text(event.instant) if event.sequence else None,
    )


def _cannot_be_shown(item: Item) -> Clause:
    return Clause(field="event", operator="can_be_shown", wanted=True, found=item.failure, passed=False)
