"""Services over each kind of log, and a look at what they have stored and counted."""

from __future__ import annotations

import json
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from aviso_all_in_one.serving import assemble
from aviso_core.eventlog.entry import read_entry
from support.event_logs import read_all
from support.services import running_service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from aviso_core.event import Event
    from aviso_core.eventlog.base import EventLog
    from aviso_http.process import Process, Routes
    from support.services import Service


class Stored:
    """A running service, and its parts."""

    def __init__(self, service: Service, process: Process) -> None:
        self.service = service
        self._process = process

    @property
    def log(self) -> EventLog:
        """Its log."""
        return self._process.event_log

    async def events(self, name: str) -> list[Event]:
        """Return what is stored of a declared event type."""
        event_type = self._process.follower.catalog.event_types[name]
        return [read_entry(event_type, entry) for entry in await read_all(self.log, event_type.base)]

    async def sequences(self, base: str) -> list[int]:
        """Return the sequences of what is stored under a base."""
        return [entry.sequence for entry in await read_all(self.log, base)]

    def count(self, name: str, **labels: str) -> float:
        """Return what is counted in all series that have these labels."""
        total = 0.0
        for line in self._process.metrics.render().decode().splitlines():
            series = re.fullmatch(re.escape(name) + r"\{(.*)\} (\S+)", line)
            if (
                series is not None
                and labels.items() <= dict(re.findall(r'(\w+)="([^"]*)"', series[1])).items()
            ):
                total += float(series[2])
        return total


@asynccontextmanager
async def running_with_log(
    configuration: Mapping[str, Any], backend: Mapping[str, Any]
) -> AsyncIterator[Stored]:
    """Run the service with a log of this kind for as long as the block runs."""
    processes: list[Process] = []

    def assembled(process: Process) -> Routes:
        processes.append(process)
        return assemble(process)

    async with running_service(
        {**configuration, "notification_backend": backend}, assembled=assembled
    ) as service:
        yield Stored(service, processes[0])


def told(output: str, prefix: str) -> list[dict[str, Any]]:
    """Return the log records of a captured output whose events begin so, each with its level."""
    records = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return [
        {"level": record["severityText"], **record["attributes"]}
        for record in records
        if record["attributes"]["event.name"].startswith(prefix)
    ]
