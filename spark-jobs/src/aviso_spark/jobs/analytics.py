"""`analytics`: what a log says about its producers, as tables and as one page."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from aviso_spark.analytics.grid import grid_of
from aviso_spark.common.arguments import key_value, service_of
from aviso_spark.common.problems import NotUnderstood
from aviso_spark.common.service import ServiceAddress
from aviso_spark.folders import is_below
from aviso_spark.within import Within, add_within, within_of

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from aviso_spark.common.report import Report
    from aviso_spark.common.stopping import Stopping

NAME: Final = "analytics"
SUMMARY: Final = "Tell coverage, latency, gaps and repetitions of an archive or a log, as tables and a page."
MORE: Final = """\
examples:
  what an archive holds: gaps, repetitions, places:
    $ aviso-spark analytics /archive --output /reports/all
  what should have been announced in January, and how late it was:
    $ aviso-spark analytics /archive --event-types model_output --output /reports/january \\
        --from-time 2030-01-01 --to-time 2030-02-01 \\
        --expect date=20300101..20300131 --expect step=0..240/6 --expect region=north,south \\
        --due "to_timestamp(date, 'yyyyMMdd') + interval 1 hours * (6 + step / 24)"
  how long producers took, of what the service holds now; the instant is in the payload:
    $ aviso-spark analytics --from-service --output /reports/now \\
        --produced "get_json_object(payload, '$.produced_at')"

what is written:
  report.html, one file that needs nothing else; and a folder for each table below tables/, as Parquet: events, gaps,
  repeats, places, and where they were asked for coverage, coverage_by_day, latency (with a KLL sketch for each event
  type and hour, which can be merged), latency_by_type. A second run into the same folder replaces them.

what SQL may use:
  --produced: the columns of an event, as identifier.step, payload, time.
  --due: the fields of an expected combination by their names, and other columns of the table of --expected, of which
  one that is called due needs no --due. All instants are UTC.
"""


class Analytics(msgspec.Struct, frozen=True, kw_only=True):
    """What the job was asked to do."""

    # None is an archive that needs no service.
    service: ServiceAddress | None
    folder: str | None
    event_types: tuple[str, ...]
    within: Within
    grid: dict[str, tuple[str, ...]]
    expected: str | None
    expected_format: str | None
    due: str | None
    produced: str | None
    output: str
    is_dry_run: bool
    now: datetime

    @property
    def is_coverage_asked(self) -> bool:
        """Tell whether something was expected."""
        return bool(self.grid) or self.expected is not None


def add_arguments(parser: ArgumentParser) -> None:
    """Add what only this job takes."""
    parser.add_argument("folder", metavar="FOLDER", nargs="?", help="an archive, as the job archive makes it")
    parser.add_argument(
        "--from-service", action="store_true", help="read what the service holds, not an archive"
    )
    parser.add_argument(
        "--event-types", default="", metavar="NAMES", help="separated by commas (default: all)"
    )
    parser.add_argument(
        "--output", metavar="FOLDER", help="where report.html and the tables go; needed unless --dry-run"
    )
    add_within(parser, what="Look at only this; without it, at everything")
    coverage = parser.add_argument_group(
        "coverage", "Every expected combination of fields: seen, late, missing."
    )
    coverage.add_argument(
        "--expect",
        type=key_value,
        action="append",
        default=[],
        metavar="FIELD=VALUES",
        help="values of a field, as step=0,6,12 or step=0..240/6 or date=20300101..20300131; of several fields every "
        "combination is expected",
    )
    coverage.add_argument(
        "--expected", metavar="TABLE", help="or a table of combinations, with a column for each field"
    )
    coverage.add_argument(
        "--expected-format", metavar="FORMAT", help="csv, parquet, table, … (default: by its suffix)"
    )
    coverage.add_argument("--due", metavar="SQL", help="when a combination is due; what comes later is late")
    latency = parser.add_argument_group("latency")
    latency.add_argument("--produced", metavar="SQL", help="when what an event announces was produced")


def wanted(read: Mapping[str, Any]) -> Analytics:
    """Return what a command line asks for, or say what of it does not go together."""
    if (read["folder"] is None) != read["from_service"]:
        raise NotUnderstood("name the FOLDER of an archive, or say --from-service")
    if read["expect"] and read["expected"] is not None:
        raise NotUnderstood("--expect and --expected are two ways to say one thing: give one of them")
    if read["due"] is not None and not read["expect"] and read["expected"] is None:
        raise NotUnderstood("--due says when what is expected is due: say what with --expect or --expected")
    if read["output"] is None and not read["dry_run"]:
        raise NotUnderstood("name a folder for the page and the tables with --output")
    if read["output"] is not None and read["folder"] is not None and is_below(read["output"], read["folder"]):
        raise NotUnderstood("--output would put tables into the archive: name a folder outside of it")
    names = tuple(name.strip() for name in read["event_types"].split(",") if name.strip())
    return Analytics(
        service=service_of(read) if read["from_service"] else None,
        folder=read["folder"],
        event_types=names,
        within=within_of(read, names),
        grid=grid_of(read["expect"]),
        expected=read["expected"],
        expected_format=read["expected_format"],
        due=read["due"],
        produced=read["produced"],
        output=(read["output"] or "").rstrip("/"),
        is_dry_run=read["dry_run"],
        now=datetime.now(UTC),
    )


def run(job: Analytics, session: SparkSession, stopping: Stopping) -> Report:
    """Do it."""
    from aviso_spark.analytics.analysis import analysed, rehearsed
    from aviso_spark.analytics.events import chosen_events
    from pyspark_aviso import register

    register(session)
    with chosen_events(session, job) as events:
        stopping.check()
        if job.is_dry_run:
            return rehearsed(session, job, events)
        return analysed(session, job, events, stopping)
