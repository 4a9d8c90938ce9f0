"""What can be done about an event type, one thing at a time. Each can be done again without harm."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from aviso_core.registry.base import Owner
from aviso_core.schema.model import Schema
from aviso_core.schema.stamps import Stamps
from aviso_core.schema.stream import StreamConfiguration, StreamDifference


class CreateStream(msgspec.Struct, frozen=True):
    """Make the stream, with its stamps."""

    configuration: StreamConfiguration
    stamps: Stamps

    def __str__(self) -> str:
        """Return it as a line."""
        return f"create stream {self.configuration.name}"


class ChangeStream(msgspec.Struct, frozen=True):
    """Bring these settings of the stream to what is wanted; all others stay."""

    configuration: StreamConfiguration
    differences: tuple[StreamDifference, ...]

    def __str__(self) -> str:
        """Return it as a line."""
        return f"change stream {self.configuration.name}: {'; '.join(map(str, self.differences))}"


class StampStream(msgspec.Struct, frozen=True):
    """Write whose the stream is into its metadata."""

    name: str
    stamps: Stamps

    def __str__(self) -> str:
        """Return it as a line."""
        whose = f"of {self.stamps.owner}"
        return f"stamp stream {self.name} as {f'orphaned, {whose}' if self.stamps.orphaned_at else whose}"


class Publish(msgspec.Struct, frozen=True):
    """Publish the schema over the revision that was seen."""

    schema: Schema
    expected_revision: int
    owner: Owner
    uid: str

    def __str__(self) -> str:
        """Return it as a line."""
        return f"publish {self.schema.event_type} over revision {self.expected_revision}"


class Withdraw(msgspec.Struct, frozen=True):
    """Withdraw the event type at the revision that was seen."""

    event_type: str
    expected_revision: int

    def __str__(self) -> str:
        """Return it as a line."""
        return f"withdraw {self.event_type} at revision {self.expected_revision}"


class AwaitWithdrawn(msgspec.Struct, frozen=True):
    """Wait until no process serves the event type any more, or for as long as can be waited."""

    event_type: str

    def __str__(self) -> str:
        """Return it as a line."""
        return f"wait until nobody serves {self.event_type}"


class DeleteStream(msgspec.Struct, frozen=True):
    """Delete the stream and all that it holds, if it is still the one that was seen."""

    name: str
    created: str
    messages: int

    def __str__(self) -> str:
        """Return it as a line."""
        return f"delete stream {self.name} with its {self.messages} messages"


Action: TypeAlias = (
    CreateStream | ChangeStream | StampStream | Publish | Withdraw | AwaitWithdrawn | DeleteStream
)
