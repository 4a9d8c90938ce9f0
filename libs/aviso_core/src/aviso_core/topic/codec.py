"""One token of a topic, between its text and the form in which the log's subject holds it.

A subject joins tokens with points and knows two wildcards, so those characters are written as `%HH`, and so is `%`.
White space and control characters are written that way too: the broker refuses some of them and chokes on others.
Every release of the reference decodes any `%HH`, so stored subjects stay readable on both sides.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from aviso_core.errors import MalformedTopic

if TYPE_CHECKING:
    from collections.abc import Sequence

_SEPARATOR: Final = "."
_HARMFUL_BUT_SEPARATOR: Final = re.compile(r"[*>%\s\x00-\x1f\x7f-\x9f]")
_INVISIBLE: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")
_ESCAPED: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_STRAY_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")


def encode_token(text: str) -> str:
    """Return the token as it stands in a subject."""
    # Letters and digits of any script need no second look, and most tokens are nothing else.
    if text.isalnum():
        return text
    visible = text.replace("%", "%25").replace(".", "%2E").replace("*", "%2A").replace(">", "%3E")
    if visible.isprintable() and " " not in visible:
        return visible
    return _INVISIBLE.sub(_escape, visible)


def _escape(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode())


def decode_token(token: str) -> str:
    """Return the text of one token; refuse what no encoder writes."""
    if "%" not in token:
        return token
    stray = _STRAY_PERCENT.search(token)
    if stray is not None:
        raise MalformedTopic(f"'%' at {stray.start()} of '{token}' is not followed by two hexadecimal digits")
    try:
        return _ESCAPED.sub(lambda match: bytes([int(match[1], 16)]), token.encode()).decode()
    except UnicodeDecodeError as error:
        raise MalformedTopic(f"'{token}' does not decode to UTF-8") from error


def encode_subject(base: str, values: Sequence[str]) -> str:
    """Return the subject of a base and the canonical values behind it."""
    joined = _SEPARATOR.join(values)
    if joined.count(_SEPARATOR) >= len(values) or _HARMFUL_BUT_SEPARATOR.search(joined):
        joined = _SEPARATOR.join(map(encode_token, values))
    return f"{base}{_SEPARATOR}{joined}" if values else base


def decode_subject(subject: str) -> tuple[str, ...]:
    """Return the texts of all tokens, the base first."""
    tokens = subject.split(_SEPARATOR)
    return tuple(tokens if "%" not in subject else map(decode_token, tokens))


def display_subject(subject: str) -> str:
    """Return the decoded form for frames and messages, or the subject itself where it does not decode.

    The form is ambiguous by design: a point inside a value looks like one between values.
    """
    try:
        return _SEPARATOR.join(decode_subject(subject))
    except MalformedTopic:
        return subject
