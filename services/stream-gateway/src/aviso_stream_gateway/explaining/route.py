"""`POST /api/v1/explain`: would this filter, for this caller, deliver that event, and why not.

The answer is made by what delivers: the same reading of filters and of stored events, the same clauses, the same
decision about the caller. Whoever may not read an event type learns that, and nothing of what its log holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from aviso_core.errors import AvisoError
from aviso_core.matching.filter import read_point_filter, read_selection, read_undeclared_selection
from aviso_http.answers import JSON, Answer, send_answer
from aviso_http.body import BodyTooLarge, BodyTooSlow, read_body, refuse_body
from aviso_http.problems import Endpoint
from aviso_http.records.log import Log
from aviso_stream_gateway.admission import address_in, refuse
from aviso_stream_gateway.explaining.answer import Explanation, explained, permission_of
from aviso_stream_gateway.explaining.dry_run import count_selected
from aviso_stream_gateway.explaining.found import described_event, find_event
from aviso_stream_gateway.explaining.request import read_explain_body
from aviso_stream_gateway.showing import Showing

if TYPE_CHECKING:
    from aviso_core.matching.filter import Selection
    from aviso_core.schema.event_type import EventType
    from aviso_http.access.user import User
    from aviso_http.asgi import Receive, Scope, Send
    from aviso_stream_gateway.explaining.answer import Explained, Permission
    from aviso_stream_gateway.explaining.dry_run import DryRun
    from aviso_stream_gateway.explaining.request import ExplainBody
    from aviso_stream_gateway.parts import Parts

PATH: Final = "/api/v1/explain"

_encode: Final = msgspec.json.Encoder(order="sorted").encode

log = Log("aviso_stream_gateway.explaining")


class Explain:
    """The route."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            data = await read_body(scope["headers"], receive)
        except (BodyTooLarge, BodyTooSlow) as error:
            log.warning("api.request.parse.failed", str(error), error=error)
            return await refuse_body(error, receive, send)
        try:
            explanation = await self._explain(read_explain_body(data), scope)
        except AvisoError as error:
            return await refuse(self._parts, error, Endpoint.EXPLAIN, scope, send)
        return await send_answer(send, Answer(200, _encode(explanation), JSON))

    async def _explain(self, body: ExplainBody, scope: Scope) -> Explanation:
        parts = self._parts
        user: User | None = scope["state"]["user"]
        event_type = parts.catalog().get(body.event_type)
        selection = _read_filter(event_type, body)
        auth = None if event_type is None else event_type.schema.auth
        permission = await permission_of(parts, auth, user, dict(selection.filter.equals))
        base = body.event_type if event_type is None else event_type.base
        showing = Showing(body.event_type, event_type, base_url=parts.settings.application.base_url)
        return Explanation(
            event_type=body.event_type,
            topic=selection.topic,
            permission=permission,
            event=await self._event(body, base, showing, selection, permission),
            dry_run=await self._dry_run(body, base, showing, selection, scope) if permission.passed else None,
        )

    async def _event(
        self, body: ExplainBody, base: str, showing: Showing, selection: Selection, permission: Permission
    ) -> Explained | None:
        parts = self._parts
        if body.event is not None:
            item = described_event(showing, body.event)
        elif body.sequence is not None and permission.passed:
            item = await find_event(parts.log, parts.bounds, showing, base, body.sequence)
        else:
            return None
        return explained(selection.filter, item, permission)

    async def _dry_run(
        self, body: ExplainBody, base: str, showing: Showing, selection: Selection, scope: Scope
    ) -> DryRun | None:
        seconds = body.dry_run_seconds
        if seconds is None:
            return None
        parts = self._parts
        with parts.dry_runs.admitted(scope["state"]["user"], address_in(parts, scope)):
            return await count_selected(
                parts.log,
                parts.bounds,
                parts.runs,
                parts.streams.timekeeper,
                base=base,
                showing=showing,
                selection=selection,
                seconds=seconds,
            )


def _read_filter(event_type: EventType | None, body: ExplainBody) -> Selection:
    """Return the filter, read as a watch reads it."""
    point = read_point_filter(body.identifier)
    if event_type is None:
        return read_undeclared_selection(body.event_type, body.identifier, operation="watch", point=point)
    return read_selection(event_type, body.identifier, operation="watch", point=point)
