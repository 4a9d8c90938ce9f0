"""A permission check as a value: allowed or not, by which rule, and what was wanted and found.

The same value ends a request, stands in the log and is shown by `explain`, so the three cannot disagree. What it tells
of roles is the caller's own affair: those that the event type lists for the caller's realm, and those that the caller
has. Nothing is told of other realms, nor of which roles administer.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from aviso_core.errors import AccessRefused
from aviso_http.records.log import Log

Rule: TypeAlias = Literal[
    "open", "authenticated", "read_roles", "write_roles", "administrators", "authentication_off"
]

log: Final = Log("aviso_http.access")


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What a check found. Whoever is not allowed has the refusal that says so on the wire."""

    allowed: bool

    rule: Rule
    """The rule that decided: where an administrator passes a list of roles, `administrators`."""

    reason: str
    """The same for people."""

    realm: str | None = None
    """The caller's realm; None where nobody is known, or no realm is."""

    wanted: tuple[str, ...] = ()
    """The roles of which the event type asks for one in that realm; none where it does not name the realm."""

    found: tuple[str, ...] = ()
    """The roles that the caller has."""

    refusal: AccessRefused | None = None
    """What the caller is told, if refused."""

    def __post_init__(self) -> None:
        """Hold the two halves together."""
        assert self.allowed == (self.refusal is None), "allowed with a refusal, or refused without one"

    def require(self) -> None:
        """Raise the refusal, if it is one."""
        if self.refusal is None:
            return
        log.debug(
            "auth.permission.denied",
            self.reason,
            rule=self.rule,
            realm=self.realm,
            wanted=self.wanted,
            found=self.found,
        )
        raise self.refusal
