"""Which route a path is, and which methods it has: asked once for each request, before anything else knows it.

The framework keeps the same knowledge to itself: it forgives slashes at the end, and tells of an unknown path or a
wrong method by raising from its depths. We need the route for labels and for `Allow` also where the request goes no
further, so this table is made from its routes and from our own hot ones, and nothing reaches the framework that it
would refuse.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from litestar.routes import HTTPRoute

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from litestar import Litestar

    from aviso_http.asgi import Application

# The verbs of our routes; the framework answers OPTIONS on its own account, we do not.
_VERBS: Final = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")


class Hot(NamedTuple):
    """A route that is answered by a function of ours, before the framework."""

    method: str
    path: str
    application: Application


class Route(NamedTuple):
    """One path, as it is written in labels, and what answers each of its methods."""

    template: str
    methods: Mapping[str, Application]

    @property
    def allow(self) -> bytes:
        """The value of `Allow`."""
        return ", ".join(sorted(self.methods)).encode()


class RouteTable:
    """All routes of a process."""

    def __init__(self, application: Litestar, hot: Iterable[Hot] = ()) -> None:
        framework = cast("Application", application)
        methods: dict[str, dict[str, Application]] = {}
        patterns: dict[str, re.Pattern[str]] = {}
        for route in application.routes:
            if isinstance(route, HTTPRoute):
                known = methods.setdefault(route.path_format, {})
                known.update((str(verb), framework) for verb in route.methods if verb in _VERBS)
                patterns[route.path_format] = _pattern_of(route)
        for one in hot:
            methods.setdefault(one.path, {})[one.method] = one.application
        for known in methods.values():
            if "GET" in known:
                known.setdefault("HEAD", known["GET"])
        routes = {template: Route(template, known) for template, known in methods.items()}
        self._exact = {template: route for template, route in routes.items() if "{" not in template}
        self._with_parts = [
            (patterns[template], route) for template, route in routes.items() if "{" in template
        ]

    @property
    def templates(self) -> list[str]:
        """All paths, as they are written in labels."""
        return sorted([*self._exact, *(route.template for _, route in self._with_parts)])

    def find(self, path: str) -> Route | None:
        """Return the route of a path."""
        route = self._exact.get(path)
        if route is not None:
            return route
        return next((route for pattern, route in self._with_parts if pattern.fullmatch(path)), None)


def _pattern_of(route: HTTPRoute) -> re.Pattern[str]:
    parts = []
    for part in route.path_components:
        if isinstance(part, str):
            parts.append(re.escape(part))
        else:
            parts.append(".+" if part.type is Path else "[^/]+")
    return re.compile("/" + "/".join(parts), re.DOTALL)
