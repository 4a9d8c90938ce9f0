"""The generator of streams from Python: which are opened, what it is told to do with them, and its reports.

`streams.c` says what it does and how it counts.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from load.posting import Latency, generator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Announcing(msgspec.Struct, frozen=True, kw_only=True):
    """What is announced. In the body `{n}` becomes the number of the announcement; `mark{n}` must be in it."""

    port: int
    path: str
    body: bytes
    # More than one where it does not matter in which order two of them arrive.
    connections: int = 1


class Watch(msgspec.Struct, frozen=True, kw_only=True):
    """Which streams are opened. In the body `{n}` becomes the number of the stream, `{n:3}` its last three digits."""

    path: str
    body: bytes
    streams: int
    # How many are being opened at a time.
    window: int = 128
    # By how much the numbers on one stream go up.
    stride: int = 1
    # What the kernel takes for a reader that does not read, on the reader's side; None is as it pleases.
    receive_buffer_bytes: int | None = None
    headers: Mapping[str, str] = {}


class Arrived(msgspec.Struct, frozen=True, kw_only=True):
    """What arrived since the last report. `opened` and `refused` are since the beginning."""

    opened: int
    refused: int
    deliveries: int
    expected: int
    bytes: int
    heartbeats: int
    holes: int
    repeated: int
    ended: int
    lost: int
    # Streams that were stalled and are over now, and the most bytes that were held for one of them.
    resumed: int
    most_held: int
    seconds: float
    # Until the last delivery, or until the last stream was open.
    active_seconds: float
    latency_ms: Latency
    # The first refusal and the first loss, in words.
    faults: str = ""

    def require_complete(self) -> None:
        """Fail unless everything that was announced came, once and in order, on streams that are all open."""
        if self.deliveries != self.expected or self.holes or self.repeated or self.lost or self.refused:
            raise RuntimeError(f"streams are not complete: {self}")


class Watching:
    """Streams that are open. Made by `watching`."""

    def __init__(self, process: subprocess.Popen[bytes], faults: Path) -> None:
        self._process = process
        self._faults = faults

    def wait_opened(self) -> Arrived:
        """Wait until every stream is open, or was refused; latencies are those of opening."""
        return self._report()

    def announce(self, *, rate: float, warm_up_seconds: float, seconds: float, each: int) -> None:
        """Begin to announce so often a second; each is to be delivered so many times."""
        self._tell(f"announce {rate} {warm_up_seconds} {seconds} {each}")

    def wait_measuring(self) -> None:
        """Wait until the warm-up is over."""
        assert "measuring" in self._line()

    def wait_announced(self) -> Arrived:
        """Wait until all that was announced has arrived, or should have."""
        return self._report()

    def hold(self, seconds: float) -> Arrived:
        """Only read for some time."""
        self._tell(f"hold {seconds}")
        return self._report()

    def finish(self, limit_seconds: float) -> Arrived:
        """Wait until all streams have ended."""
        self._tell(f"finish {limit_seconds}")
        return self._report()

    def stall(self, count: int) -> None:
        """Read no more from the first streams."""
        self._tell(f"stall {count}")

    def resume(self) -> None:
        """Read from them again."""
        self._tell("resume")

    def _tell(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(command.encode() + b"\n")
        self._process.stdin.flush()

    def _report(self) -> Arrived:
        found = msgspec.convert(self._line(), Arrived)
        return msgspec.structs.replace(found, faults=self._faults.read_text(errors="replace"))

    def _line(self) -> dict[str, object]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(
                f"the generator of streams gave up: {self._faults.read_text(errors='replace')}"
            )
        found: dict[str, object] = json.loads(line)
        return found


@contextmanager
def watching(watch: Watch, *, port: int, announcing: Announcing | None = None) -> Iterator[Watching]:
    """Open streams on a port of this machine, and keep them while the block runs."""
    program = generator("streams")
    with tempfile.TemporaryDirectory(prefix="bench-streams-") as name:
        folder = Path(name)
        faults = folder / "faults"
        arguments = _arguments(watch, port=port, announcing=announcing, folder=folder)
        with faults.open("wb") as faults_file:
            process = subprocess.Popen(  # noqa: S603 - our own program
                [str(program), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=faults_file,
            )
        with process:
            try:
                yield Watching(process, faults)
            finally:
                process.kill()


def _arguments(watch: Watch, *, port: int, announcing: Announcing | None, folder: Path) -> Sequence[str]:
    body = folder / "body"
    body.write_bytes(watch.body)
    options: dict[str, object] = {
        "to": f"127.0.0.1:{port}",
        "path": watch.path,
        "body": body,
        "streams": watch.streams,
        "window": watch.window,
        "stride": watch.stride,
        "receive-buffer": watch.receive_buffer_bytes,
    }
    if announcing is not None:
        announced = folder / "announced"
        announced.write_bytes(announcing.body)
        options |= {
            "announce-to": f"127.0.0.1:{announcing.port}",
            "announce-path": announcing.path,
            "announce-body": announced,
            "announcers": announcing.connections,
        }
    given = [f"--{name}={value}" for name, value in options.items() if value is not None]
    return [*given, *(f"--header={name}: {value}" for name, value in watch.headers.items())]
