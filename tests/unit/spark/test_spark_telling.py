"""What is told of a failure, and which exit code goes with it."""

from __future__ import annotations

import pytest

from aviso_spark.common.exit_codes import EXIT_CODES, ExitCode
from aviso_spark.common.problems import Stopped
from aviso_spark.common.stopping import Stopping
from aviso_spark.common.telling import judged

CANCELLATIONS = (
    "org.apache.spark.SparkException: [SPARK_JOB_CANCELLED] Job 3 cancelled as part of cancelled job tag a. XXKDA",
    "[OPERATION_CANCELED] Operation has been canceled. SQLSTATE: HY008",
    "An error occurred while calling o1.save. : java.lang.InterruptedException",
)


@pytest.mark.parametrize("words", CANCELLATIONS)
def test_what_spark_breaks_off_while_a_job_is_being_stopped_is_the_stop(words: str) -> None:
    """And nothing else is, although it looks the same, when nobody asked."""
    code, line = judged(RuntimeError(words), is_stopping=True)
    assert (code, line.startswith("stopped before its end")) == (ExitCode.STOPPED, True)
    assert judged(RuntimeError(words), is_stopping=False)[0] == ExitCode.FAILED


def test_an_error_of_its_own_is_told_also_while_a_job_is_being_stopped() -> None:
    """Whoever starts it again would run into it once more, without knowing why."""
    assert judged(OSError("disk full"), is_stopping=True) == (ExitCode.FAILED, "disk full")


def test_who_starts_again_is_told_until_when() -> None:
    """The service knows ids for the duplicate window, and no longer."""
    stopping = Stopping()
    stopping.ask()
    with pytest.raises(Stopped, match="within the event type's duplicate window"):
        stopping.check()
    assert "duplicate window" in EXIT_CODES
