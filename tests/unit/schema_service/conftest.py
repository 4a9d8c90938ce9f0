"""The schema service behind a real server: paths and headers are tested as they travel."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import uvicorn

from aviso_core.settings.model import Application, Homepage
from aviso_http.answers import Answer, send_answer
from aviso_http.routes import RouteTable
from aviso_schema.app import create_app, hot_routes
from aviso_schema.parts import Parts
from support.catalogs import OPEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from aviso_core.schema.catalog import Catalog
    from aviso_http.asgi import Receive, Scope, Send

REQUEST_ID = "5b0c2f0e-6c0a-4b39-9a43-2f7a7c0d9e10"


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body's value; its type is told exactly."""
        assert self.headers["content-type"] == "application/json"
        return json.loads(self.body)


class Service:
    """A running service; what it holds can be replaced."""

    def __init__(self, port: int, held: Held) -> None:
        self.held = held
        self._port = port

    def get(self, path: str, *, method: str = "GET", **headers: str) -> Reply:
        """Ask for a path, exactly as it is written here."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, headers=sent)
            answer = connection.getresponse()
            return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()


class Held:
    """A catalog and its revision, to be replaced by a test."""

    def __init__(self, catalog: Catalog, revision: int | None) -> None:
        self.catalog = catalog
        self.revision = revision

    def revision_of(self, event_type: str) -> int | None:
        """Return the one revision of all event types."""
        assert event_type in self.catalog.event_types
        return self.revision


@contextmanager
def serving(held: Held, settings: Application) -> Iterator[Service]:
    """Serve a catalog on a free port."""
    parts = Parts(
        catalog=lambda: held.catalog, revision_of=held.revision_of, application=settings, version="1.2.3<"
    )
    table = RouteTable(create_app(parts), hot_routes(parts))

    async def front(scope: Scope, receive: Receive, send: Send) -> None:
        """Do what the outermost application does with a path and a method."""
        route = table.find(scope["path"])
        if route is None:
            return await send_answer(send, Answer(404))
        application = route.methods.get(scope["method"])
        if application is None:
            return await send_answer(send, Answer(405, headers=((b"allow", route.allow),)))
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        return await application(
            {**scope, "method": method, "state": {"request_id": REQUEST_ID}}, receive, send
        )

    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(front, lifespan="off", log_config=None, access_log=False, ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield Service(listener.getsockname()[1], held)
        finally:
            server.should_exit = True
            thread.join()


def application(**members: Any) -> Application:
    """Return settings with one link that HTML has to be careful about."""
    links = Homepage(client_documentation_url="https://docs.example.org/?a=1&b='\"<>")
    return Application(
        host="127.0.0.1", port=0, base_url="http://aviso.example.org", homepage=links, **members
    )


@pytest.fixture(scope="module")
def _running() -> Iterator[Service]:
    """Run one service for all tests of a module."""
    with serving(Held(OPEN, None), application()) as running:
        yield running


@pytest.fixture
def service(_running: Service) -> Service:
    """Return the service with its own pages, the event types of the recordings, and no registry."""
    _running.held.catalog, _running.held.revision = OPEN, None
    return _running


@pytest.fixture
def serve() -> Iterator[Callable[[Path], Service]]:
    """Return what serves the pages of a folder until the test ends."""
    with ExitStack() as stack:
        yield lambda folder: stack.enter_context(
            serving(Held(OPEN, None), application(static_files_path=str(folder)))
        )
