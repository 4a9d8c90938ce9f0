"""`GET /api/v1/positions` and `/api/v1/positions/{event_type}`: what the logs hold now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import parse_qsl, quote, unquote

import msgspec
from litestar import Request, Response, get

from aviso_core.errors import AvisoError, InvalidRequest
from aviso_core.span import read_date
from aviso_http.answers import Answer, json_answer
from aviso_http.problems import Endpoint
from aviso_http.records.log import Log
from aviso_stream_gateway.positions.held import held, positions_of, readable, require_readable

if TYPE_CHECKING:
    from litestar.types import ControllerRouterHandler

    from aviso_core.schema.event_type import EventType
    from aviso_http.asgi import Scope
    from aviso_stream_gateway.parts import Parts

AnyRequest: TypeAlias = Request[Any, Any, Any]

PATH: Final = "/api/v1/positions"
_PATH_OF_ONE: Final = f"{PATH}/{{event_type:path}}"

log = Log("aviso_stream_gateway.positions")


class NoSuchEventType(AvisoError):
    """There is no declared event type of that name."""

    code = "UNKNOWN_EVENT_TYPE"

    def __init__(self, name: str) -> None:
        self.message = f"Event type '{name}' not found"
        super().__init__(self.message)


def position_handlers(parts: Parts) -> list[ControllerRouterHandler]:
    """Return the routes of the framework."""

    @get([PATH, _PATH_OF_ONE])
    async def positions(request: AnyRequest) -> Response[bytes]:
        scope: Any = request.scope
        answer = await _answer(parts, scope)
        return Response(answer.body, status_code=answer.status, headers=_headers(answer))

    return [positions]


def _headers(answer: Answer) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in answer.header_lines()}


async def _answer(parts: Parts, scope: Scope) -> Answer:
    name = _name_in(scope)
    try:
        if name is None:
            return json_answer(200, await _all(parts, scope))
        return json_answer(200, await _one(parts, name, scope)) if name else Answer(404)
    except AvisoError as error:
        log.warning("api.request.validation.failed", str(error), error=error)
        return parts.problems.answer(error, Endpoint.POSITIONS, scope["state"]["request_id"])


async def _all(parts: Parts, scope: Scope) -> dict[str, object]:
    if _at_in(scope) is not None:
        raise InvalidRequest("at is for one event type; name it in the path", field="at")
    return dict(await positions_of(readable(parts, scope["state"]["user"]), parts.bounds))


async def _one(parts: Parts, name: str, scope: Scope) -> dict[str, object]:
    event_type = parts.catalog().event_types.get(name)
    if event_type is None:
        raise NoSuchEventType(name)
    require_readable(parts, event_type, scope["state"]["user"])
    text = _at_in(scope)
    if text is None:
        return dict(await positions_of([event_type], parts.bounds))
    return {name: await _at(parts, event_type, read_date(text, name="at"))}


async def _at(parts: Parts, event_type: EventType, instant: int) -> dict[str, object]:
    """Return the position of an event type, and the first sequence that is not older than an instant."""
    bounds = await parts.bounds.of(event_type.base)
    sequence = await parts.log.seek(event_type.base, instant, epoch=bounds.epoch)
    return {**msgspec.structs.asdict(held(bounds)), "at": sequence}


def _name_in(scope: Scope) -> str | None:
    """Return the event type that the path names: None for none, and nothing for what is no name.

    The path is read as it was sent: a slash in a name travels as `%2F`, and any other begins another segment.
    """
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    segments = raw.partition(b"?")[0].split(b"/")[PATH.count("/") + 1 :]
    if len(segments) > 1:
        return ""
    return unquote(segments[0].decode("latin-1"), errors="replace") if segments else None


def _at_in(scope: Scope) -> str | None:
    """Return the last `at` of the query."""
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    return dict(query).get("at")
