"""The two commands that `avisod serve --samples` prints, pasted as they are: what one publishes the other shows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import IO, Final

SCRIPT: Final = Path(sys.executable).with_name("avisod")
PATIENCE_SECONDS: Final = 60
_COMMAND: Final = re.compile(r"^  (curl .*)$", re.MULTILINE)


def _greeting(said: IO[str]) -> str:
    lines = [said.readline()]
    while "Ctrl-C" not in lines[-1]:
        lines.append(said.readline())
        assert lines[-1], "".join(lines)
    return "".join(lines)


def test_the_commands_of_the_greeting_work_as_they_are(tmp_path: Path) -> None:
    """The watch opens, and is sent the notification of the command below it."""
    command = [str(SCRIPT), "serve", "--samples", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as service:
        assert service.stderr is not None
        try:
            watch, publish = _COMMAND.findall(_greeting(service.stderr))
            with subprocess.Popen(
                ["bash", "-c", f"exec {watch}"], stdout=subprocess.PIPE, text=True
            ) as watching:
                assert watching.stdout is not None
                try:
                    assert _frame(watching.stdout)[1]["type"] == "connection_established"
                    assert _frame(watching.stdout)[0] == "heartbeat"
                    published = subprocess.run(
                        ["bash", "-c", publish], check=True, capture_output=True, timeout=PATIENCE_SECONDS
                    )
                    assert json.loads(published.stdout)["status"] == "success"
                    event, data = _frame(watching.stdout)
                    assert (event, data["id"]) == ("live-notification", "weather_alert@1")
                finally:
                    watching.terminate()
        finally:
            service.terminate()
            assert service.wait(PATIENCE_SECONDS) == 0


def _frame(said: IO[str]) -> tuple[str, dict[str, object]]:
    """Return the next frame of a stream."""
    event, data, empty = (said.readline() for _ in range(3))
    assert empty == "\n"
    return event.removeprefix("event: ").strip(), json.loads(data.removeprefix("data: "))
