"""The effective configuration for people to read: what `startup.configuration.dumped` logs.

Secrets are gone by their type. What has no type of ours, the schema block, loses every value whose key sounds like a
secret, and addresses lose their credentials wherever they stand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from aviso_core.plain.secret import REDACTED, encode_hook, hide_credentials

if TYPE_CHECKING:
    from aviso_core.settings.model import Settings

_SECRET_WORDS: Final = ("password", "secret", "token", "authorization", "api_key")


def dump(settings: Settings) -> dict[str, object]:
    """Return the settings as plain values that may be shown to anyone who may read the log."""
    plain = msgspec.to_builtins(settings, enc_hook=encode_hook)
    assert isinstance(plain, dict)
    return {key: _redacted(key, value) for key, value in plain.items()}


def _redacted(key: str, value: object) -> object:
    # None is kept: that no token is set is what someone who reads this wants to know.
    if value is not None and any(word in key.lower() for word in _SECRET_WORDS):
        return REDACTED
    match value:
        case dict():
            return {inner: _redacted(inner, item) for inner, item in value.items()}
        case list() | tuple():
            return [_redacted("", item) for item in value]
        case str():
            return hide_credentials(value)
    return value
