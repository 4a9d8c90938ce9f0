"""What a job asks the service before Spark begins: how to reach it, and what it knows about an event type."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

import msgspec

from aviso_spark.common.problems import NotUnderstood
from aviso_spark.event_schema import EventSchema, event_schema
from pyspark_aviso.transport import Client, Refused, client_of

_SCHEMAS: Final = "/api/v1/schema"
_NOT_FOUND: Final = 404


class ServiceAddress(msgspec.Struct, frozen=True, kw_only=True):
    """Where the service is, and how it is talked to."""

    url: str
    token_file: str | None = None
    ca_file: str | None = None
    deadline_seconds: float = 60.0

    def client(self) -> Client:
        """Return a client of it."""
        return client_of(
            url=self.url,
            token_file=self.token_file,
            ca_file=self.ca_file,
            deadline_seconds=self.deadline_seconds,
        )

    def options(self) -> dict[str, str]:
        """Return it as options of the data source."""
        given = {"url": self.url, "tokenFile": self.token_file, "caFile": self.ca_file}
        return {name: value for name, value in given.items() if value is not None} | {
            "deadlineSeconds": str(self.deadline_seconds)
        }


def read_event_schema(client: Client, event_type: str) -> EventSchema:
    """Return what the schema service says about an event type."""
    path = f"{_SCHEMAS}/{quote(event_type, safe='')}"
    try:
        answer: Any = client.get_json(path)
        notification: Any = client.get_json(f"{path}/notification.schema.json")
    except Refused as refusal:
        if refusal.status != _NOT_FOUND:
            raise
        known: Any = client.get_json(_SCHEMAS)
        raise NotUnderstood(
            f"the service knows no event type '{event_type}': there are {', '.join(known['event_types']) or 'none'}"
        ) from refusal
    return event_schema(event_type, answer=answer, notification=notification)
