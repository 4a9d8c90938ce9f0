"""What a job tells at its end, and what it says to whoever started it."""

from __future__ import annotations

import json
import os
import signal
import threading

from aviso_spark.common.progress import Tasks, told
from aviso_spark.common.report import Finding, Report, as_json, as_text
from aviso_spark.common.stopping import Stopping, stopping_by_signals

REPORT = Report(
    job="batch-notify",
    seconds=1.25,
    counts={"rows": 12345, "accepted": 12000},
    findings=(Finding(count=345, what="field 'a': is missing"),),
    notes=("  receipts in /r",),
)


def test_a_report_reads_as_a_table() -> None:
    """Counts stand below each other; what there is to look at comes after them."""
    assert as_text(REPORT) == (
        "batch-notify: done, 1.2 s\n"
        "  rows             12,345\n"
        "  accepted         12,000\n"
        "to look at:\n"
        "        345 × field 'a': is missing\n"
        "  receipts in /r\n"
    )


def test_a_report_for_programs_has_the_exit_code() -> None:
    """Findings make it 1."""
    told_ = json.loads(as_json(REPORT))
    assert (told_["exit_code"], told_["counts"]["rows"], told_["findings"][0]["count"]) == (1, 12345, 345)
    assert json.loads(as_json(Report(job="archive")))["exit_code"] == 0


def test_a_dry_run_says_that_it_was_one() -> None:
    """Nobody is to believe that something was sent."""
    assert "nothing was sent or written" in as_text(Report(job="archive", is_dry_run=True))


def test_progress_is_told_in_tasks() -> None:
    """The same words for every job."""
    assert told("replay", Tasks(done=3, running=2, total=8)) == "replay: 3 of 8 tasks done, 2 running"


def test_a_signal_lets_go_of_what_runs_and_only_of_that() -> None:
    """What was left before is not called, and the handlers are those of before afterwards."""
    before = signal.getsignal(signal.SIGTERM)
    called = threading.Event()
    ended: list[str] = []
    with stopping_by_signals() as stopping:
        with stopping.letting_go(lambda: ended.append("left before")):
            pass
        with stopping.letting_go(called.set):
            os.kill(os.getpid(), signal.SIGTERM)
            assert called.wait(10)
        assert stopping.is_asked
    assert ended == []
    assert signal.getsignal(signal.SIGTERM) is before


def test_who_comes_after_the_signal_is_let_go_at_once() -> None:
    """Between two steps of a job the signal must not get lost."""
    stopping = Stopping()
    stopping.ask()
    called: list[str] = []
    with stopping.letting_go(lambda: called.append("at once")):
        assert called == ["at once"]


def test_what_producers_wrote_forges_no_lines() -> None:
    """Nor does it move the cursor of a terminal, or turn the direction of writing."""
    forged = "'\x1b[2J\nbatch-notify: done\r\x9b1A\u202egnp.' is no level; naïve 名 😀"
    text = as_text(Report(job="j", findings=(Finding(count=1, what=forged),), notes=(f"  such as {forged}",)))
    shown = "'\\x1b[2J\\nbatch-notify: done\\r\\x9b1A\\u202egnp.' is no level; naïve 名 😀"
    assert text == f"j: done, 0.0 s\nto look at:\n          1 × {shown}\n  such as {shown}\n"
