"""Taking secrets out of what is logged (contract 13.1).

Three places hide them: under a key whose name sounds like one, in the credentials of an address, behind the word
*bearer*. A text may quote the first kind too (`{'password': 'x'}`, `?access_token=x`), and is cleaned of that as well.

Texts come from users, so every search here takes a time in proportion to the text: repetitions are bounded, and
addresses are cleaned word by word. Most texts have none of the characters that any of this needs, and finding that
out is what nearly every record costs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from aviso_core.plain.secret import REDACTED, Secret

# The contract's, and cookies, which are credentials as well.
_WORDS: Final = ("password", "secret", "token", "authorization", "api_key", "cookie")
_WORD: Final = "(?:" + "|".join(_WORDS) + ")"
_DEEPEST: Final = 16

_BEARER: Final = re.compile(r"(\bbearer)[\s:=]+\S+", re.IGNORECASE)
# name=value, as in a query, a form or a connection string
_ASSIGNED: Final = re.compile(
    rf"""({_WORD}[\w.-]{{0,64}}\s{{0,4}}=\s{{0,4}})(?:"[^"]*"|'[^']*'|[^\s&,;]+)""", re.IGNORECASE
)
# 'name': 'value', as in JSON and in what Python prints
_QUOTED: Final = re.compile(
    rf"""({_WORD}[\w.-]{{0,64}}["']\s{{0,4}}:\s{{0,4}}(?:b(?=["']))?)(?:"[^"]*"|'[^']*'|[^\s,}}"']+)""",
    re.IGNORECASE,
)
# A header, as it is sent, or as a pair in a list of headers: its scheme goes with it, and of cookies all of them.
_HEADER: Final = re.compile(
    r"""(authorization(?:["']?\s{0,4}:|["']\s{0,4},)\s{0,4}(?:b(?=["']))?["']?)(?:\w{1,32}\s{1,4})?[^\s"',]+""",
    re.IGNORECASE,
)
_COOKIES: Final = re.compile(
    r"""(cookie(?:\s{0,4}:|["']\s{0,4},)\s{0,4}(?:b(?=["']))?["']?)[^\s"'][^\r\n"']*""",
    re.IGNORECASE,
)
# Characters that JSON leaves as they are and that say something to a terminal: they move its cursor, turn the
# direction of writing, or end a line where others do not.
_UNSHOWN: Final = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_NON_BLANK: Final = re.compile(r"\S+")


def is_sensitive(key: str) -> bool:
    """Return whether what stands under a key is never shown."""
    lowered = key.lower()
    return any(word in lowered for word in _WORDS)


def may_hide(text: str) -> bool:
    """Return whether a text has to be looked at. False is certain, and cheap to find out."""
    return (
        ":" in text
        or "=" in text
        or not text.isprintable()
        or (
            " " in text
            and ("bearer" in (lowered := text.lower()) or "authorization" in lowered or "cookie" in lowered)
        )
    )


def clean_text(text: str) -> str:
    """Return the text without secrets, and without what cannot be encoded or should not be shown."""
    return redact_text(_showable(text))


def redact_text(text: str) -> str:
    """Return the text without secrets."""
    if "://" in text and "@" in text:
        text = _NON_BLANK.sub(_without_credentials, text)
    text = _BEARER.sub(rf"\1 {REDACTED}", text)
    text = _HEADER.sub(rf"\1{REDACTED}", text)
    text = _COOKIES.sub(rf"\1{REDACTED}", text)
    text = _QUOTED.sub(rf"\1{REDACTED}", text)
    return _ASSIGNED.sub(rf"\1{REDACTED}", text)


def redact_attributes(attributes: Mapping[str, object]) -> tuple[dict[str, object], bool]:
    """Return attributes as plain values without secrets, and whether anything had to be taken out.

    A key that sounds like a secret counts as such whatever stands under it.
    """
    finder = _Finder()
    return finder.mapping(attributes, 0), finder.found


class _Finder:
    """One walk through nested values."""

    def __init__(self) -> None:
        self.found = False

    def mapping(
        self, values: Mapping[object, object] | Mapping[str, object], depth: int
    ) -> dict[str, object]:
        plain: dict[str, object] = {}
        for key, value in values.items():
            name = self.text(str(key))
            if is_sensitive(name):
                self.found = True
                # None is kept: that nothing is set is what someone who reads this wants to know.
                plain[name] = None if value is None else REDACTED
            else:
                plain[name] = self.value(value, depth + 1)
        return plain

    def value(self, value: object, depth: int) -> object:
        match value:
            case None | bool() | float():
                return value
            case int():
                # Beyond 64 bits not every reader knows numbers.
                return int(value) if -(2**63) <= value < 2**63 else str(value)
            case str():
                return self.text(value)
            case bytes() | bytearray() | memoryview():
                return self.text(bytes(value).decode("utf-8", "replace"))
            case Secret():
                self.found = True
                return REDACTED
            case Mapping():
                return self.mapping(value, depth) if depth < _DEEPEST else "…"
            case list() | tuple() | set() | frozenset():
                return [self.value(item, depth + 1) for item in value] if depth < _DEEPEST else "…"
        return self.text(str(value))

    def text(self, text: str) -> str:
        plain = str.__str__(text)
        if not may_hide(plain):
            return plain
        plain = _showable(plain)
        clean = redact_text(plain)
        self.found = self.found or clean != plain
        return clean


def _showable(text: str) -> str:
    # Half a character has no encoding: names of files and escapes in JSON bring such texts.
    encodable = text.encode("utf-8", "replace").decode()
    return _UNSHOWN.sub(lambda found: f"\\u{ord(found.group()):04x}", encodable)


def _without_credentials(word: re.Match[str]) -> str:
    """Return a word with what stands between the `://` and the last `@` replaced."""
    text = word.group()
    begin, end = text.find("://"), text.rfind("@")
    return f"{text[: begin + 3]}{REDACTED}{text[end:]}" if -1 < begin < end else text
