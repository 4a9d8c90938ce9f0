"""A value that is used but never shown: tokens, passwords and keys of the configuration.

A secret leaks where nobody looks: in the repr of the Struct that holds it, in a log record, in a traceback. So it is
not text with a rule around it but a type of its own, whose every rendering is the same fixed word; the content comes
out in one way only, `reveal()`, which is easy to search for.

It is no subclass of `str` on purpose: msgspec would encode that as the text it is. Without the hooks below msgspec
refuses to encode a secret at all, so forgetting them is an error and not a leak.
"""

from __future__ import annotations

import hmac
import re
from typing import Final

REDACTED: Final = "[REDACTED]"

# Up to the last @: a password with a raw `/` in it makes a broken address, and must be hidden all the same.
_CREDENTIALS: Final = re.compile(r"://\S*@")


class Secret:
    """Text that never prints. Empty means that none is set, and then it is false."""

    __slots__ = ("_content",)

    def __init__(self, content: str) -> None:
        self._content = content

    def reveal(self) -> str:
        """Return the content, for the one call that needs it."""
        return self._content

    def __bool__(self) -> bool:
        return bool(self._content)

    def __eq__(self, other: object) -> bool:
        """Compare in a time that does not depend on where the contents differ."""
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._bytes(), other._bytes())

    def __hash__(self) -> int:
        return hash(self._content)

    def __repr__(self) -> str:
        return f"Secret('{REDACTED}')"

    def __str__(self) -> str:
        return REDACTED

    def __format__(self, format_spec: str) -> str:
        return format(REDACTED, format_spec)

    def _bytes(self) -> bytes:
        # Environment variables that are not UTF-8 arrive with surrogates, which have no strict encoding.
        return self._content.encode("utf-8", "surrogatepass")


def encode_hook(value: object) -> object:
    """Encode a secret as its replacement: the `enc_hook` for everything that is written for people to read."""
    if isinstance(value, Secret):
        return REDACTED
    raise NotImplementedError(f"no encoding for {type(value).__name__}")


def decode_hook(kind: type, value: object) -> object:
    """Decode text as a secret: the `dec_hook` of msgspec decoders."""
    if kind is not Secret:
        raise NotImplementedError(f"no decoding for {kind.__name__}")
    if not isinstance(value, str):
        # The value may be the secret itself in the wrong shape, so only its type is named.
        raise TypeError(f"a secret is text, not {type(value).__name__}")
    return Secret(value)


def hide_credentials(text: str) -> str:
    """Return the text with the user name and password of addresses in it replaced."""
    return _CREDENTIALS.sub(f"://{REDACTED}@", text)
