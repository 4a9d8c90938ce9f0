"""What a write did: of each task, and of all of them together as a file that people and programs read."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
from pyspark.sql.datasource import WriterCommitMessage

from pyspark_aviso.options import OptionError
from pyspark_aviso.places import check_writable, write_text
from pyspark_aviso.posting import Tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark_aviso.options import WriteOptions

log = logging.getLogger("pyspark_aviso")


@dataclass
class Written(WriterCommitMessage):
    """What one task did."""

    tally: Tally


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a write did, as far as is known: of tasks that did not end nothing is."""

    outcome: str
    batch_id: int | None
    at: str
    tasks: int
    unfinished_tasks: int
    rows: int
    accepted: int
    duplicate: int
    rejected: int
    requests: int
    repeated_requests: int
    rejections: list[dict[str, str | None]]


def report(
    options: WriteOptions,
    messages: Sequence[WriterCommitMessage | None],
    *,
    outcome: str,
    batch_id: int | None = None,
) -> None:
    """Write the report, where one is asked for: of a stream one file per batch.

    What was posted is posted: that it cannot be reported is told in the log, with what the report says, and fails
    nothing.
    """
    if options.report is None:
        return
    made = msgspec.json.encode(
        report_of(messages, outcome=outcome, batch_id=batch_id, now=time.time())
    ).decode()
    name = options.report if batch_id is None else _name_of_batch(options.report, batch_id)
    try:
        write_text(name, msgspec.json.format(made, indent=2) + "\n")
    except (OSError, ValueError) as error:
        log.warning("option 'report': '%s' could not be written (%s); it says: %s", name, error, made)


def check_report(options: WriteOptions, *, is_stream: bool) -> None:
    """Refuse a place for the report that cannot be written, before anything is posted."""
    if options.report is None:
        return
    name = _name_of_batch(options.report, 0) if is_stream else options.report
    try:
        check_writable(name)
    except (OSError, ValueError) as error:
        raise OptionError(
            f"option 'report': '{name}' cannot be written ({error}): name a file, or for a stream a folder, that the "
            "driver may write"
        ) from error


def _name_of_batch(folder: str, batch_id: int) -> str:
    return f"{folder.rstrip('/')}/batch-{batch_id:09}.json"


def report_of(
    messages: Sequence[WriterCommitMessage | None], *, outcome: str, batch_id: int | None, now: float
) -> Report:
    """Return the sums of what tasks did."""
    done = [message.tally for message in messages if isinstance(message, Written)]
    total = Tally()
    for tally in done:
        total.add(tally)
    return Report(
        outcome=outcome,
        batch_id=batch_id,
        at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
        tasks=len(messages),
        unfinished_tasks=len(messages) - len(done),
        rows=total.rows,
        accepted=total.accepted,
        duplicate=total.duplicate,
        rejected=total.rejected,
        requests=total.requests,
        repeated_requests=total.repeated_requests,
        rejections=[msgspec.to_builtins(rejection) for rejection in total.rejections],
    )
