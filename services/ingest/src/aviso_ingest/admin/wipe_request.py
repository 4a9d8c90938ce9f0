"""`DELETE /api/v1/admin/wipe/stream`: the one administrative request with a body.

It is a function of the server's own interface, because a body is bounded while it is read, which the framework does
only after. Refusals of the body are plain text, as they always were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from aviso_core import json_text
from aviso_core.errors import AvisoError
from aviso_http.answers import send_answer, text_answer
from aviso_http.body import BodyTooLarge, BodyTooSlow, ClientGone, announced_length, header
from aviso_http.problems import Endpoint
from aviso_ingest.admin.removing import wipe_stream
from aviso_ingest.batch.reading import Extent, Tracked, held_body
from aviso_ingest.batch.refusing import refuse_unread

if TYPE_CHECKING:
    from aviso_http.answers import Answer
    from aviso_http.asgi import Receive, Scope, Send
    from aviso_ingest.parts import Parts

PATH: Final = "/api/v1/admin/wipe/stream"

_LARGEST_BODY: Final = 2_097_152
_EXTENT: Final = Extent(most_bytes=_LARGEST_BODY)


class _Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The body; other members are not looked at."""

    stream_name: str


_decode: Final = msgspec.json.Decoder(_Wanted).decode


class WipeStream:
    """The route."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        body = Tracked(receive)
        try:
            answer = await self._answer(scope, body)
        except ClientGone:
            raise
        except AvisoError as error:
            return await refuse_unread(self._refusal(error, scope), body, send, most_bytes=2 * _LARGEST_BODY)
        return await send_answer(send, answer)

    async def _answer(self, scope: Scope, receive: Tracked) -> Answer:
        # A body is never compressed here; what says so is no JSON.
        headers = [line for line in scope["headers"] if line[0] != b"content-encoding"]
        async with held_body(headers, receive, extent=_EXTENT, pressure=self._parts.pressure) as body:
            if not is_json(header(headers, b"content-type")):
                return text_answer(400, "Content type error")
            try:
                wanted = read_wanted(bytes(body))
            except json_text.NotJson as error:
                return text_answer(400, f"Json deserialize error: {error}")
        return await wipe_stream(self._parts, wanted, scope["state"]["request_id"])

    def _refusal(self, error: AvisoError, scope: Scope) -> Answer:
        match error:
            case BodyTooLarge():
                return text_answer(413, _too_large(announced_length(scope["headers"])))
            case BodyTooSlow():
                return text_answer(408, error.message)
            case _:
                return self._parts.problems.answer(error, Endpoint.NOTIFICATION, scope["state"]["request_id"])


def is_json(content_type: bytes | None) -> bool:
    """Tell whether a content type is JSON, or something written in it."""
    media = (content_type or b"").partition(b";")[0].strip().lower()
    kind, _, subtype = media.partition(b"/")
    return bool(kind) and (subtype == b"json" or subtype.endswith(b"+json"))


def read_wanted(data: bytes) -> str:
    """Return the name in a body, or raise `NotJson` with what is wrong with it."""
    json_text.check_nesting(data)
    try:
        if not data.isascii():
            data.decode()
        return _decode(data).stream_name
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise json_text.NotJson(str(error)) from error


def _too_large(length: int | None) -> str:
    if length is None:
        return f"JSON payload has exceeded limit ({_LARGEST_BODY} bytes)."
    return f"JSON payload ({length} bytes) is larger than allowed (limit: {_LARGEST_BODY} bytes)."
