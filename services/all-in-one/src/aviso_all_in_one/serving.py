"""All services in one process: the same routes as theirs, over one set of parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aviso_ingest.app
import aviso_schema.app
import aviso_stream_gateway.app
from aviso_http.process import Process, Routes, run
from aviso_http.signals import told_to_stop

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aviso_core.settings.model import Settings


def assemble(process: Process) -> Routes:
    """Return the routes of all services."""
    services = [
        service.assemble(process)
        for service in (aviso_ingest.app, aviso_schema.app, aviso_stream_gateway.app)
    ]
    return Routes(
        handlers=[handler for service in services for handler in service.handlers],
        hot=[route for service in services for route in service.hot],
        keeps=[kept for service in services for kept in service.keeps],
    )


async def serve(
    settings: Settings, *, environ: Mapping[str, str], version: str, on_ready: Callable[[int], None]
) -> None:
    """Run the service until a signal tells it to stop."""
    with told_to_stop() as stop:
        await run(
            settings,
            assemble=assemble,
            service="avisod",
            environ=environ,
            version=version,
            stop=stop,
            on_ready=on_ready,
        )
