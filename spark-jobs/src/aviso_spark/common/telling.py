"""What is told of a failure: one line that somebody can act on, and the exit code that goes with it.

What Spark raises is mostly somebody else's error in a wrapping of stack traces, of Python's workers or of Java. The
line is taken out of that; the whole is in the log of whoever asks for it.
"""

from __future__ import annotations

import re
from typing import Final

from aviso_spark.common.exit_codes import ExitCode
from aviso_spark.common.problems import STOPPED_EARLY, JobError, NotUnderstood, Stopped
from pyspark_aviso.options import OptionError

# The last line of a traceback in a worker: an exception's whole name and its words.
_RAISED: Final = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Refused|Fault|Removed|CutOff|NotUnderstood): .")
# The same of an error within Java.
_THROWN: Final = re.compile(r"(?:: |Caused by: )([a-z][\w.$]*[A-Z]\w*(?:: .+)?)$")
# Of a job, of an operation on a server, of a task, of a thread that waits for them, of everything.
_CANCELLED: Final = re.compile(
    r"SPARK_JOB_CANCELLED|OPERATION_CANCELED|TaskKilled|InterruptedException|Job \d+ cancelled|"
    r"SparkContext was shut down"
)
# What Spark puts before and behind its own words.
_CONDITION: Final = re.compile(r"^(?:org\.apache\.spark\.\w+: )?\[[A-Z_.0-9]+\] ")
_STATE: Final = re.compile(r"\s*SQLSTATE: \w+.*$")


def judged(error: Exception, *, is_stopping: bool) -> tuple[ExitCode, str]:
    """Return the exit code and the line of a failure; what Spark breaks off while it is being stopped is the stop."""
    match error:
        case NotUnderstood() | OptionError():
            return ExitCode.NOT_UNDERSTOOD, _as_arguments(str(error))
        case Stopped():
            return ExitCode.STOPPED, str(error)
        case JobError():
            return ExitCode.FAILED, _as_arguments(str(error))
    if is_stopping and _is_cancelled(error):
        return ExitCode.STOPPED, STOPPED_EARLY
    return (ExitCode.NOT_UNDERSTOOD if _is_asked_wrongly(error) else ExitCode.FAILED), shown(error)


def _is_cancelled(error: Exception) -> bool:
    """Tell whether this is how Spark says that it let go of its work."""
    return _CANCELLED.search(str(error)) is not None


def _is_asked_wrongly(error: Exception) -> bool:
    """Tell whether Spark refuses what was asked for, before any of it ran: an expression, a column, a path."""
    from pyspark.errors import AnalysisException, IllegalArgumentException, ParseException

    return isinstance(error, AnalysisException | IllegalArgumentException | ParseException)


def shown(error: BaseException) -> str:
    """Return the words of an error that a user can use: of a failure in a worker, its last line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line.partition(": ")[2] for line in lines if _RAISED.match(line)]
    # The last cause is the one that the others are only the consequences of.
    thrown = [match[1] for match in map(_THROWN.match, lines) if match][-1:]
    told = (raised or thrown or lines or [type(error).__name__])[0]
    told = _STATE.sub("", _CONDITION.sub("", told))
    remedy = next((text for words, text in _REMEDIES.items() if told.startswith(words)), "")
    return f"{_as_arguments(told)}{remedy}"


# For what Spark says without saying what to do.
_REMEDIES: Final = {
    "Malformed CSV record": (
        "; mend it, or say with --option mode=PERMISSIVE that what is missing or of another type is null, or with "
        "mode=DROPMALFORMED that such rows are left out"
    ),
    "com.fasterxml.jackson.core.": (
        "; JSON is read by the line: mend it, or say with --option multiLine=true that a file is one object or list"
    ),
    "Cannot parse the field name": (
        "; mend it, or say with --option mode=PERMISSIVE that what is of another type is null"
    ),
}
_ARGUMENTS: Final = {
    "Set option 'acceptRepeats' to true": "Give --accept-repeats",
    "option 'deadlineSeconds'": "--deadline-seconds",
    "option 'tokenFile'": "--token-file",
    "option 'url'": "--url",
}


def _as_arguments(text: str) -> str:
    """Return the words of the data source with its options as they are called on a command line."""
    for option, argument in _ARGUMENTS.items():
        text = text.replace(option, argument)
    return text
