"""The pages with commands to type are true: these are run in their order, and print what the page shows.

Services that the page starts run beside the test, on ports that are free, until the page is at its end, and so do the
streams that it opens: what one of them shows after another command stands below that, in a block `text elsewhere`. What
follows a change of a folder takes effect a moment later, so a command is repeated until it prints what is shown, for a
while.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from repo.tree import ROOT
from support.pages import PATIENCE_SECONDS, Step, is_as_shown, steps, type_in

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES: Final = (
    "tutorial/first-steps.md",
    "how-to/move-into-a-cluster.md",
    "how-to/publish-many.md",
    "how-to/replay-into-a-program.md",
)

_STREAM: Final = "curl -sN "
_PORT: Final = re.compile(r"\b80\d\d\b")


def with_free_ports(page: str) -> str:
    """Return the page with a free port for each that it names; the one that goes without saying is said."""
    page = page.replace("avisod serve --samples\n", "avisod serve --samples --port 8000\n")
    with ExitStack() as held:
        free = {}
        for port in sorted(set(_PORT.findall(page))):
            listener = held.enter_context(socket.create_server(("127.0.0.1", 0)))
            free[port] = str(listener.getsockname()[1])
    return _PORT.sub(lambda match: free[match[0]], page)


@contextmanager
def _service(command: str, *, cwd: Path, environ: dict[str, str]) -> Iterator[None]:
    log = cwd / "service.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command.split(), cwd=cwd, env=environ, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            _wait_until_ready(process, command.split()[-1], log)
            yield
        finally:
            process.terminate()
            code = process.wait(PATIENCE_SECONDS + 30)
    assert code == 0, log.read_text()


class _Stream:
    """A stream that is open in another terminal."""

    def __init__(self, output: Path) -> None:
        self._output = output
        self._seen = 0

    def wait_shows(self, shown: str) -> None:
        """Wait until it shows this, behind all that it was seen to show before."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not is_as_shown(printed := self._output.read_text(encoding="utf-8")[self._seen :], shown):
            if time.monotonic() > until:
                pytest.fail(f"the stream shows\n{printed}\nand the page\n{shown}")
            time.sleep(0.05)
        self._seen += len(printed)


@contextmanager
def _stream(command: str, *, cwd: Path, environ: dict[str, str]) -> Iterator[_Stream]:
    output = cwd / "stream.txt"
    with output.open("wb") as sink:
        process = subprocess.Popen(["bash", "-c", f"exec {command}"], cwd=cwd, env=environ, stdout=sink)
        try:
            yield _Stream(output)
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


def _wait_until_ready(process: subprocess.Popen[bytes], port: str, log: Path) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text()
        try:
            with urlopen(f"http://127.0.0.1:{port}/ready", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (URLError, ConnectionError):
            time.sleep(0.05)
    raise AssertionError(f"not ready: {log.read_text()}")


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_does_what_the_page_says(page: str, tmp_path: Path) -> None:
    """From the first to the last, in one folder, as a reader would."""
    tools = Path(sys.executable).parent
    environ = {"PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    stream: _Stream | None = None
    with ExitStack() as running:
        for step in steps(with_free_ports((ROOT / "docs" / page).read_text(encoding="utf-8"))):
            if step.typed.startswith("avisod serve"):
                running.enter_context(_service(step.typed, cwd=tmp_path, environ=environ))
            elif step.typed.startswith(_STREAM):
                stream = running.enter_context(_stream(step.typed, cwd=tmp_path, environ=environ))
                assert step.shown is not None, "a stream shows how it opens"
                stream.wait_shows(step.shown)
            else:
                type_in(step, cwd=tmp_path, environ=environ)
            if step.elsewhere is not None:
                assert stream is not None, "a stream is opened before it shows anything"
                stream.wait_shows(step.elsewhere)


@pytest.mark.parametrize(
    ("printed", "shown", "same"),
    [
        ("a\n", "a", True),
        ("a", "b", False),
        ('{"id":"1"}', '{"id":"…"}', True),
        ("a\nb", "a…", False),
        ("a.c", "a.c", True),
        ("abc", "a.c", False),
    ],
)
def test_what_is_shown_is_compared_line_by_line(printed: str, shown: str, same: bool) -> None:
    assert is_as_shown(printed, shown) is same


def test_what_is_typed_and_shown_is_found() -> None:
    page = (
        "```sh\na\n```\ntext\n```text\nb\n```\n\n```sh\nc\n```\n```yaml\nd\n```\n```text elsewhere\ne\n```\n"
    )
    assert steps(page) == [Step("a\n", "b\n"), Step("c\n", None, "e\n")]
