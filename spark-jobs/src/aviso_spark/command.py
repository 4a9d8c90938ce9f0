"""One command for all jobs: a command line in, an exit code out, a report for people in between.

Spark is imported only once the arguments are understood, so that help and refusals come at once.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from aviso_spark.common.arguments import Formatter, add_common
from aviso_spark.common.exit_codes import EXIT_CODES, ExitCode
from aviso_spark.common.problems import JobError, NotUnderstood, Stopped
from aviso_spark.common.report import as_json, as_text
from aviso_spark.common.stopping import stopping_by_signals
from aviso_spark.jobs import archive, batch_notify, replay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aviso_spark.common.report import Report
    from aviso_spark.common.stopping import Stopping
    from aviso_spark.jobs import Job

PROGRAM: Final = "aviso-spark"
# The last line of a traceback in a worker: an exception's whole name and its words.
_RAISED: Final = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Refused|Fault|Removed|CutOff|NotUnderstood): .")
JOBS: Final[tuple[Job, ...]] = (batch_notify, archive, replay)
_MORE: Final = """\
examples:
  $ aviso-spark batch-notify forecasts.parquet --event-type model_output --url http://127.0.0.1:8000 --dry-run
  $ spark-submit --master spark://host:7077 .../aviso_spark/main.py archive /archive --event-types model_output

'aviso-spark JOB --help' tells more about each job.
"""


def parser() -> ArgumentParser:
    """Return the parser of the whole command line."""
    top = ArgumentParser(
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
        except NotUnderstood as error:
            return _refused(read["job"], error, ExitCode.NOT_UNDERSTOOD)
        except Stopped as error:
            return _refused(read["job"], error, ExitCode.STOPPED)
        except JobError as error:
            return _refused(read["job"], error, ExitCode.FAILED)
        except Exception as error:
            # The top of everything: what Spark and the service raise has types of many kinds.
            if stopping.is_asked:
                return _refused(read["job"], Stopped("stopped before its end"), ExitCode.STOPPED)
            logging.getLogger(__name__).debug("job failed", exc_info=error)
            return _refused(read["job"], JobError(shown(error)), ExitCode.FAILED)
    sys.stdout.write(as_text(report))
    return report.exit_code


def run(read: dict[str, Any], stopping: Stopping) -> Report:
    """Run a job in a session that is opened for it and closed behind it; keep its report where that was asked for."""
    from pyspark.sql import SparkSession

    from aviso_spark.common.session import open_session

    job = next(job for job in JOBS if read["job"] == job.NAME)
    wanted = job.wanted(read)
    found = SparkSession.getActiveSession()
    session = found or open_session(job.NAME, master=read["master"], settings=dict(read["conf"]))
    began = time.monotonic()
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


def shown(error: BaseException) -> str:
    """Return the words of an error that a user can use: of a failure in a worker, its last line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line for line in lines if _RAISED.match(line)]
    return ([line.partition(": ")[2] for line in raised] or lines or [type(error).__name__])[0]


def _refused(job: str, error: JobError, code: ExitCode) -> int:
    sys.stderr.write(f"{PROGRAM} {job}: {error}\n")
    return code
