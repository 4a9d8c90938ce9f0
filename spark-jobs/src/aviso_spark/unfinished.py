"""What a batch job has begun and not ended, remembered where its next start looks for it.

A job that broke off is started again, and what it had stored by then is known again by its ids: for as long as the
event type's duplicate window. So it is written down when it began, before it posts, and removed when every row was
answered for. What a later start finds tells how long ago the first row may have been stored.
"""

from __future__ import annotations

import hashlib
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from aviso_spark.common.problems import JobError
from aviso_spark.folders import Folder, has_files
from pyspark_aviso.resuming import Point, RepeatsPossible, require_known_ids

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from aviso_spark.common.service import ServiceAddress

_NAME_LENGTH: Final = 16
_NOT_REMEMBERED: Final = (
    "  through a session on a server it is not remembered when this was begun: had it broken off, it would have to be "
    "started again within the event type's duplicate window"
)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What is the same when a job is started again; of dead letters and archives the rows know their event types."""

    source: tuple[str, ...]
    event_type: str | None
    id_scope: str


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that was begun, in seconds since 1970."""

    run: Run
    begun_at: float


class Place(NamedTuple):
    """Where it is remembered: a folder as Spark names it, how files in it begin, and the argument that named it."""

    folder: str
    prefix: str
    argument: str


def place_of(*, receipts: str, watermark_file: str | None = None) -> Place:
    """Return the place beside the watermark, which stays the same from run to run, else beside the receipts."""
    if watermark_file is None:
        # Whoever reads the receipts passes over what begins so.
        return Place(receipts, "_begun-", f"--receipts {receipts}")
    path = Path(watermark_file).absolute()
    return Place(f"file://{path.parent}", f"{path.name}.begun-", f"--watermark {watermark_file}")


@contextmanager
def remembered(
    session: SparkSession,
    place: Place,
    run: Run,
    rows: DataFrame,
    *,
    service: ServiceAddress,
    accepts_repeats: bool,
) -> Iterator[tuple[str, ...]]:
    """Remember while the block runs, and after it failed, that the run was begun; yield what is to be told of it.

    What was begun longer ago than the service knows ids is refused.
    """
    if not has_files(session):
        yield (_NOT_REMEMBERED,)
        return
    folder, path = Folder(session, place.folder), place.prefix + _name(run)
    before = _read(folder, path)
    if before is None or accepts_repeats:
        folder.write_text(path, msgspec.json.encode(Begun(run=run, begun_at=time.time())).decode())
    else:
        event_types = [run.event_type] if run.event_type is not None else _event_types(rows)
        check_resumption(before, place, event_types, service)
    yield ()
    folder.remove(path)


def check_resumption(
    before: Begun, place: Place, event_types: Sequence[str], service: ServiceAddress
) -> None:
    """Refuse to do again what was begun so long ago that the service no longer knows its ids."""
    now = time.time()
    client = service.client()
    try:
        require_known_ids(client, Point(None, before.begun_at, now), event_types, now=now)
    except RepeatsPossible as error:
        raise JobError(f"{place.argument}: {error}") from error
    finally:
        client.close()


def _name(run: Run) -> str:
    return f"{hashlib.sha256(msgspec.json.encode(run)).hexdigest()[:_NAME_LENGTH]}.json"


def _read(folder: Folder, path: str) -> Begun | None:
    if not folder.has(path):
        return None
    text = folder.read_text(path)
    try:
        return msgspec.json.decode(text, type=Begun)
    except msgspec.DecodeError as error:
        raise JobError(
            f"{folder.place}/{path} does not say when the run was begun ({error}): remove it if nothing was posted"
        ) from error


def _event_types(rows: DataFrame) -> list[str]:
    return [row["event_type"] for row in rows.select("event_type").distinct().collect()]
