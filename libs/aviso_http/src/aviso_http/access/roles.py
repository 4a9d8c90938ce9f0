"""What a caller may do with an event type: contract section 10.3 as functions of the schema's block and the user.

A role map goes from realm to roles. A user matches it when the user's own realm is in it, with `*` or with one of the
user's roles. What is absent and what is empty differ: an absent map asks for nothing, an empty one matches nobody
(the configuration refuses to start with it, and what comes from elsewhere must not open a door).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from aviso_core.errors import Forbidden, Unauthorized
from aviso_http.access.decision import Decision

if TYPE_CHECKING:
    from aviso_core.errors import AccessRefused
    from aviso_core.schema.model import Auth
    from aviso_http.access.decision import Rule
    from aviso_http.access.user import User

RoleMap: TypeAlias = Mapping[str, Sequence[str]]

EVERY_ROLE: Final = "*"

_LOGIN: Final = "Authentication is required for this stream"
_PUBLIC: Final = Decision(allowed=True, rule="open", reason="the event type is open to anybody")


def matches(roles: RoleMap, user: User) -> bool:
    """Tell whether the user has one of the roles."""
    if user.realm is None:
        return False
    wanted = roles.get(user.realm)
    if not wanted:
        return False
    return EVERY_ROLE in wanted or any(role in wanted for role in user.roles)


def may_read(auth: Auth | None, user: User | None, administrators: RoleMap) -> Decision:
    """Decide whether somebody may watch and replay."""
    if auth is None or not auth.required:
        return _PUBLIC
    if user is None:
        return _nobody()
    if auth.read_roles is None:
        return _found(user, "authenticated", "any known user may")
    refusal = "User does not have required read role for this stream"
    return _by_role("read_roles", auth.read_roles, user, administrators, refusal)


def may_write(auth: Auth | None, user: User | None, administrators: RoleMap) -> Decision:
    """Decide whether somebody may publish."""
    if auth is None or not auth.required:
        return _PUBLIC
    if user is None:
        return _nobody()
    if auth.write_roles is None:
        reason = "the event type lists no roles that may, and the user is no administrator"
        return _by_administration(
            user, administrators, reason, "Only administrators can write to this stream"
        )
    refusal = "User does not have required write role for this stream"
    return _by_role("write_roles", auth.write_roles, user, administrators, refusal)


def may_administer(user: User, administrators: RoleMap) -> Decision:
    """Decide whether a known user may do what only administrators may."""
    refusal = "User does not have required administrative role"
    return _by_administration(user, administrators, "the user is no administrator", refusal)


def without_users(auth: Auth | None) -> Decision:
    """Decide where nobody is ever known, because authentication is off: what is for known users stays closed."""
    if auth is None or not auth.required:
        return _PUBLIC
    remedy = "set auth.enabled to true, or auth.required to false in the event type"
    return Decision(
        allowed=False,
        rule="authentication_off",
        reason=f"the event type is for known users, and authentication is off: {remedy}",
        # The contract has no text for it, because a configuration like this does not start.
        refusal=Unauthorized(f"{_LOGIN}, and this service has authentication off: {remedy}"),
    )


def _nobody() -> Decision:
    reason = "the event type is for known users, and the caller is not known"
    return Decision(allowed=False, rule="authenticated", reason=reason, refusal=Unauthorized(_LOGIN))


def _by_administration(user: User, administrators: RoleMap, reason: str, refusal: str) -> Decision:
    if matches(administrators, user):
        return _found(user, "administrators", "the user is an administrator")
    return _found(user, "administrators", reason, refusal=Forbidden(refusal))


def _by_role(rule: Rule, roles: RoleMap, user: User, administrators: RoleMap, refusal: str) -> Decision:
    wanted = () if user.realm is None else tuple(roles.get(user.realm, ()))
    if matches(roles, user):
        return _found(user, rule, "the user has a role that may", wanted=wanted)
    if matches(administrators, user):
        return _found(user, "administrators", "the user is an administrator", wanted=wanted)
    if user.realm is None:
        reason = "the event type is for roles of a realm, and the user has no realm"
    elif user.realm in roles:
        reason = f"none of the user's roles in realm '{user.realm}' may"
    else:
        reason = f"nobody of realm '{user.realm}' may"
    return _found(user, rule, reason, wanted=wanted, refusal=Forbidden(refusal))


def _found(
    user: User, rule: Rule, reason: str, *, wanted: tuple[str, ...] = (), refusal: AccessRefused | None = None
) -> Decision:
    return Decision(
        allowed=refusal is None,
        rule=rule,
        reason=reason,
        realm=user.realm,
        wanted=wanted,
        found=user.roles,
        refusal=refusal,
    )
