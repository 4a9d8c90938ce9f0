"""Switching records on for as long as a block runs."""

from __future__ import annotations

import logging
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from aviso_http.records.handler import RecordHandler
from aviso_http.records.output import LineWriter
from aviso_http.records.recorder import Recorder
from aviso_http.records.severity import TRACE, WARN, level_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from aviso_core.settings.model import Logging
    from aviso_http.records.counts import RecordCounts

STANDARD_OUTPUT: Final = 1
_CLOSE_SECONDS: Final = 2.0
# They log every request at the level of information, and in detail the headers of each, credentials included.
_TALKATIVE: Final = ("asyncio", "h11", "hpack", "httpcore", "httpx", "urllib3")


@contextmanager
def open_records(
    settings: Logging,
    *,
    resource: Mapping[str, str],
    counts: RecordCounts,
    descriptor: int = STANDARD_OUTPUT,
) -> Iterator[None]:
    """Write what is logged, by us and by libraries, to a descriptor and as configured to a collector.

    It is left with everything written, as far as that is possible within seconds.
    """
    with ExitStack() as stack:
        output = LineWriter(descriptor)
        stack.callback(output.close, seconds=_CLOSE_SECONDS)
        export = None
        if settings.otlp.enabled:
            # Here, because the exporters are an extra, and importing them takes longer than starting without them.
            from aviso_http.records.export import CLOSE_SECONDS, begin_export

            export = begin_export(settings.otlp, resource=resource, counts=counts)
        recorder = Recorder(resource=resource, output=output, counts=counts, export=export)
        stack.enter_context(_installed(RecordHandler(recorder), level_number(settings.level)))
        if export is not None:
            # It ends first: what the exporters say about the last that they send is written like everything else.
            stack.callback(export.close, seconds=CLOSE_SECONDS)
        yield


@contextmanager
def _installed(handler: RecordHandler, level: int) -> Iterator[None]:
    """Have the standard library hand all records to a handler; afterwards everything is as it was."""
    quiet = [logging.getLogger(name) for name in _TALKATIVE]
    before = [(logger, logger.level) for logger in [logging.root, *quiet]]
    logging.addLevelName(TRACE, "TRACE")
    logging.root.setLevel(level)
    for logger in quiet:
        logger.setLevel(max(level, WARN))
    logging.root.addHandler(handler)
    try:
        yield
    finally:
        logging.root.removeHandler(handler)
        for logger, former in before:
            logger.setLevel(former)
