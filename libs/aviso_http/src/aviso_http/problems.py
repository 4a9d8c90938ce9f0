"""From an error to its answer: the one table of statuses, codes and labels (contract section 2).

Whoever raises says what is wrong; which status, code and label that is on the wire is decided here, and depends on the
endpoint by its name only. A class without a row of its own is answered as its nearest ancestor in the table. A service
that has errors of its own brings their rows and gets them looked at first.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from aviso_core.errors import (
    AccessMisconfigured,
    AccessUnavailable,
    AvisoError,
    Forbidden,
    InvalidJson,
    InvalidRequestShape,
    Overloaded,
    Refusal,
    Unauthorized,
    Unavailable,
    UnknownEventType,
    UnknownField,
)
from aviso_http.answers import Answer, HeaderLine, json_answer


class Endpoint(Enum):
    """What a request was for: its name is part of codes and labels."""

    NOTIFICATION = "Notification"
    WATCH = "Watch"
    REPLAY = "Replay"
    POSITIONS = "Positions"
    EXPLAIN = "Explain"
    SET = "Set"

    @property
    def label(self) -> str:
        """The `error` of a request that this endpoint refuses."""
        return f"Invalid {self.value} Request"

    @property
    def code(self) -> str:
        """The `code` of a request that is well formed and refused all the same."""
        return f"INVALID_{self.value.upper()}_REQUEST"


class Row(NamedTuple):
    """How errors of a class are answered. None for code or label is what the endpoint says."""

    error: type[AvisoError]
    status: int
    code: str | None = None
    label: str | None = None


_ROWS: Final = (
    Row(InvalidJson, 400, InvalidJson.code),
    Row(UnknownField, 400, UnknownField.code),
    Row(InvalidRequestShape, 400, InvalidRequestShape.code),
    Row(UnknownEventType, 400, UnknownEventType.code, "unknown_event_type"),
    Row(Refusal, 400),
    Row(Unauthorized, 401, Unauthorized.code, "unauthorized"),
    Row(Forbidden, 403, Forbidden.code, "forbidden"),
    Row(AccessUnavailable, 503, AccessUnavailable.code, "service_unavailable"),
    Row(AccessMisconfigured, 500, AccessMisconfigured.code, "internal_error"),
    Row(Overloaded, 503, Overloaded.code, "overloaded"),
    Row(Unavailable, 503, Unavailable.code, "service_unavailable"),
    Row(AvisoError, 500, AvisoError.code, "internal_error"),
)


class Problems:
    """The table of one service. `challenges` are the `WWW-Authenticate` lines of its 401."""

    def __init__(self, *rows: Row, challenges: tuple[bytes, ...] = ()) -> None:
        self._rows = (*rows, *_ROWS)
        self._challenges = tuple((b"www-authenticate", challenge) for challenge in challenges)

    def status_of(self, error: AvisoError) -> int:
        """Return the status alone."""
        return self._row_of(error).status

    def code_of(self, error: AvisoError, endpoint: Endpoint) -> str:
        """Return the code alone: a record of a batch has no status of its own."""
        return self._row_of(error).code or endpoint.code

    def answer(self, error: AvisoError, endpoint: Endpoint, request_id: str, **more: object) -> Answer:
        """Return the answer to a request that an error ended; `more` are members that only some endpoints have."""
        row = self._row_of(error)
        members: dict[str, object] = {
            "code": row.code or endpoint.code,
            "error": row.label or endpoint.label,
            "message": getattr(error, "message", str(error)),
            "request_id": request_id,
            **more,
        }
        if isinstance(error, UnknownEventType):
            members["configured_event_types"] = error.configured
        elif _has_details(row, error):
            members["details"] = getattr(error, "details", members["message"])
        return json_answer(row.status, members, *self._headers(row, error))

    def _row_of(self, error: AvisoError) -> Row:
        return next(row for row in self._rows if isinstance(error, row.error))

    def _headers(self, row: Row, error: AvisoError) -> tuple[HeaderLine, ...]:
        if row.status == 401:
            return self._challenges
        if isinstance(error, Overloaded):
            return ((b"retry-after", b"%d" % error.retry_after_seconds),)
        return ()


def _has_details(row: Row, error: AvisoError) -> bool:
    """Tell whether the answer is of the family that names an innermost cause."""
    return isinstance(error, Refusal) or (row.status == 500 and row.label != "internal_error")


def internal_error(request_id: str) -> Answer:
    """Return the answer to a request that met a bug of ours: what it was is in the log, not on the wire."""
    return json_answer(
        500,
        {
            "code": AvisoError.code,
            "error": "internal_error",
            "message": "The request could not be processed; the log has the reason under its request id",
            "request_id": request_id,
        },
    )
