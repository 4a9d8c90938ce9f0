"""Where the operator tells of itself: `/healthz`, `/readyz` and `/metrics`, on one port.

It is healthy as long as everything is looked at again and again: a process that answers and does nothing is what a
probe is for. It is ready once everything has been looked at and the broker is there.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from aiohttp import web

from aviso_core.errors import Unavailable
from aviso_operator.metrics import CONTENT_TYPE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


class Health(NamedTuple):
    """Whether all is well, and why not."""

    is_well: bool
    reason: str = "ok"


@asynccontextmanager
async def open_endpoint(
    host: str,
    port: int,
    *,
    healthy: Callable[[], Health],
    ready: Callable[[], Health],
    metrics: Callable[[], bytes],
) -> AsyncIterator[int]:
    """Answer for as long as the block runs; the value is the port."""

    def answer(health: Health) -> web.Response:
        return web.Response(status=200 if health.is_well else 503, text=f"{health.reason}\n")

    async def on_healthy(request: web.Request) -> web.Response:
        return answer(healthy())

    async def on_ready(request: web.Request) -> web.Response:
        return answer(ready())

    async def on_metrics(request: web.Request) -> web.Response:
        return web.Response(body=metrics(), headers={"content-type": CONTENT_TYPE})

    application = web.Application()
    application.router.add_get("/healthz", on_healthy)
    application.router.add_get("/readyz", on_ready)
    application.router.add_get("/metrics", on_metrics)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise Unavailable(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
        addresses = runner.addresses
        yield int(addresses[0][1]) if addresses else port
    finally:
        await runner.cleanup()
