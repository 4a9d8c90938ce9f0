"""Whether what is posted may have been posted before, so long ago that the service no longer knows its ids.

The service knows an id again for the duplicate window of the event type. Two kinds of tasks repeat what was posted: one
that is tried again, since its stage began; and one of a batch that a stream had begun and not committed when it ended,
since that batch was made. If that was longer ago than the window, everything of it that was stored before is stored
again. So such a task looks at the clock before each body, and posts nothing that the service may have forgotten. Of
`notify` these are the tasks that are tried again: that a stream of receipts resumes, whoever starts it must judge by
`read_point` and `require_known_ids`, as `aviso_spark` does.

When a batch was made stands in the checkpoint: Spark writes it before it runs the batch, and that it is done
afterwards. The newest batch without its end is the one that is run now, made at the first start.

What cannot be known: whether anything of the batch was posted at all (it is assumed); how a batch job stands to an
earlier one, which has no checkpoint (`aviso_spark` keeps a watermark for that); and that a run which was killed within
seconds of making its batch was not this one.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

from pyspark_aviso.options import OptionError
from pyspark_aviso.places import file_system
from pyspark_aviso.transport import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark_aviso.transport import Client

WINDOW_HEADER: Final = "Duplicate-Window"
DEFAULT_WINDOW_SECONDS: Final = 120.0
# A batch is planned at once after it was made. One that was planned later than this is one that was made before.
_PLANNED_WITHIN_SECONDS: Final = 10.0


class RepeatsPossible(Exception):
    """Posting now might notify again of what was notified before, and nobody would be told."""


class Point(NamedTuple):
    """From where on work is done: when it was begun first, and when it was planned this time, in seconds since 1970."""

    batch_id: int | None
    made_at: float
    planned_at: float

    def is_repeated(self, *, attempt: int) -> bool:
        """Tell whether something of it may have been posted before this attempt."""
        return attempt > 0 or self.planned_at - self.made_at > _PLANNED_WITHIN_SECONDS

    def of_batch(self, batch_id: int | None) -> Point:
        """Return the point of a batch; one that came after the batch of this point was begun when it was planned."""
        if self.batch_id in (None, batch_id):
            return self
        return Point(batch_id, self.planned_at, self.planned_at)


class KnownIds:
    """For how long the service still knows what one task posts again. It is asked once for each event type."""

    def __init__(self, client: Client, point: Point, *, clock: Callable[[], float]) -> None:
        self._client = client
        self._point = point
        self._clock = clock
        self._windows: dict[str, float] = {}

    def check_of(self, event_types: Iterable[str]) -> Callable[[], None]:
        """Return what is called before each body of these event types, and raises `RepeatsPossible`."""
        windows = {event_type: self._window(event_type) for event_type in event_types}
        if not windows:
            return nothing_to_check
        event_type = min(windows, key=windows.__getitem__)
        return lambda: self._require(event_type, windows[event_type])

    def _window(self, event_type: str) -> float:
        if event_type not in self._windows:
            self._windows[event_type] = window_seconds(self._client, event_type)
        return self._windows[event_type]

    def _require(self, event_type: str, window: float) -> None:
        age = self._clock() - self._point.made_at
        # What is posted now may be on its way for as long as the client is patient.
        if age + self._client.deadline_seconds > window:
            raise RepeatsPossible(_told(event_type, self._point, age=age, window=window, client=self._client))


def nothing_to_check() -> None:
    """Let a body go that repeats nothing."""


def require_known_ids(client: Client, point: Point, event_types: Iterable[str], *, now: float) -> None:
    """Refuse to repeat what was begun longer ago than the duplicate window of one of the event types."""
    KnownIds(client, point, clock=lambda: now).check_of(event_types)()


def window_seconds(client: Client, event_type: str) -> float:
    """Return for how long the service knows ids of an event type again."""
    try:
        value = client.get_header(f"/api/v1/schema/{quote(event_type, safe='')}", WINDOW_HEADER)
    except Refused as refusal:
        if refusal.status != 404:
            raise
        value = None
    return DEFAULT_WINDOW_SECONDS if value is None else float(value)


def _told(event_type: str, point: Point, *, age: float, window: float, client: Client) -> str:
    what = "this write" if point.batch_id is None else f"batch {point.batch_id}"
    return (
        f"{what} was begun {age:.0f} s ago, and the service knows ids of '{event_type}' again for {window:.0f} s only "
        f"(a request may take {client.deadline_seconds:g} s of that): what was stored of it then would be stored and "
        "delivered again. So nothing of it is posted now. Set option 'acceptRepeats' to true for this one run if "
        "repeated notifications do no harm; to be able to resume later next time, raise storage.duplicateWindow of "
        "the schema"
    )


# --- the checkpoint ----------------------------------------------------------------------------------------------

_BATCH_FILE: Final = re.compile(r"\d+")


def read_point(checkpoint: str, *, now: float) -> Point | None:
    """Return the batch that a checkpoint says was begun and not ended; None where there is none."""
    begun, ended = (_batches(checkpoint, folder) for folder in ("offsets", "commits"))
    if not begun or max(begun) in ended:
        return None
    latest = max(begun)
    return Point(latest, made_at(begun[latest], _read(begun[latest])), now)


def made_at(path: str, text: str) -> float:
    """Return when a batch was made, which its file in the checkpoint says."""
    for line in text.splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict) and isinstance(said.get("batchTimestampMs"), int):
            return float(said["batchTimestampMs"]) / 1000
    raise OptionError(
        f"{path} does not say when its batch was made: is 'checkpointLocation' a checkpoint of Spark 4?"
    )


def _batches(checkpoint: str, folder: str) -> dict[int, str]:
    from pyarrow import fs  # type: ignore[import-untyped]  # it brings no types

    files, root = file_system(checkpoint)
    selector = fs.FileSelector(f"{root}/{folder}", allow_not_found=True)
    return {
        int(entry.base_name): f"{checkpoint.rstrip('/')}/{folder}/{entry.base_name}"
        for entry in files.get_file_info(selector)
        if _BATCH_FILE.fullmatch(entry.base_name)
    }


def _read(path: str) -> str:
    files, place = file_system(path)
    with files.open_input_file(place) as file:
        return str(file.read().decode("utf-8"))
