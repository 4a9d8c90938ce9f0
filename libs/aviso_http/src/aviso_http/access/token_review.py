"""Asking the cluster whether a token is one of its own and still good (TokenReview).

What the service proves itself by is read at every question: the cluster replaces that file long before it ends. The
cluster must name the same account that the token does, and our audience; a yes to something else is a no.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import msgspec

from aviso_core.errors import AccessUnavailable
from aviso_http.access.auth_service import UNAVAILABLE
from aviso_http.access.key_sources import read_small
from aviso_http.access.reply import Unanswered
from aviso_http.access.token import LARGEST_TOKEN, InvalidToken
from aviso_http.records.log import Log

if TYPE_CHECKING:
    from aviso_core.settings.model import Review
    from aviso_http.access.asking import Asker

_API_VERSION: Final = "authentication.k8s.io/v1"

log = Log("aviso_http.access")


class _Account(msgspec.Struct, frozen=True):
    username: str = ""


class _Status(msgspec.Struct, frozen=True):
    authenticated: bool = False
    user: _Account = _Account()
    audiences: tuple[str, ...] = ()


class _Reviewed(msgspec.Struct, frozen=True):
    status: _Status


_decoder: Final = msgspec.json.Decoder(_Reviewed)
_encoder: Final = msgspec.json.Encoder()


class TokenReview:
    """The cluster's own word."""

    def __init__(self, asker: Asker, settings: Review) -> None:
        self._asker = asker
        self._settings = settings
        self._url = f"{settings.url.rstrip('/')}/apis/{_API_VERSION}/tokenreviews"

    async def check(self, token: str, *, username: str, audience: str) -> None:
        """Raise `InvalidToken` unless the cluster says that the token is this account's and for this audience."""
        try:
            status = await self._ask(token, audience)
        except Unanswered as error:
            log.warning("auth.review.failed", "the cluster cannot be asked about a token", reason=str(error))
            raise AccessUnavailable(UNAVAILABLE) from error
        if not status.authenticated:
            raise InvalidToken("is refused by the cluster")
        if status.user.username != username or audience not in status.audiences:
            raise InvalidToken("is somebody else's to the cluster, or for another audience")

    async def _ask(self, token: str, audience: str) -> _Status:
        bearer = await asyncio.to_thread(read_small, self._settings.bearer_file, LARGEST_TOKEN)
        reply = await self._asker.ask(
            "POST",
            self._url,
            headers={
                "authorization": f"Bearer {bearer.decode('ascii', 'replace').strip()}",
                "content-type": "application/json",
                "accept": "application/json",
            },
            content=_encoder.encode(
                {
                    "apiVersion": _API_VERSION,
                    "kind": "TokenReview",
                    "spec": {"token": token, "audiences": [audience]},
                }
            ),
        )
        if reply.status not in (200, 201):
            raise Unanswered(f"answered with status {reply.status}")
        try:
            return _decoder.decode(reply.body).status
        except msgspec.MsgspecError as error:
            raise Unanswered("answered with something that is no review") from error
