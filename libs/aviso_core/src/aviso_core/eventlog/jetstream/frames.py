"""Records as the broker's protocol has them: the headers that it acts upon, and the command that publishes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aviso_core.eventlog.base import RecordTooLarge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_core.eventlog.base import Record

MESSAGE_ID: Final = "Nats-Msg-Id"
EXPECTED_LAST: Final = "Nats-Expected-Last-Sequence"
_EXPECTED_LAST_ID: Final = b"Nats-Expected-Last-Msg-Id"


def header_block(headers: Mapping[str, str]) -> bytes:
    """Return headers as they are sent. Their values have no line ends: `check_record` saw to that."""
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    return f"NATS/1.0\r\n{lines}\r\n".encode()


def asking_for_id(headers: bytes, nobodys_id: bytes) -> bytes:
    """Return headers with which nothing is stored: the broker says where the record of its id is, or that it has none.

    It looks at ids before it looks at this expectation, which is never met.
    """
    return b"%s%s: %s\r\n\r\n" % (headers.removesuffix(b"\r\n"), _EXPECTED_LAST_ID, nobodys_id)


def check_fits(record: Record, headers: bytes, limit: int) -> None:
    """Refuse what this server does not take: it would break the connection, and with it everything in flight."""
    size = len(headers) + len(record.payload)
    if size > limit:
        raise RecordTooLarge(size, limit)


def publication(subject: str, reply: bytes, headers: bytes, payload: bytes) -> bytes:
    """Return the command. Without a reply subject nobody is told what became of it."""
    return b"HPUB %s %s %d %d\r\n%s%s\r\n" % (
        subject.encode(),
        reply,
        len(headers),
        len(headers) + len(payload),
        headers,
        payload,
    )
