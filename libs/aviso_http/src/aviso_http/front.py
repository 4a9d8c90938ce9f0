"""The outermost application: what holds for every request, whichever route it is for.

In this order: the request gets its id; below `/api/v1` the caller is found out, before the path is even looked up; the
path is looked up once; and then either a hot route of ours answers, or the framework. Every answer leaves with the
request's id, also the empty 404 and 405 of which the framework never hears. What comes up here as an exception is a
bug: it is logged with its traceback, counted, and answered without saying what it was.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Final, Protocol

from aviso_core.errors import AccessRefused
from aviso_http.access.header import authorization_of
from aviso_http.answers import CLOSE, Answer, HeaderLine, send_answer
from aviso_http.body import ClientGone, header, send_unread
from aviso_http.problems import Endpoint, internal_error
from aviso_http.records.context import RequestContext, request_context
from aviso_http.records.log import Log
from aviso_http.telemetry import read_traceparent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from aviso_http.access.base import Access
    from aviso_http.access.user import User
    from aviso_http.asgi import Message, Receive, Scope, Send
    from aviso_http.cors import CrossOrigin
    from aviso_http.draining import Draining
    from aviso_http.problems import Problems
    from aviso_http.routes import Route, RouteTable
    from aviso_http.telemetry import TraceParent, Traces

_GUARDED: Final = "/api/v1"
_UNGUARDED: Final = "/api/v1/schema"
_ADMINISTRATION: Final = "/api/v1/admin"
_REQUEST_ID: Final = b"x-request-id"
_UNMATCHED: Final = "unmatched"
_FAILED: Final = "error"
# Nothing is sent to a client that left; where a status must stand, this one has become the custom.
_CLIENT_GONE: Final = 499

log = Log("aviso_http.front")


class Observer(Protocol):
    """Counts requests. The route is a template, never what somebody sent."""

    def begin(self, method: str) -> None:
        """Count a request that came in."""

    def answer(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answer whose headers are ready."""

    def end(self, method: str) -> None:
        """Count it no longer as in flight."""


class Front:
    """The application that the server calls."""

    def __init__(
        self,
        routes: RouteTable,
        *,
        access: Access,
        problems: Problems,
        observer: Observer,
        cross_origin: CrossOrigin,
        draining: Draining,
        traces: Traces,
    ) -> None:
        self._routes = routes
        self._access = access
        self._problems = problems
        self._observer = observer
        self._cross_origin = cross_origin
        self._draining = draining
        self._traces = traces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        assert scope["type"] == "http", "the server is told to speak nothing else"
        route = self._routes.find(scope["path"])
        template = _UNMATCHED if route is None else route.template
        parent = read_traceparent(scope["headers"])
        span = self._traces.begin(parent, method=scope["method"], route=template)
        reply = _Reply(send, _new_request_id(), template, scope, self._observer, self._draining)
        if not self._cross_origin.is_off:
            reply.replaces = self._cross_origin.replaces
            reply.add(self._cross_origin.lines(_origin(scope)))
        scope["state"] |= {"request_id": reply.request_id, "user": None, "traceparent": span.parent}
        context = request_context.set(_context(reply.request_id, None, span.parent))
        failure: Exception | None = None
        self._observer.begin(reply.method)
        try:
            await self._serve(route, scope, receive, reply)
        except ClientGone:
            if reply.status is None:
                # Who left in the midst of an answer has been counted with its headers.
                self._observer.answer(_FAILED, reply.method, _CLIENT_GONE, reply.seconds)
        except Exception as error:  # the top: logged and counted, and the process goes on
            failure = error
            log.error("api.request.failed", "a request met a bug", error=error, route=template)
            if reply.status is not None:
                # The server cuts the connection: half an answer must not look like a whole one.
                raise
            await send_answer(reply, internal_error(reply.request_id))
        finally:
            span.end(reply.status or _CLIENT_GONE, failure)
            self._observer.end(reply.method)
            request_context.reset(context)

    async def _serve(self, route: Route | None, scope: Scope, receive: Receive, reply: _Reply) -> None:
        if route is not None and not self._cross_origin.is_off:
            answer = self._cross_origin.preflight(reply.method, scope["headers"], route.allow)
            if answer is not None:
                return await send_answer(reply, answer)
        if not self._access.is_open and _is_guarded(scope["path"]):
            try:
                await self._identify(scope)
            except AccessRefused as refusal:
                log.warning("auth.middleware.request.denied", refusal.message, route=reply.template)
                answer = self._problems.answer(refusal, Endpoint.NOTIFICATION, reply.request_id)
                return await send_unread(answer, receive, reply)
        return await self._dispatch(route, scope, receive, reply)

    async def _identify(self, scope: Scope) -> None:
        state, authorization = scope["state"], authorization_of(scope["headers"])
        if scope["path"].startswith(_ADMINISTRATION):
            user = await self._access.identify_administrator(authorization)
        else:
            user = await self._access.identify(authorization)
        if user is not None:
            state["user"] = user
            request_context.set(_context(state["request_id"], user, state["traceparent"]))

    async def _dispatch(self, route: Route | None, scope: Scope, receive: Receive, reply: _Reply) -> None:
        if route is None:
            return await send_unread(Answer(404), receive, reply)
        application = route.methods.get(reply.method)
        if application is None:
            return await send_unread(Answer(405, headers=((b"allow", route.allow),)), receive, reply)
        if reply.method == "HEAD":
            # The server leaves the body out, because its own scope still says HEAD.
            scope = {**scope, "method": "GET"}
        return await application(scope, receive, reply)


def _is_guarded(path: str) -> bool:
    """Tell whether the caller is found out before the path is even known to exist."""
    return path.startswith(_GUARDED) and not path.startswith(_UNGUARDED)


def _origin(scope: Scope) -> bytes | None:
    return header(scope["headers"], b"origin")


def _context(request_id: str, user: User | None, place: TraceParent | None) -> RequestContext:
    return RequestContext(
        request_id=request_id,
        username=None if user is None else user.name,
        realm=None if user is None else user.realm,
        trace_id="" if place is None else place.trace_id,
        span_id="" if place is None else place.span_id,
    )


def _new_request_id() -> str:
    """Return a random UUID. It must be unlike all others, not hard to guess, so the system is not asked each time."""
    digits = f"{random.getrandbits(128):032x}"
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


class _Reply:
    """Where the answer goes: adds what every answer has, and counts it as soon as its headers are ready."""

    __slots__ = (
        "_began", "_draining", "_lines", "_observer", "_send", "method", "replaces", "request_id", "status",
        "template",
    )  # fmt: skip

    def __init__(
        self,
        send: Send,
        request_id: str,
        template: str,
        scope: Scope,
        observer: Observer,
        draining: Draining,
    ) -> None:
        self.request_id = request_id
        self.template = template
        self.method: str = scope["method"]
        self.status: int | None = None
        # Tells which lines of an answer give way, whether or not it has others instead.
        self.replaces: Callable[[bytes], bool] | None = None
        self._send = send
        self._lines: list[HeaderLine] = [(_REQUEST_ID, request_id.encode())]
        self._observer = observer
        self._draining = draining
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """How long the request has taken until now."""
        return time.perf_counter() - self._began

    def add(self, lines: Iterable[HeaderLine]) -> None:
        """Add lines to those that the answer will have."""
        self._lines += lines

    async def __call__(self, message: Message) -> None:
        """Pass a message on."""
        if message["type"] == "http.response.start":
            if self._draining.has_begun:
                # It may have begun only after the request did.
                self._lines.append(CLOSE)
            self.status = message["status"]
            self._observer.answer(self.template, self.method, message["status"], self.seconds)
            message["headers"] = self._with_ours(message["headers"])
        await self._send(message)

    def _with_ours(self, lines: Iterable[HeaderLine]) -> list[HeaderLine]:
        if self.replaces is not None:
            lines = [line for line in lines if not self.replaces(line[0])]
        if len(self._lines) == 1:
            return [*lines, *self._lines]
        named = {name for name, _ in self._lines}
        return [*(line for line in lines if line[0] not in named), *self._lines]
