"""Whose request is being served: what every record made meanwhile says about it.

It is kept in a context variable, so it follows a request through every `await` and into the tasks that it starts, and
code that logs need not be handed it. Outside of a request there is none.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

import msgspec

ANONYMOUS: Final = "anonymous"
NO_REALM: Final = "none"


class RequestContext(msgspec.Struct, frozen=True, kw_only=True):
    """One request. Who asks is None until it is known, and stays so where nobody has to say it."""

    request_id: str
    username: str | None = None
    realm: str | None = None
    trace_id: str = ""
    span_id: str = ""


request_context: Final[ContextVar[RequestContext | None]] = ContextVar("request_context", default=None)
