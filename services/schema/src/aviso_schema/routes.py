"""The paths of the service.

Everything about one event type lies below that event type's own path: its name is one segment, so no document can be
taken for an event type, whatever somebody calls it. What is about all of them lies with the other documents about the
service, in `/api-docs`, because every name directly below `/api/v1/schema` belongs to an event type.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from litestar import Request, Response, Router, get

from aviso_core.schema.stream import duplicate_window_seconds
from aviso_http.answers import encode_sorted
from aviso_schema import static
from aviso_schema.conditional import AnyResponse, answer, not_found, tag_of
from aviso_schema.describe.answers import not_found_answer
from aviso_schema.documents import Library
from aviso_schema.home import INDEX, MISSING, PAGES, fill, is_our_own, placeholders, static_folder
from aviso_schema.openapi_document import packaged_document, with_version
from aviso_schema.raw_path import bytes_of, segments, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_schema.parts import Parts

AnyRequest: TypeAlias = Request[Any, Any, Any]

JSON: Final = "application/json"
HTML: Final = "text/html"
REVISION_HEADER: Final = "Schema-Revision"
# Its body is the contract's; who repeats what was sent must know for how many seconds an id is known again.
WINDOW_HEADER: Final = "Duplicate-Window"

# Our own pages load nothing from elsewhere, and nothing that got into them may.
_OUR_PAGES: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}


def router(parts: Parts) -> Router:
    """Return the routes of the service over its parts."""
    library = Library(parts)
    return Router(
        path="/",
        include_in_schema=False,
        route_handlers=[
            schema_route(parts, library),
            documents_route(library, parts.version),
            home_route(parts),
            static_route(parts),
            reference_route(),
        ],
    )


# --- event types -----------------------------------------------------------------------------------------


def schema_route(parts: Parts, library: Library) -> Any:
    """Return the route of everything about event types."""

    @get(["/api/v1/schema", "/api/v1/schema/{event_type:path}"])
    async def schema(request: AnyRequest) -> AnyResponse:
        match segments(request.scope)[3:]:
            case []:
                document = library.shelf().all_answer()
                return answer(request.headers, document.body, tag=document.tag, media_type=JSON)
            case [name] if name:
                return about(request, text_of(name), "")
            case [name, document_name] if name and document_name:
                return about(request, text_of(name), text_of(document_name))
            case _:
                return not_found()

    def about(request: AnyRequest, name: str, document_name: str) -> AnyResponse:
        shelf = library.shelf()
        event_type = shelf.catalog.event_types.get(name)
        if event_type is None:
            body = not_found_answer(shelf.catalog, name, request_id=request.scope["state"]["request_id"])
            return Response(encode_sorted(body), status_code=404, media_type=JSON)
        document = shelf.about(event_type, document_name) if document_name else shelf.one_answer(event_type)
        if document is None:
            return not_found()
        revision = parts.revision_of(name)
        more = {WINDOW_HEADER: str(duplicate_window_seconds(event_type.schema))}
        if revision is not None:
            more[REVISION_HEADER] = str(revision)
        return answer(request.headers, document.body, tag=document.tag, media_type=JSON, more=more)

    return schema


# --- documents about the service -------------------------------------------------------------------------


def documents_route(library: Library, version: str) -> Any:
    """Return the route of the documents about the whole service."""
    openapi = with_version(packaged_document(), version)
    openapi_tag = tag_of(openapi)

    @get("/api-docs/{name:str}")
    async def documents(request: AnyRequest) -> AnyResponse:
        match segments(request.scope)[1:]:
            case [b"openapi.json"]:
                return answer(request.headers, openapi, tag=openapi_tag, media_type=JSON)
            case [b"asyncapi.json"]:
                document = library.shelf().all_asyncapi()
                return answer(request.headers, document.body, tag=document.tag, media_type=JSON)
            case _:
                return not_found()

    return documents


# --- pages -----------------------------------------------------------------------------------------------


def home_route(parts: Parts) -> Any:
    """Return the route of the home page."""
    folder = static_folder(parts.application)
    texts = placeholders(parts.application, parts.version)
    more = _OUR_PAGES if is_our_own(folder) else {}

    @get("/")
    async def home(request: AnyRequest) -> AnyResponse:
        if len(segments(request.scope)) != 1:
            return not_found()
        template = await asyncio.to_thread(static.contents, folder, INDEX)
        body = MISSING if template is None else fill(template, texts)
        return answer(request.headers, body, tag=tag_of(body), media_type=HTML, more=more)

    return home


def static_route(parts: Parts) -> Any:
    """Return the route of the files beside the home page."""
    folder = static_folder(parts.application)

    @get(["/static", "/static/{path:path}"])
    async def files(request: AnyRequest) -> AnyResponse:
        names = [bytes_of(segment) for segment in segments(request.scope)[1:]]
        return await static.answer(folder, names, request.headers, listed_below=b"/static")

    return files


def reference_route() -> Any:
    """Return the route of the page that shows the OpenAPI document."""
    folder = PAGES / "reference"

    @get(["/swagger-ui", "/swagger-ui/{path:path}"])
    async def reference(request: AnyRequest) -> AnyResponse:
        match [bytes_of(segment) for segment in segments(request.scope)[1:]]:
            case [name]:
                return await static.answer(folder, [name or INDEX.encode()], request.headers, more=_OUR_PAGES)
            case _:
                return not_found()

    return reference
