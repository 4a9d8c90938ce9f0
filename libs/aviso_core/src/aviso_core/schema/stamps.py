"""Whose a stream is: what is written into its metadata, and what that means.

The metadata outlive the cluster that a stream was made from, so a stream tells by itself for which resource it was
made, when that resource went, and that nobody may take it for one without an owner. It also tells in which order the
values stand in its subjects: a resource that comes back with another order would read its own old events wrongly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

OWNER: Final = "aviso.dev/owner"
UID: Final = "aviso.dev/uid"
EVENT_TYPE: Final = "aviso.dev/event-type"
KEY_ORDER: Final = "aviso.dev/key-order"
ORPHANED_AT: Final = "aviso.dev/orphaned-at"

_OURS: Final = "aviso.dev/"


class Stamps(msgspec.Struct, frozen=True, kw_only=True):
    """Who a stream was made for. The owner is `namespace/name`; the time is given where that resource is gone.

    The key order is that of all subjects in the stream, as far as anybody knows; empty where nobody said.
    """

    owner: str
    uid: str = ""
    event_type: str = ""
    key_order: tuple[str, ...] = ()
    orphaned_at: str | None = None

    def metadata(self) -> dict[str, str]:
        """Return the stamps as a stream carries them."""
        marks = {
            OWNER: self.owner,
            UID: self.uid,
            EVENT_TYPE: self.event_type,
            KEY_ORDER: ",".join(self.key_order),
            ORPHANED_AT: self.orphaned_at,
        }
        return {name: mark for name, mark in marks.items() if mark}


def read_stamps(metadata: Mapping[str, str]) -> Stamps | None:
    """Return the stamps among a stream's metadata, or None where nobody has stamped it."""
    owner = metadata.get(OWNER)
    if not owner:
        return None
    return Stamps(
        owner=owner,
        uid=metadata.get(UID, ""),
        event_type=metadata.get(EVENT_TYPE, ""),
        key_order=tuple(filter(None, metadata.get(KEY_ORDER, "").split(","))),
        orphaned_at=metadata.get(ORPHANED_AT),
    )


def stamped(metadata: Mapping[str, str], stamps: Stamps) -> dict[str, str]:
    """Return metadata with these stamps in the place of those before; what others wrote there stays."""
    return {name: mark for name, mark in metadata.items() if not name.startswith(_OURS)} | stamps.metadata()
