"""The operator as a process of its own: started with a kubeconfig and a broker, killed, and started again.

Its output goes to a file and is read as it is written: the record that says that objects are followed tells its port.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import httpx

from support.services import HOST

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_STARTED: Final = re.compile(rb'"event.name":"operator.started".*?"port":(\d+)')
_PATIENCE_SECONDS: Final = 40.0
MODULE: Final = "aviso_operator"


class Operator:
    """One operator: a command and its environment, with a process or without."""

    def __init__(self, folder: Path, kubeconfig: Path, broker: str, *arguments: str) -> None:
        self.port = 0
        self.output = folder / f"{MODULE}.jsonl"
        self._folder = folder
        self._arguments = arguments
        self._environ = environment(kubeconfig, broker)
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        self._lines: list[bytes] = []
        self._has_ended = True
        self._more = threading.Condition()

    def start(self) -> None:
        """Start it, and wait until it follows objects."""
        self.launch()
        self.port = int(self.wait_logged(_STARTED)[1])

    def launch(self) -> None:
        """Start it without waiting for anything."""
        assert self._process is None, "it runs"
        self._lines, self._has_ended = [], False
        command = [sys.executable, "-m", MODULE, "run", f"--listen={HOST}:0", *self._arguments]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environ,
            cwd=self._folder,
        )
        self._reader = threading.Thread(target=self._read, args=(self._process,))
        self._reader.start()

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with process.stdout as said, self.output.open("ab") as sink:
            for line in said:
                sink.write(line)
                sink.flush()
                with self._more:
                    self._lines.append(line)
                    self._more.notify_all()
        with self._more:
            self._has_ended = True
            self._more.notify_all()

    def wait_logged(self, pattern: re.Pattern[bytes]) -> re.Match[bytes]:
        """Wait until it has said this since it was started last."""
        return self._wait_logged(pattern, 0)

    def wait_next_logged(self, pattern: re.Pattern[bytes]) -> re.Match[bytes]:
        """Wait until it says this from now on."""
        return self._wait_logged(pattern, len(self._lines))

    def _wait_logged(self, pattern: re.Pattern[bytes], begin: int) -> re.Match[bytes]:
        def found() -> re.Match[bytes] | None:
            return next(filter(None, map(pattern.search, self._lines[begin:])), None)

        with self._more:
            self._more.wait_for(lambda: found() or self._has_ended, timeout=_PATIENCE_SECONDS)
            match = found()
            assert match, f"it never said {pattern.pattern!r}:\n" + self._last_words()
        return match

    def _last_words(self) -> str:
        return b"".join(self._lines[-20:]).decode(errors="replace")

    def kill(self) -> None:
        """End it as a crash would."""
        self._signal(signal.SIGKILL)

    def stop(self) -> int:
        """End it in good order, and return its exit code."""
        return self._signal(signal.SIGTERM)

    def _signal(self, how: signal.Signals) -> int:
        assert self._process is not None, "it does not run"
        self._process.send_signal(how)
        return self.wait_ended()

    def wait_ended(self) -> int:
        """Wait until it has ended, and return its exit code."""
        assert self._process is not None
        assert self._reader is not None
        code = self._process.wait(timeout=_PATIENCE_SECONDS)
        self._reader.join(timeout=_PATIENCE_SECONDS)
        self._process = None
        return code

    @property
    def is_running(self) -> bool:
        """Whether it was started, and nobody has ended it."""
        return self._process is not None

    def ask(self, path: str) -> httpx.Response:
        """Ask its endpoint."""
        return httpx.get(f"http://{HOST}:{self.port}{path}", timeout=10)

    def measured(self, series: str) -> float:
        """Return the value of a series, with its labels as they are written."""
        lines = self.ask("/metrics").text.splitlines()
        return next((float(line.split()[-1]) for line in lines if line.startswith(f"{series} ")), 0.0)


def environment(kubeconfig: Path, broker: str) -> Mapping[str, str]:
    """Return the environment in which the operator finds both; it does not miss its broker for long."""
    jetstream = "AVISOSERVER_NOTIFICATION_BACKEND__JETSTREAM__"
    return {
        **os.environ,
        "KUBECONFIG": str(kubeconfig),
        f"{jetstream}NATS_URL": broker,
        f"{jetstream}RECONNECT_DELAY_MS": "50",
    }


@contextmanager
def running_operator(folder: Path, kubeconfig: Path, broker: str, *arguments: str) -> Iterator[Operator]:
    """Run the operator for as long as the block does, however often it is ended and started meanwhile."""
    folder.mkdir(parents=True, exist_ok=True)
    operator = Operator(folder, kubeconfig, broker, *arguments)
    try:
        operator.start()
        yield operator
    finally:
        if operator.is_running:
            operator.kill()
