"""The load generator from Python: what it is to send, that it is compiled when it is first wanted, and its report.

`post.c` says what it does and how it counts. It stays in the user's cache under the hash of its sources, and so does
the other generator, `streams.c` (`watching`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from measure import CannotMeasure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_HERE: Final = Path(__file__).parent
_NEEDS_COMPILER: Final = (
    "The load generator is a program in C, and this machine has no compiler 'cc'."
    " Install one (Debian, Ubuntu: apt install gcc libc6-dev; Fedora: dnf install gcc; Alpine: apk add build-base)."
)
_NEEDS_LINUX: Final = "The load generator needs Linux (epoll); a container will do."
_MARK: Final = re.compile(rb"\{n(?::([1-9]))?\}")
_DIGITS: Final = 12


class CannotGenerateLoad(CannotMeasure):
    """This machine lacks something; the text says what, and how to get it."""


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What is posted. In the body `{n}` becomes twelve digits of a running number, `{n:3}` its last three."""

    path: str
    body: bytes
    connections: int
    # Either of the two: for how long requests are started, or how many are.
    seconds: float | None = None
    count: int | None = None
    warm_up_seconds: float = 0.0
    # Until when everything must be over.
    limit_seconds: float = 60.0
    headers: Mapping[str, str] = {}
    # What the body of a right answer contains.
    expected: str | None = None
    # Whether an answer 429 or 503 with Retry-After is followed.
    retries: bool = False


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds within which that share of the requests was answered."""

    p50: float
    p90: float
    p99: float
    max: float


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the requests that began after the warm-up."""

    requests: int
    by_status: dict[str, int]
    unexpected: int
    retried: int
    errors: int
    unanswered: int
    seconds: float
    latency_ms: Latency
    # The first error and the first unexpected answer, in words.
    faults: str = ""

    @property
    def right(self) -> int:
        """How many were answered as they should be."""
        return self.requests - self.unexpected

    def require_all_right(self) -> None:
        """Fail unless every request was: a rate of refusals is no rate."""
        if self.unexpected or self.errors or self.unanswered or not self.requests:
            counts = msgspec.structs.asdict(self) | {"faults": None, "latency_ms": None}
            raise RuntimeError(f"not all requests were answered as expected: {counts}\n{self.faults}")


def rendered(template: bytes) -> int:
    """Return how long a body is, once numbers stand in their places."""
    marks = list(_MARK.finditer(template))
    return len(template) + sum(int(mark[1] or _DIGITS) - len(mark[0]) for mark in marks)


def generator(name: str = "post") -> Path:
    """Return a compiled generator, which is made now if these sources have not been compiled yet."""
    if not sys.platform.startswith("linux"):
        raise CannotGenerateLoad(_NEEDS_LINUX)
    sources = sorted(path for path in _HERE.iterdir() if path.suffix in {".c", ".h"})
    digest = hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in sources)).hexdigest()
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "aviso" / "benchmarks"
    program = folder / f"{name}-{digest[:16]}"
    if not program.exists():
        _compile(_HERE / f"{name}.c", program)
    return program


def _compile(source: Path, program: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        raise CannotGenerateLoad(_NEEDS_COMPILER)
    program.parent.mkdir(parents=True, exist_ok=True)
    # Another run may be at it too: each compiles for itself, and the last to finish puts its own in place.
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        made = Path(folder) / program.name
        command = [compiler, "-O2", "-Wall", "-std=gnu11", str(source), "-o", str(made)]
        outcome = subprocess.run(command, capture_output=True, text=True)  # noqa: S603 - a compiler and our own source
        if outcome.returncode:
            raise CannotGenerateLoad(f"'{' '.join(command)}' failed:\n{outcome.stderr}")
        made.replace(program)


class Posting:
    """One run of the generator. Made by `posting`; first measuring begins, then there is a report."""

    def __init__(self, process: subprocess.Popen[bytes], faults: Path) -> None:
        self._process = process
        self._faults = faults

    def wait_measuring(self) -> None:
        """Wait until the warm-up is over."""
        assert "measuring" in self._line()

    def wait_report(self) -> Report:
        """Wait until every request has its end."""
        return msgspec.structs.replace(
            msgspec.convert(self._line(), Report), faults=self._faults.read_text(errors="replace")
        )

    def _line(self) -> dict[str, object]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the load generator gave up: {self._faults.read_text(errors='replace')}")
        found: dict[str, object] = json.loads(line)
        return found


@contextmanager
def posting(work: Work, *, port: int) -> Iterator[Posting]:
    """Send the work to a port of this machine while the block runs."""
    program = generator()
    with tempfile.TemporaryDirectory(prefix="bench-load-") as name:
        body, faults = Path(name) / "body", Path(name) / "faults"
        body.write_bytes(work.body)
        with faults.open("wb") as faults_file:
            process = subprocess.Popen(  # noqa: S603 - our own program
                [str(program), *_arguments(work, port=port, body=body)],
                stdout=subprocess.PIPE,
                stderr=faults_file,
            )
        with process:
            try:
                yield Posting(process, faults)
            finally:
                process.kill()


def _arguments(work: Work, *, port: int, body: Path) -> Sequence[str]:
    options: dict[str, object] = {
        "to": f"127.0.0.1:{port}",
        "path": work.path,
        "body": body,
        "connections": work.connections,
        "seconds": work.seconds,
        "count": work.count,
        "warm-up": work.warm_up_seconds,
        "limit": work.limit_seconds,
        "expect": work.expected,
    }
    given = [f"--{name}={value}" for name, value in options.items() if value is not None]
    headers = [f"--header={name}: {value}" for name, value in work.headers.items()]
    return [*given, *headers, *(["--retry"] if work.retries else [])]
