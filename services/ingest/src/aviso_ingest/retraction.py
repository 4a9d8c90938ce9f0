"""`DELETE /api/v1/notification`: taking back what was announced.

A retraction is an entry like any other: it is appended under the topic of what it takes back, says so in its header and
carries no payload. It goes through the intake of a notification, with the same checks in the same order, and differs in
what its identifier must have: every value that the topic is made of, and whatever else the caller says of it.

What is stored now is not looked at. Whether anything was announced under the topic is known to whoever reads the log,
and may have changed by the time it is answered, so taking back what never was is no mistake either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aviso_core.errors import PayloadRefused
from aviso_core.schema.undeclared import announce_undeclared
from aviso_ingest.intake import Act

if TYPE_CHECKING:
    from aviso_core.request import RequestBody
    from aviso_core.schema.event_type import Announced, EventType

_NO_PAYLOAD: Final = b"null"


def _read_retracted(event_type: EventType | None, body: RequestBody) -> tuple[Announced, bytes]:
    if event_type is None:
        announced = announce_undeclared(body.event_type, body.identifier, "retract")
    else:
        announced = event_type.retract(body.identifier)
    if bytes(body.payload) != _NO_PAYLOAD:
        raise PayloadRefused("Payload is not supported for retract operation", field="payload")
    return announced, _NO_PAYLOAD


RETRACT: Final = Act(
    read=_read_retracted,
    is_retraction=True,
    # Whoever names both by the thing itself must not have the second taken for a repetition of the first. CloudEvents
    # have sources of their own, all of them printable.
    source="\0retract",
    event_name="api.retraction.processed",
    event_text="retraction stored",
)
