"""The service as an application: a function of its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aviso_http.problems import Problems
from aviso_http.process import Routes
from aviso_http.routes import Hot
from aviso_ingest.admin.routes import admin_handlers, admin_hot_routes
from aviso_ingest.batch import answers as batch_answers
from aviso_ingest.batch import route as batch_route
from aviso_ingest.cloudevents import route as events_route
from aviso_ingest.notify import Notify
from aviso_ingest.parts import Parts
from aviso_ingest.pressure import Pressure
from aviso_ingest.retraction import RETRACT
from aviso_ingest.storing import ROWS

if TYPE_CHECKING:
    from aviso_http.process import Process

NOTIFICATION_PATH: Final = "/api/v1/notification"


def assemble(process: Process) -> Routes:
    """Return the routes of the service in a process."""
    return routes(parts_of(process))


def parts_of(process: Process) -> Parts:
    """Return the service's parts, of those that every process has."""
    limits = process.settings.ingest
    return Parts(
        log=process.event_log,
        catalog=lambda: process.follower.catalog,
        access=process.access,
        problems=Problems(*ROWS, *batch_answers.ROWS, challenges=process.access.challenges),
        counters=process.metrics,
        clock=process.clock,
        pressure=Pressure(most_bytes=limits.max_bytes_in_flight, waiting_seconds=limits.max_waiting_seconds),
        limits=limits,
    )


def routes(parts: Parts) -> Routes:
    """Return the routes over the parts."""
    return Routes(
        handlers=admin_handlers(parts),
        hot=(
            Hot("POST", NOTIFICATION_PATH, Notify(parts)),
            Hot("DELETE", NOTIFICATION_PATH, Notify(parts, RETRACT)),
            *_many(parts),
            *admin_hot_routes(parts),
        ),
    )


def _many(parts: Parts) -> tuple[Hot, ...]:
    """Return the routes that take many notifications in a request."""
    batches = batch_route.Notifications(parts)
    events = events_route.Events(parts, batches)
    return Hot("POST", batch_route.PATH, batches), Hot("POST", events_route.PATH, events)
