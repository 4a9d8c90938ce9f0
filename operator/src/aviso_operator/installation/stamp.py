"""What a broker's disk says of the cluster that it belongs to: how many servers there were when it was first used.

Servers of another number do not find their streams on it: three take those of one for remains and delete them, and one
has no majority for those of three. So a server of the chart looks here before it starts.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from aviso_core.errors import AvisoError

if TYPE_CHECKING:
    from pathlib import Path


class OtherServers(AvisoError):
    """The disk belongs to a cluster of another size."""

    code = "OTHER_SERVERS"


def claim_for(file: Path, *, servers: int) -> None:
    """Stamp a new disk, or raise `OtherServers` where a stamp says another number."""
    try:
        stamped = file.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        _write(file, f"{servers}\n")
        return
    if stamped != str(servers):
        raise OtherServers(
            f"{file} says that this disk is of {stamped or 'an unknown number of'} NATS servers, and nats.replicas is "
            f"{servers}: its messages would be lost. Set nats.replicas to what it was; for another number install a "
            "second release, and move to it"
        )


def _write(file: Path, text: str) -> None:
    """Write all of it or nothing, also when the power goes."""
    unfinished = file.with_name(f"{file.name}.new")
    with unfinished.open("w", encoding="utf-8") as written:
        written.write(text)
        written.flush()
        os.fsync(written.fileno())
    unfinished.replace(file)
