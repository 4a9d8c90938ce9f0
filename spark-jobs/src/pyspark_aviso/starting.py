"""Where a stream without a checkpoint begins: option `startingOffsets`, and what it means in the logs there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from pyspark_aviso.offsets import NOTHING, Mark, Offset
from pyspark_aviso.options import OptionError
from pyspark_aviso.positions import instant_of, seek

if TYPE_CHECKING:
    from pyspark_aviso.positions import AsksService, Held, Positions

EARLIEST, LATEST = "earliest", "latest"
# A first sequence, one of the words, or a date.
Start: TypeAlias = int | str

# A day has as many, 20300131, and seconds since 1970 have more.
_FEWEST_DIGITS_OF_A_TIME: Final = 8


def read_starting(text: str) -> Start | dict[str, Start]:
    """Return where to begin with all event types, or with each."""
    given = text.strip()
    if not given.startswith("{"):
        return _checked(given)
    try:
        each = msgspec.json.decode(given, type=dict[str, Start])
    except msgspec.DecodeError as error:
        raise OptionError(
            "option 'startingOffsets' must be earliest, latest, a date, or a JSON object with one of these or a first "
            f"sequence for each event type: {error}"
        ) from error
    return {name: _checked(one) for name, one in each.items()}


def _checked(start: Start) -> Start:
    if isinstance(start, int):
        if start < 1:
            raise OptionError(f"option 'startingOffsets': the first sequence that there is is 1, not {start}")
        return start
    if start in (EARLIEST, LATEST):
        return start
    if start.isdigit() and len(start) < _FEWEST_DIGITS_OF_A_TIME:
        raise OptionError(
            f"option 'startingOffsets': {start} is a sequence, which counts in one log: name the event type, as in "
            f'{{"maps": {start}}}'
        )
    try:
        instant_of(start)
    except (ValueError, OverflowError, OSError) as error:
        raise OptionError(
            f"option 'startingOffsets': {start!r} is neither earliest nor latest nor a date, as 2030-01-31T06:00:00Z"
        ) from error
    return start


def begin(client: AsksService, starting: Start | dict[str, Start], held: Positions) -> Offset:
    """Return the offset behind which a stream begins to read."""
    if isinstance(starting, dict):
        missing, unknown = held.keys() - starting.keys(), starting.keys() - held.keys()
        if missing or unknown:
            names = ", ".join(sorted(missing or unknown))
            what = "says nothing of" if missing else "names what is not read"
            raise OptionError(f"option 'startingOffsets' {what}: {names}")
    return {
        name: _mark(client, name, starting[name] if isinstance(starting, dict) else starting, now)
        for name, now in held.items()
    }


def _mark(client: AsksService, name: str, start: Start, held: Held | None) -> Mark:
    if isinstance(start, int):
        return Mark("" if held is None else held.epoch, start - 1)
    if held is None:
        return NOTHING
    if start == EARLIEST:
        return Mark(held.epoch, held.first - 1)
    if start == LATEST:
        return Mark(held.epoch, held.last)
    found = seek(client, name, start)
    return Mark(found.epoch, (found.at or found.first) - 1)
