"""What one ECPDS server says about a user, and what several of them say together.

A server's word is a set of destinations, or the way in which it failed. What is reported when servers fail differently
is the worst of it: that our own account is refused matters more than that a server is down.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from urllib.parse import quote

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aviso_http.access.reply import Reply

Policy: TypeAlias = Literal["strict", "any_success"]
Destinations: TypeAlias = frozenset[str]

SUCCESS: Final = "success"


class Failure(IntEnum):
    """How asking failed, the worst first."""

    HTTP_401 = 0
    HTTP_403 = 1
    HTTP_4XX = 2
    INVALID_RESPONSE = 3
    HTTP_5XX = 4
    UNREACHABLE = 5

    @property
    def outcome(self) -> str:
        """What it is called where outcomes are counted."""
        return self.name.lower()


OUTCOMES: Final = (SUCCESS, *(failure.outcome for failure in Failure))

Word: TypeAlias = Destinations | Failure

_decoder: Final = msgspec.json.Decoder()


def list_url(server: str, user: str) -> str:
    """Return where a server is asked about a user."""
    return f"{server.rstrip('/')}/ecpds/v1/destination/list?id={quote(user, safe='')}"


def read_reply(reply: Reply, *, target_field: str) -> Word:
    """Return what a server said."""
    if reply.status != 200:
        return _failure_of(reply.status)
    try:
        content: object = _decoder.decode(reply.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Failure.INVALID_RESPONSE
    if not isinstance(content, dict) or content.get("success") != "yes":
        return Failure.INVALID_RESPONSE
    records = content.get("destinationList")
    if not isinstance(records, list):
        return Failure.INVALID_RESPONSE
    active = (record for record in records if isinstance(record, dict) and record.get("active") is True)
    return frozenset(name for record in active if isinstance(name := record.get(target_field), str))


def merge(words: Sequence[Word], *, policy: Policy) -> Word:
    """Return what the servers say together."""
    failures = [word for word in words if isinstance(word, Failure)]
    granted = [word for word in words if not isinstance(word, Failure)]
    if failures and (policy == "strict" or not granted):
        return min(failures)
    assert granted, "asked nobody"
    return frozenset[str]().union(*granted)


def _failure_of(status: int) -> Failure:
    match status:
        case 401:
            return Failure.HTTP_401
        case 403:
            return Failure.HTTP_403
        case _ if 400 <= status < 500:
            return Failure.HTTP_4XX
        case _ if 500 <= status < 600:
            return Failure.HTTP_5XX
        case _:
            # A redirection too: our password goes nowhere but to the configured servers.
            return Failure.INVALID_RESPONSE
