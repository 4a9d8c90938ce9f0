"""Every error that the product raises on purpose, in one tree.

Two families. A `Refusal` is the user's to mend: it has a stable code, says what is wrong, and names the field
at fault. A `Faulty` collects many such faults at once (a configuration, a schema), because nobody wants to mend
them one start at a time. What is left is ours: a broker
that cannot be reached, a stored record that cannot be read or rendered.

Bugs are not here: they are assertions. HTTP statuses are not here either: the services map these classes to
answers in one table of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable


class AvisoError(Exception):
    """The root: catch it to catch everything that is raised on purpose."""

    code: ClassVar[str] = "INTERNAL_ERROR"


# --- what a user sent ------------------------------------------------------------------------------------


class Refusal(AvisoError):
    """Something that a user sent is refused.

    `message` is the outermost text and `details` the innermost cause; they are equal where there is one level.
    `field` is the member of the request at fault, or None when it is the request as a whole.
    """

    def __init__(self, message: str, *, details: str | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = message if details is None else details
        self.field = field


class InvalidJson(Refusal):
    """The body is not one JSON value."""

    code = "INVALID_JSON"


class UnknownField(Refusal):
    """The body has a top-level member that the contract does not know."""

    code = "UNKNOWN_FIELD"


class InvalidRequestShape(Refusal):
    """The body is JSON, but a member is missing or of the wrong type."""

    code = "INVALID_REQUEST_SHAPE"


class UnknownEventType(Refusal):
    """The event type is not declared, and undeclared ones are not taken."""

    code = "UNKNOWN_EVENT_TYPE"

    def __init__(self, event_type: str, configured: Iterable[str]) -> None:
        super().__init__(f"unknown event type '{event_type}'", field="event_type")
        self.event_type = event_type
        self.configured = tuple(sorted(configured))


class InvalidRequest(Refusal):
    """The request is well formed and still cannot be served: see the subclasses.

    On the wire the code carries the name of the operation (`INVALID_WATCH_REQUEST`); that is the services' part.
    """

    code = "INVALID_REQUEST"


class InvalidIdentifier(InvalidRequest):
    """An identifier field is missing, unknown, or its value is not one that the field takes."""


class InvalidConstraint(InvalidRequest):
    """A constraint object is not one that the field takes."""


class InvalidGeometry(InvalidRequest):
    """A polygon, point or point cloud cannot be read."""


class InvalidSpan(InvalidRequest):
    """A start or end point of reading (`from_id`, `from_date`, `to_id`, `to_date`) cannot be read or combined."""


class InvalidTopicBase(InvalidRequest):
    """An undeclared event type cannot serve as a topic base."""


class PayloadRefused(InvalidRequest):
    """The payload is missing, too large, or against its JSON Schema."""


# --- who may do what -------------------------------------------------------------------------------------


class AccessRefused(AvisoError):
    """The caller may not do this, or it cannot be found out: see the subclasses. Nothing of a credential is in it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Unauthorized(AccessRefused):
    """Nobody is known to be asking, and somebody must be."""

    code = "UNAUTHORIZED"


class Forbidden(AccessRefused):
    """The caller is known, and may not."""

    code = "FORBIDDEN"


class AccessUnavailable(AccessRefused):
    """Who decides cannot be reached, so nobody passes."""

    code = "SERVICE_UNAVAILABLE"


class AccessMisconfigured(AccessRefused):
    """Access is configured in a way that lets nothing be decided: ours to mend."""

    code = "INTERNAL_ERROR"


# --- too much at once -------------------------------------------------------------------------------------


class Overloaded(AvisoError):
    """There is more work in flight than this process takes; the same request may come again a little later."""

    code = "OVERLOADED"

    def __init__(self, message: str, *, retry_after_seconds: int) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after_seconds = retry_after_seconds


# --- many faults at once ---------------------------------------------------------------------------------


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a configuration or a schema, where it is, and what to do about it."""

    path: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        """Return the fault as one line: path, message, remedy."""
        where = f"{self.path}: " if self.path else ""
        what = f"{where}{self.message}"
        return f"{what} ({self.remedy})" if self.remedy else what


class Faulty(AvisoError):
    """Something was read whole and has faults: all of them, in reading order."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        assert self.faults, "an error without a fault"
        super().__init__("\n".join(str(fault) for fault in self.faults))


class SettingsError(Faulty):
    """A configuration that the process refuses to start with."""

    code = "INVALID_SETTINGS"


class SchemaError(Faulty):
    """A schema that cannot be served."""

    code = "INVALID_SCHEMA"


# --- what we depend on ------------------------------------------------------------------------------------


class Unavailable(AvisoError):
    """What keeps our records or schemas cannot be reached; the message names it and the reason."""

    code = "SERVICE_UNAVAILABLE"


# --- what was stored -------------------------------------------------------------------------------------


class MalformedTopic(AvisoError):
    """A stored topic that does not decode: it never matches anything."""

    code = "MALFORMED_TOPIC"


class RenderingFailed(AvisoError):
    """A stored event that cannot be turned into a CloudEvent."""

    code = "RENDERING_FAILED"
