"""Answers that say which version of something they are, and are not sent again to whoever has it (RFC 9110, 13)."""

from __future__ import annotations

import hashlib
import re
from email.utils import formatdate, parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from litestar import Response
from litestar.response.base import ASGIResponse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar.datastructures import Headers

AnyResponse: TypeAlias = Response[Any]

_TAGS: Final = re.compile(r'(?:W/)?("[^"]*")')

# It may be kept, but is asked for each time: schemas change while a service runs.
FRESH: Final[Mapping[str, str]] = {"Cache-Control": "no-cache"}


def tag_of(body: bytes) -> str:
    """Return the strong entity tag of a body."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def is_known(headers: Headers, *, tag: str, modified: float | None = None) -> bool:
    """Tell whether the sender of these headers already has this version; a date counts where no tag is named."""
    tags = headers.get("if-none-match")
    if tags is not None:
        return tags.strip() == "*" or tag in _TAGS.findall(tags)
    since = headers.get("if-modified-since")
    if since is None or modified is None:
        return False
    try:
        return int(modified) <= parsedate_to_datetime(since).timestamp()
    except (ValueError, OverflowError):
        return False


def date_of(modified: float) -> str:
    """Return an instant in seconds as headers spell it."""
    return formatdate(modified, usegmt=True)


def answer(
    headers: Headers, body: bytes, *, tag: str, media_type: str, more: Mapping[str, str] | None = None
) -> AnyResponse:
    """Return a body, or that it has not changed."""
    said = {"ETag": tag, **FRESH, **(more or {})}
    if is_known(headers, tag=tag):
        return not_modified(said)
    return Response(body, media_type=media_type, headers=said)


def not_modified(headers: Mapping[str, str]) -> AnyResponse:
    """Return the answer to whoever has this version."""
    return Response(b"", status_code=304, headers=headers)


class _Nothing(Response[bytes]):
    """An answer without a body, and so without a type of one, which the framework would give it all the same."""

    def to_asgi_response(self, *arguments: Any, **named: Any) -> ASGIResponse:
        """Return what is sent."""
        made = super().to_asgi_response(*arguments, **named)
        assert isinstance(made, ASGIResponse), "the answer is not streamed"
        del made.headers["content-type"]
        return made


def not_found() -> AnyResponse:
    """Return the answer to a path that leads nowhere."""
    return _Nothing(b"", status_code=404)
