"""Which route a path is, and which methods it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from litestar import Litestar, get, post

from aviso_http.routes import Hot, RouteTable

if TYPE_CHECKING:
    from litestar.params import FromPath

    from aviso_http.asgi import Receive, Scope, Send


@get("/things")
async def things() -> str:
    return ""


@post("/things")
async def another_thing() -> str:
    return ""


@get("/things/{name:str}")
async def thing(name: FromPath[str]) -> str:
    return name


@get("/files/{file:path}")
async def file(file: FromPath[str]) -> str:
    return file


async def hot(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer nothing; only asked for by its place in the table."""


TABLE = RouteTable(
    Litestar([things, another_thing, thing, file], openapi_config=None),
    [Hot("POST", "/hot", hot), Hot("DELETE", "/things", hot)],
)


@pytest.mark.parametrize(
    ("path", "template", "allow"),
    [
        ("/things", "/things", b"DELETE, GET, HEAD, POST"),
        ("/things/a", "/things/{name}", b"GET, HEAD"),
        ("/things/a%b\n", "/things/{name}", b"GET, HEAD"),
        ("/files/a/b/c.txt", "/files/{file}", b"GET, HEAD"),
        ("/hot", "/hot", b"POST"),
    ],
)
def test_a_path_has_its_route(path: str, template: str, allow: bytes) -> None:
    """The template is what labels say; HEAD is there wherever GET is; methods of both kinds of routes come together."""
    route = TABLE.find(path)
    assert route is not None
    assert (route.template, route.allow) == (template, allow)


@pytest.mark.parametrize(
    "path", ["", "/", "/things/", "/things//", "/things/a/", "/things/a/b", "//things", "/THINGS", "/hot/"]
)
def test_a_path_that_is_nearly_one_has_no_route(path: str) -> None:
    """Nothing is forgiven: a slash at the end makes another path."""
    assert TABLE.find(path) is None


def test_a_hot_route_goes_before_the_framework() -> None:
    """The function of ours answers its method, the framework the others."""
    route = TABLE.find("/things")
    assert route is not None
    assert route.methods["DELETE"] is hot
    assert route.methods["GET"] is not hot
