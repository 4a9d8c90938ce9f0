"""What the services need to know about callers. Who implements it decides by which credentials.

Two ways fail, and they look alike from here: whoever is refused gets an `AccessRefused` with its text, and nobody
passes because something is broken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from aviso_core.schema.model import Auth
    from aviso_http.access.decision import Decision
    from aviso_http.access.user import User


class Access(Protocol):
    """Who is asking, and what may they do."""

    @property
    def is_open(self) -> bool:
        """Whether nobody is asked for anything; the header is not even looked at."""
        ...

    @property
    def challenges(self) -> tuple[bytes, ...]:
        """The `WWW-Authenticate` lines of a 401."""
        ...

    async def identify(self, authorization: bytes | None) -> User | None:
        """Return the caller, None for nobody in particular, or raise `AccessRefused`."""
        ...

    async def identify_administrator(self, authorization: bytes | None) -> User | None:
        """Return the caller, who is an administrator, or raise `AccessRefused`. None only where all is open."""
        ...

    def is_administrator(self, user: User | None) -> bool:
        """Tell whether the user administers."""
        ...

    def may_read(self, auth: Auth | None, user: User | None) -> Decision:
        """Decide whether a caller may watch and replay an event type with such an `auth` block."""
        ...

    def may_write(self, auth: Auth | None, user: User | None) -> Decision:
        """Decide whether a caller may publish to an event type with such an `auth` block."""
        ...
