"""Pages of other origins (extensions §9): which may call, and what a browser asks before it lets them.

Off unless origins are configured, and then nothing of the contract changes. Where they are, one rule covers all routes:
what a browser asks beforehand is answered before anybody is asked for a token, because a browser sends none with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aviso_http.answers import Answer, HeaderLine
from aviso_http.body import header

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aviso_core.settings.model import Cors

_ALLOW_ORIGIN: Final = b"access-control-allow-origin"
_EXPOSED: Final = (b"access-control-expose-headers", b"X-Request-ID, Retry-After, ETag, Preference-Applied")
# Also of answers to nobody's page: a cache must not give them to one that may.
_VARY: Final = (b"vary", b"Origin")
_REMEMBERED_SECONDS: Final = b"600"


class CrossOrigin:
    """The rule, from the settings."""

    def __init__(self, settings: Cors) -> None:
        self._all = "*" in settings.allowed_origins
        self._origins = frozenset(origin.encode() for origin in settings.allowed_origins)
        self._with_credentials = settings.allow_credentials

    @property
    def is_off(self) -> bool:
        """Whether there is no such page."""
        return not self._origins

    def preflight(self, method: str, headers: Iterable[HeaderLine], allow: bytes) -> Answer | None:
        """Return the answer to what a browser asks beforehand; None where it is nothing of the kind."""
        headers = list(headers)
        asks = header(headers, b"access-control-request-method")
        origin = header(headers, b"origin")
        if method != "OPTIONS" or asks is None or not self._is_allowed(origin):
            return None
        wanted = header(headers, b"access-control-request-headers")
        lines = [
            *self.lines(origin),
            (b"access-control-allow-methods", allow),
            (b"access-control-max-age", _REMEMBERED_SECONDS),
        ]
        if wanted is not None:
            lines.append((b"access-control-allow-headers", wanted))
        return Answer(204, headers=tuple(lines))

    def lines(self, origin: bytes | None) -> list[HeaderLine]:
        """Return the headers that an answer to a page of that origin has."""
        if self.is_off:
            return []
        if origin is None or not self._is_allowed(origin):
            return [_VARY]
        if self._all and not self._with_credentials:
            return [(_ALLOW_ORIGIN, b"*"), _VARY, _EXPOSED]
        lines = [(_ALLOW_ORIGIN, origin), _VARY, _EXPOSED]
        if self._with_credentials:
            lines.append((b"access-control-allow-credentials", b"true"))
        return lines

    def replaces(self, name: bytes) -> bool:
        """Tell whether a line of an answer gives way: a stream is open to all pages only where no rule is."""
        return name == _ALLOW_ORIGIN

    def _is_allowed(self, origin: bytes | None) -> bool:
        return origin is not None and (self._all or origin in self._origins)
