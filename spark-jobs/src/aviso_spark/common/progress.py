"""How far Spark has got, in a line every few seconds, for as long as a job waits for it."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

EVERY_SECONDS: Final = 5.0


class Tasks(NamedTuple):
    """The tasks of the stages that run now."""

    done: int
    running: int
    total: int


def told(job: str, tasks: Tasks) -> str:
    """Return the line about them."""
    return f"{job}: {tasks.done} of {tasks.total} tasks done, {tasks.running} running"


@contextmanager
def told_progress(session: SparkSession, job: str, *, out: TextIO | None = None) -> Iterator[None]:
    """Tell the progress while the block runs. A session on a server has handlers of its own for that."""
    if not hasattr(session, "_jsparkSession"):
        yield
        return
    over = threading.Event()
    teller = threading.Thread(target=_tell, args=(session, job, out or sys.stderr, over), name="progress")
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def _tell(session: SparkSession, job: str, out: TextIO, over: threading.Event) -> None:
    before = None
    while not over.wait(EVERY_SECONDS):
        tasks = _running_tasks(session)
        if tasks != before and tasks.total:
            out.write(told(job, tasks) + "\n")
            out.flush()
        before = tasks


def _running_tasks(session: SparkSession) -> Tasks:
    tracker = session.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    known = [stage for stage in stages if stage is not None]
    return Tasks(
        done=sum(stage.numCompletedTasks for stage in known),
        running=sum(stage.numActiveTasks for stage in known),
        total=sum(stage.numTasks for stage in known),
    )
