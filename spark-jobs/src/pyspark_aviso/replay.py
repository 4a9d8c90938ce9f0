"""One range of one event type, read to its end whatever happens to the answers in between.

An answer that breaks off is asked for again from behind the last row that came of it. A range is at its end when the
service has said so and the log is still the one that was planned for: too few rows are never taken for all of them.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from pyspark_aviso.answers import CutOff, Ending, NotUnderstood, Rows, check_ended
from pyspark_aviso.offsets import LogReplaced, Mark
from pyspark_aviso.positions import read_position
from pyspark_aviso.ranges import HistoryRemoved, Range
from pyspark_aviso.retrying import Attempts
from pyspark_aviso.transport import BrokeOff, Refused, TransportError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types

    from pyspark_aviso.answers import Part
    from pyspark_aviso.options import Format
    from pyspark_aviso.positions import Held
    from pyspark_aviso.transport import Client

PATH: Final = "/api/v1/replay"
_GONE: Final = 410

log = logging.getLogger("pyspark_aviso")


class EventsNotShown(Exception):
    """Some events of a range are stored, and the service cannot show them."""

    def __init__(self, one: Range, failed: int) -> None:
        super().__init__(
            f"{failed} events of {one.event_type!r} between the sequences {one.first} and {one.last} cannot be "
            "shown by the service, whose log says why. Read the others with option failOnDataLoss=false"
        )


class NotHeldYet(Exception):
    """An answer ended before the range did: whoever gave it does not know yet of all that is stored."""


class Portion(msgspec.Struct, frozen=True, kw_only=True):
    """What one task reads: a range, and what of it, as the service wants to be told."""

    range: Range
    identifier: dict[str, Any] = {}


class Reading(NamedTuple):
    """How it is read."""

    form: Format
    fail_on_data_loss: bool

    def on_loss(self, error: Exception) -> None:
        """Raise what is missing, or leave a record of it."""
        if self.fail_on_data_loss:
            raise error
        log.warning("going on without what is missing: %s", error)


def read_portion(client: Client, portion: Portion, reading: Reading) -> Iterator[pa.RecordBatch]:
    """Yield the events of a portion, each once and in order, and raise where they are not all."""
    one = portion.range
    first = one.first
    attempts = Attempts(client.deadline_seconds)
    while first <= one.last:
        begun = first
        try:
            for part in _answer(client, portion, first, reading.form):
                if isinstance(part, Rows):
                    first = part.last + 1
                    yield part.batch
                else:
                    first = _behind(part, one, reading)
        except (_Removed, CutOff, NotHeldYet) as cut:
            held = check_same_log(client, one)
            if held.first > first:
                reading.on_loss(HistoryRemoved(one.event_type, wanted=first, first_held=held.first))
                first = held.first
            if first > begun:
                attempts = Attempts(client.deadline_seconds)
            if not attempts.pause():
                raise TransportError(
                    f"{one.event_type!r} could not be read from sequence {first} to {one.last}, which is stored: {cut}"
                ) from cut
            log.info("reading %r again from sequence %d: %s", one.event_type, first, cut)
    check_same_log(client, one)


class _Removed(Exception):
    """The service says that the beginning of what is asked for is not held."""


def _answer(client: Client, portion: Portion, first: int, form: Format) -> Iterator[Part]:
    """Yield the parts of one answer, of which the last is its ending."""
    one = portion.range
    body = {
        "event_type": one.event_type,
        "identifier": portion.identifier,
        "from_id": str(first),
        "to_id": str(one.last),
    }
    pieces = client.stream(PATH, msgspec.json.encode(body), _ACCEPTED[form])
    try:
        begin = next(pieces, b"")
    except Refused as refusal:
        if refusal.status == _GONE:
            raise _Removed(str(refusal)) from refusal
        raise
    except BrokeOff as error:
        raise CutOff(str(error)) from error
    rest = _following(begin, pieces)
    try:
        yield from check_ended(_decode(begin, rest, one, form))
        # An answer that is read to the end of its last byte leaves a connection for the next request.
        for _ in rest:
            pass
    finally:
        pieces.close()


def _following(begin: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield an answer that has begun; where it breaks off it only ends, as what came of it is good."""
    yield begin
    try:
        yield from pieces
    except TransportError as error:
        log.info("%s", error)


_ARROW: Final = "application/vnd.apache.arrow.stream"
_NDJSON: Final = "application/x-ndjson"
_ACCEPTED: Final[Mapping[Format, str]] = {
    "auto": f"{_ARROW}, {_NDJSON};q=0.5",
    "arrow": _ARROW,
    "ndjson": _NDJSON,
    "raw": _NDJSON,
}


def _decode(begin: bytes, pieces: Iterator[bytes], one: Range, form: Format) -> Iterator[Part]:
    """Read an answer in the form that it has: an older service may know only one of those that were asked for."""
    # Arrow takes longer to load than everything else here, and only those who read need it.
    from pyspark_aviso.arrow_read import MARK, read_arrow
    from pyspark_aviso.ndjson_read import read_ndjson, read_raw

    if begin.startswith(MARK) and form in ("auto", "arrow"):
        return read_arrow(pieces)
    if begin.startswith(b"{") and form != "arrow":
        return read_raw(pieces) if form == "raw" else read_ndjson(pieces, one.event_type)
    if not begin:
        raise CutOff("the answer was empty")
    raise NotUnderstood(
        f"the answer to a replay in the format {form!r} begins with {begin[:40]!r}: is option 'url' the address of the "
        "service, and is it recent enough for this format?"
    )


def _behind(ending: Ending, one: Range, reading: Reading) -> int:
    """Return from where to go on behind a whole answer."""
    if ending.failed:
        reading.on_loss(EventsNotShown(one, ending.failed))
    if ending.complete and ending.last < one.last:
        raise NotHeldYet(f"the answer ends with {ending.last}")
    return ending.last + 1


def check_same_log(client: Client, one: Range) -> Held:
    """Return what the log holds, or raise `LogReplaced`: another log has other events under the same sequences."""
    held = read_position(client, one.event_type)
    if held is None or held.epoch != one.epoch:
        raise LogReplaced(one.event_type, read=Mark(one.epoch, one.last), held=held)
    return held
