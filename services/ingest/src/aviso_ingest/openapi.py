"""This service's fragment of the OpenAPI document; whoever builds the document puts it beside those of the others.

It refers to a few parts that every service shares (the request's id, how requests are refused) and does not bring them.
"""

from __future__ import annotations

from typing import Any

from aviso_ingest.describe import administration, publishing
from aviso_ingest.describe.answers import responses
from aviso_ingest.describe.examples import examples
from aviso_ingest.describe.shapes import shapes


def fragment() -> dict[str, Any]:
    """Return the paths that this service answers, and the shapes that it speaks of."""
    return {
        "paths": {**publishing.paths(), **administration.paths()},
        "components": {"schemas": shapes(), "responses": responses(), "examples": examples()},
    }
