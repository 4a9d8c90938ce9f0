"""Direct mode: every credential is shown to the auth service, which answers with a token of its own (contract 10.1).

What it answers is not taken on trust: the token is verified like any other. Everything that is not a clear yes or no
is "unavailable", so that a broken auth service never lets anybody in and never locks anybody out for good.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from aviso_core.errors import AccessUnavailable, Forbidden, Unauthorized
from aviso_core.settings.url import parse_url
from aviso_http.access.header import Credentials, read_bearer
from aviso_http.access.reply import Unanswered
from aviso_http.access.token import looks_like_token
from aviso_http.records.log import Log

if TYPE_CHECKING:
    from aviso_core.plain.secret import Secret
    from aviso_http.access.asking import Asker
    from aviso_http.access.reply import Reply

UNAVAILABLE: Final = "Authentication service temporarily unavailable"
INVALID: Final = "Invalid or expired token"
LARGEST_REPLY: Final = 65_536

_MEMBERS: Final = ("token", "jwt", "access_token")

log = Log("aviso_http.access")


class AuthService:
    """The auth service behind an address."""

    def __init__(self, asker: Asker, base_url: str) -> None:
        self._asker = asker
        url = parse_url(base_url)
        usable = url is not None and url.is_web and not (url.has_query or url.has_fragment)
        self._url = f"{base_url.rstrip('/')}/authenticate" if usable else None

    async def token_of(self, authorization: Secret) -> str:
        """Return the token that the service has for these credentials, or raise what it says instead."""
        if self._url is None:
            raise AccessUnavailable("Authentication service is not configured correctly")
        try:
            reply = await self._asker.ask("GET", self._url, headers={"authorization": authorization.reveal()})
        except Unanswered as error:
            raise _unavailable(str(error)) from error
        return token_in(reply)


def token_in(reply: Reply) -> str:
    """Return the token in a reply of the auth service."""
    if reply.status == 401:
        raise Unauthorized(INVALID)
    if reply.status == 403:
        raise Forbidden("Token validation was denied")
    if not 200 <= reply.status < 300:
        raise _unavailable(f"answered with status {reply.status}")
    for candidate in (_in_header(reply), _in_json(reply.body), _raw(reply.body)):
        if candidate is not None and looks_like_token(candidate):
            return candidate
    raise _unavailable("answered without a token")


def _unavailable(reason: str) -> AccessUnavailable:
    log.warning("auth.middleware.remote.validation.failed", "the auth service is of no use", reason=reason)
    return AccessUnavailable(UNAVAILABLE)


def _in_header(reply: Reply) -> str | None:
    value = reply.header("authorization")
    read = None if value is None else read_bearer(value.encode("latin-1"))
    return read.bearer if isinstance(read, Credentials) else None


def _in_json(body: bytes) -> str | None:
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        value = next((value[member] for member in _MEMBERS if value.get(member) is not None), None)
    return value.strip() if isinstance(value, str) else None


def _raw(body: bytes) -> str | None:
    try:
        return body.decode("ascii").strip()
    except UnicodeDecodeError:
        return None
