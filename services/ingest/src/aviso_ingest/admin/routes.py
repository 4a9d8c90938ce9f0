"""The routes of administration. Who may use them is decided before any route is asked, for all paths below theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import unquote

from litestar import Request, Response, delete
from litestar.exceptions import NotFoundException

from aviso_http.routes import Hot
from aviso_ingest.admin.removing import delete_notification, wipe_all
from aviso_ingest.admin.wipe_request import PATH as WIPE_STREAM_PATH
from aviso_ingest.admin.wipe_request import WipeStream

if TYPE_CHECKING:
    from litestar.types import ControllerRouterHandler, Scope

    from aviso_http.answers import Answer
    from aviso_ingest.parts import Parts

AnyRequest: TypeAlias = Request[Any, Any, Any]

NOTIFICATION_PATH: Final = "/api/v1/admin/notification/{id:path}"
WIPE_ALL_PATH: Final = "/api/v1/admin/wipe/all"


def admin_handlers(parts: Parts) -> list[ControllerRouterHandler]:
    """Return the routes of the framework."""

    @delete(NOTIFICATION_PATH, status_code=200)
    async def notification(request: AnyRequest) -> Response[bytes]:
        sent = _last_segment(request.scope)
        if sent is None:
            raise NotFoundException
        return _response(await delete_notification(parts, sent, request.scope["state"]["request_id"]))

    @delete(WIPE_ALL_PATH, status_code=200)
    async def everything(request: AnyRequest) -> Response[bytes]:
        return _response(await wipe_all(parts, request.scope["state"]["request_id"]))

    return [notification, everything]


def admin_hot_routes(parts: Parts) -> list[Hot]:
    """Return the route that reads a body."""
    return [Hot("DELETE", WIPE_STREAM_PATH, WipeStream(parts))]


def _last_segment(scope: Scope) -> str | None:
    """Return the id as it was sent: a slash in it travels as `%2F`, and any other begins another path."""
    segments = scope["raw_path"].split(b"/")
    if len(segments) != NOTIFICATION_PATH.count("/") + 1:
        return None
    return unquote(segments[-1].decode("latin-1"), errors="replace")


def _response(answer: Answer) -> Response[bytes]:
    return Response(answer.body, status_code=answer.status, media_type="application/json")
