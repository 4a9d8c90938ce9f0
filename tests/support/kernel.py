"""What the kernel holds for connections of this machine, from its own table."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

_TABLE: Final = Path("/proc/net/tcp")
_ESTABLISHED: Final = "01"
# The timers of a connection, as the table numbers them.
_PROBING: Final = "02"


class Held(NamedTuple):
    """One end of a connection."""

    unsent_bytes: int
    unread_bytes: int
    # Whether the other end is asked, now and then, if it is still there.
    is_probed: bool


def held_for(port: int, client_port: int) -> Held | None:
    """Return what the kernel holds at the service's end of a connection; None where there is none."""
    for line in _TABLE.read_text().splitlines()[1:]:
        _, local, remote, state, queues, timer, *_ = line.split()
        if state == _ESTABLISHED and (_port(local), _port(remote)) == (port, client_port):
            unsent, unread = (int(number, 16) for number in queues.split(":"))
            return Held(unsent, unread, timer.startswith(_PROBING))
    return None


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)
