"""Signals that reach the Java process instead of this program.

`spark-submit` is a Java process that starts this program and waits for its end; it is Java whom a terminal, a service
manager or a cluster tells to stop. Left alone it would tear Spark down under a job that knows of nothing. So it is made
to pass SIGTERM on, and to leave SIGINT alone: Ctrl-C reaches this program as well, by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from aviso_spark.common.stopping import Stopping


class _OnSignal:
    """What Java calls: an object of its interface `SignalHandler`."""

    class Java:
        implements = ("sun.misc.SignalHandler",)

    def __init__(self, stopping: Stopping) -> None:
        self._stopping = stopping

    def handle(self, _signal: object) -> None:
        """Pass the signal on."""
        self._stopping.ask("launcher")


def pass_signals_on(session: SparkSession, stopping: Stopping) -> None:
    """Let the Java process of a session pass signals on. A session on a server has none of ours."""
    if not hasattr(session, "_jsparkSession"):
        return
    from pyspark.java_gateway import ensure_callback_server_started

    gateway: Any = session.sparkContext._gateway
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]  # it brings no types
    misc = gateway.jvm.sun.misc
    misc.Signal.handle(misc.Signal("TERM"), _OnSignal(stopping))
    misc.Signal.handle(misc.Signal("INT"), misc.SignalHandler.SIG_IGN)
