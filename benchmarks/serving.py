"""A service as a process of its own, and what it costs: seconds until it is ready, CPU, memory.

All numbers are the kernel's own, from /proc, for the process and all that it started, dead or alive.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_HOST: Final = "127.0.0.1"
_START_SECONDS: Final = 20.0
_STOP_SECONDS: Final = 15.0
_RESOLUTION_SECONDS: Final = 0.005
_SHOWN_LINES: Final = 30
# What the caller has set for a service of his own is not meant for this one.
_SETTINGS_PREFIX: Final = "AVISOSERVER_"


class ProcessTree(NamedTuple):
    """A process and those below it."""

    process_id: int

    def cpu_seconds(self) -> float:
        """Return the CPU used so far, of user and system, children that have ended included."""
        processes = _processes()
        ticks = sum(sum(map(int, processes[one][11:15])) for one in self._members(processes))
        return ticks / os.sysconf("SC_CLK_TCK")

    def resident_bytes(self) -> int:
        """Return the memory that is held now."""
        return self._kibibytes("VmRSS") * 1024

    def peak_resident_bytes(self) -> int:
        """Return the most memory that was ever held, by each process at its own time."""
        return self._kibibytes("VmHWM") * 1024

    def _kibibytes(self, name: str) -> int:
        lines = [line for one in self._members(_processes()) for line in _proc(one, "status").splitlines()]
        return sum(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))

    def _members(self, processes: Mapping[int, Sequence[str]]) -> list[int]:
        found = [self.process_id]
        for one in found:
            found += [child for child, fields in processes.items() if int(fields[1]) == one]
        return found


def _proc(process_id: int, name: str) -> str:
    return Path(f"/proc/{process_id}/{name}").read_text(encoding="utf-8")


def _processes() -> dict[int, list[str]]:
    """Return the fields of `stat` of all processes, behind the name, which may itself contain blanks and parentheses.

    By their parents, as the kernel's lists of children leave some out while others begin and end.
    """
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        # One may end while all are looked at; what it used is its parent's from then on.
        with suppress(FileNotFoundError, ProcessLookupError):
            found[int(name)] = _proc(int(name), "stat").rpartition(")")[2].split()
    return found


class Service(NamedTuple):
    """A service that runs."""

    port: int
    tree: ProcessTree
    seconds_until_ready: float


@contextmanager
def serving(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    ready: str = "/ready",
) -> Iterator[Service]:
    """Run a service while the block does. `{port}` in an argument or a variable becomes the port that it is to take.

    Its output goes to a file in the folder, and is shown if it does not start, or does not end as it should.
    """
    port = free_port()
    arguments = [argument.replace("{port}", str(port)) for argument in command]
    given = {name: value.replace("{port}", str(port)) for name, value in (environment or {}).items()}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_SETTINGS_PREFIX)}
    output = folder / f"{Path(command[0]).name}-{port}.log"
    began = time.perf_counter()
    with output.open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - what the benchmark measures
            arguments, stdout=log, stderr=subprocess.STDOUT, cwd=folder, env=inherited | given
        )
    try:
        _wait_ready(process, port, output, ready)
        yield Service(port, ProcessTree(process.pid), time.perf_counter() - began)
        _stop(process, output)
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    """Return a port that is free now; nobody else is given it so soon."""
    with socket.socket() as one:
        one.bind((_HOST, 0))
        port: int = one.getsockname()[1]
        return port


def _wait_ready(process: subprocess.Popen[bytes], port: int, output: Path, ready: str) -> None:
    deadline = time.perf_counter() + _START_SECONDS
    while not _is_ready(port, ready):
        if process.poll() is not None:
            raise _failure(f"ended with {process.returncode} before it was ready", output)
        if time.perf_counter() > deadline:
            raise _failure(f"was not ready within {_START_SECONDS:g} s", output)
        # Nothing tells when another process begins to listen.
        time.sleep(_RESOLUTION_SECONDS)


def _is_ready(port: int, path: str) -> bool:
    connection = HTTPConnection(_HOST, port, timeout=1)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _stop(process: subprocess.Popen[bytes], output: Path) -> None:
    """Ask it to stop; it must not have ended before, and must end in good order."""
    if process.poll() is not None:
        raise _failure(f"ended with {process.returncode} by itself", output)
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        raise _failure(f"did not stop within {_STOP_SECONDS:g} s", output) from None
    if process.returncode not in {0, -signal.SIGTERM}:
        raise _failure(f"ended with {process.returncode} when asked to stop", output)


def _failure(what: str, output: Path) -> RuntimeError:
    lines = output.read_text(encoding="utf-8", errors="replace").splitlines()[-_SHOWN_LINES:]
    return RuntimeError("\n".join([f"the service {what}; it last said:", *lines]))


def uvicorn(application: str, *, folder: Path) -> list[str]:
    """Return the command that serves an ASGI application of a folder with the parts that our services use."""
    options = {"app-dir": str(folder), "port": "{port}", "loop": "uvloop", "http": "httptools", "ws": "none"}
    given = [f"--{name}={value}" for name, value in options.items()]
    return [sys.executable, "-m", "uvicorn", application, *given, "--no-access-log", "--log-level=warning"]
