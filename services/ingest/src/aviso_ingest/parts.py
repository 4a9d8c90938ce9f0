"""What the service is made of: live parts that somebody else opens and closes.

Tests and the all-in-one put the same service together from other parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from aviso_core.clock import Clock
    from aviso_core.eventlog.base import EventLog
    from aviso_core.schema.catalog import Catalog
    from aviso_core.settings.model import Ingest
    from aviso_http.access.base import Access
    from aviso_http.problems import Problems
    from aviso_ingest.pressure import Pressure

Status: TypeAlias = Literal["success", "error", "rejected"]
Operation: TypeAlias = Literal["publish", "wipe_stream", "wipe_all", "delete_message"]


class Counters(Protocol):
    """What is counted. Event types are configured names, `unknown` or `generic`; never what somebody sent."""

    def notification(self, event_type: str, status: Status, count: int = 1) -> None:
        """Count notifications that came to an end."""

    def operation(self, operation: Operation, *, is_ok: bool, seconds: float) -> None:
        """Count something that the log was asked for."""


class Parts(NamedTuple):
    """The parts."""

    log: EventLog
    catalog: Callable[[], Catalog]
    access: Access
    problems: Problems
    counters: Counters
    clock: Clock
    pressure: Pressure
    limits: Ingest
