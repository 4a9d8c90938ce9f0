"""Users of credentials that were verified a moment ago, so that a client's next request costs no cryptography.

Only what was believed is kept, so nobody fills it with rubbish. The key is a digest: no credential stays in memory. An
entry ends with its credential at the latest, and whoever puts it in may say earlier. When it is full the oldest
goes: what is gone is only verified again.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from aviso_http.access.user import User


class _Entry(NamedTuple):
    user: User
    until: float


class Remembered:
    """Users by credential, for as long as they may be believed; times are Unix seconds."""

    def __init__(self, *, entries: int) -> None:
        self._room = entries
        self._entries: dict[bytes, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, digest: bytes, *, now: float) -> User | None:
        """Return the user that the credential was found to be."""
        entry = self._entries.get(digest)
        if entry is None:
            return None
        if now > entry.until:
            del self._entries[digest]
            return None
        return entry.user

    def put(self, digest: bytes, user: User, *, until: float) -> None:
        """Remember a user."""
        self._entries.pop(digest, None)
        if len(self._entries) >= self._room:
            del self._entries[next(iter(self._entries))]
        self._entries[digest] = _Entry(user, until)


def digest_of(credential: bytes) -> bytes:
    """Return what a credential is remembered by."""
    return hashlib.sha256(credential).digest()
