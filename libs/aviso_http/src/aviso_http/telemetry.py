"""Traces: the W3C `traceparent` that comes in with a request and goes out with its event, and spans of our own.

Without tracing, the caller's trace is passed on as it came: that is all this costs, because most installations have no
collector. With it, each request is a span below the caller's, and what goes out names that span. The SDK is imported
only then, and nothing is put into its global state: a provider belongs to the block that opened it.

A `tracestate` ends here: what a request becomes is an event, and an event has room for `traceparent` alone.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from aviso_core.settings.model import Tracing

# A method may be anything that somebody sends, and only these are told in spans and metrics.
VERBS: Final = ("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE")

_LONGEST: Final = 256
_TRACEPARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)
_NO_TRACE: Final = "0" * 32
_NO_SPAN: Final = "0" * 16
_SAMPLED: Final = 1


# --- traceparent -----------------------------------------------------------------------------------------


class TraceParent(NamedTuple):
    """A place in a trace: the span that what comes next belongs to. Texts are lower-case hexadecimal."""

    trace_id: str
    span_id: str
    flags: int

    def __str__(self) -> str:
        """Return it as it is sent."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags:02x}"


def read_traceparent(headers: Iterable[tuple[bytes, bytes]]) -> TraceParent | None:
    """Return the caller's place in its trace. Two of them contradict each other, and then there is none."""
    found = None
    for name, value in headers:
        if name == b"traceparent":
            if found is not None:
                return None
            found = value
    return None if found is None else parse_traceparent(found.decode("latin-1"))


def parse_traceparent(text: str | None) -> TraceParent | None:
    """Read a header; None where there is none or it is not one, which then starts no trace and is no error.

    A version after ours may go on behind a dash, and what we know of it is at its beginning.
    """
    if text is None or len(text) > _LONGEST:
        return None
    match = _TRACEPARENT.fullmatch(text)
    if match is None:
        return None
    version, trace_id, span_id, flags, more = match.groups()
    if version == "ff" or (version == "00" and more) or trace_id == _NO_TRACE or span_id == _NO_SPAN:
        return None
    # Of the flags of other versions only this one means what it does here.
    return TraceParent(trace_id, span_id, int(flags, 16) & (0xFF if version == "00" else _SAMPLED))


# --- spans -----------------------------------------------------------------------------------------------


class Span(Protocol):
    """A request as a part of its trace."""

    @property
    def parent(self) -> TraceParent | None:
        """What belongs to this span names it as its parent by this; None: there is no trace."""

    def end(self, status: int, error: BaseException | None = None) -> None:
        """End it, with the status of HTTP that was answered."""


class Traces(Protocol):
    """Begins spans."""

    def begin(self, parent: TraceParent | None, *, method: str, route: str) -> Span:
        """Begin a span below the caller's; the route is a template, never what somebody sent."""


class PassedOn(NamedTuple):
    """The caller's place in its trace, unchanged."""

    parent: TraceParent | None

    def end(self, status: int, error: BaseException | None = None) -> None:
        """Nothing is recorded."""


_NOWHERE: Final = PassedOn(None)


class PassingOn:
    """Traces of an installation that records none."""

    def begin(self, parent: TraceParent | None, *, method: str, route: str) -> Span:
        """Return the caller's own place."""
        return _NOWHERE if parent is None else PassedOn(parent)


@contextmanager
def open_traces(settings: Tracing, *, resource: Mapping[str, str]) -> Iterator[Traces]:
    """Trace as configured; leaving it sends what is waiting, as far as that is possible within seconds."""
    if not settings.enabled:
        yield PassingOn()
        return
    from aviso_http.tracing import open_recording_traces

    with open_recording_traces(settings, resource=resource) as traces:
        yield traces
