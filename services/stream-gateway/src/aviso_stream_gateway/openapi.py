"""This service's fragment of the OpenAPI document; whoever builds the document puts it beside those of the others.

It refers to a few parts that every service shares (the request's id, how requests are refused) and does not bring them.
"""

from __future__ import annotations

from typing import Any

from aviso_stream_gateway.describe import asking, streams
from aviso_stream_gateway.describe.shapes import shapes


def fragment() -> dict[str, Any]:
    """Return the paths that this service answers, and the shapes that it speaks of."""
    return {"paths": {**streams.paths(), **asking.paths()}, "components": {"schemas": shapes()}}
