"""The schema service as an application: functions of its parts.

What every service has around its routes (request ids, access, health, metrics, `HEAD`, the empty answers where no route
is) is `aviso_http`'s and goes around this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from litestar import Litestar

from aviso_http.process import Routes
from aviso_http.routes import Hot
from aviso_schema.parts import Parts
from aviso_schema.routes import router

if TYPE_CHECKING:
    from aviso_http.asgi import Application
    from aviso_http.process import Process

# The framework takes the slash off a path, so a table of its routes has these only without.
_FOLDERS: Final = ("/static/", "/swagger-ui/")


def assemble(process: Process) -> Routes:
    """Return the routes of the service in a process."""
    parts = Parts(
        catalog=lambda: process.follower.catalog,
        revision_of=process.follower.revision_of,
        application=process.settings.application,
        version=process.version,
    )
    return Routes(handlers=[router(parts)], hot=hot_routes(parts))


def create_app(parts: Parts) -> Litestar:
    """Return the application over its parts."""
    return Litestar(route_handlers=[router(parts)], openapi_config=None, logging_config=None)


def hot_routes(parts: Parts) -> tuple[Hot, ...]:
    """Return the paths of folders, to stand beside the framework's routes."""
    application = cast("Application", create_app(parts))
    return tuple(Hot("GET", path, application) for path in _FOLDERS)
