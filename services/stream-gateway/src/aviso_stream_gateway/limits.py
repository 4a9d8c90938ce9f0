"""How many streams may be open: in this process, for one user, and from one address.

A stream that is open is never ended for the sake of another. Who is one too many is told when to come again.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from aviso_core.errors import Overloaded

if TYPE_CHECKING:
    from aviso_core.settings.model import Streams as Settings
    from aviso_http.access.user import User
    from aviso_http.asgi import Scope

_RETRY_AFTER_SECONDS: Final = 5


class TooManyStreams(Overloaded):
    """Somebody has as many streams as they may have."""

    code = "TOO_MANY_STREAMS"


class Ticket:
    """The right to one open stream. It is given back once, however often that is tried."""

    __slots__ = ("_keys", "_limits")

    def __init__(self, limits: StreamLimits, keys: tuple[object, ...]) -> None:
        self._limits: StreamLimits | None = limits
        self._keys = keys

    def give_back(self) -> None:
        """Let others have it."""
        limits, self._limits = self._limits, None
        if limits is not None:
            limits.remove(self._keys)


class StreamLimits:
    """Counts open streams."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._open: Counter[object] = Counter()
        self._total = 0

    def admit(self, user: User | None, address: str) -> Ticket:
        """Let a stream in, or raise why not."""
        settings = self._settings
        if self._total >= settings.max_streams:
            raise Overloaded(
                "As many streams are open as this service takes; come again a little later",
                retry_after_seconds=_RETRY_AFTER_SECONDS,
            )
        keys: list[object] = []
        if user is not None and settings.max_streams_per_user:
            keys.append(("user", user.realm, user.name))
            self._check(keys[-1], settings.max_streams_per_user, "user")
        if settings.max_streams_per_address:
            keys.append(("address", address))
            self._check(keys[-1], settings.max_streams_per_address, "address")
        self._total += 1
        self._open.update(keys)
        return Ticket(self, tuple(keys))

    def _check(self, key: object, most: int, what: str) -> None:
        if self._open[key] >= most:
            raise TooManyStreams(
                f"One {what} may have {most} open streams here; close one, or come again later",
                retry_after_seconds=_RETRY_AFTER_SECONDS,
            )

    def remove(self, keys: tuple[object, ...]) -> None:
        """Count a stream out; its ticket does."""
        self._total -= 1
        for key in keys:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]


def address_of(scope: Scope, *, trusted_hops: int) -> str:
    """Return who is at the other end: behind so many proxies of ours, whom the first of them saw."""
    client = scope.get("client")
    address: str = client[0] if client else ""
    if not trusted_hops:
        return address
    lines = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
    hops = [hop.strip() for hop in ",".join(lines).split(",") if hop.strip()]
    return hops[-min(trusted_hops, len(hops))] if hops else address
