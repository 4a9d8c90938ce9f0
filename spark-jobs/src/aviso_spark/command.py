"""One command for all jobs: a command line in, an exit code out, a report for people in between.

Spark is imported only once the arguments are understood, so that help and refusals come at once.
"""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from aviso_spark.common.arguments import Formatter, Parser, add_common
from aviso_spark.common.exit_codes import EXIT_CODES
from aviso_spark.common.kept_files import check_replaceable, check_writable
from aviso_spark.common.launcher import pass_signals_on
from aviso_spark.common.report import as_json, as_text, one_line
from aviso_spark.common.stopping import stopping_by_signals
from aviso_spark.common.telling import judged
from aviso_spark.jobs import analytics, archive, batch_notify, replay, stream_notify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from aviso_spark.common.report import Report
    from aviso_spark.common.stopping import Stopping
    from aviso_spark.jobs import Job

PROGRAM: Final = "aviso-spark"
JOBS: Final[tuple[Job, ...]] = (batch_notify, stream_notify, archive, replay, analytics)
_KEPT_FILES: Final[Mapping[str, Callable[[str, str], None]]] = {
    "report": check_writable,
    "watermark": check_replaceable,
}
_MORE: Final = """\
examples:
  $ aviso-spark batch-notify forecasts.parquet --event-type model_output --url http://127.0.0.1:8000 --dry-run
  $ spark-submit --master spark://host:7077 .../aviso_spark/main.py archive /archive --event-types model_output

'aviso-spark JOB --help' tells more about each job.
"""


def parser() -> Parser:
    """Return the parser of the whole command line."""
    top = Parser(
        prog=PROGRAM,
        description="Jobs between tables and the notification service, on Spark.",
        epilog=_MORE + "\n" + EXIT_CODES,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    jobs = top.add_subparsers(dest="job", required=True, metavar="JOB", title="jobs")
    for job in JOBS:
        added = jobs.add_parser(
            job.NAME,
            help=job.SUMMARY,
            description=job.SUMMARY,
            epilog=job.MORE + "\n" + EXIT_CODES,
            formatter_class=Formatter,
            # `--token` would otherwise be `--token-file`, and a token would stand in a list of processes.
            allow_abbrev=False,
        )
        job.add_arguments(added)
        add_common(added)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the job that a command line asks for; return the exit code."""
    read = vars(parser().parse_args(arguments))
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    with stopping_by_signals() as stopping:
        try:
            report = run(read, stopping)
        except Exception as error:
            # The top of everything: what Spark and the service raise has types of many kinds.
            logging.getLogger(__name__).debug("job failed", exc_info=error)
            code, line = judged(error, is_stopping=stopping.is_asked)
            sys.stderr.write(one_line(f"{PROGRAM} {read['job']}: {line}") + "\n")
            return code
    sys.stdout.write(as_text(report))
    return report.exit_code


def run(read: dict[str, Any], stopping: Stopping) -> Report:
    """Run a job in a session that is opened for it and closed behind it; keep its report where that was asked for."""
    from pyspark.sql import SparkSession

    from aviso_spark.common.session import open_session

    job = next(job for job in JOBS if read["job"] == job.NAME)
    wanted = job.wanted(read)
    for name, check in _KEPT_FILES.items():
        if read.get(name) is not None:
            check(f"--{name}", read[name])
    found = SparkSession.getActiveSession()
    session = found or open_session(job.NAME, master=read["master"], settings=dict(read["conf"]))
    began = time.monotonic()
    if found is None:
        pass_signals_on(session, stopping)
    try:
        with stopping.letting_go(session.interruptAll):
            report: Report = job.run(wanted, session, stopping)
    finally:
        if found is None:
            session.stop()
    report = msgspec.structs.replace(report, seconds=time.monotonic() - began)
    if read["report"] is not None:
        Path(read["report"]).write_bytes(as_json(report))
    return report
