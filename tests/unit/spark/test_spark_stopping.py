"""Signals let go of what runs, once; who signals again does not want to wait."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from aviso_spark.common.exit_codes import ExitCode
from aviso_spark.common.problems import Stopped
from aviso_spark.common.stopping import Stopping, stopping_by_signals


def test_what_runs_is_let_go_of_when_somebody_asks() -> None:
    """From a thread of its own: a signal handler must not talk to Spark."""
    stopping, called = Stopping(), threading.Event()
    with stopping.letting_go(called.set):
        stopping.ask()
        assert called.wait(10)
    with pytest.raises(Stopped, match="start it again"):
        stopping.check()


def test_the_innermost_way_is_taken_alone() -> None:
    """A stream ends behind its batch, which the way around it would break off."""
    stopping, outer, inner = Stopping(), threading.Event(), threading.Event()
    with stopping.letting_go(outer.set), stopping.letting_go(inner.set):
        stopping.ask()
        assert inner.wait(10)
    assert not outer.is_set()


def test_a_block_that_begins_after_the_question_lets_go_at_once() -> None:
    """Nobody asks a second time for what has not begun."""
    stopping, called = Stopping(), threading.Event()
    stopping.ask()
    with stopping.letting_go(called.set):
        assert called.is_set()


def test_one_signal_that_comes_by_two_ways_is_one() -> None:
    """A group of processes is signalled as a whole: this program and the one that launched it."""
    ended: list[bool] = []
    stopping = Stopping(lambda: ended.append(True))
    stopping.ask("program")
    stopping.ask("launcher")
    assert (stopping.is_asked, ended) == (True, [])
    stopping.ask("launcher")
    assert ended == [True]


def test_a_signal_asks_within_the_block_alone() -> None:
    """Afterwards signals are what they were before."""
    before = signal.getsignal(signal.SIGTERM)
    with stopping_by_signals() as stopping:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stopping.is_asked
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_second_signal_ends_the_program_at_once() -> None:
    """Whatever it waits for."""
    program = (
        "import threading\n"
        "from aviso_spark.common.stopping import stopping_by_signals\n"
        "with stopping_by_signals() as stopping, stopping.letting_go(lambda: print('asked', flush=True)):\n"
        "    print('runs', flush=True)\n"
        "    threading.Event().wait()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for word in ("runs", "asked"):
        assert process.stdout.readline().strip() == word
        process.terminate()
    _, told = process.communicate(timeout=20)
    assert (process.returncode, told) == (ExitCode.STOPPED, "asked to stop once more: ended at once\n")
