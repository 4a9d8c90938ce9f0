"""The id of a stored notification as administrators write it: `<name>@<sequence>`."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from aviso_core.errors import AvisoError

_LARGEST_SEQUENCE: Final = 2**64 - 1
_SEQUENCE: Final = re.compile(r"\+?0*([0-9]{1,20})", re.ASCII)


class InvalidNotificationId(AvisoError):
    """The text names no notification."""

    code = "INVALID_NOTIFICATION_ID"


class NotificationId(NamedTuple):
    """An event type, a topic base or a stream, as somebody spelt it, and the sequence of an entry there."""

    name: str
    sequence: int


def read_notification_id(text: str) -> NotificationId:
    """Return what an id names, or say what an id is."""
    name, _, digits = text.strip().partition("@")
    if not name or not digits:
        raise InvalidNotificationId("notification_id must be in '<stream>@<sequence>' format")
    found = _SEQUENCE.fullmatch(digits)
    sequence = _LARGEST_SEQUENCE + 1 if found is None else int(found[1])
    if sequence > _LARGEST_SEQUENCE:
        raise InvalidNotificationId("notification_id sequence must be a positive integer")
    if sequence == 0:
        raise InvalidNotificationId("notification_id sequence must be greater than zero")
    return NotificationId(name, sequence)
